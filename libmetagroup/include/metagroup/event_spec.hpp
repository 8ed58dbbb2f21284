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
    /// The event as it was written, with its modifiers and those of its group that say what is
    /// counted; or only what it says behind `name=`. An event of several PMUs has the name of its
    /// own: `uncore_imc_0/cas_count_read/`.
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
    /// The text that stands for events of several PMUs, `uncore_imc/cas_count_read/`: their counts
    /// can be added up. Empty for all others.
    std::string merged{};
    /// Counts the same on every CPU, as the time: a meta-group counts it on its first CPU only.
    bool on_one_cpu = false;
    /// Shows a state instead of counting, as a temperature (`events/NAME.snapshot` in sysfs): its
    /// newest value is what it has to say.
    bool reading = false;
    /// Counts the same on all CPUs of a package (`events/NAME.per-pkg`): a meta-group counts it on
    /// the first CPU of each.
    bool per_package = false;
};

/// One event group: the leader first, then its siblings.
struct GroupSpec {
    std::vector<EventSpec> events{};
    /// The letters written behind the group, `{a,b}:u`; already applied to the events. With `W`,
    /// the events may be counted one by one if the group cannot be counted: see weak().
    std::string modifiers{};

    /// True if the modifiers have a `W`.
    [[nodiscard]] bool weak() const noexcept { return modifiers.find('W') != modifiers.npos; }
};

/// The group as parse_events() reads it: `{a,b}`, or `a` for a group of one.
METAGROUP_API std::string to_string(const GroupSpec& group);

/// Reads a list of events and groups.
///
///     list      := item ( ',' item )*
///     item      := event | '{' event ( ',' event )* '}' [ ':' modifiers ]
///     event     := name [ ':' modifiers ]
///                | pmu '/' term ( ',' term )* '/' [ ':' ] [ modifiers ]
///     term      := event name of that PMU | field [ '=' number ] | 'r' hexadecimal number
///                | 'name=' text | what concerns samples only, as `period=1000`, and is ignored
///
/// Text between quotes, ' or ", may have any character.
///
/// `a,b` are two groups of one event each, `{a,b}` is one group of two. A name is, in this order,
///   - generic: `cycles`, `cache-misses`, `L1-dcache-loads`, `cpu-clock`, `page-faults`, `dummy`...
///   - raw: `r1234`, a hexadecimal number for the CPU's own PMU
///   - `duration_time`: nanoseconds
///   - an event of any PMU in sysfs: `tsc`
///   - libpfm4's: `RETIRED_INSTRUCTIONS`, `amd64_fam19h_zen4::LS_DISPATCH:LD_DISPATCH:u`
///   - a tracepoint: `sched:sched_switch`, looked up in tracefs
/// and `pmu/.../` is looked up in /sys/bus/event_source/devices: `msr/tsc/`,
/// `cpu/event=0x3c,umask=0x1/u`, `cpu/config=0x1/`.
///
/// `sched:*` is every tracepoint that fits, each an event. `uncore_imc/.../` is that event of
/// `uncore_imc_0`, `uncore_imc_1` and so on, and `uncore_imc_*/.../` of every PMU that fits and has
/// it: see EventSpec::merged. A group of such events is one group for each PMU.
///
/// Modifiers (at most one of each but `p`): `u` user, `k` kernel, `h` hypervisor, `G` guest, `H`
/// host, `I` not while idle, `p` precise (up to `ppp`), `P` as precise as the CPU can, `D` pinned,
/// `e` exclusive, `S` (samples have all counts of the group, as always here), and behind groups `W`
/// weak. `D` and `e` belong to leaders; behind a group the others go to all of its events.
///
/// \throws Error naming text, column, word and remedy: Cause::syntax, unknown_event, unknown_pmu...
///         An unknown name is always an error, which lists similar events.
///         Cause::no_trace_permission if tracefs cannot be read.
METAGROUP_API std::vector<GroupSpec> parse_events(std::string_view text);

/// The event of an attr, by the first of its names on this machine: as parse_events() reads it,
/// with modifiers for what it excludes. Without a name it is `PMU/config=0x1/`.
METAGROUP_API EventSpec describe_event(const perf_event_attr& attr);

}  // namespace metagroup
