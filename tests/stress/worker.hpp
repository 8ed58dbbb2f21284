// SPDX-License-Identifier: MIT
// One of the threads that do whatever comes.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/mapping.hpp"
#include "witness.hpp"
#include "world.hpp"

namespace stress {

struct Worker {
    explicit Worker(World& its_world) : world(its_world) {}

    World& world;
    Witness witness{world};
    std::vector<std::shared_ptr<Group>> groups;
    std::vector<Fd> orphans;  // siblings of leaders that are closed
    Bytes buffer = Bytes(std::size_t{4} * 1024 * 1024);

    // A mapping holds the file open: what it shows is no matter of the slot that is there now.
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

// What a worker can do. False: there was nothing to do it with, or the kernel has a reason to
// refuse. Throws if something is wrong.
struct Operation {
    const char* name;
    unsigned weight;
    bool (*run)(Worker&, Random&);
};

// members.cpp
bool renew_slot(Worker& worker, Random& random);
bool attach(Worker& worker, Random& random);
bool attach_in_vain(Worker& worker, Random& random);
bool detach(Worker& worker, Random& random);
bool detach_nobody(Worker& worker, Random& random);
bool open_sibling(Worker& worker, Random& random);
bool close_sibling(Worker& worker, Random& random);
bool regroup(Worker& worker, Random& random);
bool close_leader(Worker& worker, Random& random);
bool close_group(Worker& worker, Random& random);

// looks.cpp
bool read_all(Worker& worker, Random& random);
bool sweep_some(Worker& worker, Random& random);
bool copy_some(Worker& worker, Random& random);
bool read_mapped(Worker& worker, Random& random);
bool read_own(Worker& worker, Random& random);
bool get_member(Worker& worker, Random& random);
bool get_info(Worker& worker, Random& random);
bool show_fdinfo(Worker& worker, Random& random);

// switches.cpp
bool enable(Worker& worker, Random& random);
bool disable(Worker& worker, Random& random);
bool reset(Worker& worker, Random& random);
bool set_format(Worker& worker, Random& random);
bool set_mode(Worker& worker, Random& random);

// processes.cpp
bool fork_and_read(Worker& worker, Random& random);
bool fork_and_exec(Worker& worker, Random& random);

}  // namespace stress
