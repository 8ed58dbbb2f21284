// SPDX-License-Identifier: MIT
// All operations of threads, and the invariants of every read of the counters, and from one read of
// a thread to the next.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "world.hpp"

namespace stress {

// A broken invariant.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void demand(bool condition, const std::string& what);
bool succeed(long got, const char* what);  // true, unless a call has failed
// ENABLE, DISABLE or RESET. False if a member's PMU is gone.
bool control(const Meta& meta, unsigned long command, const char* what);

// A payload of a read_format with PERF_FORMAT_ID.
struct Counts {
    struct Event {
        std::uint64_t count, id;
    };
    std::uint64_t enabled = 0, running = 0;
    std::vector<Event> events;  // the leader first

    // Takes the first payload off `bytes`.
    Counts(std::uint64_t read_format, std::span<const unsigned char>& bytes);

    std::uint64_t leader() const { return events.front().id; }
};

class Checker {
  public:
    explicit Checker(World& world) : world_(world) {}

    // To be called before a read, which sees all resets that have ended by then.
    void begin() { resets_ = world_.resets_ended; }
    // Before a check of something that is older, but newer than this many resets.
    void begin(unsigned resets) { resets_ = resets; }
    // Before a copy of a mapping, which may be older than a reset.
    void begin_old() { resets_ = ~0U; }

    // The bytes of a read of the slot or of a copy of its mapping, in either format. `mapped`:
    // there may be records that the last sweep did not update.
    void check(Slot& slot, const Bytes& bytes, bool mapped = false);

    // A sample of a stream.
    void check_sample(std::uint64_t read_format, const RingRecord& sample);

    // A member's own read(2).
    void check_own(std::uint64_t read_format, const Bytes& bytes);

  private:
    // Where a count was read, for messages.
    struct Place {
        std::uint64_t time = 0;
        const char* how = "RAW";
        unsigned status = 0, cpu = 0;
        std::string text() const;
    };
    struct Seen {
        std::uint64_t count = 0, enabled = 0, running = 0;
        unsigned resets = 0;
        Place place{};
    };

    void check_raw(Slot& slot, const Bytes& bytes);
    void check_framed(Slot& slot, const Framed& framed, bool mapped);
    std::string describe(std::uint64_t leader) const;
    void compare(const Counts& counts, const Place& place);
    void remember(const Counts& counts, const Place& place);
    void check_family(const Counts& counts);

    World& world_;
    unsigned resets_ = 0;
    std::unordered_map<std::uint64_t, Seen> seen_;
};

// A running stream. Threads use it one by one.
class Stream {
  public:
    // Throws std::system_error if the kernel refuses.
    Stream(World& world, const Slot& slot, std::chrono::nanoseconds period, std::size_t ring_size,
           unsigned flags);

    // Checks all records that are in the rings: that the counts, the times and the deadlines of a
    // member continue those of its last record, and that no deadline is missing.
    void drain();
    void stop() { running_.stop(); }
    const RunningStream& running() const { return running_; }

  private:
    // How many resets had ended, and how often a CPU had gone offline.
    struct Moment {
        unsigned resets = 0, plugs = 0;
    };
    // The next one of a member, and how often a CPU had gone offline before it was known.
    struct Deadline {
        std::uint64_t next = 0;
        unsigned plugs = 0;
    };
    struct Ring {
        Checker checker;
        std::uint64_t time = 0;                         // of the last record
        std::map<std::uint64_t, Deadline> deadlines{};  // by leader
    };

    Moment now() const { return {world_.resets_ended, world_.plugs_now()}; }
    void check_deadline(Ring& ring, int cpu, const RingRecord& record, unsigned plugs);

    World& world_;
    const Slot& slot_;
    const unsigned modes_;
    Moment before_ = now();  // at the last drain: all records that are read next are newer
    RunningStream running_;
    const bool quiet_;  // or it may be: then CPUs in idle have no deadlines
    std::map<int, Ring> rings_;
};

// All members of all slots, stopped: every way to read them gives the bytes of read(2). Throws if
// not. Called while the gate is closed.
void check_stopped(World& world);

// A thread that does random operations.
struct Worker {
    explicit Worker(World& its_world) : world(its_world) {}

    World& world;
    Checker checker{world};
    std::vector<std::shared_ptr<Group>> groups;
    std::vector<Fd> orphans;  // siblings of leaders that are closed
    Bytes buffer = Bytes(std::size_t{4} * 1024 * 1024);

    // A mapping holds its file open, also after the slot was renewed.
    struct Mapped {
        std::shared_ptr<Slot> slot;
        Mapping memory;
    };
    std::array<std::optional<Mapped>, World::kSlots> mapped;

    std::shared_ptr<Slot> any_slot(Random& random) {
        return world.slot(random.below(World::kSlots));
    }
    std::shared_ptr<Group> any_group(Random& random) {
        return groups.empty() ? nullptr : random.pick(groups);
    }
    // One that may still get siblings.
    std::shared_ptr<Group> young_group(Random& random) {
        const std::size_t young = std::min<std::size_t>(groups.size(), 4);
        return young ? groups[groups.size() - 1 - random.below(young)] : nullptr;
    }
};

// An operation returns false if it had no object, or the kernel has a reason to refuse. It throws
// if something is wrong.
struct Operation {
    const char* name;
    unsigned weight;
    bool (*run)(Worker&, Random&);
};

std::span<const Operation> member_operations();
std::span<const Operation> read_operations();
std::span<const Operation> set_operations();
void end_names();                              // that a run has left: they hold the module
std::span<const Operation> fork_operations();  // disturbance.cpp

// Disturbances of the machine. Each call is one, which it undoes.

// A process that is moved between two cgroups. To be made before there are threads: it forks.
class MovedProcess {
  public:
    MovedProcess();
    ~MovedProcess();
    MovedProcess(const MovedProcess&) = delete;
    MovedProcess& operator=(const MovedProcess&) = delete;

    // Both, to open events of; none, and a message, if the kernel has no cgroup events.
    std::vector<Fd> cgroups() const;
    void move(Random& random) const;

  private:
    std::vector<std::string> paths_;
    pid_t process_ = -1;
};

// A CPU goes offline and online. False if there is none that can: Linux 6.12 keeps some if others
// are isolated.
bool replug_cpu(World& world, Random& random);

// One of: fewer counters, so that groups are multiplexed; events of the test PMU move to another
// CPU; their reads fail for a moment; the PMU is unregistered for a moment. False if a CPU for it
// is offline, or the kernel keeps PMUs that have events.
bool disturb_pmu(World& world, Random& random);

// Lets streams use more or less CPU time than usual.
bool throttle_streams(Random& random);

bool move_process(const MovedProcess& process, Random& random);

}  // namespace stress
