// SPDX-License-Identifier: MIT
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <charconv>
#include <metagroup/event_group.hpp>
#include <utility>

#include "format.hpp"
#include "opening.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

using detail::Call;
using detail::if_readable;

std::optional<int> paranoid_level() {
    const auto text =
        if_readable([] { return detail::read_file("/proc/sys/kernel/perf_event_paranoid"); });
    int level = 0;
    if (!text || !*text) return std::nullopt;
    const char* const first = (*text)->data();
    if (std::from_chars(first, first + (*text)->size(), level).ec != std::errc{})
        return std::nullopt;
    return level;
}

// True if the limit could be raised.
bool raise_fd_limit() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

namespace detail {

void fail_to_open(int error, const GroupSpec& spec, std::size_t index, EventPlace place) {
    const EventSpec& event = spec.events[index];
    const perf_event_attr& attr = event.attr;
    Circumstances circumstances;
    circumstances.cpu = place.cpu;
    circumstances.group = to_string(spec);
    circumstances.index = index;
    circumstances.cgroup = place.cgroup >= 0;
    circumstances.filtered = attr.exclude_user != 0 || attr.exclude_kernel != 0 ||
                             attr.exclude_hv != 0 || attr.exclude_guest != 0 ||
                             attr.exclude_host != 0 || attr.precise_ip != 0 ||
                             attr.exclude_idle != 0;
    circumstances.paranoid = paranoid_level();
    circumstances.seccomp = if_readable([] { return has_seccomp_filter(); }) == true;
    circumstances.user_namespace = if_readable([] { return in_user_namespace(); }) == true;
    constexpr unsigned perfmon = 38;  // newer than some kernel headers
    circumstances.privileged =
        if_readable([&] {
            return has_capability(CAP_SYS_ADMIN) ||
                   (has_capability(perfmon) && circumstances.paranoid.value_or(0) <= 2);
        }) == true;
    const auto online = if_readable(CpuList::online);
    if (place.cpu >= 0 && online && !online->contains(place.cpu)) {
        circumstances.online = online->to_string();
        const auto possible = if_readable(CpuList::possible);
        circumstances.possible = !possible || possible->contains(place.cpu);
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        circumstances.fd_limit = limit.rlim_cur;
        circumstances.fd_max = limit.rlim_max;
    }
    throw_error(Call::open_event, error,
                place.cpu < 0 ? format("cannot open event \"{}\" on all CPUs", event.name)
                              : format("cannot open event \"{}\" on CPU {}", event.name, place.cpu),
                circumstances);
}

UniqueFd open_event(const GroupSpec& spec, std::size_t index, EventPlace place, int leader,
                    std::uint64_t read_format) {
    perf_event_attr attr = spec.events[index].attr;
    attr.read_format = read_format;
    // Only the leader is disabled: it starts and stops the whole group.
    attr.disabled = index == 0 ? 1 : 0;
    attr.inherit = 0;
    const unsigned long flags =
        PERF_FLAG_FD_CLOEXEC | (place.cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0UL);
    for (;;) {
        const long fd = uninterrupted([&] {
            return ::syscall(SYS_perf_event_open, &attr, place.cgroup, place.cpu, leader, flags);
        });
        if (fd >= 0) return UniqueFd(static_cast<int>(fd));
        const int error = errno;
        if (error != EMFILE || !raise_fd_limit()) fail_to_open(error, spec, index, place);
    }
}

}  // namespace detail

EventGroup EventGroup::open(const GroupSpec& spec, int cpu, std::uint64_t read_format, int cgroup) {
    if (spec.events.empty()) throw std::invalid_argument("a group needs at least one event");
    if ((read_format & ~ReadFormat::all) != 0)
        throw std::invalid_argument(detail::format(
            "read format {:#x} has unknown bits: use those of ReadFormat", read_format));
    // The kernel takes -1 as "any CPU", which a meta-group cannot use.
    if (cpu < 0) throw std::invalid_argument(detail::format("CPU number {} is negative", cpu));
    EventGroup group;
    group.cpu_ = cpu;
    group.size_ = spec.events.size();
    group.read_format_ = read_format;
    group.siblings_.reserve(spec.events.size() - 1);
    group.leader_ = detail::open_event(spec, 0, {cpu, cgroup}, -1, read_format);
    for (std::size_t i = 1; i < spec.events.size(); ++i)
        group.siblings_.push_back(
            detail::open_event(spec, i, {cpu, cgroup}, group.leader_.get(), read_format));
    return group;
}

std::size_t EventGroup::payload_size() const noexcept {
    return metagroup::payload_size(read_format_, size_);
}

std::vector<std::uint64_t> EventGroup::ids() const {
    std::vector<std::uint64_t> ids;
    const auto add = [&](const detail::UniqueFd& event) {
        std::uint64_t id = 0;
        if (::ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0)
            detail::throw_error(Call::any, errno,
                                detail::format("cannot identify event {} of the group on CPU {}",
                                               ids.size(), cpu_));
        ids.push_back(id);
    };
    add(leader_);
    for (const detail::UniqueFd& sibling : siblings_)
        add(sibling);
    return ids;
}

std::size_t EventGroup::read(std::span<std::byte> buffer) {
    const ssize_t got =
        detail::uninterrupted([&] { return ::read(leader_.get(), buffer.data(), buffer.size()); });
    if (got < 0)
        detail::throw_error(Call::any, errno,
                            detail::format("cannot read the event group on CPU {}", cpu_));
    return static_cast<std::size_t>(got);
}

void EventGroup::control(unsigned long request, const char* verb) {
    if (::ioctl(leader_.get(), request, PERF_IOC_FLAG_GROUP) != 0)
        detail::throw_error(Call::any, errno,
                            detail::format("cannot {} the event group on CPU {}", verb, cpu_));
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

bool can_count(const GroupSpec& group) {
    if (group.events.empty()) throw std::invalid_argument("a group needs at least one event");
    try {
        const CpuList cpus = group.events.front().cpus.value_or(CpuList::online());
        EventGroup::open(group, cpus.empty() ? 0 : *cpus.begin());
        return true;
    } catch (const Error& error) {
        return error.cause() != Cause::unsupported_event &&
               error.cause() != Cause::unsupported_group;
    }
}

std::vector<GroupSpec> divide_weak(std::vector<GroupSpec> groups) {
    std::vector<GroupSpec> divided;
    for (GroupSpec& group : groups) {
        if (!group.weak() || can_count(group)) {
            std::erase(group.modifiers, 'W');  // already tested
            divided.push_back(std::move(group));
            continue;
        }
        for (EventSpec& event : group.events)
            divided.push_back({{std::move(event)}, {}});
    }
    return divided;
}

}  // namespace metagroup
