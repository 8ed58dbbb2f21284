// SPDX-License-Identifier: MIT
// STREAM while members, CPUs and processes come and go.
#include <sys/prctl.h>
#include <time.h>

#include "streams.hpp"
#include "support/real_time.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

TEST_CASE_METHOD(
    NeedsStreams,
    "A member that is attached while a stream runs has samples, even on a CPU without members") {
    const OneCpu here;
    const auto [first, meta] = attached(open_group(online_cpus().front(), kFull, 2));
    RunningStream stream(meta, kPeriod);
    REQUIRE(try_to_map_ring(meta, stream.arg(), here.cpu) == -ENODEV);

    const EventGroup second = open_group(here.cpu, kFull, 3);
    REQUIRE(meta.attach(second) == 0);
    stream.map(here.cpu);
    wait_for(stream.ring(here.cpu), sample_of(second));
    const EventGroup third = open_group(here.cpu, kFull, 1);
    REQUIRE(meta.attach(third) == 0);
    wait_for(stream.ring(here.cpu), sample_of(third));
    wait_for(stream.ring(here.cpu), sample_of(second));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A member that is detached while a stream runs has no more samples") {
    const OneCpu here;
    const EventGroup first = open_group(here.cpu, kFull, 2);
    const EventGroup second = open_group(here.cpu, kFull, 2);
    const Meta meta(first, second);
    RunningStream stream(meta, kPeriod);
    wait_for(stream.ring(here.cpu), sample_of(first));
    REQUIRE(meta.detach(0) == 0);
    REQUIRE_FALSE(any_within_50_ms(stream.ring(here.cpu), sample_of(first)));
    wait_for(stream.ring(here.cpu), sample_of(second));

    // The last one: the CPU has no deadlines, and has them again with a new member.
    REQUIRE(meta.detach(1) == 0);
    REQUIRE_FALSE(any_within_50_ms(stream.ring(here.cpu), [](const RingRecord&) { return true; }));
    REQUIRE(meta.attach(first) == 0);
    wait_for(stream.ring(here.cpu), sample_of(first));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A member that is attached just when its CPU finds that it has none has samples") {
    const OnFirstCpu test;
    const OneCpu here;
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 2));
    RunningStream stream(meta, kPeriod);
    for (int round = 0; round < 30; ++round) {
        CAPTURE(round);
        REQUIRE(meta.detach(static_cast<unsigned>(round)) == 0);
        // The next deadline is within a period.
        std::this_thread::sleep_for(kPeriod * (round % 8) / 4);
        REQUIRE(meta.attach(group) == 0);
        stream.ring(here.cpu).drain();
        wait_for(stream.ring(here.cpu), sample_of(group));
    }
}

TEST_CASE_METHOD(NeedsStreams, "Enable, disable and reset act on a stream at the next deadline") {
    const OneCpu here;
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 2, true));
    RunningStream stream(meta, kPeriod);
    const auto count = [](const RingRecord& r) { return words(r.payload).at(3); };
    // Deadlines may be lost on a machine that is busy.
    const auto wait_for_count = [&](auto&& accept) {
        wait_for(stream.ring(here.cpu),
                 [&](const RingRecord& r) { return r.is_sample() && accept(count(r)); });
    };
    REQUIRE(count(wait_for(stream.ring(here.cpu), sample_of(group))) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    wait_for_count([](std::uint64_t ns) { return ns > 1'000'000; });
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    stream.ring(here.cpu).drain();
    const auto stopped = wait_for(stream.ring(here.cpu), sample_of(group));
    REQUIRE(wait_for(stream.ring(here.cpu), sample_of(group)).payload == stopped.payload);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    wait_for_count([](std::uint64_t ns) { return ns == 0; });
}

TEST_CASE_METHOD(NeedsStreams, "A group that grows soon has samples with its new events") {
    const OneCpu here;
    auto [group, meta] = attached(open_group(here.cpu, kFull, 1));
    RunningStream stream(meta, kPeriod);
    for (int i = 0; i < 20; ++i)
        group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kFull), here.cpu);
    const RingRecord sample = wait_for(stream.ring(here.cpu), [](const RingRecord& r) {
        return r.is_sample() && words(r.payload).at(0) == 21;
    });
    REQUIRE(words(sample.payload).size() == 3 + 2 * 21);
}

TEST_CASE_METHOD(
    NeedsStreams,
    "A group that grows while a real-time thread never leaves its CPU has samples soon") {
    if (is_real_time_kernel()) SKIP("what interrupts the member's CPU waits for that thread");
    const OnFirstCpu test;
    const OneCpu here;
    auto [group, meta] = attached(open_group(here.cpu, kFull, 1));
    RunningStream stream(meta, kPeriod);
    const RealTimeCpu busy(here.cpu);
    for (int i = 0; i < 20; ++i)
        group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kFull), here.cpu);
    const auto took = time_of([&] {
        wait_for(stream.ring(here.cpu),
                 [](const RingRecord& r) { return r.is_sample() && words(r.payload).at(0) == 21; });
    });
    REQUIRE(took < 15s);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A member that its PMU has moved has samples in the ring of its new CPU") {
    const OneCpu here;
    const int to = online_cpus().front();
    const EventGroup group = group_of(here.cpu, {testpmu_or_skip(kFull)});
    const EventGroup other = open_group(to, kFull, 1);
    const Meta meta(group, other);
    RunningStream stream(meta, kPeriod);
    wait_for(stream.ring(here.cpu), sample_of(group));
    testpmu_move(here.cpu, to);
    REQUIRE(wait_for(stream.ring(to), sample_of(group)).cpu == to);
    REQUIRE_FALSE(any_within_50_ms(stream.ring(here.cpu), sample_of(group)));
}

