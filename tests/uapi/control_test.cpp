// SPDX-License-Identifier: MIT
// CONTROL: sets are started, stopped and reset with one broadcast.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cerrno>

#include "fixtures.hpp"
#include "support/background.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// Two sets on all CPUs, and a perf group.
struct ControlWorld {
    std::vector<int> cpus = online_cpus();
    EventGroup group = open_group(0, kSetFormat, 2);
    Meta meta;
    ControlWorld() {
        const perf_event_attr clock = software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
        REQUIRE(open_set(meta, {clock, clock}) == 0);
        REQUIRE(meta.attach(group) == 0);
        REQUIRE(open_set(meta, {clock}) == 0);
    }
    std::size_t members() const { return 2 * cpus.size(); }
    bool is_group(std::size_t member) const { return member == cpus.size(); }

    perf_metagroup_control control(unsigned op, const std::vector<int>& on = {}) const {
        perf_metagroup_control arg{};
        const auto mask = cpu_words(on);
        arg.size = sizeof(arg);
        arg.op = op;
        arg.cpus = on.empty() ? 0 : address(mask.data());
        arg.nr_words = on.empty() ? 0 : static_cast<__u32>(mask.size());
        REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &arg) == 0);
        return arg;
    }
    std::vector<Frame> frames() const { return read_framed(meta).frames; }
};

long control(const Meta& meta, perf_metagroup_control arg) {
    if (!arg.size) arg.size = sizeof(arg);
    return meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &arg);
}

// The bounds are by CLOCK_MONOTONIC, the time by perf's clock. Their rates may differ: the kernel
// measures the frequency of the TSC a second time for the former only.
bool is_between(std::uint64_t time, std::uint64_t least, std::uint64_t most) {
    return time >= least - least / 100 && time <= most + most / 100;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "STOP of all CPUs freezes the counts of all sets until START") {
    const ControlWorld world;
    const auto before = monotonic_ns();
    const auto stop = world.control(PERF_METAGROUP_STOP);
    const auto after = monotonic_ns();
    REQUIRE(before <= stop.begin);
    REQUIRE(stop.begin <= stop.end);
    REQUIRE(stop.end <= after);
    REQUIRE(stop.skew <= stop.end - stop.begin);
    REQUIRE(stop.members == world.members());

    const auto stopped = world.frames();
    burn_ms(2);
    const auto later = world.frames();
    for (std::size_t i = 0; i < stopped.size(); ++i) {
        REQUIRE(stopped[i].record.status ==
                (world.is_group(i) ? PERF_METAGROUP_OK : PERF_METAGROUP_OFF));
        REQUIRE((later[i].payload == stopped[i].payload) == !world.is_group(i));
    }

    const auto start = world.control(PERF_METAGROUP_START);
    burn_ms(2);
    const auto again = world.frames();
    for (std::size_t i = 0; i < stopped.size(); ++i) {
        if (world.is_group(i)) continue;
        const SetPayload now(again[i].payload), then(stopped[i].payload);
        REQUIRE(again[i].record.status == PERF_METAGROUP_OK);
        // They go on at START.
        REQUIRE(is_between(now.enabled - then.enabled, again[i].record.time - start.end,
                           again[i].record.time - start.begin));
        REQUIRE(now.running - then.running == now.enabled - then.enabled);
        REQUIRE(now.counts[0] > then.counts[0]);
        REQUIRE(now.ids == then.ids);
    }
}

TEST_CASE_METHOD(NeedsSets, "A set counts from the time of START to the time of STOP") {
    const ControlWorld world;
    world.control(PERF_METAGROUP_STOP);
    const auto before = world.frames();
    const auto start = world.control(PERF_METAGROUP_START);
    burn_ms(1);
    const auto stop = world.control(PERF_METAGROUP_STOP);
    const auto after = world.frames();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (world.is_group(i)) continue;
        const auto enabled =
            SetPayload(after[i].payload).enabled - SetPayload(before[i].payload).enabled;
        REQUIRE(is_between(enabled, stop.begin - start.end, stop.end - start.begin));
    }
}

TEST_CASE_METHOD(NeedsSets, "CONTROL of some CPUs leaves the others as they are") {
    const ControlWorld world;
    const int last = world.cpus.back();
    REQUIRE(world.control(PERF_METAGROUP_STOP, {last}).members == 2);
    for (const Frame& frame : world.frames())
        REQUIRE(frame.record.status == (frame.record.cpu == static_cast<unsigned>(last)
                                            ? PERF_METAGROUP_OFF
                                            : PERF_METAGROUP_OK));
    world.control(PERF_METAGROUP_STOP);
    REQUIRE(world.control(PERF_METAGROUP_RESET, {last, 60000}).members == 2);
    const auto frames = world.frames();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (world.is_group(i)) continue;
        const SetPayload payload(frames[i].payload);
        REQUIRE((payload.counts[0] == 0) == (frames[i].record.cpu == static_cast<unsigned>(last)));
        REQUIRE(payload.enabled > 0);
    }
}

