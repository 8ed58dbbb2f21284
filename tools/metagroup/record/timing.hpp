// SPDX-License-Identifier: MIT
// Measures the regularity of a recording's samples.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/detail/own_timer.hpp>
#include <metagroup/records.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/totals.hpp"

namespace tool {

class Timing {
  public:
    // The leader of a group on a CPU; CPU -1 means unknown until its first sample.
    struct Member {
        std::uint64_t id;
        int cpu;
    };

    // `common`: the CPUs have the same deadlines; otherwise each member has its own timer. Up to
    // `apart` samples of other deadlines may come between those of one deadline.
    Timing(std::uint64_t period, bool common, std::size_t apart, std::uint64_t first,
           const std::vector<Member>& members)
        : period_(period),
          common_(common),
          newest_(first),
          mask_(std::bit_ceil(apart) - 1),
          deadlines_(mask_ + 1) {
        for (const Member& member : members)
            members_.emplace(member.id, State{member.cpu, first, OwnTimer(period)});
    }

    void add(const metagroup::Records& records) {
        records.for_each([this](std::uint32_t type, std::span<const std::byte> record) {
            if (type == PERF_RECORD_SAMPLE)
                add_sample(record);
            else if (type == PERF_RECORD_LOST_SAMPLES)
                add_loss(record);
        });
    }
    // Adds losses after the last samples, of which a stream knows only the number: `deadlines`, of
    // all CPUs, up to `end`. They are assigned to the CPUs that were silent longest.
    std::vector<std::byte> losses_at_end(std::uint64_t deadlines, std::uint64_t end) {
        using Lane = std::pair<std::uint64_t, std::vector<Member>>;
        std::map<std::uint64_t, Lane> lanes;  // by CPU, or member
        for (const auto& [id, member] : members_) {
            if (member.cpu < 0) continue;
            Lane& lane = lanes[common_ ? static_cast<std::uint64_t>(member.cpu) : id];
            lane.first = std::max(lane.first, member.last);
            lane.second.push_back({id, member.cpu});
        }
        std::vector<Lane> silent;
        for (auto& [key, lane] : lanes)
            silent.push_back(std::move(lane));
        std::ranges::sort(silent, {}, &Lane::first);
        std::vector<std::byte> records;
        for (const auto& [last, members] : silent) {
            const std::uint64_t lost = std::min(deadlines, (end - std::min(end, last)) / period_);
            deadlines -= lost;
            for (const Member& member : members)
                if (lost > 0) put_loss(records, member, lost);
            if (lost > 0) lost_at_end_ += lost * members.size();
        }
        return records;
    }
    // Call once, after the last add().
    void finish() {
        for (const Deadline& deadline : deadlines_)
            end(deadline);
    }

    std::uint64_t samples() const { return samples_; }
    std::uint64_t lost() const { return lost_; }
    // Those of them after the last sample of each member.
    std::uint64_t lost_at_end() const { return lost_at_end_; }
    // Samples that belong to no member.
    std::uint64_t unknown() const { return unknown_; }
    // Times from a deadline to its sample, ns.
    const metagroup::Histogram& lateness() const { return lateness_; }
    // Times from the first sample of a deadline to the last, ns.
    const metagroup::Histogram& skew() const { return skew_; }

  private:
    using OwnTimer = metagroup::detail::OwnTimer;
    static constexpr std::size_t cpu_at = metagroup::Records::time_at + sizeof(std::uint64_t);

    struct Deadline {
        std::uint64_t number = UINT64_MAX;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t samples = 0;
    };

    void add_sample(std::span<const std::byte> record) {
        using metagroup::Records;
        const std::uint64_t time = Records::number_at(record, Records::time_at);
        ++samples_;
        newest_ = std::max(newest_, time);
        const auto member = members_.find(Records::number_at(record, Records::id_at));
        if (member == members_.end()) {
            ++unknown_;
        } else {
            member->second.cpu = static_cast<int>(Records::number_at(record, cpu_at));
            member->second.last = time;
            if (!common_) lost_ += member->second.timer.add(time);
        }
        if (common_) add_to_deadline(time);
    }
    // For a per-member timer, the times of the samples reveal the losses up to the last one.
    void add_loss(std::span<const std::byte> record) {
        using metagroup::Records;
        constexpr std::size_t lost_at = sizeof(perf_event_header);
        lost_ += Records::number_at(record, lost_at);
        const auto member =
            members_.find(Records::number_at(record, record.size() - sizeof(std::uint64_t)));
        if (member != members_.end())
            member->second.last = Records::number_at(record, Records::time_at);
    }
    void put_loss(std::vector<std::byte>& records, const Member& member, std::uint64_t lost) const {
        struct {
            perf_event_header header;
            std::uint64_t lost, time, cpu, id;
        } const record{{PERF_RECORD_LOST_SAMPLES, 0, sizeof(record)},
                       lost,
                       newest_,  // within the time covered by samples
                       static_cast<std::uint64_t>(member.cpu),
                       member.id};
        const auto bytes = std::as_bytes(std::span(&record, 1));
        records.insert(records.end(), bytes.begin(), bytes.end());
    }
    void add_to_deadline(std::uint64_t time) {
        const std::uint64_t number = time / period_;
        lateness_.add(time - number * period_);
        Deadline& deadline = deadlines_[number & mask_];
        if (deadline.number != number) {
            end(deadline);
            deadline = {number, time, time, 1};
            return;
        }
        deadline.first = std::min(deadline.first, time);
        deadline.last = std::max(deadline.last, time);
        ++deadline.samples;
    }
    void end(const Deadline& deadline) {
        if (deadline.samples > 1) skew_.add(deadline.last - deadline.first);
    }

    struct State {
        int cpu;
        std::uint64_t last;  // sample or loss, ns
        OwnTimer timer;
    };

    std::uint64_t period_;
    bool common_;
    std::uint64_t samples_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t lost_at_end_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t newest_;  // sample, ns
    metagroup::Histogram lateness_;
    metagroup::Histogram skew_;
    std::uint64_t mask_;
    std::vector<Deadline> deadlines_;                   // the latest ones, by number & mask_
    std::unordered_map<std::uint64_t, State> members_;  // by identifier
};

}  // namespace tool
