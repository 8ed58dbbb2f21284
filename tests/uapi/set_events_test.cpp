// SPDX-License-Identifier: MIT
// SET_EVENTS and GET_EVENTS: the events of one CPU of a set.
#include "fixtures.hpp"
#include "support/name.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// An argument of SET_EVENTS. Keeps what it points to.
struct EventsRequest {
    std::vector<perf_event_attr> attrs;
    perf_metagroup_events arg{};

    EventsRequest(unsigned member, std::vector<perf_event_attr> events) : attrs(std::move(events)) {
        arg.size = sizeof(arg);
        arg.member = member;
        arg.nr_events = static_cast<__u32>(attrs.size());
        arg.events = address(attrs.data());
        arg.stride = sizeof(perf_event_attr);
    }
    EventsRequest(const EventsRequest&) = delete;
    EventsRequest& operator=(const EventsRequest&) = delete;

    long set(const Meta& meta) { return meta.ioctl(PERF_METAGROUP_IOC_SET_EVENTS, &arg); }
    long get(const Meta& meta) { return meta.ioctl(PERF_METAGROUP_IOC_GET_EVENTS, &arg); }
};

long set_events(const Meta& meta, unsigned member, std::vector<perf_event_attr> events) {
    return EventsRequest(member, std::move(events)).set(meta);
}

std::vector<perf_event_attr> events_of(const Meta& meta, unsigned member) {
    EventsRequest request(member, std::vector<perf_event_attr>(PERF_METAGROUP_MAX_SET_EVENTS));
    REQUIRE(request.get(meta) == 0);
    request.attrs.resize(request.arg.nr_events);
    return request.attrs;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "SET_EVENTS replaces the events of one CPU, and of no other") {
    const std::size_t events = GENERATE(1U, 3U, 6U);
    const Meta meta;
    REQUIRE(open_set(meta, std::vector<perf_event_attr>(3, faults())) == 0);
    burn_ms(5);
    const Framed before = read_framed(meta);
    const auto begin = monotonic_ns();
    EventsRequest request(1, std::vector<perf_event_attr>(events, clock_event()));
    REQUIRE(request.set(meta) == 0);
    REQUIRE(request.arg.failed == events);
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NONE);
    const Framed after = read_framed(meta);
    REQUIRE(after.frames.size() == before.frames.size());
    for (std::size_t i = 0; i < after.frames.size(); ++i) {
        const Frame &was = before.frames[i], &is = after.frames[i];
        REQUIRE(is.record.member == was.record.member);
        REQUIRE(is.record.cpu == was.record.cpu);
        REQUIRE(is.record.status == PERF_METAGROUP_OK);
        REQUIRE(is.record.read_format == kSetFormat);
        const SetPayload old(was.payload), now(is.payload);
        REQUIRE(generation(is) == (i == 1 ? 1 : 0));
        REQUIRE(now.counts.size() == (i == 1 ? events : 3));
        if (i != 1) {
            REQUIRE(now.ids == old.ids);
            REQUIRE(now.enabled > old.enabled);
            continue;
        }
        REQUIRE(now.ids[0] > *std::max_element(old.ids.begin(), old.ids.end()));
        REQUIRE(now.enabled > 0);
        REQUIRE(now.enabled <= is.record.time - begin);
        for (const auto count : now.counts) {
            REQUIRE(count > 0);
            REQUIRE(count <= is.record.time - begin);
        }
    }
    REQUIRE(meta.member(1).events == events);
    REQUIRE(meta.member(1).generation == 1);
    REQUIRE(meta.info().members == online_cpus().size());
    // The sizes are right again without it.
    REQUIRE(meta.detach(1) == 0);
    REQUIRE(read_framed(meta).head.bytes == meta.info().framed_size);
}

TEST_CASE_METHOD(NeedsSets, "A member keeps its events if SET_EVENTS fails") {
    const auto five = distinct(5, testpmu_or_skip(0));
    const Meta meta;
    REQUIRE(open_set(meta, {five.begin(), five.begin() + 4}) == 0);
    const SetPayload before(read_framed(meta).frames.at(0).payload);
    EventsRequest request(0, {five[0], five[4]});
    REQUIRE(request.set(meta) == -EBUSY);
    REQUIRE(request.arg.failed == 1);
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NO_COUNTER);
    const Frame frame = read_framed(meta).frames[0];
    const SetPayload now(frame.payload);
    REQUIRE(frame.record.status == PERF_METAGROUP_OK);
    REQUIRE(generation(frame) == 0);
    REQUIRE(now.ids == before.ids);
    for (std::size_t i = 0; i < 4; ++i)
        REQUIRE(now.counts[i] > before.counts[i]);
    // Those that are in both need no further counter, and those that are not are free then.
    REQUIRE(set_events(meta, 0, {five[1]}) == 0);
    REQUIRE(set_events(meta, 0, {five[1], five[4]}) == 0);
}

