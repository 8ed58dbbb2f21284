// SPDX-License-Identifier: MIT
/// \file
/// LiveGroup: a meta-group that follows CPU hotplug.
#pragma once

#include <metagroup/cpu_list.hpp>
#include <metagroup/delta.hpp>
#include <metagroup/export.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/snapshot.hpp>
#include <string>
#include <utility>

namespace metagroup {

/// A meta-group and its last two snapshots. Taking a CPU offline permanently dissolves its groups,
/// so reopen() opens all groups again once such a CPU is back. With sets (MetaGroup::origin()) the
/// module reopens the events of that CPU alone, and counts and members are kept. Move-only. One
/// thread at a time may use it. A long-running loop calls read(), delta() and reopen() each time.
class METAGROUP_API LiveGroup {
  public:
    /// Opens the groups, enables them even if Options::start_disabled is set, and sweeps once. A
    /// CPU that is offline is an error here, except with sets.
    /// \throws as MetaGroup::open() and MetaGroup::read().
    static LiveGroup open(MetaGroup::Options options);

    /// One sweep; does not allocate. \throws as MetaGroup::read(): newest() then stays the same,
    /// and the next delta() begins there.
    void read();
    /// The snapshot of the last sweep, made by read(), open() or reopen(). Valid until the next
    /// sweep.
    [[nodiscard]] const Snapshot& newest() const& noexcept { return newer_; }
    const Snapshot& newest() const&& = delete;
    /// The counts between the last two sweeps; 0 after open() and reopen(). Valid until the next
    /// sweep.
    [[nodiscard]] Delta delta() const& noexcept { return {older_, newer_}; }
    Delta delta() const&& = delete;

    /// The CPUs of the options that are not counted: those with Status::offline in newest(), which
    /// Backend::per_fd may report late, and those that were offline at the last reopen().
    [[nodiscard]] CpuList offline() const;

    /// If a CPU of offline() is online again, opens all groups again on the CPUs of the options
    /// that are online, and sweeps once; with sets, only finds out the reopen_error() that the
    /// module has. Events between the last sweep and this one are in no delta(). Does not allocate
    /// if no CPU is offline. \return true if group() was replaced: it has other members and counts
    /// from 0.
    bool reopen();
    /// The error of the last reopen() as text, including the remedy; empty if it succeeded. If the
    /// groups cannot be opened, the old ones keep counting and the next reopen() tries again.
    [[nodiscard]] const std::string& reopen_error() const& noexcept { return reopen_error_; }
    [[nodiscard]] std::string reopen_error() && { return std::move(reopen_error_); }

    /// The members, groups and backend.
    [[nodiscard]] const MetaGroup& group() const& noexcept { return group_; }
    /// For Stream::start(). Streams do not follow reopen().
    [[nodiscard]] MetaGroup& group() & noexcept { return group_; }
    const MetaGroup& group() const&& = delete;

  private:
    explicit LiveGroup(MetaGroup::Options options);
    void start();
    void find_reopen_error(const CpuList& online);

    MetaGroup::Options options_;  // with all requested CPUs
    MetaGroup group_;
    CpuList opened_;  // the CPUs of group_
    Snapshot older_;
    Snapshot newer_;
    std::string reopen_error_;
};

}  // namespace metagroup
