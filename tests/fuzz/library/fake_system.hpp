// SPDX-License-Identifier: MIT
// A sysfs and a tracefs that are the same on every machine.
#pragma once

#include "file.hpp"
#include "support/temp_tree.hpp"

namespace metagroup::fuzz {

struct FakeSystem {
    FakeSystem() {
        tree.file("cpus/online", "0,2-3")
            .file("cpus/possible", "0-7")
            .file("pmus/msr/type", "9")
            .file("pmus/msr/format/event", "config:0-63")
            .file("pmus/msr/events/tsc", "event=0x00")
            .file("pmus/uncore/type", "17")
            .file("pmus/uncore/cpumask", "0,2")
            .file("pmus/uncore/format/event", "config:0-7,32-35")
            .file("pmus/uncore/format/umask", "config1:8-15")
            .file("pmus/uncore/events/energy", "event=0x02")
            .file("pmus/uncore/events/energy.scale", "2.5e-10")
            .file("pmus/uncore/events/energy.unit", "Joules")
            .file("pmus/uncore/events/slot", "event=0x10,umask=?")
            .file("tracing/events/sched/sched_switch/id", "314");
        paths.cpus = tree.path("cpus");
        paths.pmus = tree.path("pmus");
        paths.tracefs = {tree.path("tracing")};
    }
    test::TempTree tree;
    detail::SystemPaths paths;
};

}  // namespace metagroup::fuzz
