// SPDX-License-Identifier: MIT
// OPEN_SET: events on many CPUs by one call, and their members.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <chrono>
#include <set>

#include "fixtures.hpp"
#include "support/background.hpp"
#include "support/set.hpp"
#include "support/stream.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

perf_event_attr cpu_clock() {
    return software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
}

perf_event_attr switches() {
    return software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0);
}

perf_event_attr test_event() {
    return testpmu_or_skip(0);
}

std::vector<perf_event_attr> many(std::size_t count, const perf_event_attr& attr) {
    return std::vector<perf_event_attr>(count, attr);
}

// The members of a set on all CPUs.
struct WholeSet {
    Meta meta;
    std::vector<int> cpus = online_cpus();
    explicit WholeSet(std::vector<perf_event_attr> events) {
        REQUIRE(open_set(meta, std::move(events)) == 0);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    }
    Framed read() const { return take_apart(meta.read()); }
    SetPayload payload(std::size_t member) const {
        return SetPayload(read().frames.at(member).payload);
    }
    unsigned status(std::size_t member) const { return read().frames.at(member).record.status; }
};

}  // namespace

TEST_CASE_METHOD(NeedsSets, "A set has a member on each CPU, whose payload is that of a group") {
    const Meta meta;
    SetRequest request({cpu_clock(), switches(), faults()});
    REQUIRE(request.open(meta) == 0);
    const auto cpus = online_cpus();
    REQUIRE(request.arg.first == 0);
    REQUIRE(request.arg.count == cpus.size());
    REQUIRE(request.arg.failed == 3);
    REQUIRE(request.arg.failed_cpu == PERF_METAGROUP_NO_CPU);
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NONE);
    REQUIRE(meta.info().members == cpus.size());

    const Bytes raw = meta.read();
    REQUIRE(raw.size() == meta.info().raw_size);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.size() == cpus.size());
    std::set<std::uint64_t> ids;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        const Frame& frame = framed.frames[i];
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        REQUIRE(frame.record.cpu == static_cast<unsigned>(cpus[i]));
        REQUIRE(frame.record.read_format == kSetFormat);
        const SetPayload payload(frame.payload);
        REQUIRE(payload.events == 3);
        REQUIRE(payload.counts.size() == 3);
        REQUIRE(payload.running == payload.enabled);
        REQUIRE(payload.enabled > 0);
        ids.insert(payload.ids.begin(), payload.ids.end());
    }
    REQUIRE(ids.size() == 3 * cpus.size());
}

TEST_CASE_METHOD(NeedsSets, "GET_MEMBER describes a set member") {
    const WholeSet set({cpu_clock(), faults()});
    std::array<__u64, 3> ids{7, 7, 7};
    perf_metagroup_member member{};
    member.member = 1;
    member.ids = address(ids.data());
    member.max_ids = ids.size();
    REQUIRE(set.meta.member(member) == 0);
    REQUIRE(member.cpu == static_cast<unsigned>(set.cpus[1]));
    REQUIRE(member.status == PERF_METAGROUP_OK);
    REQUIRE(member.events == 2);
    REQUIRE(member.read_format == kSetFormat);
    const auto payload = set.payload(1);
    REQUIRE(std::vector<std::uint64_t>{ids[0], ids[1]} == payload.ids);
    REQUIRE(ids[2] == 7);
    REQUIRE(fdinfo(set.meta).find("member:\t1 cpu 1 events 2 status ok") != std::string::npos);
}

TEST_CASE_METHOD(NeedsSets,
                 "Counts of a set advance like those of events opened with perf_event_open(2)") {
    const OnFirstCpu here;
    const std::vector<perf_event_attr> attrs{
        cpu_clock(), software_event(PERF_COUNT_SW_TASK_CLOCK, 0), faults(), switches()};
    const Meta meta;
    REQUIRE(open_set(meta, attrs, {online_cpus().front()}) == 0);
    // Each by itself: since Linux 6.2 task-clock does not count as the sibling of cpu-clock.
    std::vector<EventGroup> own;
    for (perf_event_attr attr : attrs) {
        attr.read_format = kSetFormat;
        own.push_back(group_of(online_cpus().front(), {attr}));
    }
    const auto ours = [&] { return SetPayload(meta.read()); };
    const auto theirs = [&] {
        std::vector<SetPayload> payloads;
        for (const EventGroup& group : own)
            payloads.emplace_back(group.read());
        return payloads;
    };

    const auto before = theirs();
    const SetPayload first = ours();
    const auto between = theirs();
    burn_ms(5);
    touch_new_memory(1024);
    const auto after = theirs();
    const SetPayload last = ours();
    const auto end = theirs();
    for (std::size_t i = 0; i < attrs.size(); ++i) {
        CAPTURE(i);
        const auto passed = last.counts[i] - first.counts[i];
        REQUIRE(passed >= after[i].counts[0] - between[i].counts[0]);
        REQUIRE(passed <= end[i].counts[0] - before[i].counts[0]);
    }
    REQUIRE(last.enabled - first.enabled >= after[0].enabled - between[0].enabled);
    REQUIRE(last.enabled - first.enabled <= end[0].enabled - before[0].enabled);
    REQUIRE(last.counts[0] - first.counts[0] > 1'000'000);
    REQUIRE(last.counts[2] - first.counts[2] > 100);
}

