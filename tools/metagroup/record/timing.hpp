// SPDX-License-Identifier: MIT
// How regular the samples of a recording are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/overhead.hpp"

namespace tool {

class Timing {
  public:
    // A period of 0: the samples have no common deadlines. Samples of one deadline may be apart by
    // as many samples of other deadlines.
    Timing(std::uint64_t period, std::size_t apart);

    // Whole records of a stream.
    void add(std::span<const std::byte> records);
    // To be called once, after the last add().
    void finish();

    std::uint64_t samples() const { return samples_; }
    std::uint64_t lost() const { return lost_; }
    // From a deadline to its sample, ns.
    const Histogram& lateness() const { return lateness_; }
    // From the first sample of a deadline to the last, ns.
    const Histogram& skew() const { return skew_; }

  private:
    struct Deadline {
        std::uint64_t number = 0;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t samples = 0;
    };

    void add_sample(std::uint64_t time);
    void end(const Deadline& deadline);

    std::uint64_t period_;
    std::uint64_t samples_ = 0;
    std::uint64_t lost_ = 0;
    Histogram lateness_;
    Histogram skew_;
    std::vector<Deadline> deadlines_;  // the latest, by number modulo size
};

}  // namespace tool
