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

/// A meta-group and its last two snapshots. Taking a CPU offline dissolves its groups for good, so
/// reopen() opens all groups again once such a CPU is back. With sets (MetaGroup::origin()) the
/// module does, for that CPU alone, and counts and members stay. Move-only. One thread at a time
/// may use it. A loop that counts for long calls, each time, read(), delta() and reopen().
class METAGROUP_API LiveGroup {
  public:
    /// Opens the groups, enables them even if Options::start_disabled is set, and makes a sweep. A
    /// CPU that is offline is an error here, except of a set.
    /// \throws as MetaGroup::open() and MetaGroup::read().
    static LiveGroup open(MetaGroup::Options options);

    /// One sweep; does not allocate. \throws as MetaGroup::read(): newest() stays the same then,
    /// and the next delta() begins there.
    void read();
    /// The snapshot of the last sweep, by read(), open() or reopen(). The next one changes it.
    [[nodiscard]] const Snapshot& newest() const& noexcept { return newer_; }
    const Snapshot& newest() const&& = delete;
    /// The counts between the last two sweeps; 0 after open() and reopen(). Valid until the next
    /// sweep.
    [[nodiscard]] Delta delta() const& noexcept { return {older_, newer_}; }
    Delta delta() const&& = delete;

    /// The CPUs of the options that are not counted: those of newest() with Status::offline, which
    /// a Backend may show late, and those that were offline at the last reopen().
    [[nodiscard]] CpuList offline() const;

    /// If a CPU of offline() is online, opens all groups again, on those CPUs of the options that
    /// are online, and makes a sweep; of sets, finds out the reopen_error() that the module has.
    /// Events between the last sweep and this one are in no delta(). Allocates nothing if no CPU is
    /// offline. \return true if group() is another one, with other members, that counts from 0.
    bool reopen();
    /// The error of the last reopen() as a text, which names the remedy; empty if there was none.
    /// If the groups cannot be opened the old ones go on counting, and the next reopen() tries
    /// again.
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
    void find_problem(const CpuList& online);

    MetaGroup::Options options_;  // with all CPUs wanted
    MetaGroup group_;
    CpuList opened_;  // the CPUs of group_
    Snapshot older_;
    Snapshot newer_;
    std::string reopen_error_;
};

}  // namespace metagroup