TEST_CASE_METHOD(NeedsSets, "RESET of a running set sets its counts to 0, and its times continue") {
    const ControlWorld world;
    burn_ms(1);
    const auto before = world.frames();
    const auto reset = world.control(PERF_METAGROUP_RESET);
    const auto after = world.frames();
    for (std::size_t i = 0; i < before.size(); ++i) {
        const SetPayload then(before[i].payload), now(after[i].payload);
        REQUIRE(now.enabled > then.enabled);
        if (world.is_group(i))
            REQUIRE(now.counts[0] > then.counts[0]);
        else
            REQUIRE(now.counts[0] <= after[i].record.time - reset.begin);
    }
}

TEST_CASE_METHOD(NeedsSets, "START of a started set and STOP of a stopped set change nothing") {
    const ControlWorld world;
    const auto before = world.frames();
    world.control(PERF_METAGROUP_START);
    REQUIRE(SetPayload(world.frames()[0].payload).enabled > SetPayload(before[0].payload).enabled);
    world.control(PERF_METAGROUP_STOP);
    const auto stopped = world.frames();
    world.control(PERF_METAGROUP_STOP);
    REQUIRE(world.frames()[0].payload == stopped[0].payload);
    REQUIRE(world.frames().back().payload == stopped.back().payload);
}

TEST_CASE_METHOD(NeedsSetsAndQuiet,
                 "A read after RESET has no earlier counts, even of a CPU that is still idle") {
    const IdleCpu idle;
    REQUIRE(open_set(idle.meta, {core_or_skip(0)}, {idle.cpu}) == 0);
    Bytes bytes = idle.meta.read();
    unsigned rounds = 0;
    repeat_for(
        long_time(8s),
        [&] {
            idle.until_idle();
            // With nothing in between: the CPU leaves idle soon after the interrupt.
            perf_metagroup_control reset{};
            reset.size = sizeof(reset);
            reset.op = PERF_METAGROUP_RESET;
            const long done = idle.meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &reset);
            const long got = idle.meta.read(bytes.data(), bytes.size());
            REQUIRE(done == 0);
            REQUIRE(got > 0);
            const auto framed = take_apart({bytes.begin(), bytes.begin() + got});
            REQUIRE(framed.frames.front().record.time >= reset.begin);
            ++rounds;
        },
        [&] { return rounds > 100; });
    REQUIRE(rounds > 100);
}

TEST_CASE_METHOD(NeedsSets, "CONTROL without sets controls no member") {
    const EventGroup group = open_group(0, kSetFormat, 1);
    const Meta meta(group);
    perf_metagroup_control arg{};
    arg.size = sizeof(arg);
    arg.op = PERF_METAGROUP_STOP;
    REQUIRE(meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &arg) == 0);
    REQUIRE(arg.members == 0);
    REQUIRE(arg.skew == 0);
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OK);
}

TEST_CASE_METHOD(NeedsSets, "A set on an offline CPU is controlled like others") {
    const ControlWorld world;
    const OfflineCpu offline(world.cpus.back());
    const auto index = world.cpus.size() - 1;
    REQUIRE(world.control(PERF_METAGROUP_RESET).members == world.members());
    REQUIRE(SetPayload(world.frames()[index].payload).counts[0] == 0);
    world.control(PERF_METAGROUP_STOP);
    REQUIRE(world.frames()[index].record.status == PERF_METAGROUP_OFF);
    world.control(PERF_METAGROUP_START);
    REQUIRE(world.frames()[index].record.status == PERF_METAGROUP_OFFLINE);
}

TEST_CASE_METHOD(NeedsSets, "An invalid argument of CONTROL is refused") {
    const Meta meta;
    const __u64 mask = 1;
    perf_metagroup_control arg{};
    REQUIRE(control(meta, arg) == 0);
    arg.flags = 1;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg = {};
    arg.op = PERF_METAGROUP_RESET + 1;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg = {};
    arg.reserved = 1;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg = {};
    arg.size = sizeof(arg) - 8;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg = {};
    arg.cpus = address(&mask);
    REQUIRE(control(meta, arg) == -EINVAL);
    arg.nr_words = 1025;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg.cpus = 0;
    arg.nr_words = 1;
    REQUIRE(control(meta, arg) == -EINVAL);
    arg.cpus = 8;
    REQUIRE(control(meta, arg) == -EFAULT);
}