TEST_CASE_METHOD(NeedsSets,
                 "The counts of a set start at 0, at the same moment for all events of a CPU") {
    // Counts of time. To open so many events takes longer than what is tolerated.
    auto attrs = distinct(64, cpu_clock());
    attrs.back() = test_event();
    constexpr std::uint64_t kTolerance = 1'000'000;
    bool together = false;
    for (int round = 0; round < 10 && !together; ++round) {
        const auto begin = monotonic_ns();
        const WholeSet set(attrs);
        together = true;
        for (const Frame& frame : set.read().frames) {
            const SetPayload payload(frame.payload);
            REQUIRE(payload.enabled <= frame.record.time - begin);
            for (const auto count : payload.counts)
                together = together && count <= payload.enabled + kTolerance &&
                           count + kTolerance >= payload.enabled;
        }
    }
    REQUIRE(together);
}

TEST_CASE_METHOD(NeedsSets, "A set has the payload of any read_format with PERF_FORMAT_GROUP") {
    const auto format = GENERATE(range(std::uint64_t{0}, kReadFormats));
    const Meta meta;
    SetRequest request({faults(), switches()}, {0});
    request.arg.read_format = format;
    const bool valid = format & PERF_FORMAT_GROUP;
    REQUIRE(request.open(meta) == (valid ? 0 : -EINVAL));
    if (!valid) return;
    const bool id = format & PERF_FORMAT_ID, lost = format & PERF_FORMAT_LOST;
    const bool enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED;
    const bool running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
    const auto all = words(meta.read());
    REQUIRE(all.size() == 1U + enabled + running + 2U * (1U + id + lost));
    REQUIRE(all[0] == 2);
    if (enabled && running) REQUIRE(all[1] == all[2]);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read() == meta.read());
}

TEST_CASE_METHOD(NeedsSets, "Several sets and groups have different events on different CPUs") {
    const auto cpus = online_cpus();
    const EventGroup group = open_group(cpus.front(), kSetFormat, 2, true);
    const Meta meta;
    REQUIRE(open_set(meta, {cpu_clock()}, {cpus.back()}) == 0);
    REQUIRE(meta.attach(group) == 0);
    SetRequest request({faults(), switches(), cpu_clock()}, {cpus.front(), cpus.back()});
    REQUIRE(request.open(meta) == 0);
    REQUIRE(request.arg.first == 2);
    REQUIRE(request.arg.count == 2);

    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.size() == 4);
    REQUIRE(SetPayload(framed.frames[0].payload).events == 1);
    REQUIRE(framed.frames[1].payload == group.read());
    REQUIRE(framed.frames[2].record.cpu == static_cast<unsigned>(cpus.front()));
    REQUIRE(framed.frames[3].record.cpu == static_cast<unsigned>(cpus.back()));
    REQUIRE(SetPayload(framed.frames[3].payload).events == 3);
    REQUIRE(meta.sweep_copy({cpus.back()}).size() ==
            take_apart(meta.sweep_copy({cpus.back()})).head.bytes);
}

TEST_CASE_METHOD(NeedsSets, "A mapped snapshot shows the records of a set") {
    const WholeSet set({cpu_clock(), faults()});
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const Framed read = set.read();
    const Mapping mapping(set.meta);
    REQUIRE(mapping.framed().payloads() == read.payloads());
}

