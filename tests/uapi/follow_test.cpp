// SPDX-License-Identifier: MIT
// OPEN_SET with FOLLOW: sets and CPU hotplug.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "fixtures.hpp"
#include "support/background.hpp"
#include "support/set.hpp"
#include "support/stream.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

struct Following {
    std::vector<int> cpus;  // online before the set is opened
    int last;
    Meta meta;

    explicit Following(const std::vector<perf_event_attr>& attrs, const std::vector<int>& on = {})
        : cpus(online_cpus()), last(on.empty() ? cpus.back() : on.back()) {
        SetRequest request(attrs, on);
        request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
        REQUIRE(request.open(meta) == 0);
        REQUIRE(request.arg.failed == attrs.size());
        REQUIRE(request.arg.failed_cpu == PERF_METAGROUP_NO_CPU);
        REQUIRE(request.arg.reason == PERF_METAGROUP_REASON_NONE);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    }

    // The worker looks once for CPUs that came online while the set was opened, and would open an
    // event anew that a test has moved.
    static void let_worker_end() { std::this_thread::sleep_for(100ms); }

    Framed read() const { return take_apart(meta.read()); }
    Frame last_frame() const { return read().frames.back(); }
    unsigned last_number() const { return last_frame().record.member; }

    // The member whose CPU comes and goes is the last one.
    Frame until(unsigned status) const {
        for (int round = 0; round < 2000; ++round) {
            const Frame frame = last_frame();
            if (frame.record.status == status) return frame;
            std::this_thread::sleep_for(5ms);
        }
        FAIL("the last member does not get status " << status);
        return {};
    }
    perf_metagroup_member until_error(int error) const {
        for (int round = 0; round < 2000; ++round) {
            const auto member = meta.member(last_number());
            if (member.error == static_cast<unsigned>(error)) return member;
            std::this_thread::sleep_for(5ms);
        }
        FAIL("the last member has no error " << error);
        return {};
    }
};

unsigned checked_generation(const Frame& frame) {
    REQUIRE(frame.record.header == sizeof(perf_metagroup_set_record));
    return generation(frame);
}

}  // namespace

TEST_CASE_METHOD(NeedsSets,
                 "A set that follows continues its counts when its CPU is online again") {
    const Following set({clock_event(), faults(), clock_event()});
    const auto first = set.last_frame();
    REQUIRE(checked_generation(first) == 0);
    OfflineCpu offline(set.last);
    const Frame gone = set.until(PERF_METAGROUP_OFFLINE);
    const SetPayload before(gone.payload);
    std::this_thread::sleep_for(20ms);
    REQUIRE(set.last_frame().payload == gone.payload);

    const auto online = monotonic_ns();
    offline.back();
    const Frame back = set.until(PERF_METAGROUP_OK);
    const SetPayload after(back.payload);
    const auto passed = back.record.time - online;
    REQUIRE(checked_generation(gone) == 0);
    REQUIRE(checked_generation(back) == 1);
    REQUIRE(after.ids == before.ids);
    REQUIRE(before.ids == SetPayload(first.payload).ids);
    REQUIRE(after.enabled > before.enabled);
    REQUIRE(after.enabled - before.enabled <= passed);
    REQUIRE(after.running - before.running == after.enabled - before.enabled);
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(after.counts[i] >= before.counts[i]);
        REQUIRE(after.counts[i] - before.counts[i] <= passed);
    }
    const SetPayload later(set.last_frame().payload);
    REQUIRE(later.counts[0] > after.counts[0]);

    const auto member = set.meta.member(back.record.member);
    REQUIRE(member.status == PERF_METAGROUP_OK);
    REQUIRE(member.generation == 1);
    REQUIRE(member.error == 0);
    REQUIRE(member.failed == member.events);
    REQUIRE(member.reason == PERF_METAGROUP_REASON_NONE);
    // The others did not notice.
    REQUIRE(set.read().frames.front().record.status == PERF_METAGROUP_OK);
    REQUIRE(checked_generation(set.read().frames.front()) == 0);
    REQUIRE(set.meta.member(0).generation == 0);
}

