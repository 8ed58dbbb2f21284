// SPDX-License-Identifier: MIT
// A thread that does random operations, and all operations.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checker.hpp"
#include "world.hpp"

namespace stress {

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
// CPU; their reads fail for a moment. False if a CPU for it is offline.
bool disturb_pmu(const World& world, Random& random);

bool move_process(const MovedProcess& process, Random& random);

}  // namespace stress
