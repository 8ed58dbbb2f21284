// SPDX-License-Identifier: MIT
// Sets of the fake module: real perf events, whose counts it puts together as a group's.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <metagroup/event_group.hpp>
#include <utility>

#include "fake_module.hpp"

namespace metagroup::test {
namespace {

template <typename Object>
const Object* at(__u64 address) {
    // The ABI carries addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const Object*>(static_cast<std::uintptr_t>(address));
}

// Out of the way of descriptors that the tests use.
detail::UniqueFd copy(int fd) {
    return detail::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 500));
}

perf_event_attr named_attr(std::uint64_t config) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = config;
    return attr;
}

}  // namespace

FakeModule::Member FakeModule::set_member(const perf_metagroup_open_set& set, int cpu) const {
    Member member;
    member.number = first_number + static_cast<std::uint32_t>(members_.size());
    member.cpu = cpu;
    for (__u32 i = 0; i < set.nr_events; ++i) {
        if ((set.flags & PERF_METAGROUP_SET_TEMPLATES) != 0) {
            member.events.push_back(copy(at<int>(set.events)[i]));
        } else {
            const auto& attr = *at<perf_event_attr>(set.events + i * set.stride);
            const auto group = EventGroup::open(GroupSpec{{EventSpec{.attr = attr}}}, cpu);
            member.events.push_back(copy(group.leader_fd()));
        }
        ioctl(member.events.back().get(), PERF_EVENT_IOC_ENABLE, 0);
    }
    return member;
}

int FakeModule::open_set(perf_metagroup_open_set& set) {
    set_flags.push_back(set.flags);
    if (set_errno != 0) {
        set.failed = set_failed;
        set.failed_cpu = 1;
        set.reason = set_reason;
        return fail(set_errno);
    }
    set.first = first_number + static_cast<std::uint32_t>(members_.size());
    for (__u32 word = 0; word < set.nr_words; ++word)
        for (int bit = 0; bit < 64; ++bit)
            if ((at<__u64>(set.cpus)[word] >> static_cast<unsigned>(bit) & 1U) != 0)
                members_.push_back(set_member(set, static_cast<int>(word) * 64 + bit));
    set.count = first_number + static_cast<std::uint32_t>(members_.size()) - set.first;
    return 0;
}

// Two events of the name "fake" on CPUs 0 and 2, and one on CPU 2; one of the name "twice" on CPU
// 0, and again.
int FakeModule::join(perf_metagroup_name& name) {
    if (std::strcmp(name.name, "secret") == 0) return fail(EACCES);
    const bool twice = std::strcmp(name.name, "twice") == 0;
    if (!twice && std::strcmp(name.name, "fake") != 0) return fail(ENOENT);
    name.first = first_number + static_cast<std::uint32_t>(members_.size());
    name.count = twice ? 2 : 3;
    const std::array attrs = {named_attr(PERF_COUNT_SW_CPU_CLOCK),
                              named_attr(PERF_COUNT_SW_PAGE_FAULTS)};
    perf_metagroup_open_set set{};
    set.events = reinterpret_cast<std::uintptr_t>(attrs.data());
    set.stride = sizeof(attrs.front());
    const std::vector<int> cpus = twice ? std::vector{0, 0} : std::vector{0, 2, 2};
    for (const int cpu : cpus) {
        const bool last = members_.size() + 1 == name.first - first_number + name.count;
        set.nr_events = last || twice ? 1 : 2;
        members_.push_back(set_member(set, 0));
        members_.back().cpu = cpu;
    }
    return 0;
}

int FakeModule::get_events(perf_metagroup_events& events) const {
    if (events.member - first_number >= members_.size()) return fail(ENOENT);
    const __u32 room = events.nr_events;
    events.nr_events = static_cast<__u32>(members_[events.member - first_number].events.size());
    if (events.events == 0) return 0;
    if (room < events.nr_events) return fail(ENOSPC);
    const std::array attrs = {named_attr(PERF_COUNT_SW_CPU_CLOCK),
                              named_attr(PERF_COUNT_SW_PAGE_FAULTS)};
    std::memcpy(const_cast<perf_event_attr*>(at<perf_event_attr>(events.events)), attrs.data(),
                events.nr_events * sizeof(perf_event_attr));
    return 0;
}

int FakeModule::set_events(perf_metagroup_events& events) {
    replaced = events;
    if (events.member - first_number >= members_.size()) return fail(ENOENT);
    if (set_errno != 0) {
        events.failed = set_failed;
        events.reason = set_reason;
        return fail(set_errno);
    }
    perf_metagroup_open_set set{};
    set.flags = events.flags;
    set.events = events.events;
    set.nr_events = events.nr_events;
    set.stride = events.stride;
    Member& old = members_[events.member - first_number];
    Member member = set_member(set, old.cpu);
    member.number = old.number;
    old = std::move(member);
    return 0;
}

int FakeModule::control_sets(unsigned long request, void* argument) {
    switch (request) {
        case PERF_METAGROUP_IOC_OPEN_SET:
            return open_set(*static_cast<perf_metagroup_open_set*>(argument));
        case PERF_METAGROUP_IOC_CONTROL:
            operation = *static_cast<perf_metagroup_control*>(argument);
            static_cast<perf_metagroup_control*>(argument)->skew = 7;
            return 0;
        case PERF_METAGROUP_IOC_GET_EVENTS:
            return get_events(*static_cast<perf_metagroup_events*>(argument));
        case PERF_METAGROUP_IOC_SET_EVENTS:
            return set_events(*static_cast<perf_metagroup_events*>(argument));
        case PERF_METAGROUP_IOC_PUBLISH:
            published = *static_cast<perf_metagroup_publish*>(argument);
            return publish_errno == 0 ? 0 : fail(publish_errno);
        case PERF_METAGROUP_IOC_JOIN:
            return join(*static_cast<perf_metagroup_name*>(argument));
        case PERF_METAGROUP_IOC_UNPUBLISH:
            return std::strcmp(static_cast<perf_metagroup_name*>(argument)->name, "fake") == 0
                       ? 0
                       : fail(ENOENT);
        default:
            return fail(ENOTTY);
    }
}

std::size_t FakeModule::read_set(const Member& member, std::byte* payload) {
    struct Single {
        std::uint64_t nr, enabled, running, value;
    };
    std::array<std::uint64_t, max_payload / sizeof(std::uint64_t)> words{};
    words[0] = member.events.size();
    std::size_t used = 3;
    for (const detail::UniqueFd& event : member.events) {
        Single single{};
        if (::read(event.get(), &single, sizeof(single)) != sizeof(single)) return 0;
        if (used == 3) {
            words[1] = single.enabled;
            words[2] = single.running;
        }
        words[used++] = single.value;
    }
    std::memcpy(payload, words.data(), used * sizeof(std::uint64_t));
    return used * sizeof(std::uint64_t);
}

}  // namespace metagroup::test
