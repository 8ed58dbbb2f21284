// SPDX-License-Identifier: MIT
// DeadlineReader: reads the records of many rings, deadline by deadline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <metagroup/detail/own_timer.hpp>
#include <metagroup/stream.hpp>
#include <span>
#include <vector>

#include "backend.hpp"

namespace metagroup::detail {

/// Takes records from the rings of a sampler, which must outlive it.
class DeadlineReader {
  public:
    DeadlineReader(Sampler& sampler, std::uint64_t period);

    /// Stream::read(). Deadlines up to `expired` are complete in any case.
    std::span<const Deadline> read(std::uint64_t expired);
    /// True if read() stopped for lack of space, not of samples.
    [[nodiscard]] bool has_more() const noexcept { return more_; }
    /// True if read() left samples of incomplete deadlines.
    [[nodiscard]] bool holds_back() const noexcept { return held_; }
    /// Stream::read_records(): Ring::take_all() of each ring.
    void take_all(std::vector<Records>& pieces);
    void release() noexcept;

  private:
    static constexpr std::uint64_t none = UINT64_MAX;
    // A ring and its front.
    struct Lane {
        Ring* ring = nullptr;
        std::uint64_t deadline = none;  // of the front; `none` without a front
        SampleSource* last = nullptr;   // of the record before it
        OwnTimer timer;                 // unless the deadlines are common
        std::uint64_t lost = 0;         // deadlines before the front, as found by `timer`
        std::uint64_t due = 0;          // deadline after the front's
    };
    // Combines the fronts of all lanes.
    struct Fronts {
        void add(const Lane& lane) {
            oldest = std::min(oldest, lane.deadline);
            complete &= lane.deadline != none;
        }
        std::uint64_t oldest = none;
        bool complete = true;
    };

    void add_lanes();
    void load_front(Lane& lane);
    void load_own_front(Lane& lane);
    Fronts take(std::uint64_t deadline);
    void add_front(Lane& lane);
    void add_loss(const SampleSource& source, const RingRecord& record, std::uint64_t lost);
    Sample& add(const SampleSource& source, const RingRecord& record);
    SampleSource& next_source(Lane& lane, const RingRecord& record) const;
    [[nodiscard]] SampleSource& find_source(const RingRecord& record) const;
    [[nodiscard]] bool is_half_full() const noexcept;

    Sampler& sampler_;
    std::uint64_t period_;
    std::uint64_t earliest_ = 0;  // next deadline that can be returned
    std::size_t batch_limit_;     // samples returned by one read()
    bool more_ = false;
    bool held_ = false;
    SampleSource start_;  // before the first record
    std::vector<Lane> lanes_;
    std::size_t size_ = 0;         // samples of the last read():
    std::vector<Sample> samples_;  // the first `size_` of these
    std::vector<Deadline> deadlines_;
};

}  // namespace metagroup::detail
