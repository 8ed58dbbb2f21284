// SPDX-License-Identifier: MIT
#include "measure/syscalls.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <metagroup/event_spec.hpp>
#include <string>
#include <system_error>

namespace measure {
namespace {

metagroup::detail::UniqueFd count_for(perf_event_attr& attr, int thread) {
    const long fd = ::syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), "counting raw_syscalls:sys_enter");
    return metagroup::detail::UniqueFd(static_cast<int>(fd));
}

}  // namespace

SyscallCounter::SyscallCounter() {
    perf_event_attr attr =
        metagroup::parse_events("raw_syscalls:sys_enter").front().events.front().attr;
    attr.disabled = 1;
    const int self = ::gettid();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        const int thread = std::stoi(task.path().filename());
        if (thread != self) fds_.push_back(count_for(attr, thread));
    }
    fds_.push_back(count_for(attr, self));
}

// The calling thread's counter starts last and stops first, so that of all these calls it sees but
// the one that stops it.
void SyscallCounter::start() {
    for (const auto& fd : fds_)
        ::ioctl(fd.get(), PERF_EVENT_IOC_RESET, 0);
    for (const auto& fd : fds_)
        ::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

std::uint64_t SyscallCounter::stop() {
    std::uint64_t sum = 0;
    std::for_each(fds_.rbegin(), fds_.rend(),
                  [](const auto& fd) { ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0); });
    for (const auto& fd : fds_) {
        std::uint64_t count = 0;
        if (::read(fd.get(), &count, sizeof(count)) != static_cast<ssize_t>(sizeof(count)))
            throw std::system_error(errno, std::generic_category(),
                                    "reading raw_syscalls:sys_enter");
        sum += count;
    }
    return sum == 0 ? 0 : sum - 1;
}

}  // namespace measure
