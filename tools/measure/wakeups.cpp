// SPDX-License-Identifier: MIT
#include "measure/wakeups.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/event_spec.hpp>
#include <system_error>

namespace measure {
namespace {

[[noreturn]] void fail() {
    throw std::system_error(errno, std::generic_category(), "counting power:cpu_idle");
}

}  // namespace

WakeupCounter::WakeupCounter(std::span<const int> cpus) {
    perf_event_attr attr = metagroup::parse_events("power:cpu_idle").front().events.front().attr;
    attr.disabled = 1;
    for (const int cpu : cpus) {
        fds_.emplace_back(static_cast<int>(
            ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        // The tracepoint fires on the way in, with a state, and on the way out, with -1.
        const int fd = fds_.back().get();
        if (fd < 0 || ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "state == 4294967295") != 0 ||
            ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            fail();
    }
}

std::uint64_t WakeupCounter::read() const {
    std::uint64_t sum = 0;
    for (const auto& fd : fds_) {
        std::uint64_t count = 0;
        if (::read(fd.get(), &count, sizeof(count)) != static_cast<ssize_t>(sizeof(count))) fail();
        sum += count;
    }
    return sum;
}

}  // namespace measure
