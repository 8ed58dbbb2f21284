// SPDX-License-Identifier: MIT
#include "measure/syscalls.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/event_spec.hpp>
#include <system_error>

namespace measure {

SyscallCounter::SyscallCounter() {
    perf_event_attr attr =
        metagroup::parse_events("raw_syscalls:sys_enter").front().events.front().attr;
    attr.disabled = 1;
    fd_ = static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "counting raw_syscalls:sys_enter");
}

SyscallCounter::~SyscallCounter() {
    ::close(fd_);
}

void SyscallCounter::start() {
    ::ioctl(fd_, PERF_EVENT_IOC_RESET, 0);
    ::ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0);
}

std::uint64_t SyscallCounter::stop() {
    std::uint64_t count = 0;
    ::ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
    if (::read(fd_, &count, sizeof(count)) != static_cast<ssize_t>(sizeof(count)))
        throw std::system_error(errno, std::generic_category(), "reading raw_syscalls:sys_enter");
    // The ioctl that stopped it was entered while it still counted.
    return count == 0 ? 0 : count - 1;
}

}  // namespace measure
