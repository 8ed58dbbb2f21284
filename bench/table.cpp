// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <fmt/format.h>

#include <array>

namespace bench {
namespace {

constexpr std::array kCounters{"syscalls",     "ipis",         "wakeups", "monitor_insns",
                               "target_insns", "memory_bytes", "late"};

}  // namespace

void print_heading() {
    fmt::print("{:<44} {:>10} {:>10}", "medians per sweep", "time us", "skew us");
    for (const char* counter : kCounters)
        fmt::print(" {:>13}", counter);
    fmt::print("\n");
}

void print_result(const std::string& name, const Result& result) {
    const auto cell = [&](const char* counter, int width, int digits, double unit) {
        const auto found = result.counters.find(counter);
        if (found == result.counters.end())
            fmt::print(" {:>{}}", "-", width);
        else
            fmt::print(" {:>{}.{}f}", found->second / unit, width, digits);
    };
    fmt::print("{:<44} {:>10.2f}", name, result.time);
    cell("skew_ns", 10, 1, 1000);
    for (const char* counter : kCounters) {
        const std::string_view what = counter;
        cell(counter, 13, what.ends_with("insns") || what.ends_with("bytes") ? 0 : 2, 1);
    }
    fmt::print("\n");
}

void print_skipped(const std::string& name, const std::string& why) {
    fmt::print("{:<44} skipped: {}\n", name, why);
}

}  // namespace bench
