// SPDX-License-Identifier: MIT
// A sysfs and a tracefs that are the same on every machine.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "support/temp_tree.hpp"
#include "system.hpp"

namespace metagroup::test {

struct FakeSystem {
    explicit FakeSystem(
        std::initializer_list<std::pair<std::string_view, std::string_view>> more = {}) {
        tree.file("cpus/online", "0,2-3")
            .file("cpus/possible", "0-7")
            .file("pmus/msr/type", "9")
            .file("pmus/msr/format/event", "config:0-63")
            .file("pmus/msr/events/tsc", "event=0x00")
            .file("pmus/msr/events/aperf", "event=0x01")
            .file("pmus/uncore/type", "17")
            .file("pmus/uncore/cpumask", "0,2")
            .file("pmus/uncore/format/event", "config:0-7,32-35")
            .file("pmus/uncore/format/umask", "config1:8-15")
            .file("pmus/uncore/events/energy", "event=0x02")
            .file("pmus/uncore/events/energy.scale", "2.5e-10")
            .file("pmus/uncore/events/energy.unit", "Joules")
            .file("pmus/uncore/events/slot", "event=0x10,umask=?")
            .file("tracing/events/sched/enable", "0")
            .file("tracing/events/sched/sched_switch/id", "314");
        for (const auto& [path, text] : more)
            tree.file(path, text);
        paths.cpus = tree.path("cpus");
        paths.pmus = tree.path("pmus");
        paths.tracefs = {tree.path("absent"), tree.path("tracing")};
    }
    TempTree tree;
    detail::SystemPaths paths;
};

}  // namespace metagroup::test