TEST_CASE_METHOD(
    NeedsStreams,
    "A member that a sweep has followed to a CPU without deadlines has samples there") {
    const OneCpu here;
    const int to = online_cpus().front();
    if (to == here.cpu) SKIP("needs two CPUs");
    const auto [group, meta] = attached(group_of(here.cpu, {testpmu_or_skip(kFull)}));
    RunningStream stream(meta, 1s);
    wait_for(stream.ring(here.cpu), sample_of(group));
    testpmu_move(here.cpu, to);
    meta.read();  // before the next deadline
    REQUIRE(try_to_map_ring(meta, stream.arg(), to) == 0);
    stream.map(to);
    REQUIRE(wait_for(stream.ring(to), sample_of(group)).cpu == to);
}

TEST_CASE_METHOD(
    NeedsStreams,
    "A member that has left a CPU before that goes offline has samples on its new CPU") {
    const OneCpu here;
    const int to = online_cpus().front();
    if (to == here.cpu) SKIP("needs two CPUs");
    const auto [group, meta] = attached(group_of(here.cpu, {testpmu_or_skip(kFull)}));
    RunningStream stream(meta, 2s);
    wait_for(stream.ring(here.cpu), sample_of(group));
    testpmu_move(here.cpu, to);
    const OfflineCpu offline(here.cpu);
    long error = -ENODEV;
    repeat_for(
        0ms, [&] { std::this_thread::sleep_for(10ms); },
        [&] { return (error = try_to_map_ring(meta, stream.arg(), to)) == 0; });
    REQUIRE(error == 0);
    stream.map(to);
    REQUIRE(wait_for(stream.ring(to), sample_of(group)).cpu == to);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A member that cannot be read is counted as lost, and the others have samples") {
    const OneCpu here;
    const EventGroup broken = group_of(here.cpu, {testpmu_or_skip(kFull)});
    const EventGroup group = open_group(here.cpu, kFull, 1);
    const Meta meta(broken, group);
    RunningStream stream(meta, kPeriod);
    wait_for(stream.ring(here.cpu), sample_of(broken));
    testpmu_set_read_error(EIO);
    const RingRecord lost = wait_for(stream.ring(here.cpu), [&](const RingRecord& r) {
        return !r.is_sample() && r.id == broken.id(0);
    });
    REQUIRE(lost.lost >= 1);
    REQUIRE_FALSE(any_within_50_ms(stream.ring(here.cpu), sample_of(broken)));
    wait_for(stream.ring(here.cpu), sample_of(group));
    testpmu_set_read_error(0);
    wait_for(stream.ring(here.cpu), sample_of(broken));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A CPU has no deadlines while it is offline, and has them again when it is back") {
    MaxStreamPercent no_limit(100);
    const auto [groups, meta] = attached(open_everywhere(kFull, 2));
    RunningStream stream(meta, kPeriod);
    const int cpu = online_cpus().back();
    wait_for(stream.ring(cpu), sample_of(groups.back()));
    {
        const OfflineCpu offline(cpu);
        REQUIRE_FALSE(any_within_50_ms(stream.ring(cpu), [](const RingRecord&) { return true; }));
        wait_for(stream.ring(online_cpus().front()), sample_of(groups.front()));
    }
    // The old group is dissolved: its counts stand still.
    const EventGroup fresh = open_group(cpu, kFull, 2);
    REQUIRE(meta.attach(fresh) == 0);
    wait_for(stream.ring(cpu), sample_of(fresh));
    wait_for(stream.ring(cpu), sample_of(groups.back()));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A stream can be started while a CPU is offline, and the CPU joins it later") {
    MaxStreamPercent no_limit(100);
    const int cpu = online_cpus().back();
    const auto groups = open_everywhere(kFull, 2);
    OfflineCpu offline(cpu);
    const Meta meta(groups);
    RunningStream stream(meta, kPeriod);
    stream.map(cpu);
    wait_for(stream.ring(online_cpus().front()), sample_of(groups.front()));
    REQUIRE(stream.ring(cpu).head() == 0);
    offline.back();
    wait_for(stream.ring(cpu), sample_of(groups.back()));
}

namespace {

// How often a CPU enters idle.
EventGroup open_idle_entries(int cpu) {
    perf_event_attr attr = software_event(0, 0);
    attr.type = PERF_TYPE_TRACEPOINT;
    REQUIRE(std::ifstream("/sys/kernel/tracing/events/power/cpu_idle/id") >> attr.config);
    EventGroup group = group_of(cpu, {attr});
    REQUIRE(::ioctl(group.fds[0].get(), PERF_EVENT_IOC_SET_FILTER, "state != 4294967295") == 0);
    return group;
}

}  // namespace

