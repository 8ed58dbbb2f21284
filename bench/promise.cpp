// SPDX-License-Identifier: MIT
#include "promise.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

constexpr double kMostOfPerFd = 0.65;  // over busy CPUs

const Median& median_of(const Medians& medians, const std::string& name) {
    const auto found = medians.find(name);
    if (found == medians.end())
        throw std::invalid_argument(
            fmt::format("--check needs {}, which was not measured: give it 3 repetitions or more, "
                        "idle and busy targets, and the ways per_fd, raw and framed",
                        name));
    return found->second;
}

}  // namespace

bool keeps_promise(const Medians& medians, const std::vector<std::string>& shapes,
                   std::size_t cpus) {
    bool good = true;
    for (const std::string& shape : shapes) {
        for (const std::string way : {"raw", "framed"}) {
            for (const std::string targets : {"busy", "idle"}) {
                const std::string name = fmt::format("{}/{}/{}", way, targets, shape);
                const Median& ours = median_of(medians, name);
                const double ratio =
                    ours.time /
                    median_of(medians, fmt::format("per_fd/{}/{}", targets, shape)).time;
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
