// SPDX-License-Identifier: MIT
// Event counts since the start, in base units.
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

// A Prometheus base unit, such as seconds, joules or bytes. Without a name: occurrences.
struct BaseUnit {
    std::string name;
    double factor = 1;
};

// The base unit for a unit in sysfs. An unknown unit is its own base unit, in lower case.
BaseUnit base_unit(std::string_view unit);

// The state of a counter for the time since the previous sweep.
enum class State { counted, waiting, never, offline, unread, lost };
constexpr auto kStates =
    std::to_array<std::string_view>({"counted", "waiting", "never", "offline", "unread", "lost"});

// The counters of an event on one or several CPUs.
struct Counter {
    Count count{};
    std::array<std::uint32_t, kStates.size()> states{};  // number of counters in each

    // ns for which the CPU was online and the count is known.
    std::uint64_t known_ns() const { return count.wall - count.offline; }
    void add(const Counter& other) {
        count.add(other.count);
        for (std::size_t i = 0; i < states.size(); ++i)
            states[i] += other.states[i];
    }
};

// Counts never decrease: a CPU that goes offline keeps its counts and adds to them when it is back.
// Events are identified by name, whatever their group and order; an event in several groups is
// counted by the first.
class Counters {
  public:
    struct Event {
        std::string unit;  // a base unit; empty for occurrences
        double factor = 1;
        bool reading = false;               // shows a state instead of counting
        std::map<int, Counter> counters{};  // by CPU, including those that have not counted yet

        // The counts of one or several CPUs.
        double value(const Count& count) const {
            return count.value() * factor / (reading && count.known() ? count.counted : 1);
        }
    };

    // \throws as LiveGroup::open(), and std::invalid_argument if different events have one name.
    explicit Counters(metagroup::MetaGroup::Options options);

    // One sweep. \throws as LiveGroup::read(): all counters are unread then.
    void sweep();

    // By name. An event written once for several PMUs is one event.
    const std::map<std::string, Event>& events() const { return events_; }
    // Number of records that could not be read so far. The next record includes their counts.
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
    std::vector<Event*> columns_;  // nullptr if an earlier group counts the event
    std::uint64_t unread_ = 0;
};

}  // namespace tool
