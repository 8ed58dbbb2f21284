// SPDX-License-Identifier: MIT
#include "deadlines.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "format.hpp"

namespace metagroup::detail {

DeadlineReader::DeadlineReader(Sampler& sampler, std::uint64_t period)
    : sampler_(sampler),
      period_(period),
      // A loss and a sample of each member at least.
      room_(std::max<std::size_t>(512, 2 * sampler.origins.size())) {
    std::ranges::sort(sampler_.origins, {}, &Origin::id);
    add_lanes();
    samples_.reserve(room_ + 2 * sampler_.origins.size());
    deadlines_.reserve(room_ + 1);
}

// For the rings that have none.
void DeadlineReader::add_lanes() {
    while (lanes_.size() < sampler_.rings.size())
        lanes_.push_back({.ring = &sampler_.rings[lanes_.size()], .next = sampler_.first});
}

// Finds the deadline of the front. It is later than what was returned, so that the order holds.
void DeadlineReader::look_at(Lane& lane) {
    // The kernel reports only some of the losses of a timer of its own: add_front() finds all.
    while (!sampler_.common && lane.ring->front() != nullptr && lane.ring->front()->lost > 0)
        lane.ring->pop();
    lane.deadline = none;
    const RingRecord* const front = lane.ring->front();
    if (front == nullptr) return;
    // A timer's phase is not known. Samples are late and never early, and each has a deadline of
    // its own: the first one bounds the phase, and one that comes too early for it corrects it.
    if (!sampler_.common && !std::exchange(lane.known, true)) lane.phase = front->time % period_;
    const auto own = [&] {
        const std::uint64_t time = front->time - lane.phase;
        return time - time % period_;
    };
    if (!sampler_.common && own() < lane.next) lane.phase = front->time - lane.next;
    lane.own = own();
    lane.deadline = std::min(std::max(lane.own, earliest_), none - 1);
}

Sample DeadlineReader::sample(const RingRecord& record) {
    const auto refuse = [&](std::string reason) {
        throw Error(Cause::bad_ring, EBADMSG,
                    {detail::format("cannot read a sample of CPU {}", record.cpu),
                     std::move(reason), "stop the stream and start a new one"});
    };
    const auto origin = std::ranges::lower_bound(sampler_.origins, record.id, {}, &Origin::id);
    if (origin == sampler_.origins.end() || origin->id != record.id)
        refuse(detail::format("no member has the identifier {}", record.id));
    origin->seen = true;
    Sample sample;
    sample.index_ = origin->index;
    sample.cpu_ = record.cpu;
    sample.time_ = record.time;
    sample.lost_ = record.lost;
    if (record.lost > 0) return sample;
    sample.bytes_ = record.payload;
    sample.payload_ = Payload::parse(record.payload, origin->read_format);
    if (!sample.payload_ || sample.payload_->nr() < sampler_.hidden)
        refuse(detail::format("its {} bytes are no payload of read format {:#x}",
                              record.payload.size(), origin->read_format));
    sample.hidden_ = sampler_.hidden;
    return sample;
}

// With the deadlines before it that have no sample, where nothing else reports them.
void DeadlineReader::add_front(Lane& lane) {
    const Sample front = sample(*lane.ring->front());
    if (!sampler_.common) {
        if (lane.own > lane.next) {
            Sample loss = front;
            loss.lost_ = (lane.own - lane.next) / period_;
            loss.bytes_ = {};
            loss.payload_.reset();
            samples_.push_back(loss);
        }
        lane.next = lane.own + period_;
    }
    samples_.push_back(front);
}

void DeadlineReader::take(std::uint64_t time) {
    Deadline deadline;
    deadline.time_ = time;
    deadline.all_ = &samples_;
    deadline.first_ = samples_.size();
    for (Lane& lane : lanes_) {
        while (lane.deadline <= time) {
            add_front(lane);
            lane.ring->pop();
            look_at(lane);
        }
    }
    deadline.count_ = samples_.size() - deadline.first_;
    deadlines_.push_back(deadline);
    earliest_ = std::min(time, none - period_) + period_;
}

std::span<const Deadline> DeadlineReader::read(std::uint64_t expired) {
    release();
    samples_.clear();
    deadlines_.clear();
    more_ = false;
    add_lanes();
    for (Lane& lane : lanes_) {
        lane.ring->update();
        look_at(lane);
    }
    for (;;) {
        std::uint64_t oldest = none;
        bool complete = true;
        bool filled = false;
        for (const Lane& lane : lanes_) {
            oldest = std::min(oldest, lane.deadline);
            complete = complete && lane.deadline != none;
            filled = filled || lane.ring->half_full();
        }
        held_ = oldest != none && !(complete || filled || oldest <= expired);
        if (oldest == none || held_) break;
        more_ = samples_.size() >= room_;
        if (more_) break;
        take(oldest);
    }
    return deadlines_;
}

void DeadlineReader::release() noexcept {
    for (Ring& ring : sampler_.rings)
        ring.release();
}

}  // namespace metagroup::detail
