// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <string>

namespace tool {

// The counters of CPUs that may go offline and come back, for who watches for long. Going offline
// dissolves a CPU's groups for good, so those of one that is back are opened anew.
class LiveGroup {
  public:
    // \throws as MetaGroup::open().
    explicit LiveGroup(metagroup::MetaGroup::Options what);

    // One sweep.
    void read();
    // What was counted between the last two sweeps.
    metagroup::Delta delta() const { return {older_, newer_}; }
    const metagroup::Snapshot& newest() const { return newer_; }

    // Looks for CPUs that are back. \return whether group() is another one now: then its members
    // are others, and counting has begun anew.
    bool revive();
    // Why CPUs that are back are not counted; mostly empty.
    const std::string& problem() const { return problem_; }

    const metagroup::MetaGroup& group() const { return group_; }
    bool offline(int cpu) const { return offline_.contains(cpu); }

  private:
    void begin();
    void note_offline();
    bool stands_still(std::size_t member) const;

    metagroup::MetaGroup::Options what_;
    metagroup::CpuList wanted_;
    metagroup::CpuList offline_;
    metagroup::MetaGroup group_;
    metagroup::Snapshot older_;
    metagroup::Snapshot newer_;
    std::string problem_;
};

}  // namespace tool
