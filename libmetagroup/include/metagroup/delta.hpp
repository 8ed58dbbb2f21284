// SPDX-License-Identifier: MIT
/// \file
/// Delta: the counts between two snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>

namespace metagroup {

/// How the two records of a member match: only Match::ok can be subtracted.
enum class Match {
    ok,          ///< records of the same events on the same CPU
    added,       ///< the member is not in the older snapshot
    changed,     ///< its CPU, read format, number of events or identifiers differ
    no_payload,  ///< one of the records has no payload
};

/// The counts of one member between two snapshots. A view, valid as long as both snapshots.
class METAGROUP_API MemberDelta {
  public:
    /// The record in the newer snapshot.
    [[nodiscard]] MemberView newer() const noexcept { return newer_; }
    /// The following functions have no value unless this is Match::ok.
    [[nodiscard]] Match match() const noexcept { return match_; }
    /// True if the events of a set member were reopened in between: its CPU was offline for a time,
    /// which is excluded from counts and times. (Or PERF_METAGROUP_IOC_SET_EVENTS replaced them;
    /// this is Match::changed if the read format has identifiers.)
    [[nodiscard]] bool reopened() const noexcept {
        return match_ == Match::ok &&
               MemberView::generation_before(older_, newer_.record_.header) != newer_.generation();
    }
    /// Nanoseconds in between for which the member's CPU was offline or its events were not yet
    /// reopened, provided that the member was enabled throughout; 0 if the CPU was online. They are
    /// excluded from counts and times.
    [[nodiscard]] std::optional<std::uint64_t> offline_ns() const noexcept {
        if (match_ != Match::ok) return std::nullopt;
        if (!reopened() && newer_.status() != Status::offline) return 0;
        return disabled_ns();
    }
    /// Nanoseconds between the two readings of this member.
    [[nodiscard]] std::optional<std::uint64_t> elapsed_ns() const noexcept;
    /// Nanoseconds for which the member was enabled in between.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept {
        return time(&detail::PayloadLayout::time_enabled);
    }
    /// Nanoseconds for which the member was on the PMU in between.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept {
        return time(&detail::PayloadLayout::time_running);
    }
    /// The count of event `i` in between, modulo 2^64; no value if there is no such event or its
    /// count decreased (it was reset).
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept {
        if (match_ != Match::ok || i >= newer_.payload_->nr_) return std::nullopt;
        const auto& layout = newer_.payload_->layout();
        return difference_at(layout.value + i * layout.stride);
    }
    /// The scale_count() estimate from the differences of count and times, in the unit of the
    /// count.
    [[nodiscard]] std::optional<double> scaled(std::size_t i) const noexcept;

  private:
    friend class Delta;
    // Counters are 64 bits wide and may wrap: subtract modulo 2^64. A difference of more than half
    // the range is a count that was reset.
    static std::optional<std::uint64_t> difference(std::uint64_t older,
                                                   std::uint64_t newer) noexcept {
        const std::uint64_t modulo = newer - older;
        if (modulo > UINT64_MAX / 2) return std::nullopt;
        return modulo;
    }
    // The difference of a word at the same offset in both payloads.
    [[nodiscard]] std::optional<std::uint64_t> difference_at(std::size_t word) const noexcept {
        return difference(Payload::word(older_, word), newer_.payload_->word(word));
    }
    [[nodiscard]] std::optional<std::uint64_t> time(
        std::uint8_t detail::PayloadLayout::*place) const noexcept {
        if (match_ != Match::ok) return std::nullopt;
        const std::size_t word = newer_.payload_->layout().*place;
        if (word == 0) return std::nullopt;
        return difference_at(word);
    }
    // No value if the read format lacks the time.
    [[nodiscard]] std::optional<std::uint64_t> disabled_ns() const noexcept;
    // For the record at `offset` in the newer snapshot. The older one is usually at `older_offset`,
    // SIZE_MAX if unknown.
    MemberDelta(const SnapshotView& older, std::size_t older_offset, const SnapshotView& newer,
                std::size_t offset) noexcept;
    [[nodiscard]] Match compare(const perf_metagroup_record& older,
                                std::span<const std::byte> bytes) noexcept;

    MemberView newer_;
    const std::byte* older_ = nullptr;  // its payload, with the same layout if Match::ok
    std::uint64_t older_time_ = 0;
    Match match_ = Match::added;
};

/// The counts of all members of the newer snapshot since the older one. A view of both.
class METAGROUP_API Delta {
  public:
    /// Iterates over the members in the order of the newer snapshot.
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using iterator_concept = std::forward_iterator_tag;
        using value_type = MemberDelta;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = MemberDelta;
        Iterator() = default;
        MemberDelta operator*() const {
            const SnapshotView& older = *older_.snapshot_;
            return {older, older_.index_ < older.size() ? older_.offset_ : SIZE_MAX,
                    *newer_.snapshot_, newer_.offset_};
        }
        Iterator& operator++() {
            ++older_;
            ++newer_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
            return a.newer_ == b.newer_;
        }

      private:
        friend class Delta;
        Iterator(SnapshotView::Iterator older, SnapshotView::Iterator newer) noexcept
            : older_(older), newer_(newer) {}
        SnapshotView::Iterator older_;
        SnapshotView::Iterator newer_;
    };

    /// Both snapshots must be of the same meta-group, and their bytes must outlive this object.
    /// Taken by value, to reject a temporary Snapshot.
    Delta(SnapshotView older, SnapshotView newer) noexcept : older_(older), newer_(newer) {}

    /// Number of members: the records of the newer snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return newer_.size(); }
    /// The member of record `i` of the newer snapshot, located as by SnapshotView::operator[].
    /// \throws std::out_of_range if i >= size().
    [[nodiscard]] MemberDelta operator[](std::size_t i) const;
    [[nodiscard]] Iterator begin() const& noexcept { return {older_.begin(), newer_.begin()}; }
    [[nodiscard]] Iterator end() const& noexcept { return {older_.end(), newer_.end()}; }
    Iterator begin() const&& = delete;
    Iterator end() const&& = delete;
    /// Number of members that are in the older snapshot only.
    [[nodiscard]] std::size_t removed_count() const noexcept;
    /// Nanoseconds between the starts of the two sweeps; no value if the newer is older.
    [[nodiscard]] std::optional<std::uint64_t> elapsed_ns() const noexcept;

  private:
    SnapshotView older_;
    SnapshotView newer_;
};

}  // namespace metagroup
