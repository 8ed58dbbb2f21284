// SPDX-License-Identifier: MIT
#include <algorithm>
#include <metagroup/accumulator.hpp>
#include <stdexcept>
#include <utility>

#include "format.hpp"

namespace metagroup {
namespace {

constexpr std::uint64_t no_id = 0;  // those of the kernel begin with 1

// The events of a reading, with the functions of a record.
class Listed {
  public:
    explicit Listed(const Reading& reading) : counts_(reading.counts), ids_(reading.ids) {}
    std::size_t nr() const noexcept { return counts_.size(); }
    std::optional<std::uint64_t> raw(std::size_t i) const noexcept { return counts_[i]; }
    std::optional<std::uint64_t> id(std::size_t i) const noexcept {
        return i < ids_.size() ? std::optional(ids_[i]) : std::nullopt;
    }

  private:
    std::span<const std::uint64_t> counts_, ids_;
};

}  // namespace

Accumulator::Accumulator(std::size_t members, bool of_cgroup)
    : of_cgroup_(of_cgroup), last_(members) {}

void Accumulator::restart(std::size_t members) {
    last_.resize(members);
    for (Last& last : last_)
        last.valid = false;
}

template <typename Events>
bool Accumulator::is_same(const Last& last, const Reading& times, const Events& events) {
    if (!last.valid || times.enabled < last.enabled || times.running < last.running ||
        events.nr() != last.counts.size())
        return false;
    for (std::size_t event = 0; event < last.ids.size(); ++event)
        if (events.id(event).value_or(no_id) != last.ids[event]) return false;
    return true;
}

template <typename Events>
void Accumulator::begin(Last& last, const Reading& times, const Events& events) {
    last.time = last.from = times.time;
    last.enabled = last.enabled_from = times.enabled;
    last.running = times.running;
    last.generation = times.generation;
    last.counts.resize(events.nr());
    last.ids.resize(events.nr());
    for (std::size_t event = 0; event < events.nr(); ++event) {
        last.counts[event] = *events.raw(event);
        last.ids[event] = events.id(event).value_or(no_id);
    }
    last.valid = true;
}

template <typename Events>
std::optional<Difference> Accumulator::subtract(std::size_t member, const Reading& times,
                                                const Events& events) {
    Last& last = last_[member];
    if (last.valid && times.time <= last.time) return std::nullopt;
    if (!is_same(last, times, events)) {
        begin(last, times, events);
        return std::nullopt;
    }
    Difference difference;
    difference.from = last.from;
    difference.since = last.time;
    difference.to = times.time;
    difference.enabled = times.enabled - last.enabled;
    difference.running = times.running - last.running;
    // For a cgroup, the reason why a time did not advance is unknown.
    const bool was_offline =
        times.status == Status::offline || (!of_cgroup_ && times.generation != last.generation);
    const std::uint64_t elapsed = times.time - last.time;
    if (was_offline && elapsed > difference.enabled && !(of_cgroup_ && difference.enabled > 0))
        difference.offline = elapsed - difference.enabled;
    // No enabled time is waiting to be made up by a later count.
    const bool caught_up = difference.enabled == 0 && last.enabled_from == last.enabled;
    // The cgroup was not running, or the CPU is idle.
    const bool rested = caught_up && ((of_cgroup_ && times.status != Status::offline) ||
                                      times.status == Status::idle);
    if (difference.running > 0 || rested) {
        const std::uint64_t meant = times.enabled - last.enabled_from;
        if (difference.running > 0 && meant != difference.running)
            difference.missed =
                static_cast<double>(meant) / static_cast<double>(difference.running) - 1;
        differences_.resize(events.nr());
        for (std::size_t event = 0; event < differences_.size(); ++event) {
            const std::uint64_t count = *events.raw(event);
            // Counters may wrap; one that decreased was reset.
            const std::uint64_t counted = count - std::exchange(last.counts[event], count);
            differences_[event] = counted > UINT64_MAX / 2 ? Difference::unknown : counted;
        }
        difference.counts = differences_;
        difference.readings = last.counts;
        last.from = times.time;
        last.enabled_from = times.enabled;
    } else if (caught_up) {
        // Disabled or offline: no later count covers this time.
        last.from = times.time;
    }
    last.time = times.time;
    last.enabled = times.enabled;
    last.running = times.running;
    last.generation = times.generation;
    return difference;
}

std::optional<Difference> Accumulator::add(std::size_t member, const Reading& reading) {
    return subtract(member, reading, Listed(reading));
}

template <typename Record>
std::optional<Difference> Accumulator::add_record(std::size_t member, const Record& record,
                                                  Reading times) {
    if (record.nr() == 0) return std::nullopt;
    // Formats without times: assume that the events were always on the PMU.
    times.enabled = record.time_enabled().value_or(times.time);
    times.running = record.time_running().value_or(times.enabled);
    return subtract(member, times, record);
}

std::optional<Difference> Accumulator::add(const Sample& sample) {
    return add_record(sample.index(), sample, {.time = sample.time_ns(), .status = Status::idle});
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
    if (snapshot.size() != last_.size())
        throw std::invalid_argument(
            detail::format("a snapshot of {} members is added to the counts of {}", snapshot.size(),
                           last_.size()));
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

namespace {

// Memory use must not depend on numbers in a file, or on an event that is never on the PMU.
constexpr std::uint64_t most_intervals = 10'000;
constexpr std::size_t most_cells = 1U << 21;  // of open intervals: 150 MB

}  // namespace

Intervals::Intervals(std::shared_ptr<const CountLayout> layout, std::uint64_t begin,
                     std::uint64_t length, std::uint64_t end)
    : layout_(std::move(layout)),
      most_(std::clamp<std::uint64_t>(most_cells / (layout_->cells() + layout_->sums()), 1,
                                      most_intervals)),
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
    // A longer gap is neither divided nor waited for.
    const bool waits =
        difference.counts.empty() && (difference.enabled > 0 || difference.from < difference.since);
    const std::uint64_t oldest = difference.to - std::min(difference.to, most_ * length_);
    seen_[lane] = waits ? std::max(difference.from, oldest) : difference.to;
    const std::uint64_t last = index_of(difference.to);
    if (last < next_) return;
    const std::uint64_t first = std::max(index_of(difference.from + 1), next_);
    if (last - first > most_) return at(last).add(lane, difference);
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
