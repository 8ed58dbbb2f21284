// SPDX-License-Identifier: MIT
// Random choices that depend on the seed only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace metagroup::test {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // The choices of one step of one thread, independent of the steps before.
    Random(std::uint64_t seed, std::uint64_t thread, std::uint64_t step)
        : Random(mix(mix(mix(seed) + thread) + step)) {}

    std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15); }  // splitmix64

    // Less than `limit`, which is not 0.
    unsigned below(std::size_t limit) { return static_cast<unsigned>(next() % limit); }

    bool one_in(unsigned turns) { return below(turns) == 0; }

    template <typename List>
    auto& pick(List& list) {
        return list[below(std::size(list))];
    }

    // By their `weight`; not all are 0.
    template <typename List>
    auto& weighted(List& list) {
        unsigned all = 0;
        for (const auto& choice : list)
            all += choice.weight;
        unsigned left = below(all);
        auto chosen = std::begin(list);
        for (; left >= chosen->weight; ++chosen)
            left -= chosen->weight;
        return *chosen;
    }

  private:
    static std::uint64_t mix(std::uint64_t word) {
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
        word = (word ^ word >> 27) * 0x94D049BB133111EB;
        return word ^ word >> 31;
    }

    std::uint64_t state_;
};

}  // namespace metagroup::test