TEST_CASE_METHOD(NeedsSets, "An offline CPU joins a set that follows when it comes online") {
    const auto all = online_cpus();
    const bool named = GENERATE(true, false);
    OfflineCpu offline(all.back());
    const Following set({faults(), clock_event()}, named ? all : std::vector<int>{});
    REQUIRE(set.meta.info().members == all.size());
    const Frame absent = set.last_frame();
    REQUIRE(absent.record.cpu == static_cast<unsigned>(all.back()));
    REQUIRE(absent.record.status == PERF_METAGROUP_OFFLINE);
    const SetPayload none(absent.payload);
    REQUIRE(none.counts == std::vector<std::uint64_t>(2));
    REQUIRE(none.enabled == 0);

    const auto online = monotonic_ns();
    offline.back();
    const Frame back = set.until(PERF_METAGROUP_OK);
    REQUIRE(checked_generation(back) == 1);
    const SetPayload now(back.payload);
    REQUIRE(now.ids == none.ids);
    REQUIRE(now.counts[1] > 0);
    REQUIRE(now.counts[1] <= back.record.time - online);
    REQUIRE(now.enabled <= back.record.time - online);
}

TEST_CASE_METHOD(NeedsSets, "A set that follows needs at least one online CPU") {
    const OfflineCpu offline(online_cpus().back());
    const Meta meta;
    SetRequest request({faults()}, {offline.cpu()});
    request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
    REQUIRE(request.open(meta) == -ENODEV);
    REQUIRE(meta.info().members == 0);
}

TEST_CASE_METHOD(NeedsSets, "A stopped set follows, and stays stopped") {
    const Following set({clock_event()});
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const Frame stopped = set.last_frame();
    OfflineCpu offline(set.last);
    offline.back();
    for (int round = 0; round < 2000 && set.meta.member(set.last_number()).generation == 0; ++round)
        std::this_thread::sleep_for(5ms);
    REQUIRE(checked_generation(set.last_frame()) == 1);
    REQUIRE(set.last_frame().payload == stopped.payload);
    REQUIRE(set.last_frame().record.status == PERF_METAGROUP_OFF);
    const auto start = monotonic_ns();
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    const Frame frame = set.last_frame();
    const auto passed = SetPayload(frame.payload).counts[0] - SetPayload(stopped.payload).counts[0];
    REQUIRE(frame.record.status == PERF_METAGROUP_OK);
    REQUIRE(passed > 0);
    REQUIRE(passed <= frame.record.time - start);
}

TEST_CASE_METHOD(NeedsSets,
                 "A CPU on which events cannot be reopened stays OFFLINE, with the reason") {
    const auto two = distinct(2, testpmu_or_skip(0));
    const Following set({faults(), two[0], two[1]});
    OfflineCpu offline(set.last);
    const Frame gone = set.until(PERF_METAGROUP_OFFLINE);
    const auto number = gone.record.member;
    {
        const TestpmuCounters one(1);
        offline.back();
        const auto member = set.until_error(EBUSY);
        REQUIRE(member.status == PERF_METAGROUP_OFFLINE);
        REQUIRE(member.failed == 2);
        REQUIRE(member.reason == PERF_METAGROUP_REASON_NO_COUNTER);
        REQUIRE(member.generation == 0);
        REQUIRE(set.last_frame().payload == gone.payload);
    }
    REQUIRE(set.read().frames.front().record.status == PERF_METAGROUP_OK);
    // It is tried again.
    REQUIRE(set_online(set.last, false));
    REQUIRE(set_online(set.last, true));
    REQUIRE(checked_generation(set.until(PERF_METAGROUP_OK)) == 1);
    REQUIRE(set.meta.member(number).error == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "A CPU of a set that lost a counter counts again when it is online again") {
    const auto two = distinct(2, testpmu_or_skip(0));
    const Following set({faults(), two[0], two[1]});
    {
        const TestpmuCounters fewer(1);
        // Another pinned event has all of them put on the PMU anew.
        perf_event_attr pinned = two[0];
        pinned.pinned = 1;
        const Fd event(open_event(pinned, -1, set.last, -1));
        REQUIRE(set.last_frame().record.status == PERF_METAGROUP_ERROR);
    }
    REQUIRE(set_online(set.last, false));
    REQUIRE(set_online(set.last, true));
    REQUIRE(checked_generation(set.until(PERF_METAGROUP_OK)) == 1);
}

TEST_CASE_METHOD(
    NeedsSets,
    "Counts and times of an event that was moved do not change until its CPU is online again") {
    const Following set({testpmu_or_skip(0), testpmu_or_skip(0)}, {online_cpus().back()});
    Following::let_worker_end();
    const Frame before = set.last_frame();
    REQUIRE(before.record.status == PERF_METAGROUP_OK);
    testpmu_move(set.last, 0);
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(5ms);
        const Frame moved = set.last_frame();
        REQUIRE(moved.record.status == PERF_METAGROUP_OFFLINE);
        REQUIRE(moved.payload == before.payload);
    }
    SECTION("without a change") {}
    SECTION("while it is stopped and started") {
        REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        REQUIRE(set.last_frame().payload == before.payload);
        std::this_thread::sleep_for(5ms);
        REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
        REQUIRE(set.last_frame().payload == before.payload);
    }
    REQUIRE(set_online(set.last, false));
    const auto online = monotonic_ns();
    REQUIRE(set_online(set.last, true));
    const Frame back = set.until(PERF_METAGROUP_OK);
    const SetPayload then(before.payload), now(back.payload);
    const auto passed = back.record.time - online;
    REQUIRE(now.enabled > then.enabled);
    REQUIRE(now.enabled - then.enabled <= passed);
    for (std::size_t i = 0; i < 2; ++i)
        REQUIRE(now.counts[i] - then.counts[i] <= passed);
}

