// SPDX-License-Identifier: MIT
/// \file
/// Accumulator: the differences of readings, exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <metagroup/counts.hpp>
#include <metagroup/export.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <span>
#include <vector>

namespace metagroup {

/// The counts and times of one member at one time.
struct Reading {
    std::uint64_t time = 0;     ///< ns
    std::uint64_t enabled = 0;  ///< ns since it was opened
    std::uint64_t running = 0;
    Status status = Status::ok;
    std::uint32_t generation = 0;
    std::span<const std::uint64_t> counts{};  ///< by event
    std::span<const std::uint64_t> ids{};     ///< by event; empty: not known
};

/// The counts of one member between two of its readings. A view of its Accumulator.
struct METAGROUP_API Difference {
    static constexpr std::uint64_t unknown = UINT64_MAX;  ///< this event was reset

    /// ns. Of the counts: an event that was not on the PMU adds nothing, and its next count is
    /// scaled to that time, too.
    std::uint64_t from = 0;
    std::uint64_t since = 0;  ///< of the times; not before `from`
    std::uint64_t to = 0;
    std::uint64_t enabled = 0;
    std::uint64_t running = 0;
    std::uint64_t offline = 0;  ///< of the time, the CPU was offline
    double missed = 0;  ///< multiply the counts by this to estimate what is to be added to them
    std::span<const std::uint64_t> counts{};    ///< by event; empty: it was not counted
    std::span<const std::uint64_t> readings{};  ///< by event; as they are at the end

    /// False if the event was not counted. Readings may go back.
    [[nodiscard]] bool has(std::size_t event, bool reading) const noexcept {
        return !counts.empty() && (reading || counts[event] != unknown);
    }
    /// The estimate for the whole time. No value if the event was not counted.
    [[nodiscard]] std::optional<double> estimate(std::size_t event) const noexcept {
        if (counts.empty() || counts[event] == unknown) return std::nullopt;
        return static_cast<double>(counts[event]) * (1 + missed);
    }
};

/// Subtracts the readings of each member from those before. Knows members that were not read, were
/// read late, were replaced, or whose counts were reset: nothing is added for the time to the first
/// reading after that, and what was counted before stays.
class METAGROUP_API Accumulator {
  public:
    /// Cgroups: the times of a member stand still while its cgroup does not run.
    explicit Accumulator(std::size_t members, bool of_cgroup = false);

    /// The difference to the last reading. No value if there was none of the same events, or this
    /// is not newer. Valid until the next call. Allocates only with more events than before.
    std::optional<Difference> add(std::size_t member, const Reading& reading);
    /// Of a sample of a stream. No value, too, if it has no counts.
    std::optional<Difference> add(const Sample& sample);
    /// Of a record of a sweep that began at `begin`.
    std::optional<Difference> add(std::size_t member, const MemberView& record,
                                  std::uint64_t begin);
    /// Adds the differences of all members to `counts`; of those that begin before `since`, in ns,
    /// only the part after it. `lanes` are those of the members; if empty, they have the same
    /// order.
    void add(Counts& counts, const SnapshotView& snapshot, std::uint64_t since = 0,
             std::span<const std::size_t> lanes = {});
    /// The next reading of each member is its first, as after LiveGroup::reopen().
    void restart(std::size_t members);

  private:
    struct Last {
        std::uint64_t time = 0;
        std::uint64_t enabled = 0;
        std::uint64_t running = 0;
        std::uint32_t generation = 0;
        bool valid = false;
        // Of the counts. Older than the above if the events have not been on the PMU since.
        std::uint64_t from = 0;
        std::uint64_t enabled_from = 0;
        std::vector<std::uint64_t> counts{};
        std::vector<std::uint64_t> ids{};
    };

    // The events are compared where they are: of a reading, a record or a sample.
    template <typename Events>
    static bool is_same(const Last& last, const Reading& times, const Events& events);
    template <typename Events>
    static void begin(Last& last, const Reading& times, const Events& events);
    template <typename Events>
    std::optional<Difference> subtract(std::size_t member, const Reading& times,
                                       const Events& events);
    template <typename Record>
    std::optional<Difference> add_record(std::size_t member, const Record& record, Reading times);

    bool of_cgroup_;
    std::vector<Last> last_;                  // by member
    std::vector<std::uint64_t> differences_;  // of the newest reading
};

/// Intervals of equal length, among which differences are divided in proportion to their time.
class METAGROUP_API Intervals {
  public:
    /// From `begin`, each `length` ns long. What is after `end` belongs to the last one.
    Intervals(std::shared_ptr<const CountLayout> layout, std::uint64_t begin, std::uint64_t length,
              std::uint64_t end = UINT64_MAX);

    /// The part of intervals that were taken is left out.
    void add(std::size_t lane, const Difference& difference);
    /// The first reading of a lane: it counts nothing before.
    void begin(std::size_t lane, std::uint64_t time) { seen_[lane] = time; }
    /// Nothing will be added to this lane any more.
    void finish(std::size_t lane) { seen_[lane] = UINT64_MAX; }
    /// The oldest interval, with its sums, if all lanes were seen until its end, or it ends before
    /// `forced`; nullptr if there is none. Valid until the next call.
    const Counts* take(std::uint64_t forced = 0);
    /// The last interval ends then.
    void end(std::uint64_t time) noexcept { end_ = std::max(time, begin_ + 1); }
    /// The end of the last one that was taken, in ns.
    [[nodiscard]] std::uint64_t taken_until() const noexcept {
        return std::min(begin_ + next_ * length_, end_);
    }

  private:
    using Open = std::map<std::uint64_t, Counts>;  // by number of the interval

    [[nodiscard]] std::uint64_t index_of(std::uint64_t time) const noexcept;
    Counts& at(std::uint64_t index);

    std::shared_ptr<const CountLayout> layout_;
    std::uint64_t begin_;
    std::uint64_t length_;
    std::uint64_t end_;
    std::uint64_t next_ = 0;  // number of the first that may be open
    Open open_;
    Open::node_type taken_;            // its memory is used again
    std::vector<std::uint64_t> seen_;  // by lane: ns
};

}  // namespace metagroup
