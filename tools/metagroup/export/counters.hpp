// SPDX-License-Identifier: MIT
// Counts of events since the start, in base units.
#pragma once

#include <map>
#include <metagroup/event_spec.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/totals.hpp"

namespace tool {

// A base unit of Prometheus, such as seconds, joules or bytes. No name: occurrences.
struct BaseUnit {
    std::string name;
    double factor = 1;
};

// For a unit as sysfs has it. An unknown one is its own base unit, in lower case.
BaseUnit base_unit(std::string_view unit);

// Counts never decrease: a CPU that goes offline keeps its counts, and adds to them when it is
// back. Events are known by their names, so that their groups and order change nothing; one that is
// in several groups is counted by the first.
class Counters {
  public:
    struct Event {
        std::string unit;  // a base unit; empty: occurrences
        double scale = 1;
        std::map<int, Count> counts{};  // by CPU
    };

    // \throws as LiveGroup::open(), and std::invalid_argument if different events have one name.
    explicit Counters(metagroup::MetaGroup::Options options);

    // One sweep. \throws as LiveGroup::read().
    void sweep();

    // By name. Events of several PMUs that were written as one are one.
    const std::map<std::string, Event>& events() const { return events_; }
    const metagroup::LiveGroup& live() const { return live_; }

  private:
    Event& add_event(const metagroup::EventSpec& spec);
    void find_members();

    metagroup::LiveGroup live_;
    std::map<std::string, Event> events_;
    // By group and its events; nullptr for those that an earlier group counts.
    std::vector<std::vector<Event*>> columns_;
    // By member of the snapshot and its events.
    std::vector<std::vector<Count*>> targets_;
};

}  // namespace tool
