// SPDX-License-Identifier: MIT
/// \file
/// Delta: what was counted between two snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/export.hpp>
#include <metagroup/snapshot_view.hpp>
#include <optional>

namespace metagroup {

/// Whether the two records of a member can be subtracted.
enum class Match {
    ok,       ///< yes
    joined,   ///< the member is not in the older snapshot
    changed,  ///< its CPU, read format, number of events or identifiers differ
    unread,   ///< one of the records has no payload
};

/// What one member counted between two snapshots. A view: valid while both snapshots are.
class METAGROUP_API MemberDelta {
  public:
    /// The record in the newer snapshot.
    [[nodiscard]] const MemberView& newer() const noexcept { return newer_; }
    /// Whether there are counts here; if not Match::ok, all of the following is nothing.
    [[nodiscard]] Match match() const noexcept { return match_; }
    /// Nanoseconds between the two readings of this member.
    [[nodiscard]] std::optional<std::uint64_t> elapsed_ns() const noexcept;
    /// Nanoseconds of them for which the member was enabled.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept;
    /// Nanoseconds of them for which the member was on the PMU.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept;
    /// What event `i` counted, modulo 2^64; nothing if there is no such event or its count went
    /// back (it was reset).
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept;
    /// The estimate of scale_count() with the times between the two readings.
    [[nodiscard]] std::optional<double> scaled(std::size_t i) const noexcept;

  private:
    friend class Delta;
    MemberDelta(const MemberView& newer, const std::optional<MemberView>& older) noexcept;

    MemberView newer_;
    std::optional<MemberView> older_;
    Match match_;
};

/// What all members of the newer of two snapshots counted since the older. A view of both.
class METAGROUP_API Delta {
  public:
    /// Both snapshots must be of the same meta-group, and their bytes outlive this.
    Delta(const SnapshotView& older, const SnapshotView& newer) noexcept
        : older_(older), newer_(newer) {}

    /// Number of members: the records of the newer snapshot.
    [[nodiscard]] std::size_t size() const noexcept { return newer_.size(); }
    /// The member of record `i` of the newer snapshot. \throws std::out_of_range if i >= size().
    [[nodiscard]] MemberDelta operator[](std::size_t i) const;
    /// Number of members that are in the older snapshot only.
    [[nodiscard]] std::size_t left() const noexcept;
    /// Nanoseconds between the starts of the two sweeps; nothing if the newer is older.
    [[nodiscard]] std::optional<std::uint64_t> elapsed_ns() const noexcept;

  private:
    SnapshotView older_;
    SnapshotView newer_;
};

}  // namespace metagroup
