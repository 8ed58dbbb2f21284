// SPDX-License-Identifier: MIT
// For most tests: Catch2, system calls, event groups and guests' CPUs.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/background.hpp"
#include "support/cpus.hpp"
#include "support/faults.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"
#include "support/process.hpp"
#include "support/settings.hpp"
#include "support/stream.hpp"

namespace metagroup::test {

// Read formats of groups.
constexpr std::uint64_t kIds = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
constexpr std::uint64_t kTimed = PERF_FORMAT_GROUP | kTimes;
constexpr std::uint64_t kFull = PERF_FORMAT_GROUP | PERF_FORMAT_ID | kTimes;

constexpr unsigned kFormats[] = {PERF_METAGROUP_FORMAT_RAW, PERF_METAGROUP_FORMAT_FRAMED};

// Fixtures of tests of a layer that the module may be built without.
template <std::uint64_t Feature>
struct Needs {
    Needs() {
        if ((Meta().info().features & Feature) == 0) SKIP("the module is built without it");
    }
};
using NeedsQuiet = Needs<PERF_METAGROUP_FEATURE_QUIET>;
using NeedsStreams = Needs<PERF_METAGROUP_FEATURE_STREAM>;
using NeedsSets = Needs<PERF_METAGROUP_FEATURE_SET>;
struct NeedsSetsAndStreams : NeedsSets, NeedsStreams {};
struct NeedsSetsAndQuiet : NeedsSets, NeedsQuiet {};
struct NeedsStreamsAndQuiet : NeedsStreams, NeedsQuiet {};

template <typename T>
__u64 address(T* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

// Events of a set, whose read_format is its own.
inline perf_event_attr clock_event() {
    return software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
}
inline perf_event_attr faults() {
    return software_event(PERF_COUNT_SW_PAGE_FAULTS, 0);
}

inline perf_event_attr or_skip(const std::optional<perf_event_attr>& attr) {
    if (!attr) SKIP("the module metagroup_testpmu is not loaded");
    return *attr;
}

inline perf_event_attr testpmu_or_skip(std::uint64_t read_format) {
    return or_skip(testpmu_event(read_format));
}

inline void need_hardware() {
    if (!has_cycles()) SKIP("this machine has no hardware counters");
}

// Since Linux 6.15 a PMU can be unregistered while it has events.
inline void need_revoked_events() {
    if (!kernel_revokes_events()) SKIP("this kernel keeps a PMU until its events are closed");
}

// Counts stand still while the CPU is idle.
inline perf_event_attr core_or_skip(std::uint64_t read_format) {
    return or_skip(testpmu_core_event(read_format));
}

inline EventGroup group_of(int cpu, const std::vector<perf_event_attr>& attrs) {
    EventGroup group;
    for (const perf_event_attr& attr : attrs)
        group.add(attr, cpu);
    return group;
}

inline std::vector<EventGroup> group_everywhere(const std::vector<perf_event_attr>& attrs) {
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.push_back(group_of(cpu, attrs));
    return groups;
}

// Groups of one event, on each CPU in turn.
inline std::vector<EventGroup> open_in_turn(std::size_t number, std::uint64_t read_format,
                                            bool disabled = true) {
    const auto cpus = online_cpus();
    std::vector<EventGroup> groups;
    for (std::size_t i = 0; i < number; ++i)
        groups.push_back(open_group(cpus[i % cpus.size()], read_format, 1, disabled));
    return groups;
}

inline std::vector<int> leaders_of(const std::vector<EventGroup>& groups) {
    std::vector<int> leaders;
    for (const EventGroup& group : groups)
        leaders.push_back(group.leader());
    return leaders;
}

inline EventGroup open_core(int cpu, std::uint64_t read_format, int events, bool disabled = false) {
    std::vector<perf_event_attr> attrs(static_cast<std::size_t>(events), core_or_skip(read_format));
    attrs.front().disabled = disabled;
    return group_of(cpu, attrs);
}

inline std::vector<EventGroup> open_core_everywhere(std::uint64_t read_format, int events) {
    return group_everywhere({static_cast<std::size_t>(events), core_or_skip(read_format)});
}

// Context switches and page faults: every CPU can read them.
inline EventGroup open_software(int cpu, std::uint64_t read_format, bool disabled = false) {
    perf_event_attr leader = software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, read_format);
    leader.disabled = disabled;
    return group_of(cpu, {leader, software_event(PERF_COUNT_SW_PAGE_FAULTS, read_format)});
}

// The same is true of these. Since Linux 6.2 a tracepoint does not count as the sibling of an event
// of another PMU.
inline EventGroup open_tracepoints(int cpu, std::uint64_t read_format) {
    EventGroup group;
    for (const char* name : {"sched/sched_switch", "sched/sched_waking"})
        group.add(tracepoint_event(name, read_format).value(), cpu);
    return group;
}

// The errno of a call that failed, or 0.
inline int error_of(long result) {
    return result < 0 ? errno : 0;
}

// Groups, or one, and a meta-group of which they are members.
template <typename Groups>
struct Attached {
    Groups groups;
    Meta meta{groups};
};
template <typename Groups>
Attached<Groups> attached(Groups groups) {
    return {std::move(groups)};
}

// Run the counters for a moment, then stop them.
inline void count_and_stop(const Meta& meta) {
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(2);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
}

// Word by word, which is true of counts, times, ids and numbers of events.
inline void require_between(const Bytes& before, const Bytes& now, const Bytes& after) {
    const auto low = words(before), mine = words(now), high = words(after);
    REQUIRE(mine.size() == low.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
        CAPTURE(i);
        REQUIRE(low[i] <= mine[i]);
        REQUIRE(mine[i] <= high[i]);
    }
}

// A RAW read is between two read(2)s of each leader.
inline void require_between_own_reads(const Meta& meta, const std::vector<EventGroup>& groups) {
    const Bytes before = concatenated(groups);
    const Bytes ours = meta.read();
    require_between(before, ours, concatenated(groups));
}

// The test runs on the first CPU while this lives.
struct OnFirstCpu {
    OnFirstCpu() { run_on(online_cpus().front()); }
    ~OnFirstCpu() { run_anywhere(); }
    OnFirstCpu(const OnFirstCpu&) = delete;
    OnFirstCpu& operator=(const OnFirstCpu&) = delete;
};

// Function calls that a CPU receives for sweeps. Others interrupt it as well, but seldom, and calls
// that are queued together are one interrupt.
constexpr unsigned kSweeps = 1000;

template <std::invocable Sweep>
std::uint64_t interrupts_of_sweeps(int cpu, const Sweep& sweep) {
    const auto before = function_calls(cpu);
    for (unsigned i = 0; i < kSweeps; ++i)
        REQUIRE(sweep() == 0);
    return function_calls(cpu) - before;
}

inline std::uint64_t interrupts_of_sweeps(const Meta& meta, int cpu) {
    return interrupts_of_sweeps(cpu, [&] { return meta.sweep(); });
}

inline void require_not_interrupted(const Meta& meta, int cpu) {
    REQUIRE(interrupts_of_sweeps(meta, cpu) < kSweeps / 10);
}

inline void require_interrupted(const Meta& meta, int cpu) {
    REQUIRE(interrupts_of_sweeps(meta, cpu) >= kSweeps / 2);
}

// A quiet meta-group in format FRAMED. The test runs on the first CPU, and the last one is idle.
struct IdleCpu {
    OnFirstCpu here;
    int cpu = online_cpus().back();
    Meta meta;
    IdleCpu() {
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }

    Framed framed() const { return take_apart(meta.read()); }
    unsigned status(std::size_t member) const { return framed().frames.at(member).record.status; }

    // Sweeps until the member has this status: it takes time until a CPU is idle.
    Framed sweep_until(std::size_t member, unsigned status) const {
        for (int round = 0; round < 2000; ++round) {
            Framed now = framed();
            if (now.frames.at(member).record.status == status) return now;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        FAIL("the member does not get status " << status);
        return {};
    }
    Framed until_idle() const { return sweep_until(0, PERF_METAGROUP_IDLE); }

    // Counts stand still, but kernel threads wake now and then.
    void require_payload_of(std::size_t member, const EventGroup& group) const {
        for (int round = 0;; ++round) {
            const Bytes before = group.read();
            const Bytes ours = sweep_until(member, PERF_METAGROUP_IDLE).frames[member].payload;
            if (before != group.read() && round < 50) continue;
            REQUIRE(ours == before);
            return;
        }
    }
};

// With a member whose counts stand still while that CPU is idle.
struct IdleGroup : IdleCpu {
    EventGroup group;
    explicit IdleGroup(int events = 1, std::uint64_t read_format = PERF_FORMAT_GROUP)
        : group(open_core(cpu, read_format, events)) {
        REQUIRE(meta.attach(group) == 0);
    }
};

}  // namespace metagroup::test