TEST_CASE_METHOD(NeedsSets,
                 "An attr that perf refuses is reported with its CPU, and nothing is opened") {
    const Meta meta;
    perf_event_attr unknown = faults();
    unknown.type = 12345;
    const auto two = distinct(2, test_event());
    SetRequest request({two[0], two[1], unknown}, {online_cpus().back()});
    REQUIRE(request.open(meta) == -ENOENT);
    REQUIRE(request.arg.failed == 2);
    REQUIRE(request.arg.failed_cpu == static_cast<unsigned>(online_cpus().back()));
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_REFUSED);
    REQUIRE(request.arg.count == 0);
    REQUIRE(meta.info().members == 0);
    // Both counters are free again.
    REQUIRE(open_set(meta, distinct(4, test_event())) == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "A set for which a PMU has no counter on one CPU is not opened on any") {
    const auto attrs = distinct(5, test_event());
    const Meta other, meta;
    const int last = online_cpus().back();
    REQUIRE(open_set(other, {attrs.back()}, {last}) == 0);
    SetRequest request(distinct(4, test_event()));
    REQUIRE(request.open(meta) == -EBUSY);
    REQUIRE(request.arg.failed == 3);
    REQUIRE(request.arg.failed_cpu == static_cast<unsigned>(last));
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NO_COUNTER);
    REQUIRE(meta.info().members == 0);
    REQUIRE(open_set(meta, distinct(3, test_event())) == 0);
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
}

TEST_CASE_METHOD(NeedsSets, "DETACH and the close of a handle release the events of a set") {
    const auto four = distinct(4, test_event());
    perf_event_attr other = four.back();
    other.config1 = 9;
    const Meta meta;
    const bool detach = GENERATE(true, false);
    {
        Meta first;
        REQUIRE(open_set(first, four) == 0);
        first.read();
        REQUIRE(open_set(meta, {other}) == -EBUSY);
        for (std::size_t i = 0; detach && i < online_cpus().size(); ++i)
            REQUIRE(first.detach(static_cast<unsigned>(i)) == 0);
        if (detach) REQUIRE(open_set(meta, {other}) == 0);
    }
    if (!detach) REQUIRE(open_set(meta, {other}) == 0);
}

TEST_CASE_METHOD(
    NeedsSets,
    "A set member with an event that lost its counter is in ERROR, and the others count") {
    const auto attr = test_event();
    const auto two = distinct(2, attr);
    const WholeSet set({switches(), two[0], two[1], faults()});
    REQUIRE(set.status(0) == PERF_METAGROUP_OK);
    const TestpmuCounters fewer(1);
    // Another pinned event has all of them put on the PMU anew.
    perf_event_attr pinned = attr;
    pinned.pinned = 1;
    const Fd event(open_event(pinned, -1, set.cpus.front(), -1));
    const Framed framed = set.read();
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_ERROR);
    REQUIRE(framed.frames[0].payload.empty());
    REQUIRE(framed.frames[1].record.status == PERF_METAGROUP_OK);
    REQUIRE(SetPayload(framed.frames[1].payload).events == 4);
    REQUIRE(set.meta.member(0).status == PERF_METAGROUP_ERROR);
}

TEST_CASE_METHOD(NeedsSets,
                 "A set member whose CPU goes offline keeps the last counts of all its events") {
    const WholeSet set({faults(), cpu_clock(), test_event()});
    const SetPayload before = set.payload(set.cpus.size() - 1);
    OfflineCpu offline(set.cpus.back());
    const Framed gone = set.read();
    const Frame& frame = gone.frames.back();
    REQUIRE(frame.record.status == PERF_METAGROUP_OFFLINE);
    const SetPayload payload(frame.payload);
    REQUIRE(payload.events == 3);
    REQUIRE(payload.ids == before.ids);
    for (std::size_t i = 0; i < 3; ++i)
        REQUIRE(payload.counts[i] >= before.counts[i]);
    REQUIRE(payload.enabled >= before.enabled);
    REQUIRE(set.read().frames.back().payload == frame.payload);
    REQUIRE(gone.frames.front().record.status == PERF_METAGROUP_OK);
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    REQUIRE(SetPayload(set.read().frames.back().payload).counts == std::vector<std::uint64_t>(3));
    offline.back();
    REQUIRE(set.status(set.cpus.size() - 1) == PERF_METAGROUP_OFFLINE);
}

TEST_CASE_METHOD(NeedsSets,
                 "A set is not opened on an offline CPU, which the default set of CPUs excludes") {
    const auto all = online_cpus();
    const OfflineCpu offline(all.back());
    const Meta meta;
    SetRequest request({cpu_clock()}, all);
    REQUIRE(request.open(meta) == -ENODEV);
    REQUIRE(request.arg.failed == 0);
    REQUIRE(request.arg.failed_cpu == static_cast<unsigned>(all.back()));
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_REFUSED);
    REQUIRE(open_set(meta, {cpu_clock()}) == 0);
    REQUIRE(meta.info().members == all.size() - 1);
}

