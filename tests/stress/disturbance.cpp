// SPDX-License-Identifier: MIT
#include "disturbance.hpp"

#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <stdexcept>

#include "support/cpus.hpp"
#include "support/testpmu.hpp"
#include "witness.hpp"

namespace stress {

bool replug_cpu(World& world, Random& random) {
    if (world.cpus.size() < 2) return false;
    const int cpu = world.cpus[1 + random.below(world.cpus.size() - 1)];
    const unsigned away = random.below(100'000), back = random.below(2'000'000);
    {
        const std::scoped_lock lock(world.plugging);
        if (!set_online(cpu, false)) return false;
        ++world.plugs;
    }
    ::usleep(away);
    demand(set_online(cpu, true), "a CPU does not come back");
    ::usleep(back);
    return true;
}

bool disturb_pmu(const World& world, Random& random) {
    const unsigned kind = random.below(4);
    const unsigned duration = 1000 + random.below(20'000);
    bool done = true;
    if (kind == 0) {
        testpmu_set_read_error(EIO);
        ::usleep(duration / 10);
        testpmu_set_read_error(0);
    } else if (kind == 1) {
        try {
            testpmu_move(random.pick(world.cpus), random.pick(world.cpus));
        } catch (const std::runtime_error&) {  // offline, or the same
            done = false;
        }
    } else {
        testpmu_set_counters(random.below(5));
    }
    ::usleep(duration);
    return done;
}

bool wander(const Wanderer& wanderer, Random& random) {
    wanderer.move(random);
    ::usleep(1000 + random.below(5000));
    return true;
}

}  // namespace stress
