// SPDX-License-Identifier: MIT
// The ioctls of sets and of names.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "calls.hpp"

namespace fuzz {
namespace {

// A CPU mask at `at`, or none: all CPUs.
void any_cpus(Random& random, unsigned char* at, __u64& cpus, __u32& nr_words) {
    if (random.one_in(2)) return;
    const std::uint64_t words[] = {1 + random.below(15), random.one_in(20) ? random.next() : 0};
    std::memcpy(at, words, sizeof(words));
    cpus = reinterpret_cast<std::uintptr_t>(at);
    nr_words = 1 + random.below(2);
}

constexpr unsigned kMostEvents = 4;

// Events in software at `at`, of attrs or templates.
template <typename Arg>
void any_events(Random& random, unsigned char* at, Arg& value) {
    value.events = reinterpret_cast<std::uintptr_t>(at);
    if (random.one_in(2)) {
        value.flags |= PERF_METAGROUP_SET_TEMPLATES;
        for (unsigned i = 0; i < kMostEvents; ++i) {
            const int fd = any_descriptor(random);
            std::memcpy(at + i * sizeof(fd), &fd, sizeof(fd));
        }
        return;
    }
    value.stride = sizeof(perf_event_attr) + 8 * random.below(4);
    for (unsigned i = 0; i < kMostEvents; ++i) {
        perf_event_attr attr{};
        attr.type = PERF_TYPE_SOFTWARE;
        attr.size = random.one_in(20) ? static_cast<std::uint32_t>(random.next()) : sizeof(attr);
        attr.config = random.one_in(20) ? random.next() : random.below(PERF_COUNT_SW_MAX);
        attr.sample_period = random.one_in(20);
        std::memset(at + i * value.stride, 0, value.stride);
        std::memcpy(at + i * value.stride, &attr, sizeof(attr));
    }
}

Outcome open_set(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_open_set value{};
    unsigned char* const at = fuzzer.arena.at_end(Arena::kSize / 2);
    any_cpus(random, at + 4096, value.cpus, value.nr_words);
    value.nr_events = 1 + random.below(kMostEvents);
    value.read_format = PERF_FORMAT_GROUP | random.below(32);
    value.flags = random.one_in(2) ? 0 : PERF_METAGROUP_SET_FOLLOW;
    any_events(random, at, value);
    switch (random.below(60)) {
        case 0:
            value.nr_events = random.one_in(2) ? 0 : PERF_METAGROUP_MAX_SET_EVENTS + 1;
            must |= {EINVAL, E2BIG};
            break;
        case 1:
            value.read_format ^= PERF_FORMAT_GROUP | PERF_FORMAT_MAX;
            must |= {EINVAL};
            break;
        case 2:
            value.stride = value.stride ? value.stride - 1 : 8;
            must |= {EINVAL};
            break;
        case 3:
            value.flags |= 4U << random.below(30);
            must |= {EINVAL};
            break;
        case 4:
            value.events = Arena::invalid(random);
            must |= {EFAULT};
            break;
        case 5:
            value.cpus = Arena::invalid(random);
            must |= {EFAULT, EINVAL};
            if (!value.cpus && !value.nr_words) must = {};  // all CPUs
            break;
        default:
            break;
    }
    std::vector<unsigned char> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    const Placed placed =
        place(fuzzer, random, std::move(bytes), PERF_METAGROUP_OPEN_SET_SIZE_VER1, true);
    const Handle handle = any_handle(random);
    Outcome outcome = call(fuzzer, Call::open_set, handle, PERF_METAGROUP_IOC_OPEN_SET, placed);
    outcome.must |= must;
    if (outcome.result == 0 && handle.access == Access::read_write)
        random.pick(fuzzer.members) = {handle.number, fetch<perf_metagroup_open_set>(placed).first};
    return outcome;
}

Outcome control_sets(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_control value{};
    any_cpus(random, fuzzer.arena.at_end(Arena::kSize / 2), value.cpus, value.nr_words);
    value.op = random.below(3);
    if (random.one_in(20)) {
        value.op = 3 + static_cast<std::uint32_t>(random.below(0xFFFFFFFC));
        must |= {EINVAL};
    }
    set_reserved(value.reserved, random, must);
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_CONTROL_SIZE_VER1, true);
    Outcome outcome =
        call(fuzzer, Call::control_sets, any_handle(random), PERF_METAGROUP_IOC_CONTROL, placed);
    outcome.must |= must;
    return outcome;
}

Outcome set_events(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_events value{};
    const Target target = any_member(fuzzer, random);
    value.member = target.member;
    value.nr_events = 1 + random.below(kMostEvents);
    any_events(random, fuzzer.arena.at_end(Arena::kSize / 2), value);
    switch (random.below(60)) {
        case 0:
            value.nr_events = random.one_in(2) ? 0 : PERF_METAGROUP_MAX_SET_EVENTS + 1;
            must |= {EINVAL, E2BIG};
            break;
        case 1:
            value.stride = value.stride ? value.stride - 1 : 8;
            must |= {EINVAL};
            break;
        case 2:
            value.flags |= 2U << random.below(31);
            must |= {EINVAL};
            break;
        case 3:
            value.events = Arena::invalid(random);
            must |= {EFAULT};
            break;
        default:
            break;
    }
    set_reserved(value.reserved, random, must);
    std::vector<unsigned char> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    const Placed placed =
        place(fuzzer, random, std::move(bytes), PERF_METAGROUP_EVENTS_SIZE_VER1, true);
    Outcome outcome =
        call(fuzzer, Call::set_events, target.handle, PERF_METAGROUP_IOC_SET_EVENTS, placed);
    outcome.must |= must;
    return outcome;
}

Outcome get_events(Fuzzer& fuzzer, Random& random) {
    Errnos must, may;
    perf_metagroup_events value{};
    const Target target = any_member(fuzzer, random);
    value.member = target.member;
    if (!random.one_in(4)) {
        value.nr_events = random.below(2 * kMostEvents);
        value.stride = PERF_ATTR_SIZE_VER0 + 8 * random.below(20);
        value.events = reinterpret_cast<std::uintptr_t>(fuzzer.arena.at_end(Arena::kSize / 2));
        if (random.one_in(20)) {
            value.stride += 1 + random.below(7);
            must |= {EINVAL};
        }
        if (random.one_in(20)) {
            value.events = Arena::invalid(random);
            may |= {EFAULT};
        }
        if (!value.events) must = {};
    }
    set_reserved(value.reserved, random, must);
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_EVENTS_SIZE_VER1, true);
    Outcome outcome =
        call(fuzzer, Call::get_events, target.handle, PERF_METAGROUP_IOC_GET_EVENTS, placed);
    outcome.must |= must;
    outcome.may |= may;
    return outcome;
}

