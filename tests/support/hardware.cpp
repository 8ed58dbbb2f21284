// SPDX-License-Identifier: MIT
#include "hardware.hpp"

#include "cpus.hpp"
#include "perf.hpp"

namespace metagroup::test {
namespace {

bool exists(std::uint64_t config) {
    return bool(Fd(open_event(hardware_event(config, 0), -1, online_cpus().front(), -1)));
}

}  // namespace

perf_event_attr hardware_event(std::uint64_t config, std::uint64_t read_format) {
    perf_event_attr attr = software_event(config, read_format);
    attr.type = PERF_TYPE_HARDWARE;
    return attr;
}

bool has_cycles() {
    return exists(PERF_COUNT_HW_CPU_CYCLES);
}

bool has_instructions() {
    return exists(PERF_COUNT_HW_INSTRUCTIONS);
}

}  // namespace metagroup::test
