// SPDX-License-Identifier: MIT
#include "promise.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

constexpr double kMostOfPerFd = 0.65;  // over busy CPUs

const Result& result_of(const Results& results, const std::string& name) {
    const auto found = results.find(name);
    if (found == results.end() || found->second.time == 0)
        throw std::invalid_argument(fmt::format(
            "--check needs {}, which was not measured: it takes idle and busy targets, and "
            "the ways per_fd, raw and framed",
            name));
    return found->second;
}

}  // namespace

bool keeps_promise(const Results& results, const std::vector<std::string>& shapes,
                   std::size_t cpus) {
    bool good = true;
    for (const std::string& shape : shapes) {
        for (const std::string way : {"raw", "framed"}) {
            for (const std::string targets : {"busy", "idle"}) {
                const std::string name = fmt::format("{}/{}/{}", way, targets, shape);
                const Result& ours = result_of(results, name);
                const double ratio =
                    ours.time /
                    result_of(results, fmt::format("per_fd/{}/{}", targets, shape)).time;
                const double syscalls = ours.counters.at("syscalls");
                const double ipis = ours.counters.at("ipis");
                fmt::print(
                    "{:<40} takes {:.2f} of the per-fd time, {:.2f} system calls and {:.2f} "
                    "interrupts per sweep\n",
                    name, ratio, syscalls, ipis);
                // What else goes on in the machine interrupts now and then.
                const bool few =
                    std::abs(syscalls - 1) < 0.005 && ipis <= static_cast<double>(cpus) * 1.01;
                good = good && few && (targets == "idle" || ratio <= kMostOfPerFd);
            }
        }
    }
    fmt::print("promised: {:.2f} over busy CPUs, 1 system call, at most {} interrupts: {}\n",
               kMostOfPerFd, cpus, good ? "kept" : "MISSED");
    return good;
}

}  // namespace bench
