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
    /// The PMU: `hardware`, `software`, `cache` or `tracepoint`, which every machine has, or its
    /// name in sysfs or libpfm4.
    std::string pmu{};
    /// One line of text; for sysfs, the terms behind the name, `event=0x3c`. Empty if unknown, as
    /// for tracepoints.
    std::string description{};
    /// As EventSpec::unit: `Joules`. Empty for occurrences.
    std::string unit{};
    /// The source of the name: `perf` (events of every machine), `sysfs`, `libpfm4` or `tracefs`.
    std::string source{};
};

/// All events of this machine, by source, then by PMU. Events of libpfm4 are listed with each of
/// their unit masks, and without a mask if none is needed; with the prefix `pmu::` if several PMUs
/// have the name. Not listed: combinations of unit masks; libpfm4's PMU `perf`, which repeats the
/// names of `perf` in capitals; sysfs events with an open parameter (`core=?`); and events of
/// unreadable sources: without tracefs, no tracepoints.
METAGROUP_API std::vector<KnownEvent> known_events();

/// Up to three events with a name similar to `word`, most similar first. Includes names that
/// parse_events() rejects without a unit mask.
METAGROUP_API std::vector<std::string> similar_events(std::string_view word);

}  // namespace metagroup
