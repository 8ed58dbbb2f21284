// SPDX-License-Identifier: MIT
// Events of the processor. Emulated ones may have none, or few.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

namespace metagroup::test {

perf_event_attr hardware_event(std::uint64_t config, std::uint64_t read_format);

bool has_cycles();
bool has_instructions();

}  // namespace metagroup::test
