// SPDX-License-Identifier: MIT
// DeadlineReader: the records of many rings, deadline by deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/stream.hpp>
#include <span>
#include <vector>

#include "backend.hpp"

namespace metagroup::detail {

/// Takes records out of the rings of a sampler, which outlives it.
class DeadlineReader {
  public:
    DeadlineReader(Sampler& sampler, std::uint64_t period);

    /// Stream::read(). Deadlines up to `expired` are complete, whatever the rings have.
    std::span<const Deadline> read(std::uint64_t expired);
    /// read() stopped for lack of space, not of samples.
    [[nodiscard]] bool has_more() const noexcept { return more_; }
    /// read() left samples of deadlines that are not complete.
    [[nodiscard]] bool holds_back() const noexcept { return held_; }
    void release() noexcept;

  private:
    static constexpr std::uint64_t none = UINT64_MAX;
    // A ring and its front.
    struct Lane {
        Ring* ring = nullptr;
        std::uint64_t own = 0;          // deadline of the front
        std::uint64_t deadline = none;  // the one that it is returned with; none without a front
        // Of a ring with a timer of its own:
        std::uint64_t phase = 0;  // from a multiple of the period to the timer's expiry
        bool known = false;       // phase is
        std::uint64_t next = 0;   // deadline after that of the last sample
    };

    void add_lanes();
    void look_at(Lane& lane);
    void take(std::uint64_t deadline);
    void add_front(Lane& lane);
    [[nodiscard]] Sample sample(const RingRecord& record);

    Sampler& sampler_;
    std::uint64_t period_;
    std::uint64_t earliest_ = 0;  // deadline that can be returned next
    std::size_t room_;            // samples that read() returns
    bool more_ = false;
    bool held_ = false;
    std::vector<Lane> lanes_;
    std::vector<Sample> samples_;
    std::vector<Deadline> deadlines_;
};

}  // namespace metagroup::detail
