// SPDX-License-Identifier: MIT
// The meta-group that most of these tests open.
#pragma once

#include <metagroup/event_spec.hpp>
#include <metagroup/metagroup.hpp>

namespace metagroup::test {

inline constexpr const char* kEvents = "{cpu-clock,task-clock,context-switches,page-faults}";

inline MetaGroup::Options options(Backend backend, const char* events = kEvents) {
    MetaGroup::Options all;
    all.groups = parse_events(events);
    all.backend = backend;
    return all;
}

}  // namespace metagroup::test