TEST_CASE_METHOD(NeedsSets,
                 "A set member becomes OFFLINE if a PMU moves one of its events to another CPU") {
    const auto attr = test_event();
    const int last = online_cpus().back();
    const Meta meta;
    REQUIRE(open_set(meta, {faults(), attr}, {last}) == 0);
    testpmu_move(last, 0);
    const Frame frame = read_framed(meta).frames.at(0);
    REQUIRE(frame.record.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(SetPayload(frame.payload).events == 2);
    testpmu_move(0, last);
    REQUIRE(take_apart(meta.read()).frames.at(0).record.status == PERF_METAGROUP_OK);
}

TEST_CASE_METHOD(NeedsSets, "ENABLE, DISABLE and RESET act on the counts that a set shows") {
    const WholeSet set({cpu_clock(), faults()});
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const Framed stopped = set.read();
    burn_ms(2);
    REQUIRE(set.read().payloads() == stopped.payloads());
    for (const Frame& frame : stopped.frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
    REQUIRE(set.meta.member(0).status == PERF_METAGROUP_OFF);
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(set.read().payloads() == stopped.payloads());

    const auto begin = monotonic_ns();
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    const SetPayload before(stopped.frames[0].payload);
    const SetPayload now = set.payload(0);
    REQUIRE(now.counts[0] > before.counts[0]);
    const auto passed = monotonic_ns() - begin;
    REQUIRE(now.counts[0] - before.counts[0] <= passed);
    REQUIRE(now.enabled - before.enabled <= passed);
    REQUIRE(now.ids == before.ids);

    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    REQUIRE(set.payload(0).counts == std::vector<std::uint64_t>(2));
    REQUIRE(set.payload(0).enabled >= now.enabled);
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    const auto reset = monotonic_ns();
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    const SetPayload since = set.payload(0);
    REQUIRE(since.counts[0] <= monotonic_ns() - reset);
}

TEST_CASE_METHOD(NeedsSets, "A sweep does not interrupt a CPU for a set that any CPU can read") {
    const OnFirstCpu here;
    const int last = online_cpus().back();
    const Meta meta;
    REQUIRE(open_set(meta, {faults(), switches()}, {last}) == 0);
    require_not_interrupted(meta, last);
    // One event that only that CPU can read, until the set is stopped.
    REQUIRE(open_set(meta, {faults(), cpu_clock()}, {last}) == 0);
    require_interrupted(meta, last);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    require_not_interrupted(meta, last);
}

TEST_CASE_METHOD(NeedsSetsAndQuiet, "A set member on an idle CPU has the counts from idle entry") {
    const auto attr = core_or_skip(0);
    const IdleCpu idle;
    REQUIRE(open_set(idle.meta, {attr, faults(), attr}, {idle.cpu}) == 0);
    const Frame frame = idle.until_idle().frames.at(0);
    const SetPayload payload(frame.payload);
    REQUIRE(payload.events == 3);
    REQUIRE(payload.counts[0] <= payload.enabled);
    REQUIRE(idle.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    REQUIRE(SetPayload(idle.until_idle().frames.at(0).payload).counts[0] < 1'000'000'000);
}

TEST_CASE_METHOD(NeedsSetsAndStreams, "A stream samples set members like groups") {
    const MaxStreamPercent all(100);
    const WholeSet set({cpu_clock(), faults(), switches()});
    RunningStream stream(set.meta, 2ms);
    std::this_thread::sleep_for(100ms);
    for (const auto& [cpu, records] : stream.drain()) {
        std::uint64_t last = 0;
        std::size_t samples = 0;
        for (const RingRecord& record : records) {
            if (!record.is_sample()) continue;
            const SetPayload payload(record.payload);
            REQUIRE(payload.events == 3);
            REQUIRE(record.id == payload.ids[0]);
            REQUIRE(payload.counts[0] >= last);
            REQUIRE(payload.enabled <= monotonic_ns());
            last = payload.counts[0];
            ++samples;
        }
        REQUIRE(samples > 0);
    }
}

TEST_CASE_METHOD(NeedsSets, "The limits of a meta-group apply to its sets") {
    const Meta meta;
    const unsigned limit = meta.info().max_events_per_cpu;
    for (unsigned events = 0; events < limit; events += 64)
        REQUIRE(open_set(meta, many(64, faults()), {0}) == 0);
    SetRequest request({faults()}, {0});
    REQUIRE(request.open(meta) == -E2BIG);
    REQUIRE(request.arg.count == 0);
    REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NONE);
    REQUIRE(open_set(meta, {faults()}, {1}) == 0);
    REQUIRE(meta.info().members == limit / 64 + 1);
    meta.read();
}
