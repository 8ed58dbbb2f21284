// SPDX-License-Identifier: MIT
#include "fake_percpu.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <vector>

#include "fake_module.hpp"
#include "helpers.hpp"

// The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
int __real_ioctl(int fd, unsigned long request, ...);
ssize_t __real_read(int fd, void* buffer, std::size_t size);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

// No system call that the library makes in this way has more arguments.
long __wrap_syscall(long number, ...) {
    std::array<long, 6> arguments{};
    va_list list;
    va_start(list, number);
    for (long& argument : arguments)
        argument = va_arg(list, long);
    va_end(list);
    using metagroup::test::FakePercpu;
    if (number == SYS_perf_event_open && FakePercpu::installed() != nullptr) {
        const auto* attr = reinterpret_cast<const perf_event_attr*>(arguments[0]);
        if ((attr->read_format & FakePercpu::format_percpu) != 0 &&
            static_cast<int>(arguments[1]) == -1 && static_cast<int>(arguments[2]) == -1)
            return FakePercpu::installed()->open(*attr, static_cast<int>(arguments[3]));
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace metagroup::test {
namespace {

FakePercpu* installed_fake = nullptr;

long open_on(perf_event_attr attr, int cpu, int leader) {
    attr.read_format &= ~FakePercpu::format_percpu;
    return __real_syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

}  // namespace

FakePercpu::FakePercpu() {
    installed_fake = this;
}
FakePercpu::~FakePercpu() {
    installed_fake = nullptr;
}
FakePercpu* FakePercpu::installed() noexcept {
    return installed_fake;
}

// The library closes descriptors without the fake, so their numbers may be those of other files.
bool FakePercpu::owns(int fd) const {
    struct stat file {};
    const auto found = events_.find(fd);
    return found != events_.end() && fstat(fd, &file) == 0 && file.st_dev == found->second.device;
}

long FakePercpu::open(const perf_event_attr& attr, int leader) {
    if (open_errno != 0 && after_opens-- <= 0) return fail(open_errno);
    Event event;
    int first = -1;
    for (const int cpu : CpuList::online()) {
        int of_cpu = leader;
        if (leader >= 0 && first >= 0) of_cpu = events_.at(leader).others.at(cpu).get();
        const auto fd = static_cast<int>(open_on(attr, cpu, of_cpu));
        if (fd < 0) {
            const int error = errno;
            if (first >= 0) ::close(first);
            return fail(error);
        }
        if (first < 0) {
            first = fd;
            event.first_cpu = cpu;
        } else {
            event.others.emplace(cpu, fd);
        }
    }
    struct stat file {};
    fstat(first, &file);
    event.device = file.st_dev;
    events_[first] = std::move(event);
    return first;
}

ssize_t FakePercpu::read(int fd, std::byte* buffer, std::size_t size) {
    ++reads;
    const Event& event = events_.at(fd);
    std::vector<std::pair<int, int>> cpus{{event.first_cpu, fd}};
    for (const auto& [cpu, other] : event.others)
        cpus.emplace_back(cpu, other.get());
    if (reversed) std::ranges::reverse(cpus);
    std::uint64_t of_record = 0;
    std::vector<std::byte> all(16);
    for (const auto& [cpu, descriptor] : cpus) {
        std::array<std::uint64_t, 64> payload{};
        const ssize_t got = __real_read(descriptor, payload.data(), sizeof(payload));
        if (got < 0) return -1;
        payload[0] += counts;
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::uint64_t time = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                   static_cast<std::uint64_t>(now.tv_nsec);
        const std::array<std::int32_t, 2> head{cpu, errors.contains(cpu) ? errors.at(cpu) : 0};
        of_record = (16 + static_cast<std::size_t>(got) + padding + 63) / 64 * 64;
        const std::size_t at = all.size();
        all.resize(at + of_record);
        std::memcpy(&all[at], head.data(), 8);
        std::memcpy(&all[at + 8], &time, 8);
        std::memcpy(&all[at + 16], payload.data(), static_cast<std::size_t>(got));
    }
    if (all.size() > size) return fail(ENOSPC);
    const std::array<std::uint64_t, 2> header{cpus.size() + more_nr, of_record + more_size};
    std::memcpy(all.data(), header.data(), sizeof(header));
    std::memcpy(buffer, all.data(), all.size());
    return static_cast<ssize_t>(all.size());
}

int FakePercpu::control(int fd, unsigned long request, void* argument) {
    for (const auto& [cpu, other] : events_.at(fd).others)
        if (__real_ioctl(other.get(), request, argument) != 0) return -1;
    return __real_ioctl(fd, request, argument);
}

}  // namespace metagroup::test
