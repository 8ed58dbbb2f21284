// SPDX-License-Identifier: MIT
// Event groups opened with the bare system call: the oracle of the tests.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "fd.hpp"

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

namespace metagroup::test {

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

// Payloads are made of words.
std::vector<std::uint64_t> words(const Bytes& bytes);

}  // namespace metagroup::test