TEST_CASE_METHOD(NeedsSets, "SET_EVENTS of a stopped member leaves it stopped, with counts of 0") {
    const Meta meta;
    REQUIRE(open_set(meta, {clock_event()}) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(set_events(meta, 0, {clock_event(), faults()}) == 0);
    const Frame frame = read_framed(meta).frames.at(0);
    REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
    REQUIRE(SetPayload(frame.payload).counts == std::vector<std::uint64_t>(2));
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    REQUIRE(SetPayload(read_framed(meta).frames[0].payload).counts[0] > 0);
}

TEST_CASE_METHOD(NeedsSets, "GET_EVENTS returns attrs that open the same events") {
    perf_event_attr first = faults();
    first.exclude_user = 1;
    first.disabled = 1;
    const Meta meta;
    REQUIRE(open_set(meta, {first, clock_event()}) == 0);
    const auto attrs = events_of(meta, 1);
    REQUIRE(attrs.size() == 2);
    REQUIRE(attrs[0].type == PERF_TYPE_SOFTWARE);
    REQUIRE(attrs[0].config == PERF_COUNT_SW_PAGE_FAULTS);
    REQUIRE(attrs[0].exclude_user == 1);
    REQUIRE(attrs[1].config == PERF_COUNT_SW_CPU_CLOCK);
    REQUIRE(open_set(Meta(), attrs) == 0);
    const Meta other;
    REQUIRE(open_set(other, attrs, {online_cpus()[1]}) == 0);
    REQUIRE(other.member(0).users == 2);
    REQUIRE(set_events(meta, 1, {clock_event()}) == 0);
    REQUIRE(events_of(meta, 1).size() == 1);
    REQUIRE(events_of(meta, 0).size() == 2);
}

TEST_CASE_METHOD(
    NeedsSets,
    "A clock opened from a template has the attr and the counter of one opened from an attr") {
    // Later kernels rewrite the type of both, to that of a PMU of their own.
    const auto clock = GENERATE(PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK);
    const perf_event_attr attr = software_event(clock, 0);
    const Fd event(open_event(attr, -1, 0, -1));
    const Meta by_attr, by_template;
    REQUIRE(open_set(by_attr, {attr}, {0}) == 0);
    REQUIRE(SetRequest(std::vector<int>{event.get()}, {0}).open(by_template) == 0);
    const auto shown = events_of(by_template, 0).at(0);
    REQUIRE(shown.type == PERF_TYPE_SOFTWARE);
    REQUIRE(shown.config == clock);
    REQUIRE(by_template.member(0).users == 2);
}

TEST_CASE_METHOD(NeedsSets, "GET_EVENTS writes attrs that fit, or returns the number of events") {
    perf_event_attr second = clock_event();
    second.config2 = 7;
    const Meta meta;
    REQUIRE(open_set(meta, {faults(), second}, {0}) == 0);
    SECTION("no address") {
        EventsRequest request(0, {});
        request.arg.events = request.arg.stride = 0;
        REQUIRE(request.get(meta) == 0);
        REQUIRE(request.arg.nr_events == 2);
    }
    SECTION("space for one") {
        EventsRequest request(0, std::vector<perf_event_attr>(1));
        REQUIRE(request.get(meta) == -ENOSPC);
        REQUIRE(request.arg.nr_events == 2);
    }
    SECTION("attrs of the first version") {
        std::array<std::array<unsigned char, PERF_ATTR_SIZE_VER0>, 2> room{};
        EventsRequest request(0, {});
        request.arg.events = address(&room);
        request.arg.nr_events = 2;
        request.arg.stride = PERF_ATTR_SIZE_VER0;
        REQUIRE(request.get(meta) == -E2BIG);
        REQUIRE(set_events(meta, 0, {faults(), clock_event()}) == 0);
        REQUIRE(request.get(meta) == 0);
        perf_event_attr attr{};
        std::memcpy(&attr, room[1].data(), PERF_ATTR_SIZE_VER0);
        REQUIRE(attr.size == PERF_ATTR_SIZE_VER0);
        REQUIRE(attr.config == PERF_COUNT_SW_CPU_CLOCK);
    }
    SECTION("attrs that are larger than those of any kernel") {
        std::vector<unsigned char> room(2 * 1024, 0xFF);
        EventsRequest request(0, {});
        request.arg.events = address(room.data());
        request.arg.nr_events = 2;
        request.arg.stride = 1024;
        REQUIRE(request.get(meta) == 0);
        perf_event_attr attr{};
        std::memcpy(&attr, &room[1024], sizeof(attr));
        REQUIRE(attr.config2 == 7);
        for (std::size_t at = attr.size; at < 1024; ++at)
            REQUIRE(room[1024 + at] == 0);
    }
    SECTION("no memory") {
        EventsRequest request(0, std::vector<perf_event_attr>(2));
        request.arg.events = 8;
        REQUIRE(request.get(meta) == -EFAULT);
    }
}

TEST_CASE_METHOD(NeedsSets, "Invalid arguments of SET_EVENTS and GET_EVENTS are refused") {
    using Arg = perf_metagroup_events;
    const EventGroup group = open_group(0, kSetFormat, 1);
    const Meta meta(group);
    REQUIRE(open_set(meta, {faults()}, {0}) == 0);
    const auto refuse = [&](const std::function<void(Arg&)>& change, long set, long get) {
        EventsRequest request(1, {faults()});
        change(request.arg);
        const Arg again = request.arg;
        REQUIRE(request.set(meta) == set);
        request.arg = again;
        REQUIRE(request.get(meta) == get);
    };
    refuse([](Arg& arg) { arg.member = 2; }, -ENOENT, -ENOENT);
    refuse([](Arg& arg) { arg.member = 0; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.flags = 1U << 31; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.flags = PERF_METAGROUP_SET_FOLLOW; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.flags = PERF_METAGROUP_SET_TEMPLATES; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.reserved = 1; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.stride = 60; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.stride += 4; }, -EINVAL, -EINVAL);
    refuse([](Arg& arg) { arg.nr_events = 0; }, -EINVAL, -ENOSPC);
    refuse([](Arg& arg) { arg.events = 8; }, -EFAULT, -EFAULT);
    EventsRequest many(1, {faults()});
    many.arg.nr_events = PERF_METAGROUP_MAX_SET_EVENTS + 1;
    REQUIRE(many.set(meta) == -E2BIG);
    perf_event_attr samples = faults();
    samples.sample_period = 1;
    EventsRequest sampling(1, {faults(), samples});
    REQUIRE(sampling.set(meta) == -EINVAL);
    REQUIRE(sampling.arg.failed == 1);
    REQUIRE(sampling.arg.reason == PERF_METAGROUP_REASON_ATTR);
    REQUIRE(meta.member(1).generation == 0);
}

TEST_CASE_METHOD(NeedsSets, "SET_EVENTS accepts templates") {
    const Meta meta;
    REQUIRE(open_set(meta, {faults()}) == 0);
    const Fd event(open_event(clock_event(), -1, 0, -1));
    std::array<int, 2> fds{event.get(), -1};
    EventsRequest request(0, {});
    request.arg.flags = PERF_METAGROUP_SET_TEMPLATES;
    request.arg.events = address(fds.data());
    request.arg.stride = 0;
    request.arg.nr_events = 2;
    REQUIRE(request.set(meta) == -EBADF);
    REQUIRE(request.arg.failed == 1);
    request.arg.nr_events = 1;
    REQUIRE(request.set(meta) == 0);
    REQUIRE(events_of(meta, 0).at(0).config == PERF_COUNT_SW_CPU_CLOCK);
}

TEST_CASE_METHOD(NeedsSets, "SET_EVENTS respects the limits of a meta-group on one CPU") {
    const Meta meta;
    REQUIRE(open_set(meta, {faults()}, {0}) == 0);
    for (unsigned i = 1; i < meta.info().max_events_per_cpu / 64; ++i)
        REQUIRE(open_set(meta, std::vector<perf_event_attr>(64, faults()), {0}) == 0);
    REQUIRE(set_events(meta, 0, std::vector<perf_event_attr>(64, faults())) == 0);
    REQUIRE(open_set(meta, {faults()}, {0}) == -E2BIG);
    REQUIRE(set_events(meta, 0, {faults()}) == 0);
    REQUIRE(open_set(meta, {faults()}, {0}) == 0);
    REQUIRE(set_events(meta, 0, std::vector<perf_event_attr>(64, faults())) == -E2BIG);
    REQUIRE(meta.member(0).events == 1);
}

TEST_CASE_METHOD(NeedsSets, "SET_EVENTS of a user without CAP_PERFMON counts toward max_set_events",
                 "[privilege]") {
    const OpenDevice device;
    const Paranoid paranoid(-1);
    const MaxSetEvents limit(5);
    const auto results = run_as(Identity::user, {}, [](std::span<const int>) {
        const Meta meta;
        const Fd event(open_event(faults(), -1, 0, -1));
        const auto with = [&](std::vector<int> fds) {
            EventsRequest request(0, {});
            request.arg.flags = PERF_METAGROUP_SET_TEMPLATES;
            request.arg.events = address(fds.data());
            request.arg.nr_events = static_cast<__u32>(fds.size());
            request.arg.stride = 0;
            return request.set(meta);
        };
        const std::vector<int> two(2, event.get()), three(3, event.get()), four(4, event.get());
        const long opened = SetRequest(two, {0}).open(meta);
        // Old and new ones are there at the same time, and then only the new ones.
        return std::array<long, 4>{opened, with(four), with(three), with(two)};
    });
    REQUIRE(results == std::array<long, 4>{0, -E2BIG, 0, 0});
}

TEST_CASE_METHOD(NeedsSets,
                 "A set that follows has the events of SET_EVENTS after its CPU is online again") {
    const Meta meta;
    SetRequest open({faults()});
    open.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    REQUIRE(open.open(meta) == 0);
    const auto last = open.arg.count - 1;
    REQUIRE(set_events(meta, last, {clock_event(), clock_event()}) == 0);
    OfflineCpu offline(online_cpus().back());
    REQUIRE(set_events(meta, last, {faults()}) == -ENODEV);
    offline.back();
    for (int round = 0; round < 2000 && meta.member(last).generation < 2; ++round)
        std::this_thread::sleep_for(5ms);
    const Frame frame = read_framed(meta).frames.at(last);
    REQUIRE(frame.record.status == PERF_METAGROUP_OK);
    REQUIRE(generation(frame) == 2);
    REQUIRE(SetPayload(frame.payload).counts.size() == 2);
    REQUIRE(set_events(meta, last, {faults()}) == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "SET_EVENTS during CPU hotplug leaves either the new events or the old ones") {
    const Meta meta;
    SetRequest open({faults()});
    open.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    REQUIRE(open.open(meta) == 0);
    const auto last = open.arg.count - 1;
    const int cpu = online_cpus().back();
    Background plug([&] {
        set_online(cpu, false);
        set_online(cpu, true);
    });
    std::size_t events = 1;
    unsigned done = 0;
    repeat_for(
        long_time(std::chrono::seconds(8)),
        [&] {
            const std::size_t wanted = 1 + events % 5;
            const long got =
                set_events(meta, last, std::vector<perf_event_attr>(wanted, clock_event()));
            REQUIRE((got == 0 || got == -ENODEV));
            if (got == 0) {
                events = wanted;
                ++done;
            }
            const Frame frame = read_framed(meta).frames.at(last);
            REQUIRE(SetPayload(frame.payload).counts.size() == events);
            REQUIRE(meta.member(last).events == events);
        },
        [&] { return plug.rounds() >= 3 && done > 10; });
    plug.stop();
}

TEST_CASE_METHOD(NeedsSetsAndStreams, "A stream continues with the events of SET_EVENTS") {
    const MaxStreamPercent all(100);
    const BusyCpus busy;
    const Meta meta;
    REQUIRE(open_set(meta, {clock_event()}) == 0);
    RunningStream stream(meta, 2ms);
    REQUIRE(set_events(meta, 0, {clock_event(), faults(), clock_event()}) == 0);
    const SetPayload payload(read_framed(meta).frames.at(0).payload);
    std::size_t seen = 0;
    for (int round = 0; round < 200 && seen < 5; ++round) {
        std::this_thread::sleep_for(10ms);
        const auto drained = stream.drain();
        for (const RingRecord& record : drained.at(0))
            if (record.is_sample() && record.id == payload.ids[0]) {
                REQUIRE(SetPayload(record.payload).ids == payload.ids);
                ++seen;
            }
    }
    REQUIRE(seen >= 5);
}

TEST_CASE_METHOD(NeedsSets, "A name keeps the events that a member had when it was published") {
    const Meta creator;
    REQUIRE(open_set(creator, {faults()}) == 0);
    REQUIRE(set_events(creator, 0, {clock_event(), faults()}) == 0);
    const Name name(creator, "kept");
    REQUIRE(set_events(creator, 0, {clock_event()}) == 0);
    const Meta meta;
    REQUIRE(join(meta, "kept") == 0);
    REQUIRE(events_of(meta, 0).size() == 2);
    REQUIRE(events_of(meta, 1).size() == 1);
    REQUIRE(set_events(meta, 1, {clock_event(), clock_event()}) == 0);
    const Meta other;
    REQUIRE(join(other, "kept") == 0);
    REQUIRE(events_of(other, 1).size() == 1);
}
