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

// What is wrong with the counts of a sweep; empty if nothing is. Throws if they are no counts.
std::string defect_of_sweep(Rival& rival, bool of_now) {
    const auto before = rival.groups()->counts();
    // Twice: the first period of one that samples by itself began earlier.
    rival.wait();
    rival.wait();
    rival.sweep();
    const auto counts = rival.counts();
    const auto after = rival.groups()->counts();

    if (counts.size() != before.size())
        return fmt::format("it delivers {} counts of {}", counts.size(), before.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if ((of_now && counts[i] < before[i]) || counts[i] > after[i])
            return fmt::format(
                "its count {} is {}, which is not between {} and {}, what read() gave before "
                "and after",
                i, counts[i], before[i], after[i]);
    }
    if (std::ranges::all_of(counts, [](auto count) { return count == 0; }))
        return "all its counts are 0";
    return {};
}

}  // namespace

void verify_counts(Rival& rival, Load load) {
    if (rival.groups() == nullptr) return;
    const bool of_now = load == Load::busy || !rival.lets_sleep();
    // A timer that samples is late where the host does not run its CPU, which it may not for a
    // while. What is wrong stays wrong.
    using Clock = std::chrono::steady_clock;
    constexpr auto patience = std::chrono::seconds(2);
    std::string defect;
    for (const auto end = Clock::now() + patience; Clock::now() < end;) {
        try {
            defect = defect_of_sweep(rival, of_now);
            if (defect.empty()) return;
        } catch (const std::exception& error) {
            defect = error.what();
        }
    }
    throw std::runtime_error(defect);
}

}  // namespace bench
