// SPDX-License-Identifier: MIT
// The PMU of tests/testpmu: few counters, refusals, moves, all on demand.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

namespace metagroup::test {

// Nothing where that module is not loaded.
std::optional<perf_event_attr> testpmu_event(std::uint64_t read_format);

void testpmu_set_counters(unsigned counters);
void testpmu_set_read_error(int error);
void testpmu_move(int from, int to);
// Unregistering under live events is for kernels that revoke them: 6.15 and later.
void testpmu_set_registered(bool registered);

}  // namespace metagroup::test
