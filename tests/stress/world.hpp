// SPDX-License-Identifier: MIT
// State that all threads share: meta-groups, known members and failures.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "support/meta.hpp"
#include "support/random.hpp"
#include "support/stream.hpp"

namespace stress {

using namespace metagroup::test;

// An event group, open in one thread.
struct Group {
    EventGroup events;
    std::string kind;
    int cpu = 0;
    std::uint64_t id = 0;  // of the leader
    unsigned plugs = 0;    // World::plugs, when it was opened
    bool mixes = true;     // it may have software events
};

// The leader and the CPU of each event that was opened lately.
class EventTable {
  public:
    // False if the event was seen in another leader's group before.
    bool belongs(std::uint64_t event, std::uint64_t leader);

    void stays_on(std::uint64_t leader, int cpu);
    void may_move(std::uint64_t leader) { stays_on(leader, -1); }
    std::optional<int> home(std::uint64_t leader);

  private:
    struct Entry {
        std::uint64_t event = 0, leader = 0;
        int cpu = -1;
    };
    Entry& entry(std::uint64_t event);

    std::mutex mutex_;
    std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << 18);
};

class Stream;  // operations.hpp

// One meta-group. All its members have the same read_format.
class Slot {
  public:
    explicit Slot(std::uint64_t format) : read_format(format) {}

    const Meta meta;
    const std::uint64_t read_format;

    std::mutex streaming;  // for `stream`
    std::shared_ptr<Stream> stream;
    // It has had a stream, whose rings may be too small for more members and for groups that grow.
    std::atomic<bool> streamed{false};
    std::atomic<unsigned> modes_begun{0}, modes_ended{0};  // how many SET_MODEs

    void attached(unsigned number, const std::shared_ptr<Group>& group);
    // A member that the caller must detach; no other thread does.
    std::optional<unsigned> take(Random& random);
    std::size_t members() const;
    std::map<unsigned, std::weak_ptr<Group>> all() const;

    // False if the member was seen with another leader before.
    bool is(unsigned number, std::uint64_t leader);

  private:
    mutable std::mutex mutex_;
    std::map<unsigned, std::weak_ptr<Group>> members_;  // empty: the leader was closed
    std::vector<std::uint64_t> leaders_;                // by number
};

// All threads can be stopped between two steps.
class Gate {
  public:
    // Held for a step; waits while the gate is closed.
    std::shared_lock<std::shared_mutex> step() {
        const std::scoped_lock turn(turnstile_);
        return std::shared_lock(steps_);
    }

    // No step is done while this lives.
    class Closed {
      public:
        explicit Closed(Gate& gate) : turn_(gate.turnstile_), steps_(gate.steps_) {}

      private:
        std::scoped_lock<std::mutex> turn_;
        std::unique_lock<std::shared_mutex> steps_;
    };

  private:
    std::mutex turnstile_;  // or steps would starve Closed
    std::shared_mutex steps_;
};

class World {
  public:
    World(std::uint64_t seed, std::vector<int> cpus);

    const std::uint64_t seed;
    const std::vector<int> cpus;  // online at the start
    Gate gate;
    EventTable events;
    std::vector<Fd> cgroups;  // to open events of; none if the kernel cannot

    // A RESET makes counts go back: how many have begun, and ended.
    std::atomic<unsigned> resets_begun{0}, resets_ended{0};

    // Number of CPUs taken offline. Hotplug dissolves groups. Linux lets a sibling join the former
    // leader, but does not remove it when the leader is closed: its list is then in freed memory.
    // So groups get no siblings after hotplug, and none during it.
    //
    // A PMU is unregistered under this lock, or events would be half open then. perf revokes the
    // PMU's own events only. A software event that has shared a group with them keeps its pmu_ctx,
    // of which perf_pmu_unregister() frees what perf_event_open() of another sibling and
    // event_sched_out() then use (seen in Linux 7.3). So such groups are not made where PMUs go.
    std::shared_mutex plugging;
    unsigned plugs = 0;
    unsigned plugs_now() {
        const std::shared_lock lock(plugging);
        return plugs;
    }

    static constexpr unsigned kSlots = 4;
    static constexpr std::size_t kMaxMembers = 120;  // of a slot
    std::shared_ptr<Slot> slot(unsigned index);
    void renew(unsigned index);

    bool ended() const { return ended_; }
    void end() { ended_ = true; }
    void fail(const std::string& what);
    unsigned failures() const { return failures_; }

  private:
    std::mutex mutex_;
    std::array<std::shared_ptr<Slot>, kSlots> slots_;
    std::atomic<bool> ended_{false};
    std::atomic<unsigned> failures_{0};
};

}  // namespace stress
