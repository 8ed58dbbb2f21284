// SPDX-License-Identifier: MIT
// Device functions for sets and published sets.
#include <algorithm>
#include <cstring>
#include <metagroup/device.hpp>
#include <metagroup/published_set.hpp>
#include <metagroup/suggestion.hpp>
#include <stdexcept>
#include <utility>

#include "format.hpp"
#include "ioctl.hpp"
#include "system.hpp"

namespace metagroup {
namespace {

using detail::address;
using detail::Call;
using detail::device_ioctl;
using detail::sized;

std::string similar_sets(const std::string& name) {
    std::vector<std::string> names;
    for (PublishedSet& set : published_sets())
        names.push_back(std::move(set.name));
    return did_you_mean(name, names, "\"metagroup set list\" lists them");
}

[[noreturn]] void fail_name(Call call, int error, const char* verb, const std::string& name) {
    detail::Circumstances circumstances;
    if (error == ENOENT) circumstances.similar = similar_sets(name);
    detail::throw_error(call, error, detail::format("cannot {} set \"{}\"", verb, name),
                        circumstances);
}

// Longer names, and those with a NUL, would be truncated.
template <typename Argument>
Argument named(Call call, const char* verb, const std::string& name) {
    auto argument = sized<Argument>();
    if (name.size() >= sizeof(argument.name) || name.find('\0') != name.npos)
        fail_name(call, EINVAL, verb, name);
    std::ranges::copy(name, argument.name);
    return argument;
}

std::vector<perf_event_attr> attrs_of(std::span<const EventSpec> events) {
    std::vector<perf_event_attr> attrs;
    for (const EventSpec& event : events)
        attrs.push_back(event.attr);
    return attrs;
}

// The event that caused the error; empty if none did.
std::string name_of(std::span<const EventSpec> events, std::size_t failed) {
    return failed < events.size() ? detail::format("event \"{}\"", events[failed].name) : "";
}

std::string name_of(std::span<const int> templates, std::size_t failed) {
    if (failed >= templates.size()) return {};
    return detail::format("descriptor {} (number {} of {})", templates[failed], failed + 1,
                          templates.size());
}

detail::Circumstances circumstances_of(std::uint32_t reason, std::uint32_t flags) {
    detail::Circumstances circumstances;
    circumstances.reason = reason;
    circumstances.templates = (flags & PERF_METAGROUP_SET_TEMPLATES) != 0;
    return circumstances;
}

// The module may report a failure of the same kind as perf_event_open(2).
Call call_for(std::uint32_t reason, Call call) {
    return reason == PERF_METAGROUP_REASON_REFUSED ? Call::open_event : call;
}

[[noreturn]] void fail_set(int error, const perf_metagroup_open_set& set,
                           const std::string& event) {
    detail::Circumstances circumstances = circumstances_of(set.reason, set.flags);
    std::string failed = detail::format("cannot open a set of {} events", set.nr_events);
    if (!event.empty()) failed = detail::format("cannot open {} in a set", event);
    if (set.failed_cpu != PERF_METAGROUP_NO_CPU) {
        circumstances.cpu = static_cast<int>(set.failed_cpu);
        failed += detail::format(" on CPU {}", circumstances.cpu);
    }
    detail::throw_error(call_for(set.reason, Call::open_set), error, std::move(failed),
                        circumstances);
}

[[noreturn]] void fail_replacement(int error, const perf_metagroup_events& replacement,
                                   const std::string& event) {
    const bool of_member =
        replacement.reason == PERF_METAGROUP_REASON_NONE && (error == ENOENT || error == EINVAL);
    detail::throw_error(
        call_for(replacement.reason, of_member ? Call::use_member : Call::open_set), error,
        event.empty() ? detail::format("cannot replace the events of member {}", replacement.member)
                      : detail::format("cannot open {} for member {}", event, replacement.member),
        circumstances_of(replacement.reason, replacement.flags));
}

}  // namespace

NewMembers Device::open_set(perf_metagroup_open_set& set, const SetOptions& options) {
    set.size = sizeof(set);
    if (options.follow) set.flags |= PERF_METAGROUP_SET_FOLLOW;
    if (options.cpus) {
        set.cpus = address(options.cpus->mask().data());
        set.nr_words = static_cast<__u32>(options.cpus->mask().size());
    }
    set.read_format = options.read_format;
    set.failed = set.nr_events;
    set.failed_cpu = PERF_METAGROUP_NO_CPU;
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_OPEN_SET, &set) != 0) return {};
    return {set.first, set.count};
}

