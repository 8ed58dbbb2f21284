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
    /// The event as written, with its modifiers and those of its group that affect what is counted;
    /// or the value of its `name=` term. If one text names events of several PMUs, each gets the
    /// name of its own PMU: `uncore_imc_0/cas_count_read/`.
    std::string name{};
    /// The attributes for the kernel; `size` is set.
    perf_event_attr attr{};
    /// The CPUs on which this event can be counted, if its PMU restricts them (`cpumask` of an
    /// uncore PMU, `cpus` of a hybrid core PMU). No value: any CPU.
    std::optional<CpuList> cpus{};
    /// Multiply the count by this to get `unit`, from sysfs `events/NAME.scale`. 1 for most events.
    double scale = 1.0;
    /// The unit of the scaled count, from sysfs `events/NAME.unit`, for example `Joules`. Empty for
    /// occurrences.
    std::string unit{};
    /// The text that names events of several PMUs, `uncore_imc/cas_count_read/`: their counts can
    /// be added up. Empty for all other events.
    std::string merged{};
    /// Counts the same on every CPU, such as time: a meta-group counts it on its first CPU only.
    bool on_one_cpu = false;
    /// Shows a state, such as a temperature, instead of counting (`events/NAME.snapshot` in sysfs):
    /// only its newest value matters.
    bool reading = false;
    /// Counts the same on all CPUs of a package (`events/NAME.per-pkg`): a meta-group counts it on
    /// the first CPU of each.
    bool per_package = false;
};

/// One event group: the leader first, then its siblings.
struct GroupSpec {
    std::vector<EventSpec> events{};
    /// The modifiers of the group, as in `{a,b}:u`; already applied to the events. With `W`, the
    /// events may be counted separately if the group cannot be counted: see weak().
    std::string modifiers{};

    /// True if the modifiers include `W`.
    [[nodiscard]] bool weak() const noexcept { return modifiers.find('W') != modifiers.npos; }
};

/// The group as parse_events() reads it: `{a,b}`, or `a` for a group of one.
METAGROUP_API std::string to_string(const GroupSpec& group);

/// Parses a list of events and groups.
///
///     list      := item ( ',' item )*
///     item      := event | '{' event ( ',' event )* '}' [ ':' modifiers ]
///     event     := name [ ':' modifiers ]
///                | pmu '/' term ( ',' term )* '/' [ ':' ] [ modifiers ]
///     term      := event name of that PMU | field [ '=' number ] | 'r' hexadecimal number
///                | 'name=' text | term that concerns samples only, as `period=1000`: ignored
///
/// Text in single or double quotes may contain any character.
///
/// `a,b` are two groups of one event each, `{a,b}` is one group of two. A name is looked up in this
/// order:
///   - generic: `cycles`, `cache-misses`, `L1-dcache-loads`, `cpu-clock`, `page-faults`, `dummy`...
///   - raw: `r1234`, a hexadecimal number for the CPU's own PMU
///   - `duration_time`: nanoseconds
///   - an event of any PMU in sysfs: `tsc`
///   - an event of libpfm4: `RETIRED_INSTRUCTIONS`, `amd64_fam19h_zen4::LS_DISPATCH:LD_DISPATCH:u`
///   - a tracepoint: `sched:sched_switch`, looked up in tracefs
/// and `pmu/.../` is looked up in /sys/bus/event_source/devices: `msr/tsc/`,
/// `cpu/event=0x3c,umask=0x1/u`, `cpu/config=0x1/`.
///
/// `sched:*` stands for every tracepoint that matches, each an event. `uncore_imc/.../` stands for
/// that event of `uncore_imc_0`, `uncore_imc_1` and so on, and `uncore_imc_*/.../` for that of
/// every matching PMU that has it: see EventSpec::merged. A group of such events becomes one group
/// per PMU.
///
/// Modifiers (each at most once, except `p`): `u` user, `k` kernel, `h` hypervisor, `G` guest, `H`
/// host, `I` not while idle, `p` precise (up to `ppp`), `P` as precise as the CPU can, `D` pinned,
/// `e` exclusive, `S` (samples have all counts of the group, as always here), and after a group `W`
/// weak. `D` and `e` apply to leaders; after a group, the others apply to all of its events.
///
/// \throws Error naming text, column, word and remedy: Cause::syntax, unknown_event, unknown_pmu...
///         An unknown name is always an error, whose remedy lists similar events.
///         Cause::no_trace_permission if tracefs cannot be read.
METAGROUP_API std::vector<GroupSpec> parse_events(std::string_view text);

/// The event of an attr, under the first of its names on this machine, as parse_events() reads it,
/// with modifiers for what it excludes. Without a name it is `PMU/config=0x1/`.
METAGROUP_API EventSpec describe_event(const perf_event_attr& attr);

}  // namespace metagroup