constexpr unsigned kNames = 8;

std::string text_of(unsigned number) {
    return "fuzz-" + std::to_string(number);
}

// One of a few names, sometimes with a byte that is not allowed or is behind its end.
template <typename Arg>
void any_name(Random& random, Arg& value, Errnos& must) {
    const std::string text = text_of(random.below(kNames));
    std::memcpy(value.name, text.data(), text.size());
    if (!random.one_in(20)) return;
    static constexpr unsigned char kBytes[] = {0xFF, '/', ' ', 1};
    const unsigned at = random.below(sizeof(value.name));
    value.name[at] = static_cast<char>(random.pick(kBytes));
    must |= {EINVAL};
}

Outcome publish(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_publish value{};
    any_name(random, value, must);
    value.mode = 0444 & static_cast<std::uint32_t>(random.next());
    value.gid = random.one_in(2) ? PERF_METAGROUP_NO_GID : random.below(100'000);
    if (random.one_in(20)) {
        value.mode |= ~0444U & (1U << random.below(32));
        if (value.mode & ~0444U) must |= {EINVAL};
    }
    const Placed placed =
        place_struct(fuzzer, random, value, PERF_METAGROUP_PUBLISH_SIZE_VER1, false);
    Outcome outcome = call(fuzzer, Call::publish, any_member(fuzzer, random).handle,
                           PERF_METAGROUP_IOC_PUBLISH, placed);
    outcome.must |= must;
    return outcome;
}

Outcome join(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_name value{};
    any_name(random, value, must);
    const Placed placed = place_struct(fuzzer, random, value, PERF_METAGROUP_NAME_SIZE_VER1, true);
    const Handle handle = any_handle(random);
    Outcome outcome = call(fuzzer, Call::join, handle, PERF_METAGROUP_IOC_JOIN, placed);
    outcome.must |= must;
    if (outcome.result == 0 && handle.access == Access::read_write)
        random.pick(fuzzer.members) = {handle.number, fetch<perf_metagroup_name>(placed).first};
    return outcome;
}

Outcome unpublish(Fuzzer& fuzzer, Random& random) {
    Errnos must;
    perf_metagroup_name value{};
    any_name(random, value, must);
    const Placed placed = place_struct(fuzzer, random, value, PERF_METAGROUP_NAME_SIZE_VER1, false);
    Outcome outcome =
        call(fuzzer, Call::unpublish, any_handle(random), PERF_METAGROUP_IOC_UNPUBLISH, placed);
    outcome.must |= must;
    return outcome;
}

}  // namespace

void end_names() {
    const int device = ::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC);
    for (unsigned number = 0; number < kNames; ++number) {
        perf_metagroup_name value{};
        value.size = sizeof(value);
        const std::string text = text_of(number);
        std::memcpy(value.name, text.data(), text.size());
        ::ioctl(device, PERF_METAGROUP_IOC_UNPUBLISH, &value);
    }
    ::close(device);
}

std::span<const Generator> set_generators() {
    static constexpr Generator all[] = {
        {4, open_set}, {4, control_sets}, {4, set_events}, {4, get_events},
        {3, publish},  {3, join},         {2, unpublish},
    };
    return all;
}

}  // namespace fuzz
