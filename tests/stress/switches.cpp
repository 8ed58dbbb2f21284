// SPDX-License-Identifier: MIT
// What switches a whole meta-group.
#include "worker.hpp"

namespace stress {
namespace {

bool succeed(long got, const char* what) {
    demand(got == 0, std::string(what) + ": " + std::to_string(got));
    return true;
}

}  // namespace

bool enable(Worker& worker, Random& random) {
    return succeed(worker.any_slot(random)->meta.control(PERF_METAGROUP_IOC_ENABLE), "ENABLE");
}

bool disable(Worker& worker, Random& random) {
    return succeed(worker.any_slot(random)->meta.control(PERF_METAGROUP_IOC_DISABLE), "DISABLE");
}

bool reset(Worker& worker, Random& random) {
    ++worker.world.resets_begun;
    const long got = worker.any_slot(random)->meta.control(PERF_METAGROUP_IOC_RESET);
    ++worker.world.resets_ended;
    return succeed(got, "RESET");
}

bool set_format(Worker& worker, Random& random) {
    return succeed(worker.any_slot(random)->meta.set_format(random.below(2)), "SET_FORMAT");
}

bool set_mode(Worker& worker, Random& random) {
    return succeed(worker.any_slot(random)->meta.set_mode(random.below(4)), "SET_MODE");
}

}  // namespace stress
