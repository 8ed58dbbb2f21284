// SPDX-License-Identifier: MIT
// Counts of events since the start, in base units.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <metagroup/event_spec.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/counts.hpp"

namespace tool {

// A base unit of Prometheus, such as seconds, joules or bytes. No name: occurrences.
struct BaseUnit {
    std::string name;
    double factor = 1;
};

// For a unit as sysfs has it. An unknown one is its own base unit, in lower case.
BaseUnit base_unit(std::string_view unit);

// A counter is in one of these states, by the time since the sweep before.
enum class State { counted, waiting, never, offline, unread, lost };
constexpr auto kStates =
    std::to_array<std::string_view>({"counted", "waiting", "never", "offline", "unread", "lost"});

// The counters of an event on one or several CPUs.
struct Counter {
    Count count{};
    std::array<std::uint32_t, kStates.size()> states{};  // how many are in each

    // ns for which the CPU was online and the count is known.
    std::uint64_t known_ns() const { return count.wall - count.offline; }
    void add(const Counter& other) {
        count.add(other.count);
        for (std::size_t i = 0; i < states.size(); ++i)
            states[i] += other.states[i];
    }
};

// Counts never decrease: a CPU that goes offline keeps its counts, and adds to them when it is
// back. Events are known by their names, so that their groups and order change nothing; one that is
// in several groups is counted by the first.
class Counters {
  public:
    struct Event {
        std::string unit;  // a base unit; empty: occurrences
        double factor = 1;
        bool reading = false;               // shows a state, and counts nothing
        std::map<int, Counter> counters{};  // by CPU, with those that have not counted yet

        // Of one or several CPUs.
        double value(const Count& count) const {
            return count.value() * factor / (reading && count.known() ? count.counted : 1);
        }
    };

    // \throws as LiveGroup::open(), and std::invalid_argument if different events have one name.
    explicit Counters(metagroup::MetaGroup::Options options);

    // One sweep. \throws as LiveGroup::read(): all counters are unread then.
    void sweep();

    // By name. Events of several PMUs that were written as one are one.
    const std::map<std::string, Event>& events() const { return events_; }
    // Records that could not be read so far. Their counts come with the next one.
    std::uint64_t unread() const { return unread_; }
    const metagroup::LiveGroup& live() const { return live_; }

  private:
    Event* add_event(const metagroup::EventSpec& spec);
    // `read` by lane.
    void take_counts(const Counts& before, const std::vector<bool>& read);

    metagroup::LiveGroup live_;
    Counts counts_;
    Accumulator accumulator_;
    std::vector<std::size_t> lanes_;  // by member of the snapshot
    std::map<std::string, Event> events_;
    std::vector<Event*> columns_;  // nullptr for those that an earlier group counts
    std::uint64_t unread_ = 0;
};

}  // namespace tool
