// SPDX-License-Identifier: MIT
/// \file
/// Accumulator: exact differences between successive readings.
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
    std::uint64_t enabled = 0;  ///< ns enabled since it was opened
    std::uint64_t running = 0;
    /// Status::idle if times that do not advance mean that nothing was counted. Samples have it:
    /// a CPU that takes one is online, so a cgroup did not run there.
    Status status = Status::ok;
    std::uint32_t generation = 0;
    std::span<const std::uint64_t> counts{};  ///< by event
    std::span<const std::uint64_t> ids{};     ///< by event; empty if unknown
};

/// The counts of one member between two of its readings. A view into its Accumulator.
struct METAGROUP_API Difference {
    static constexpr std::uint64_t unknown = UINT64_MAX;  ///< the event was reset

    /// Start of the counts, in ns. An event that was not on the PMU adds nothing; its next count is
    /// scaled to include that time.
    std::uint64_t from = 0;
    std::uint64_t since = 0;  ///< start of the times; not before `from`
    std::uint64_t to = 0;
    std::uint64_t enabled = 0;
    std::uint64_t running = 0;
    std::uint64_t offline = 0;  ///< ns of this for which the CPU was offline
    double missed = 0;          ///< `counts * missed` estimates the part that was not counted
    std::span<const std::uint64_t> counts{};    ///< by event; empty if not counted
    std::span<const std::uint64_t> readings{};  ///< by event; the values at `to`

    /// False if the event was not counted. Readings may decrease.
    [[nodiscard]] bool has(std::size_t event, bool reading) const noexcept {
        return !counts.empty() && (reading || counts[event] != unknown);
    }
    /// The estimate for the whole time. No value if the event was not counted.
    [[nodiscard]] std::optional<double> estimate(std::size_t event) const noexcept {
        if (counts.empty() || counts[event] == unknown) return std::nullopt;
        return static_cast<double>(counts[event]) * (1 + missed);
    }
};

/// Subtracts each reading of a member from the next. A member may be skipped or read late; if it
/// was replaced or its counts were reset, nothing is added up to its first reading after that, and
/// earlier counts are kept.
class METAGROUP_API Accumulator {
  public:
    /// `of_cgroup`: the times of a member do not advance while its cgroup is not running.
    explicit Accumulator(std::size_t members, bool of_cgroup = false);

    /// The difference from the last reading. No value if this is the first reading of these events,
    /// or is not newer. Valid until the next call. Allocates only if there are more events than
    /// before.
    std::optional<Difference> add(std::size_t member, const Reading& reading);
    /// The same for a sample of a stream. Also no value if the sample has no counts.
    std::optional<Difference> add(const Sample& sample);
    /// The same for a record of a sweep that began at `begin`.
    std::optional<Difference> add(std::size_t member, const MemberView& record,
                                  std::uint64_t begin);
    /// Adds the differences of all members to `counts`; if one begins before `since` (ns), only the
    /// part after `since`. `lanes` maps members to lanes; if empty, both have the same order.
    /// \throws std::invalid_argument if the snapshot has only some of the members.
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
        // Start of the counts. Older than the above if the events have not been on the PMU since.
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
    std::vector<std::uint64_t> differences_;  // buffer for one reading
};

/// Intervals of equal length. A difference that spans several is divided in proportion to time.
class METAGROUP_API Intervals {
  public:
    /// Intervals of `length` ns from `begin`. Counts after `end` belong to the last interval.
    Intervals(std::shared_ptr<const CountLayout> layout, std::uint64_t begin, std::uint64_t length,
              std::uint64_t end = UINT64_MAX);

    /// Ignores the part that lies in intervals already taken.
    void add(std::size_t lane, const Difference& difference);
    /// The first reading of a lane: there are no counts before `time`.
    void begin(std::size_t lane, std::uint64_t time) { seen_[lane] = time; }
    /// Nothing more will be added to this lane.
    void finish(std::size_t lane) { seen_[lane] = UINT64_MAX; }
    /// The oldest interval, with its sums, if every lane has reached its end, or if it ends by
    /// `forced`; otherwise nullptr. Valid until the next call.
    const Counts* take(std::uint64_t forced = 0);
    /// Ends the last interval at `time`.
    void end(std::uint64_t time) noexcept { end_ = std::max(time, begin_ + 1); }
    /// Counts are divided among the intervals of at most this time, in ns.
    [[nodiscard]] std::uint64_t longest_gap() const noexcept { return (most_ + 1) * length_; }
    /// The end of the last interval taken, in ns.
    [[nodiscard]] std::uint64_t taken_until() const noexcept {
        return std::min(begin_ + next_ * length_, end_);
    }

  private:
    using Open = std::map<std::uint64_t, Counts>;  // by number of the interval

    [[nodiscard]] std::uint64_t index_of(std::uint64_t time) const noexcept;
    Counts& at(std::uint64_t index);

    std::shared_ptr<const CountLayout> layout_;
    std::uint64_t most_;  // intervals among which the counts of a lane are divided
    std::uint64_t begin_;
    std::uint64_t length_;
    std::uint64_t end_;
    std::uint64_t next_ = 0;  // number of the first interval that may be open
    Open open_;
    Open::node_type taken_;            // its memory is reused
    std::vector<std::uint64_t> seen_;  // by lane: ns
};

}  // namespace metagroup
