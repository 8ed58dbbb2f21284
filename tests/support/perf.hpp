// SPDX-License-Identifier: MIT
// Event groups opened with the bare system call: the oracle of the tests.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "testpmu.hpp"

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

namespace metagroup::test {

using Fd = ::metagroup::detail::UniqueFd;
using Bytes = std::vector<unsigned char>;

// The bits of read_format, all of them. A kernel refuses those it lacks.
inline constexpr std::uint64_t kReadFormats = 32;
inline constexpr std::uint64_t kTimes =
    PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

perf_event_attr software_event(std::uint64_t config, std::uint64_t read_format);

// errno in place of an exception: tests of refusals want it.
int open_event(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd);

// Leader first. Events count from the start unless opened disabled.
struct EventGroup {
    std::vector<Fd> fds;
    std::uint64_t read_format = 0;

    int leader() const { return fds.front().get(); }
    void add(const perf_event_attr& attr, int cpu);

    Bytes read() const;                         // read(2) of the leader
    void control(unsigned long request) const;  // with PERF_IOC_FLAG_GROUP
    std::uint64_t id(std::size_t index) const;  // PERF_EVENT_IOC_ID
};

// `events` software events that really count, on one CPU.
EventGroup open_group(int cpu, std::uint64_t read_format, int events, bool disabled = false);

// One such group on every CPU that is online.
std::vector<EventGroup> open_everywhere(std::uint64_t read_format, int events,
                                        bool disabled = false);

bool kernel_knows(std::uint64_t read_format);

// Events of the processor. Emulated ones may have none, or few.
perf_event_attr hardware_event(std::uint64_t config, std::uint64_t read_format);
bool has_cycles();
bool has_instructions();

// An event of a PMU in sysfs. Nothing where there is no such PMU.
std::optional<perf_event_attr> pmu_event(const std::string& pmu, std::uint64_t config,
                                         std::uint64_t read_format);

// The same of a tracepoint, such as sched/sched_switch.
std::optional<perf_event_attr> tracepoint_event(const std::string& name, std::uint64_t read_format);

// Payloads are made of words.
std::vector<std::uint64_t> words(const Bytes& bytes);
Bytes concatenated(std::initializer_list<Bytes> payloads);
Bytes concatenated(const std::vector<EventGroup>& groups);  // the read(2)s of the leaders

}  // namespace metagroup::test
