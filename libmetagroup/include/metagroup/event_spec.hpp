// SPDX-License-Identifier: MIT
/// \file
/// EventSpec and GroupSpec: the events to open; parse_events(): their syntax.
#pragma once

#include <linux/perf_event.h>

#include <metagroup/cpu_list.hpp>
#include <metagroup/export.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// One event for perf_event_open(2). EventGroup fills in the fields that concern the group
/// (`read_format`, `disabled`).
struct EventSpec {
    /// The event as it was written, modifiers included.
    std::string name{};
    /// The event for the kernel; `size` is set.
    perf_event_attr attr{};
    /// The CPUs that this event can be counted on, if its PMU counts for others too (`cpumask` of
    /// an uncore PMU, `cpus` of a hybrid core PMU). Empty: on any CPU.
    std::optional<CpuList> cpus{};
    /// Multiply the count by this to get `unit`, from sysfs `events/NAME.scale`. 1 for most events.
    double scale = 1.0;
    /// The unit of the scaled count, from sysfs `events/NAME.unit`, for example `Joules`. Empty:
    /// occurrences.
    std::string unit{};
};

/// One event group: the leader first, then its siblings.
struct GroupSpec {
    std::vector<EventSpec> events{};
    /// The letters written behind the group, `{a,b}:u`; already applied to the events.
    std::string modifiers{};
};

/// The group as parse_events() reads it: `{a,b}`, or `a` for a group of one.
METAGROUP_API std::string to_string(const GroupSpec& group);

/// Reads a list of events and groups.
///
///     list      := item ( ',' item )*
///     item      := event | '{' event ( ',' event )* '}' [ ':' modifiers ]
///     event     := name [ ':' modifiers ]
///                | pmu '/' term ( ',' term )* '/' [ ':' ] [ modifiers ]
///     term      := event name of that PMU | field [ '=' number ]
///
/// `a,b` are two groups of one event each, `{a,b}` is one group of two. A name is, in this order,
///   - generic: `cycles`, `cache-misses`, `L1-dcache-loads`, `cpu-clock`, `page-faults`, `dummy`...
///   - raw: `r1234`, a hexadecimal number for the CPU's own PMU
///   - libpfm4's: `RETIRED_INSTRUCTIONS`, `amd64_fam19h_zen4::LS_DISPATCH:LD_DISPATCH:u`
///   - a tracepoint: `sched:sched_switch`, looked up in tracefs
/// and `pmu/.../` is looked up in /sys/bus/event_source/devices: `msr/tsc/`,
/// `cpu/event=0x3c,umask=0x1/u`, `cpu/config=0x1/`.
///
/// Modifiers (at most one of each but `p`): `u` user, `k` kernel, `h` hypervisor, `G` guest, `H`
/// host, `I` not while idle, `p` precise (up to `ppp`), `D` pinned, `e` exclusive. `D` and `e`
/// belong to leaders; behind a group the others go to all of its events.
///
/// \throws Error naming text, column, word and remedy: Cause::syntax, unknown_event, unknown_pmu...
///         An unknown name is always an error, which lists similar events.
///         Cause::no_trace_permission if tracefs cannot be read.
METAGROUP_API std::vector<GroupSpec> parse_events(std::string_view text);

/// The event of an attr, by the first of its names on this machine: as parse_events() reads it,
/// with modifiers for what it excludes. Without a name it is `PMU/config=0x1/`.
METAGROUP_API EventSpec describe_event(const perf_event_attr& attr);

}  // namespace metagroup
