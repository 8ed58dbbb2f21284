// SPDX-License-Identifier: MIT
#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

// Makes a sweep and returns an error message, empty if its counts are right.
std::string sweep_error(Method& method) {
    const auto before = method.counts_by_read();
    // Twice: the first period of a method that samples by timer began before this call.
    method.wait();
    method.wait();
    method.sweep();
    const auto counts = method.counts();
    const auto after = method.counts_by_read();

    if (counts.size() != before.size())
        return fmt::format("delivers {} counts of {}", counts.size(), before.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] < before[i] || counts[i] > after[i])
            return fmt::format(
                "count {} is {}, which is not between {} and {}, the read()s before and after", i,
                counts[i], before[i], after[i]);
    }
    if (std::ranges::all_of(counts, [](auto count) { return count == 0; }))
        return "all counts are 0";
    return {};
}

}  // namespace

void verify_counts(Method& method) {
    if (method.counts_by_read().empty()) return;
    // A sampling timer is late while the host does not run its CPU. Other errors persist.
    using Clock = std::chrono::steady_clock;
    constexpr auto timeout = std::chrono::seconds(2);
    std::string error;
    for (const auto end = Clock::now() + timeout; Clock::now() < end;) {
        try {
            error = sweep_error(method);
            if (error.empty()) return;
        } catch (const std::exception& exception) {
            error = exception.what();
        }
    }
    throw std::runtime_error(error);
}

}  // namespace bench
