// SPDX-License-Identifier: MIT
// STREAM and the size of its rings: what does not fit is refused or lost, and never written.
#include "streams.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

// Events whose sample exceeds a ring of one page, and those of a set, of which four exceed it.
constexpr int kMany = 300;
constexpr int kSet = PERF_METAGROUP_MAX_SET_EVENTS;

perf_event_attr dummy() {
    return software_event(PERF_COUNT_SW_DUMMY, kFull);
}

EventGroup many_events(int cpu) {
    return open_group(cpu, kFull, kMany);
}

}  // namespace

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "Members whose samples exceed the rings of a running stream are refused") {
    const unsigned flags = GENERATE(0U, unsigned{PERF_METAGROUP_STREAM_OVERWRITE});
    const OneCpu here;
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 3 * kSet));
    REQUIRE(open_set(meta, {clock_event()}, {here.cpu}) == 0);
    RunningStream stream(meta, kPeriod, kRingPage, flags);

    const EventGroup large = many_events(here.cpu);
    REQUIRE(meta.attach(large) == -ENOSPC);
    REQUIRE(open_set(meta, distinct(kSet, clock_event()), {here.cpu}) == -ENOSPC);
    auto attrs = distinct(kSet, clock_event());
    perf_metagroup_events events{};
    events.size = sizeof(events);
    events.member = 1;
    events.events = address(attrs.data());
    events.nr_events = kSet;
    events.stride = sizeof(perf_event_attr);
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_SET_EVENTS, &events) == -ENOSPC);
    REQUIRE(meta.info().members == 2);

    stream.stop();
    REQUIRE(meta.attach(large) == 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A group that grows beyond its ring is not sampled, but the others are") {
    const unsigned flags = GENERATE(0U, unsigned{PERF_METAGROUP_STREAM_OVERWRITE});
    const OneCpu here;
    EventGroup grows = open_group(here.cpu, kFull, 1);
    const EventGroup other = open_group(here.cpu, kFull, 1);
    const Meta meta(grows, other);
    RunningStream stream(meta, kPeriod, kRingPage, flags);
    for (int i = 0; i < kMany; ++i)
        grows.add(dummy(), here.cpu);
    MappedRing& ring = stream.ring(here.cpu);
    const auto deadlines = [&] { return fdinfo(meta, "stream_deadlines"); };
    const std::uint64_t before = deadlines();
    repeat_for(
        1s,
        [&] {
            std::this_thread::sleep_for(50ms);
            if (!flags) ring.drain();
        },
        [&] { return deadlines() > before + 100; });
    REQUIRE(meta.info().members == 2);
    if (!flags) {
        wait_for(ring, sample_of(other));
        return;
    }
    stream.stop();
    const auto records = ring.newest_first();
    REQUIRE(std::any_of(records.begin(), records.end(), sample_of(other)));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A group that grows beyond its ring does not fail raw reads of the others") {
    const OneCpu here;
    EventGroup grows = open_group(here.cpu, kFull, 1, true);
    const EventGroup other = open_group(here.cpu, kFull, 1, true);
    const Meta meta(grows, other);
    RunningStream stream(meta, kPeriod, kRingPage);
    for (int i = 0; i < kMany; ++i)
        grows.add(dummy(), here.cpu);
    REQUIRE(meta.read() == other.read());
    stream.stop();
    REQUIRE(wait_until([&] { return meta.read() == concatenated({grows.read(), other.read()}); }));
}

TEST_CASE_METHOD(
    NeedsStreams,
    "Members that have moved to a CPU whose ring is too small for them lose deadlines") {
    const unsigned flags = GENERATE(0U, unsigned{PERF_METAGROUP_STREAM_OVERWRITE});
    const OneCpu here;
    const int to = online_cpus().front();
    if (to == here.cpu) SKIP("needs two CPUs");
    // Either fits, but not both.
    const auto attrs = std::vector(150, testpmu_or_skip(kFull));
    const EventGroup moves = group_of(here.cpu, attrs);
    const EventGroup stays = open_group(to, kFull, 150);
    const Meta meta(moves, stays);
    RunningStream stream(meta, kPeriod, kRingPage, flags);
    testpmu_move(here.cpu, to);
    const auto lost = [&] { return fdinfo(meta, "stream_lost"); };
    const auto before = lost();
    repeat_for(
        0ms,
        [&] {
            meta.read();
            std::this_thread::sleep_for(1ms);
        },
        [&] { return lost() > before + 20; });
    REQUIRE(lost() > before + 20);
    // All are lost, not only those that streams have no time for.
    const std::uint64_t head = stream.ring(to).head();
    std::this_thread::sleep_for(50 * kPeriod);
    REQUIRE(stream.ring(to).head() == head);
    testpmu_move(to, here.cpu);
}

TEST_CASE_METHOD(NeedsStreams,
                 "Records of lost samples that replace small samples stay within the ring") {
    const OneCpu here;
    perf_event_attr attr = testpmu_or_skip(0);
    attr.pinned = 1;
    const auto [group, meta] = attached(group_of(here.cpu, {attr}));
    RunningStream stream(meta, kPeriod, kRingPage);
    MappedRing& ring = stream.ring(here.cpu);
    repeat_for(
        0ms, [] { std::this_thread::sleep_for(1ms); },
        [&] { return kRingPage - ring.head() < 96; });
    std::this_thread::sleep_for(3 * kPeriod);
    REQUIRE(kRingPage - ring.head() < 96);
    // From now on the event is in ERROR.
    const TestpmuCounters none(0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    for (std::uint64_t tail = 8; tail <= 128; tail += 8) {
        __atomic_store_n(&ring.page().data_tail, tail, __ATOMIC_RELEASE);
        std::this_thread::sleep_for(3 * kPeriod);
        if (ring.head() - tail > kRingPage) break;
    }
    REQUIRE(ring.head() - ring.page().data_tail <= kRingPage);
}

TEST_CASE_METHOD(NeedsStreams, "Members of skipped isolated CPUs need no space in a ring",
                 "[isolated]") {
    const auto isolated = listed_cpus("/sys/devices/system/cpu/isolated");
    if (isolated.empty()) SKIP("no CPU is isolated by isolcpus=");
    const EventGroup small = open_group(online_cpus().front(), kFull, 1);
    const Meta meta(small, many_events(isolated.front()));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    perf_metagroup_stream arg = stream_of(kPeriod, kRingPage);
    REQUIRE(start_stream(meta, arg) == 0);
    REQUIRE(meta.attach(many_events(isolated.front())) == 0);
    REQUIRE(meta.attach(many_events(online_cpus().front())) == -ENOSPC);
}

TEST_CASE_METHOD(
    NeedsStreams,
    "A stream that is started again samples a group that grew just before it was stopped") {
    const OneCpu here;
    auto [group, meta] = attached(open_group(here.cpu, kFull, 1));
    for (int round = 0; round < 5; ++round) {
        perf_metagroup_stream arg = stream_of(kPeriod);
        REQUIRE(start_stream(meta, arg) == 0);
        std::this_thread::sleep_for(2 * kPeriod);
        while (group.fds.size() < 20U << round)
            group.add(dummy(), here.cpu);
        std::this_thread::sleep_for(kPeriod * 3 / 2);  // less than it waits before it sweeps
        REQUIRE(stop_stream(meta) == 0);

        RunningStream again(meta, kPeriod);
        const std::uint64_t events = group.fds.size();
        wait_for(again.ring(here.cpu), [&](const RingRecord& r) {
            return r.is_sample() && words(r.payload).at(0) == events;
        });
        again.stop();
    }
}
