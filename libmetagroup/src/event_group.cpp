// SPDX-License-Identifier: MIT
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <stdexcept>
#include <system_error>

#include "cpu_list_parser.hpp"
#include "error.hpp"
#include "file.hpp"
#include "formatted.hpp"
#include "open_error.hpp"

namespace metagroup {
namespace {

std::optional<int> paranoid_level() {
    // Only for an error's text: that this cannot be read is no second error.
    try {
        const auto text = detail::read_file("/proc/sys/kernel/perf_event_paranoid");
        int level = 0;
        if (text &&
            std::from_chars(text->data(), text->data() + text->size(), level).ec == std::errc{}) {
            return level;
        }
    } catch (const std::system_error&) {
        return std::nullopt;
    }
    return std::nullopt;
}

// The CPUs online, if `cpu` is not one of them.
std::optional<std::string> online_without(int cpu) {
    try {
        const CpuList online = CpuList::online();
        if (!online.contains(cpu)) return online.to_string();
    } catch (const std::system_error&) {
        return std::nullopt;
    }
    return std::nullopt;
}

// True if there was something to raise.
bool raise_fd_limit() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Where the events of a group are opened.
struct Place {
    int cpu;
    int cgroup;  // -1: all tasks
};

[[noreturn]] void fail(int error, const GroupSpec& spec, std::size_t index, Place place) {
    const perf_event_attr& attr = spec.events[index].attr;
    detail::OpenFailure failure;
    failure.error = error;
    failure.event = spec.events[index].name;
    failure.group = to_string(spec);
    failure.index = index;
    failure.cpu = place.cpu;
    failure.cgroup = place.cgroup >= 0;
    failure.filtered = attr.exclude_user != 0 || attr.exclude_kernel != 0 || attr.exclude_hv != 0 ||
                       attr.exclude_guest != 0 || attr.exclude_host != 0 || attr.precise_ip != 0 ||
                       attr.exclude_idle != 0;
    failure.paranoid = paranoid_level();
    failure.online = online_without(place.cpu);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        failure.fd_limit = limit.rlim_cur;
        failure.fd_max = limit.rlim_max;
    }
    throw Error(error, detail::explain(failure));
}

detail::UniqueFd open_event(const GroupSpec& spec, std::size_t index, Place place, int leader,
                            std::uint64_t read_format) {
    perf_event_attr attr = spec.events[index].attr;
    attr.read_format = read_format;
    // The leader alone switches its group on and off; it starts when all are there.
    attr.disabled = index == 0 ? 1 : 0;
    attr.inherit = 0;
    const unsigned long flags =
        PERF_FLAG_FD_CLOEXEC | (place.cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0UL);
    for (;;) {
        const long fd =
            ::syscall(SYS_perf_event_open, &attr, place.cgroup, place.cpu, leader, flags);
        if (fd >= 0) return detail::UniqueFd(static_cast<int>(fd));
        if (errno == EINTR) continue;
        const int error = errno;
        if (error != EMFILE || !raise_fd_limit()) fail(error, spec, index, place);
    }
}

}  // namespace

EventGroup EventGroup::open(const GroupSpec& spec, int cpu, std::uint64_t read_format, int cgroup) {
    if (spec.events.empty()) throw std::invalid_argument("a group needs at least one event");
    if ((read_format & ~ReadFormat::all) != 0) {
        throw std::invalid_argument(detail::formatted(
            "read format {:#x} has unknown bits: use those of ReadFormat", read_format));
    }
    // The kernel would read -1 as "any CPU", which is not what a meta-group is made of.
    if (cpu < 0) throw std::invalid_argument(detail::formatted("CPU number {} is negative", cpu));
    EventGroup group;
    group.cpu_ = cpu;
    group.size_ = spec.events.size();
    group.read_format_ = read_format;
    group.siblings_.reserve(spec.events.size() - 1);
    group.leader_ = open_event(spec, 0, {cpu, cgroup}, -1, read_format);
    for (std::size_t i = 1; i < spec.events.size(); ++i) {
        group.siblings_.push_back(
            open_event(spec, i, {cpu, cgroup}, group.leader_.get(), read_format));
    }
    return group;
}

std::size_t EventGroup::payload_size() const noexcept {
    return metagroup::payload_size(read_format_, size_);
}

std::size_t EventGroup::read(std::span<std::byte> buffer) {
    for (;;) {
        const ssize_t got = ::read(leader_.get(), buffer.data(), buffer.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) {
            detail::throw_errno(errno,
                                detail::formatted("cannot read the event group on CPU {}", cpu_));
        }
    }
}

void EventGroup::control(unsigned long request, const char* verb) {
    if (::ioctl(leader_.get(), request, PERF_IOC_FLAG_GROUP) != 0) {
        detail::throw_errno(errno,
                            detail::formatted("cannot {} the event group on CPU {}", verb, cpu_));
    }
}

void EventGroup::enable() {
    control(PERF_EVENT_IOC_ENABLE, "enable");
}
void EventGroup::disable() {
    control(PERF_EVENT_IOC_DISABLE, "disable");
}
void EventGroup::reset() {
    control(PERF_EVENT_IOC_RESET, "reset");
}

}  // namespace metagroup
