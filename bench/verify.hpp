// SPDX-License-Identifier: MIT
// A method that delivers wrong counts must not be measured.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "methods/method.hpp"

namespace bench {

// Makes a sweep and returns an error message, empty if its counts are right.
inline std::string sweep_error(Method& method) {
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

// Throws std::runtime_error unless the counts of a sweep lie between two read()s of the same
// events. A sampling timer is late while the host does not run its CPU, so one of several tries
// must succeed. Call it during a turn.
inline void verify_counts(Method& method) {
    if (method.counts_by_read().empty()) return;
    using Clock = std::chrono::steady_clock;
    std::string error;
    for (const auto end = Clock::now() + std::chrono::seconds(2); Clock::now() < end;) {
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
