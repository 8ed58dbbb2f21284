// SPDX-License-Identifier: MIT
#include <algorithm>
#include <metagroup/accumulator.hpp>
#include <utility>

namespace metagroup {

Accumulator::Accumulator(std::size_t members, bool of_cgroup)
    : of_cgroup_(of_cgroup), last_(members) {}

void Accumulator::restart(std::size_t members) {
    last_.resize(members);
    for (Last& last : last_)
        last.valid = false;
}

bool Accumulator::is_same(const Last& last, const Reading& reading) const noexcept {
    return last.valid && reading.enabled >= last.enabled && reading.running >= last.running &&
           reading.counts.size() == last.counts.size() && std::ranges::equal(reading.ids, last.ids);
}

void Accumulator::begin(Last& last, const Reading& reading) {
    last.time = last.from = reading.time;
    last.enabled = last.enabled_from = reading.enabled;
    last.running = reading.running;
    last.generation = reading.generation;
    last.counts.assign(reading.counts.begin(), reading.counts.end());
    last.ids.assign(reading.ids.begin(), reading.ids.end());
    last.valid = true;
}

std::optional<Difference> Accumulator::add(std::size_t member, const Reading& reading) {
    Last& last = last_[member];
    if (last.valid && reading.time <= last.time) return std::nullopt;
    if (!is_same(last, reading)) {
        begin(last, reading);
        return std::nullopt;
    }
    Difference difference;
    difference.from = last.from;
    difference.since = last.time;
    difference.to = reading.time;
    difference.enabled = reading.enabled - last.enabled;
    difference.running = reading.running - last.running;
    difference.readings = reading.counts;
    // For a cgroup, the reason why a time did not advance is unknown.
    const bool was_offline =
        reading.status == Status::offline || (!of_cgroup_ && reading.generation != last.generation);
    const std::uint64_t elapsed = reading.time - last.time;
    if (was_offline && elapsed > difference.enabled && !(of_cgroup_ && difference.enabled > 0))
        difference.offline = elapsed - difference.enabled;
    // No enabled time is waiting to be made up by a later count.
    const bool caught_up = difference.enabled == 0 && last.enabled_from == last.enabled;
    // The cgroup was not running, or the CPU is idle.
    const bool rested = caught_up && ((of_cgroup_ && reading.status != Status::offline) ||
                                      reading.status == Status::idle);
    if (difference.running > 0 || rested) {
        const std::uint64_t meant = reading.enabled - last.enabled_from;
        if (difference.running > 0 && meant != difference.running)
            difference.missed =
                static_cast<double>(meant) / static_cast<double>(difference.running) - 1;
        differences_.clear();
        for (std::size_t event = 0; event < reading.counts.size(); ++event) {
            // Counters may wrap; one that decreased was reset.
            const std::uint64_t counted =
                reading.counts[event] - std::exchange(last.counts[event], reading.counts[event]);
            differences_.push_back(counted > UINT64_MAX / 2 ? Difference::unknown : counted);
        }
        difference.counts = differences_;
        last.from = reading.time;
        last.enabled_from = reading.enabled;
    } else if (caught_up) {
        // Disabled or offline: no later count covers this time.
        last.from = reading.time;
    }
    last.time = reading.time;
    last.enabled = reading.enabled;
    last.running = reading.running;
    last.generation = reading.generation;
    return difference;
}

template <typename Record>
std::optional<Difference> Accumulator::add_record(std::size_t member, const Record& record,
                                                  Reading reading) {
    if (record.nr() == 0) return std::nullopt;
    // Formats without times: assume that the events were always on the PMU.
    reading.enabled = record.time_enabled().value_or(reading.time);
    reading.running = record.time_running().value_or(reading.enabled);
    values_.clear();
    ids_.clear();
    for (std::size_t event = 0; event < record.nr(); ++event) {
        values_.push_back(*record.raw(event));
        if (const auto id = record.id(event)) ids_.push_back(*id);
    }
    reading.counts = values_;
    reading.ids = ids_;
    return add(member, reading);
}

std::optional<Difference> Accumulator::add(const Sample& sample) {
    return add_record(sample.index(), sample, {.time = sample.time_ns()});
}

std::optional<Difference> Accumulator::add(std::size_t member, const MemberView& record,
                                           std::uint64_t begin) {
    // Records of idle and offline CPUs are older, but nothing has been counted since.
    const bool rests = record.status() == Status::idle || record.status() == Status::offline;
    return add_record(member, record,
                      {.time = rests ? std::max(record.time_ns(), begin) : record.time_ns(),
                       .status = record.status(),
                       .generation = record.generation()});
}

void Accumulator::add(Counts& counts, const SnapshotView& snapshot, std::uint64_t since,
                      std::span<const std::size_t> lanes) {
    std::size_t member = 0;
    for (const MemberView& record : snapshot) {
        const std::size_t lane = lanes.empty() ? member : lanes[member];
        const auto difference = add(member++, record, snapshot.begin_ns());
        if (!difference) continue;
        if (difference->from >= since)
            counts.add(lane, *difference);
        else
            counts.add(lane, *difference, since, UINT64_MAX);
    }
}

Intervals::Intervals(std::shared_ptr<const CountLayout> layout, std::uint64_t begin,
                     std::uint64_t length, std::uint64_t end)
    : layout_(std::move(layout)),
      begin_(begin),
      length_(length),
      end_(end),
      seen_(layout_->lanes().size()) {}

std::uint64_t Intervals::index_of(std::uint64_t time) const noexcept {
    const std::uint64_t inside = std::min(time, end_);
    return inside <= begin_ ? 0 : (inside - begin_ - 1) / length_;
}

Counts& Intervals::at(std::uint64_t index) {
    const auto found = open_.find(index);
    if (found != open_.end()) return found->second;
    if (taken_.empty()) return open_.emplace(index, layout_).first->second;
    taken_.key() = index;
    taken_.mapped().clear();
    return open_.insert(std::move(taken_)).position->second;
}

void Intervals::add(std::size_t lane, const Difference& difference) {
    // A longer gap is neither divided nor waited for: memory use must not depend on numbers in a
    // file, or on an event that is never on the PMU.
    constexpr std::uint64_t most = 10'000;
    const bool waits =
        difference.counts.empty() && (difference.enabled > 0 || difference.from < difference.since);
    const std::uint64_t oldest = difference.to - std::min(difference.to, most * length_);
    seen_[lane] = waits ? std::max(difference.from, oldest) : difference.to;
    const std::uint64_t last = index_of(difference.to);
    if (last < next_) return;
    const std::uint64_t first = std::max(index_of(difference.from + 1), next_);
    if (last - first > most) return at(last).add(lane, difference);
    for (std::uint64_t index = first; index <= last; ++index) {
        const std::uint64_t begins = begin_ + index * length_;
        const bool to_end = begins + length_ >= end_;
        at(index).add(lane, difference, index == 0 ? 0 : begins,
                      to_end ? UINT64_MAX : begins + length_);
    }
}

const Counts* Intervals::take(std::uint64_t forced) {
    if (open_.empty()) return nullptr;
    const auto oldest = open_.begin();
    const std::uint64_t end = std::min(begin_ + (oldest->first + 1) * length_, end_);
    if (end > forced && std::ranges::any_of(seen_, [&](auto seen) { return seen < end; }))
        return nullptr;
    next_ = oldest->first + 1;
    taken_ = open_.extract(oldest);
    taken_.mapped().add_up(end - (begin_ + oldest->first * length_));
    return &taken_.mapped();
}

}  // namespace metagroup
