// SPDX-License-Identifier: MIT
#include "deadlines.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "format.hpp"

namespace metagroup::detail {
namespace {

[[noreturn]] void refuse(const RingRecord& record, std::string reason) {
    throw Error(Cause::bad_ring, EBADMSG,
                {detail::format("cannot read a sample of CPU {}", record.cpu), std::move(reason),
                 "stop the stream and start a new one"});
}

}  // namespace

DeadlineReader::DeadlineReader(Sampler& sampler, std::uint64_t period)
    : sampler_(sampler),
      period_(period),
      // At least a loss and a sample of each member.
      batch_limit_(std::max<std::size_t>(512, 2 * sampler.sources.size())) {
    std::ranges::sort(sampler_.sources, {}, &SampleSource::id);
    add_lanes();
    samples_.resize(batch_limit_ + 2 * sampler_.sources.size(), Sample());
    deadlines_.reserve(batch_limit_ + 1);
}

// Adds a lane for each new ring.
void DeadlineReader::add_lanes() {
    while (lanes_.size() < sampler_.rings.size())
        lanes_.push_back({.ring = &sampler_.rings[lanes_.size()],
                          .last = &start_,
                          .timer = OwnTimer(period_, sampler_.first),
                          .due = sampler_.first});
}

// Determines the deadline of a new front.
inline void DeadlineReader::load_front(Lane& lane) {
    if (!sampler_.common) return load_own_front(lane);
    const RingRecord* const front = lane.ring->front();
    if (front == nullptr) return;
    // The next deadline, unless there is a gap.
    std::uint64_t deadline = lane.due;
    if (front->time - deadline >= period_) deadline = front->time - front->time % period_;
    lane.due = deadline + period_;
    lane.deadline = std::min(deadline, none - 1);
}

// The kernel reports only some losses of a per-member timer; OwnTimer finds all.
void DeadlineReader::load_own_front(Lane& lane) {
    while (lane.ring->front() != nullptr && lane.ring->front()->lost > 0)
        lane.ring->pop();
    const RingRecord* const front = lane.ring->front();
    if (front == nullptr) return;
    lane.lost = lane.timer.add(front->time);
    const std::uint64_t deadline = lane.due + lane.lost * period_;
    lane.due = deadline + period_;
    lane.deadline = std::min(deadline, none - 1);
}

SampleSource& DeadlineReader::find_source(const RingRecord& record) const {
    const auto found = std::ranges::lower_bound(sampler_.sources, record.id, {}, &SampleSource::id);
    if (found == sampler_.sources.end() || found->id != record.id)
        refuse(record, detail::format("no member has the identifier {}", record.id));
    return *found;
}

// The members of a CPU always have the same order.
inline SampleSource& DeadlineReader::next_source(Lane& lane, const RingRecord& record) const {
    SampleSource*& next = lane.last->next;
    if (next == nullptr || next->id != record.id) next = &find_source(record);
    next->seen = true;
    return *(lane.last = next);
}

// Appends a sample, reusing one of an earlier read().
inline Sample& DeadlineReader::add(const SampleSource& source, const RingRecord& record) {
    if (size_ == samples_.size()) samples_.push_back(Sample());
    Sample& sample = samples_[size_++];
    sample.index_ = source.index;
    sample.cpu_ = record.cpu;
    sample.hidden_ = sampler_.hidden;
    sample.time_ = record.time;
    sample.lost_ = 0;
    sample.bytes_ = record.payload;
    return sample;
}

void DeadlineReader::add_loss(const SampleSource& source, const RingRecord& record,
                              std::uint64_t lost) {
    Sample& sample = add(source, record);
    sample.lost_ = lost;
    sample.bytes_ = {};
    sample.payload_.reset();
}

// Also adds the preceding deadlines without a sample that nothing else reports.
inline void DeadlineReader::add_front(Lane& lane) {
    const RingRecord& front = *lane.ring->front();
    const SampleSource& source = next_source(lane, front);
    if (lane.lost > 0) add_loss(source, front, lane.lost);
    if (front.lost > 0) return add_loss(source, front, front.lost);
    std::optional<Payload>& payload = add(source, front).payload_;
    payload = Payload::parse(front.payload, source.read_format);
    if (!payload || payload->nr() < sampler_.hidden)
        refuse(front, detail::format("its {} bytes are not a payload of read format {:#x}",
                                     front.payload.size(), source.read_format));
}

DeadlineReader::Fronts DeadlineReader::take(std::uint64_t time) {
    Deadline deadline;
    deadline.time_ = time;
    deadline.all_ = &samples_;
    deadline.first_ = size_;
    Fronts fronts;
    for (Lane& lane : lanes_) {
        while (lane.deadline <= time) {
            add_front(lane);
            lane.deadline = none;  // even if the next record is rejected
            lane.ring->pop();
            load_front(lane);
        }
        fronts.add(lane);
    }
    deadline.count_ = size_ - deadline.first_;
    deadlines_.push_back(deadline);
    earliest_ = std::min(time, none - period_) + period_;
    return fronts;
}

bool DeadlineReader::is_half_full() const noexcept {
    return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.ring->half_full(); });
}

std::span<const Deadline> DeadlineReader::read(std::uint64_t expired) {
    release();
    size_ = 0;
    deadlines_.clear();
    more_ = held_ = false;
    add_lanes();
    Fronts fronts;
    for (Lane& lane : lanes_) {
        lane.ring->update();
        if (lane.deadline == none) load_front(lane);
        fronts.add(lane);
    }
    while (fronts.oldest != none) {
        // After the deadlines already returned, to keep the order.
        const std::uint64_t time = std::max(fronts.oldest, earliest_);
        held_ = !fronts.complete && time > expired && !is_half_full();
        more_ = !held_ && size_ >= batch_limit_;
        if (held_ || more_) break;
        fronts = take(time);
    }
    return deadlines_;
}

void DeadlineReader::take_all(std::vector<Records>& pieces) {
    add_lanes();
    for (Lane& lane : lanes_) {
        lane.ring->take_all(pieces);
        lane.deadline = none;
    }
}

void DeadlineReader::release() noexcept {
    for (Ring& ring : sampler_.rings)
        ring.release();
}

}  // namespace metagroup::detail