TEST_CASE_METHOD(NeedsSets, "RESET of a set whose event was moved makes its counts 0") {
    const Following set({testpmu_or_skip(0)}, {online_cpus().back()});
    Following::let_worker_end();
    const SetPayload before(set.last_frame().payload);
    testpmu_move(set.last, 0);
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    std::this_thread::sleep_for(5ms);
    const SetPayload now(set.last_frame().payload);
    REQUIRE(now.counts == std::vector<std::uint64_t>(1));
    REQUIRE(now.enabled == before.enabled);
}

TEST_CASE_METHOD(NeedsSets, "A detached member is not reopened") {
    const Following set({faults()});
    const auto number = set.last_number();
    OfflineCpu offline(set.last);
    REQUIRE(set.meta.detach(number) == 0);
    offline.back();
    std::this_thread::sleep_for(50ms);
    REQUIRE(set.meta.info().members == set.cpus.size() - 1);
    REQUIRE(set.meta.member(0).generation == 0);
}

TEST_CASE_METHOD(NeedsSets, "A set that does not follow has generation 0, and stays OFFLINE") {
    const Meta meta;
    REQUIRE(open_set(meta, {faults()}) == 0);
    {
        Following other({faults()});
        OfflineCpu offline(other.last);
        offline.back();
        other.until(PERF_METAGROUP_OK);
    }
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.back().record.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(checked_generation(framed.frames.back()) == 0);
}

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "A stream samples a set again, with the same identifier, when its CPU is online") {
    const MaxStreamPercent all(100);
    const Following set({clock_event()});
    const auto id = SetPayload(set.last_frame().payload).ids[0];
    RunningStream stream(set.meta, 2ms);
    OfflineCpu offline(set.last);
    offline.back();
    const auto base = SetPayload(set.until(PERF_METAGROUP_OK).payload).counts[0];
    stream.drain();
    bool found = false;
    for (int round = 0; round < 200 && !found; ++round) {
        std::this_thread::sleep_for(10ms);
        const auto drained = stream.drain();
        for (const RingRecord& record : drained.at(set.last)) {
            REQUIRE(record.id == id);
            if (!record.is_sample()) continue;
            const SetPayload payload(record.payload);
            REQUIRE(payload.ids[0] == id);
            found = found || payload.counts[0] > base;
        }
    }
    REQUIRE(found);
}

TEST_CASE_METHOD(NeedsSets, "No count of a set goes back while a CPU goes offline and online") {
    const Following set({clock_event(), faults()});
    Background plug([&] {
        set_online(set.last, false);
        set_online(set.last, true);
    });
    std::vector<SetPayload> last;
    unsigned reads = 0;
    const auto check = [&] {
        std::vector<SetPayload> now;
        for (const Frame& frame : set.read().frames)
            now.emplace_back(frame.payload);
        for (std::size_t i = 0; i < last.size(); ++i) {
            REQUIRE(now[i].ids == last[i].ids);
            REQUIRE(now[i].enabled >= last[i].enabled);
            REQUIRE(now[i].running == now[i].enabled);
            for (std::size_t event = 0; event < now[i].counts.size(); ++event)
                REQUIRE(now[i].counts[event] >= last[i].counts[event]);
        }
        last = std::move(now);
    };
    repeat_for(
        long_time(std::chrono::seconds(8)),
        [&] {
            check();
            if (++reads % 7 == 0) REQUIRE(set.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
            if (reads % 7 == 3) REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
        },
        [&] { return plug.rounds() >= 3 && reads > 50; });
    plug.stop();
    REQUIRE(set.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    set.until(PERF_METAGROUP_OK);
    REQUIRE(checked_generation(set.last_frame()) >= 1);
}
