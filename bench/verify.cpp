// SPDX-License-Identifier: MIT
#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace bench {

void verify_counts(Rival& rival, Load load) {
    if (rival.groups() == nullptr) return;
    const auto before = rival.groups()->counts();
    // Twice: the first period of one that samples by itself began earlier.
    rival.wait();
    rival.wait();
    rival.sweep();
    const auto counts = rival.counts();
    const auto after = rival.groups()->counts();

    if (counts.size() != before.size())
        throw std::runtime_error(
            fmt::format("it delivers {} counts of {}", counts.size(), before.size()));
    const bool of_now = load == Load::busy || !rival.lets_sleep();
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if ((of_now && counts[i] < before[i]) || counts[i] > after[i])
            throw std::runtime_error(fmt::format(
                "its count {} is {}, which is not between {} and {}, what read() gave before "
                "and after",
                i, counts[i], before[i], after[i]));
    }
    if (std::ranges::all_of(counts, [](auto count) { return count == 0; }))
        throw std::runtime_error("all its counts are 0");
}

}  // namespace bench
