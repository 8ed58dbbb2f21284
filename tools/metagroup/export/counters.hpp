// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <metagroup/metagroup.hpp>
#include <string>
#include <utility>
#include <vector>

#include "live_group.hpp"

namespace tool {

// What was counted since the beginning. Never goes back: a CPU that is offline keeps its counts,
// and goes on from there when it is back.
class Counters {
  public:
    // A group on a CPU.
    struct Member {
        int cpu = -1;
        std::size_t group = 0;
        double enabled = 0;          // seconds
        double running = 0;          // seconds
        std::vector<double> values;  // by event, in its unit, estimated for the time enabled
    };

    struct Event {
        std::string name;
        std::string unit;  // seconds of clocks; empty: occurrences
        double scale = 1;
    };

    // \throws as MetaGroup::open().
    explicit Counters(metagroup::MetaGroup::Options what);

    // One sweep. \throws as MetaGroup::read().
    void sweep();

    const std::vector<Member>& members() const { return members_; }
    // By group.
    const std::vector<std::vector<Event>>& groups() const { return groups_; }
    const metagroup::CpuList& cpus() const { return cpus_; }
    const LiveGroup& live() const { return live_; }

  private:
    void find_members();

    metagroup::CpuList cpus_;
    LiveGroup live_;
    std::vector<std::vector<Event>> groups_;
    std::vector<Member> members_;
    std::map<std::pair<int, std::size_t>, std::size_t> places_;  // of CPU and group, in members_
    std::vector<std::size_t> targets_;  // in members_, by member of the snapshot
};

}  // namespace tool
