// SPDX-License-Identifier: MIT
// Skips a test where the machine does not let us count software events for whole CPUs.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <system_error>

namespace metagroup::test {

inline int first_cpu() {
    return CpuList::online().cpus().front();
}

inline void need_software_events() {
    try {
        EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    } catch (const std::system_error& error) {
        SKIP(error.what());
    }
}

}  // namespace metagroup::test
