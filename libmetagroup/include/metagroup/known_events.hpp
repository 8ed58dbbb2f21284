// SPDX-License-Identifier: MIT
/// \file
/// KnownEvent: the events of this machine by name, for lists and completion.
#pragma once

#include <metagroup/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// An event that parse_events() understands on this machine. That it can be counted is not said:
/// libpfm4 knows the CPU also where a virtual machine has no counters.
struct KnownEvent {
    /// As parse_events() reads it.
    std::string name;
    /// The PMU: `hardware`, `software`, `cache` or `tracepoint`, which every machine has; else as
    /// sysfs or libpfm4 names it.
    std::string pmu;
    /// What is counted, in one line. Of sysfs: what the name stands for, `event=0x3c`. Empty if
    /// nobody tells, as for tracepoints.
    std::string description;
    /// As EventSpec::unit: `Joules`. Empty: occurrences.
    std::string unit;
    /// Who knows it: `perf` (the names that perf gives to events of every machine), `sysfs`,
    /// `libpfm4` or `tracefs`.
    std::string source;
};

/// All events of this machine, sorted by source; those of a PMU stand together. Events of libpfm4
/// stand with each of their unit masks, and without if they need none; with `pmu::` in front where
/// several PMUs have the name. Left out are: combinations of unit masks; what libpfm4's PMU `perf`
/// has, since these are the names of `perf` in capitals; events of sysfs that leave a number open
/// (`core=?`); and whatever cannot be read: without tracefs there are no tracepoints.
METAGROUP_API std::vector<KnownEvent> known_events();

/// The names nearest to `word`, nearest first, three at most; none if all are far. Also names that
/// parse_events() takes only with a unit mask, and refuses with a list of these.
METAGROUP_API std::vector<std::string> near_events(std::string_view word);

}  // namespace metagroup