NewMembers Device::open_set(std::span<const EventSpec> events, const SetOptions& options) {
    const std::vector<perf_event_attr> attrs = attrs_of(events);
    perf_metagroup_open_set set{};
    set.events = address(attrs.data());
    set.nr_events = static_cast<__u32>(attrs.size());
    set.stride = sizeof(perf_event_attr);
    const NewMembers members = open_set(set, options);
    if (members.count > 0) return members;
    const int error = errno;
    fail_set(error, set, name_of(events, set.failed));
}

NewMembers Device::open_set(std::span<const int> templates, const SetOptions& options) {
    perf_metagroup_open_set set{};
    set.flags = PERF_METAGROUP_SET_TEMPLATES;
    set.events = address(templates.data());
    set.nr_events = static_cast<__u32>(templates.size());
    const NewMembers members = open_set(set, options);
    if (members.count > 0) return members;
    const int error = errno;
    fail_set(error, set, name_of(templates, set.failed));
}

OperationTime Device::control(Operation operation, const std::optional<CpuList>& cpus) {
    auto argument = sized<perf_metagroup_control>();
    argument.op = static_cast<__u32>(operation);
    if (cpus) {
        argument.cpus = address(cpus->mask().data());
        argument.nr_words = static_cast<__u32>(cpus->mask().size());
    }
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_CONTROL, &argument) != 0)
        detail::throw_error(Call::use_device, errno, "cannot control the sets of the meta-group");
    return {argument.begin, argument.end, argument.skew, argument.members};
}

std::vector<perf_event_attr> Device::events(std::uint32_t member) const {
    std::vector<perf_event_attr> attrs;
    for (;;) {
        auto argument = sized<perf_metagroup_events>();
        argument.member = member;
        argument.nr_events = static_cast<__u32>(attrs.size());
        argument.events = attrs.empty() ? 0 : address(attrs.data());
        argument.stride = sizeof(perf_event_attr);
        const int result = device_ioctl(fd_, PERF_METAGROUP_IOC_GET_EVENTS, &argument);
        // The events may have changed between the two calls.
        if (result != 0 && errno != ENOSPC)
            detail::throw_error(Call::use_member, errno,
                                detail::format("cannot read the events of member {}", member));
        if (result == 0 && argument.nr_events == attrs.size()) return attrs;
        attrs.resize(argument.nr_events);
    }
}

bool Device::set_events(perf_metagroup_events& replacement) {
    if (replacement.nr_events == 0)
        throw std::invalid_argument("a member needs at least one event");
    replacement.size = sizeof(replacement);
    replacement.failed = replacement.nr_events;
    return device_ioctl(fd_, PERF_METAGROUP_IOC_SET_EVENTS, &replacement) == 0;
}

void Device::set_events(std::uint32_t member, std::span<const EventSpec> events) {
    const std::vector<perf_event_attr> attrs = attrs_of(events);
    perf_metagroup_events replacement{};
    replacement.member = member;
    replacement.events = address(attrs.data());
    replacement.nr_events = static_cast<__u32>(attrs.size());
    replacement.stride = sizeof(perf_event_attr);
    if (set_events(replacement)) return;
    const int error = errno;
    fail_replacement(error, replacement, name_of(events, replacement.failed));
}

void Device::set_events(std::uint32_t member, std::span<const int> templates) {
    perf_metagroup_events replacement{};
    replacement.flags = PERF_METAGROUP_SET_TEMPLATES;
    replacement.member = member;
    replacement.events = address(templates.data());
    replacement.nr_events = static_cast<__u32>(templates.size());
    if (set_events(replacement)) return;
    const int error = errno;
    fail_replacement(error, replacement, name_of(templates, replacement.failed));
}

void Device::publish(const std::string& name, unsigned mode, std::optional<std::uint32_t> gid) {
    auto argument = named<perf_metagroup_publish>(Call::publish, "publish", name);
    argument.mode = mode;
    argument.gid = gid.value_or(PERF_METAGROUP_NO_GID);
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_PUBLISH, &argument) != 0)
        fail_name(Call::publish, errno, "publish", name);
}

NewMembers Device::join(const std::string& name) {
    auto argument = named<perf_metagroup_name>(Call::join, "join", name);
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_JOIN, &argument) != 0)
        fail_name(Call::join, errno, "join", name);
    return {argument.first, argument.count};
}

void Device::unpublish(const std::string& name) {
    auto argument = named<perf_metagroup_name>(Call::unpublish, "remove", name);
    if (device_ioctl(fd_, PERF_METAGROUP_IOC_UNPUBLISH, &argument) != 0)
        fail_name(Call::unpublish, errno, "remove", name);
}

}  // namespace metagroup