TEST_CASE_METHOD(
    NeedsStreamsAndQuiet,
    "In quiet mode an idle CPU is woken once per idle period, and has samples when it is busy") {
    MaxStreamPercent no_limit(100);
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 2));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    RunningStream stream(meta, 1ms);
    std::this_thread::sleep_for(100ms);
    stream.ring(cpu).drain();

    const EventGroup entries = open_idle_entries(cpu);
    const auto before = fdinfo(meta, "stream_deadlines");
    const auto woken_before = fdinfo(meta, "stream_idle_wakeups");
    const auto entries_before = words(entries.read()).at(0);
    std::this_thread::sleep_for(1s);
    // Kernel threads wake now and then.
    REQUIRE(fdinfo(meta, "stream_deadlines") - before < 300);
    const auto woken = fdinfo(meta, "stream_idle_wakeups") - woken_before;
    // The CPU enters idle after the stream has woken it, and after something else has: about twice
    // as often as it is woken.
    const auto entered = words(entries.read()).at(0) - entries_before;
    INFO(woken << " times woken, " << entered << " times entered idle");
    REQUIRE(woken < 300);
    REQUIRE(4 * woken <= 3 * entered + 8);

    stream.ring(cpu).drain();
    {
        const BusyCpu busy(cpu);
        std::this_thread::sleep_for(300ms);
    }
    const auto records = stream.ring(cpu).drain();
    REQUIRE(records.size() > 50);
}

TEST_CASE_METHOD(
    NeedsStreamsAndQuiet,
    "In quiet mode a CPU without a tick has samples when a task runs there, whenever it wakes",
    "[isolated]") {
    const MaxStreamPercent no_limit(100);
    const auto tickless = listed_cpus("/sys/devices/system/cpu/nohz_full");
    if (tickless.empty()) SKIP("no CPU is without a tick by nohz_full=");
    const OnFirstCpu here;
    const int cpu = tickless.front();
    const auto [group, meta] = attached(open_group(cpu, kFull, 1));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    RunningStream stream(meta, 500us, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
    const MappedRing& ring = stream.ring(cpu);
    const std::uint64_t period = stream.period();
    unsigned stopped = 0;
    std::jthread([&] {
        run_on(cpu);
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        for (unsigned round = 0; round < 500 && !stopped; ++round) {
            // The first deadline finds the CPU idle, and soon afterwards it is not.
            const std::uint64_t deadline = (monotonic_ns() / period + 1) * period;
            const auto until = static_cast<long>(deadline + 20'000 + round % 100 * 1000);
            const timespec time{.tv_sec = until / 1'000'000'000, .tv_nsec = until % 1'000'000'000};
            ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
            const std::uint64_t head = ring.head();
            const std::uint64_t end = monotonic_ns() + 4'000'000'000;
            while (ring.head() == head && monotonic_ns() < end) {
            }
            stopped += ring.head() == head;
        }
    }).join();
    REQUIRE(stopped == 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "Isolated CPUs that are skipped have no ring, and the others have samples",
                 "[isolated]") {
    const MaxStreamPercent no_limit(100);
    const auto isolated = listed_cpus("/sys/devices/system/cpu/isolated");
    if (isolated.empty()) SKIP("no CPU is isolated by isolcpus=");
    const auto [groups, meta] = attached(open_everywhere(kFull, 1));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    perf_metagroup_stream arg = stream_of(kPeriod);
    REQUIRE(start_stream(meta, arg) == 0);
    REQUIRE(try_to_map_ring(meta, arg, isolated.front()) == -ENODEV);
    MappedRing ring(meta, arg, online_cpus().front());
    wait_for(ring, sample_of(groups.front()));
}

TEST_CASE_METHOD(NeedsStreams,
                 "A process that is killed while its stream runs leaves nothing behind") {
    const OneCpu here;
    const EventGroup group = open_group(here.cpu, kFull, 2);
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            const Meta meta(group);
            RunningStream stream(meta, 100us);
            for (;;)
                stream.run(1ms);
        }
        ::usleep(static_cast<useconds_t>(2000 * round));
        REQUIRE(::kill(child, SIGKILL) == 0);
        REQUIRE(::waitpid(child, nullptr, 0) == child);
        const Meta meta(group);
        RunningStream stream(meta, kPeriod);
        if (round % 5 == 0) wait_for(stream.ring(here.cpu), sample_of(group));
    }
}

TEST_CASE_METHOD(NeedsStreams, "A child does not inherit rings, and does not end the stream") {
    const OneCpu here;
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 1));
    RunningStream stream(meta, kPeriod);
    void* const ring = &stream.ring(here.cpu).page();
    REQUIRE(in_child([&] {
                unsigned char there = 0;
                return ::mincore(ring, kRingPage, &there) == -1 && errno == ENOMEM ? 0 : 1;
            }) == 0);
    stream.ring(here.cpu).drain();
    wait_for(stream.ring(here.cpu), sample_of(group));
}
