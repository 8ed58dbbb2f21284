// SPDX-License-Identifier: MIT
/// \file
/// KnownEvent: the events of this machine by name, for lists and completion.
#pragma once

#include <metagroup/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// An event that parse_events() accepts on this machine. It may still be impossible to count:
/// libpfm4 knows the CPU even where a virtual machine has no counters.
struct KnownEvent {
    /// As parse_events() reads it.
    std::string name{};
    /// The PMU: `hardware`, `software`, `cache` or `tracepoint`, which every machine has; else as
    /// sysfs or libpfm4 names it.
    std::string pmu{};
    /// One line of text; for sysfs the terms that the name stands for, `event=0x3c`. Empty if
    /// unknown, as for tracepoints.
    std::string description{};
    /// As EventSpec::unit: `Joules`. Empty: occurrences.
    std::string unit{};
    /// The origin of the name: `perf` (for events of every machine), `sysfs`, `libpfm4` or
    /// `tracefs`.
    std::string source{};
};

/// All events of this machine, by source, then by PMU. Events of libpfm4 are listed with each of
/// their unit masks, and without if they need none; with `pmu::` in front if several PMUs have the
/// name. Not listed: combinations of unit masks; libpfm4's PMU `perf`, which has the names of
/// `perf` in capitals; events of sysfs that leave a number open (`core=?`); and sources that cannot
/// be read: without tracefs there are no tracepoints.
METAGROUP_API std::vector<KnownEvent> known_events();

/// The events with a name similar to `word`, most similar first, three at most. Includes names that
/// parse_events() refuses without a unit mask.
METAGROUP_API std::vector<std::string> similar_events(std::string_view word);

}  // namespace metagroup
