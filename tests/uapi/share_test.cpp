// SPDX-License-Identifier: MIT
// Sets that count the same share counters, and see nothing of each other.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

#include "fixtures.hpp"
#include "support/background.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

SetPayload payload(const Meta& meta, std::size_t member) {
    return SetPayload(read_framed(meta).frames.at(member).payload);
}

}  // namespace

TEST_CASE_METHOD(NeedsSets, "20 sets of the same 4 events share 4 counters") {
    const auto four = distinct(4, testpmu_or_skip(0));
    perf_event_attr other = four.back();
    other.config1 = 9;
    std::vector<Meta> metas(20);
    for (const Meta& meta : metas)
        REQUIRE(open_set(meta, four) == 0);
    for (const Meta& meta : metas) {
        REQUIRE(meta.member(0).users == 20);
        for (const Frame& frame : read_framed(meta).frames) {
            REQUIRE(frame.record.status == PERF_METAGROUP_OK);
            const SetPayload now(frame.payload);
            REQUIRE(now.running == now.enabled);
            for (const auto count : now.counts)
                REQUIRE(count > 0);
        }
    }
    REQUIRE(open_set(Meta(), {other}) == -EBUSY);
    // Each counter goes with its last user.
    metas.erase(metas.begin(), metas.end() - 1);
    REQUIRE(metas.front().member(0).users == 1);
    REQUIRE(read_framed(metas.front()).frames[0].record.status == PERF_METAGROUP_OK);
    REQUIRE(open_set(Meta(), {other}) == -EBUSY);
    metas.clear();
    REQUIRE(open_set(Meta(), {other}) == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "The same 4 events for 20 users are multiplexed as groups, but not as sets",
                 "[hardware]") {
    need_hardware();
    // In 4 modes, so that none is the same as another.
    std::vector<perf_event_attr> four(4, perf_event_attr{});
    for (perf_event_attr& attr : four) {
        attr.size = sizeof(attr);
        attr.type = PERF_TYPE_HARDWARE;
        attr.config = PERF_COUNT_HW_CPU_CYCLES;
        attr.read_format = kSetFormat;
    }
    four[1].exclude_user = 1;
    four[2].exclude_kernel = 1;
    four[3].exclude_hv = 1;
    const OnFirstCpu here;
    {
        std::vector<EventGroup> groups;
        for (int user = 0; user < 20; ++user)
            groups.push_back(group_of(0, four));
        burn_ms(100);
        if (std::ranges::all_of(groups, [](const EventGroup& group) {
                const SetPayload now(group.read());
                return now.running == now.enabled;
            }))
            SKIP("this PMU has counters for 20 groups of 4 events");
    }
    std::vector<Meta> metas(20);
    for (const Meta& meta : metas)
        REQUIRE(open_set(meta, four, {0}) == 0);
    burn_ms(100);
    for (const Meta& meta : metas) {
        const SetPayload now = payload(meta, 0);
        REQUIRE(now.running == now.enabled);
        REQUIRE(now.counts[0] > 0);
    }
    REQUIRE(metas.front().member(0).users == 20);
}

TEST_CASE_METHOD(NeedsSets,
                 "Two members that share an event advance equally, from their own counts") {
    const Meta meta;
    const int last = online_cpus().back();
    run_on(last);
    REQUIRE(open_set(meta, {faults(), clock_event()}, {last}) == 0);
    touch_new_memory(1024);
    REQUIRE(open_set(meta, {faults()}, {last}) == 0);
    const Framed before = read_framed(meta);
    touch_new_memory(1024);
    const Framed after = read_framed(meta);
    run_anywhere();
    // In one sweep, at one time.
    const SetPayload older(before.frames[0].payload), newer(before.frames[1].payload);
    const SetPayload older_now(after.frames[0].payload), newer_now(after.frames[1].payload);
    REQUIRE(meta.member(0).users == 2);
    REQUIRE(older_now.counts[0] - older.counts[0] == newer_now.counts[0] - newer.counts[0]);
    REQUIRE(older_now.enabled - older.enabled == newer_now.enabled - newer.enabled);
    REQUIRE(older_now.counts[0] > older.counts[0]);
    REQUIRE(older.counts[0] > newer.counts[0]);
    REQUIRE(older.enabled > newer.enabled);
    REQUIRE(older.ids[0] != newer.ids[0]);
}

TEST_CASE_METHOD(NeedsSets,
                 "Closing a set that shares some of its events leaves these to the other sets") {
    const auto three = distinct(3, testpmu_or_skip(0));
    Meta first;
    REQUIRE(open_set(first, {three[0]}) == 0);
    {
        // An event may be in a set twice.
        const Meta second;
        REQUIRE(open_set(second, {three[0], three[0], three[1], three[2]}) == 0);
        REQUIRE(second.member(0).users == 3);
    }
    REQUIRE(first.member(0).users == 1);
    first = Meta();
    REQUIRE(open_set(first, distinct(4, testpmu_or_skip(0))) == 0);
}

TEST_CASE_METHOD(NeedsSets,
                 "RESET and DISABLE of a set do not affect another set that shares its events") {
    const Meta mine, theirs;
    REQUIRE(open_set(mine, {clock_event(), faults()}, {0}) == 0);
    REQUIRE(open_set(theirs, {clock_event(), faults()}, {0}) == 0);
    SetPayload last = payload(mine, 0);
    for (const unsigned long command : {PERF_METAGROUP_IOC_RESET, PERF_METAGROUP_IOC_DISABLE,
                                        PERF_METAGROUP_IOC_RESET, PERF_METAGROUP_IOC_ENABLE}) {
        REQUIRE(theirs.control(command) == 0);
        burn_ms(1);
        const Frame frame = read_framed(mine).frames[0];
        const SetPayload now(frame.payload);
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        REQUIRE(now.counts[0] > last.counts[0]);
        REQUIRE(now.counts[1] >= last.counts[1]);
        REQUIRE(now.enabled > last.enabled);
        REQUIRE(now.running == now.enabled);
        last = now;
    }
    REQUIRE(payload(theirs, 0).counts[0] < last.counts[0]);
}

TEST_CASE_METHOD(NeedsSets, "Events that differ in one field are not shared") {
    const Meta meta;
    REQUIRE(open_set(meta, {faults()}, {0}) == 0);
    perf_event_attr other = faults();
    other.exclude_user = 1;
    REQUIRE(open_set(meta, {other}, {0}) == 0);
    REQUIRE(meta.member(0).users == 1);
    REQUIRE(meta.member(1).users == 1);
    // These fields do not matter.
    perf_event_attr same = faults();
    same.disabled = 1;
    same.read_format = kTimes;
    REQUIRE(open_set(meta, {same}, {0}) == 0);
    REQUIRE(meta.member(0).users == 2);
    const EventGroup group = open_group(0, kSetFormat, 1);
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.member(3).users == 0);
}

TEST_CASE_METHOD(
    NeedsSets,
    "Events that differ in a field that their PMU ignores are shared as fast as others") {
    const OnFirstCpu here;
    // Chosen by a user so that keys of some fields alone are all the same.
    const auto time_to_share = [](__u64 perf_event_attr::*field) {
        constexpr std::size_t kSets = 24;
        const auto open_all = [&](const Meta& meta) {
            std::uint64_t value = 0;
            for (std::size_t set = 0; set < kSets; ++set) {
                std::vector<perf_event_attr> attrs(PERF_METAGROUP_MAX_SET_EVENTS, faults());
                for (perf_event_attr& attr : attrs)
                    attr.*field = ++value;
                REQUIRE(open_set(meta, attrs, {0}) == 0);
            }
        };
        const Meta first;
        open_all(first);
        auto took = std::chrono::nanoseconds::max();
        for (int round = 0; round < 5; ++round) {
            const Meta meta;
            took = std::min(took, time_of([&] { open_all(meta); }));
        }
        return took;
    };
    const auto others = time_to_share(&perf_event_attr::config1);
    REQUIRE(time_to_share(&perf_event_attr::config2) < 3 * others);
}

TEST_CASE_METHOD(NeedsSets, "Sets that follow share events again when their CPU is online") {
    const Meta one, two;
    const auto last = static_cast<unsigned>(online_cpus().size() - 1);
    for (const Meta* meta : {&one, &two}) {
        SetRequest request({faults(), clock_event()});
        request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
        REQUIRE(request.open(*meta) == 0);
    }
    OfflineCpu offline(online_cpus().back());
    REQUIRE(one.member(last).status == PERF_METAGROUP_OFFLINE);
    offline.back();
    for (const Meta* meta : {&one, &two})
        for (int round = 0; round < 2000 && meta->member(last).generation == 0; ++round)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    REQUIRE(one.member(last).status == PERF_METAGROUP_OK);
    REQUIRE(two.member(last).status == PERF_METAGROUP_OK);
    REQUIRE(one.member(last).users == 2);
    REQUIRE(two.member(last).users == 2);
}

TEST_CASE_METHOD(NeedsSets,
                 "Events that exclude guests are shared while a virtual machine has the counters") {
    perf_event_attr attr = core_or_skip(0);
    attr.exclude_guest = 1;
    if (!TestpmuGuest::available()) SKIP("this kernel gives no counters to virtual machines");
    const int cpu = online_cpus().back();
    const Meta first, second;
    REQUIRE(open_set(first, {attr}) == 0);
    const auto member = static_cast<unsigned>(online_cpus().size() - 1);
    {
        const TestpmuGuest guest(cpu);
        REQUIRE(first.member(member).status == PERF_METAGROUP_OK);
        REQUIRE(open_set(second, {attr}) == 0);
    }
    REQUIRE(first.member(member).users == 2);
    REQUIRE(read_framed(second).frames.at(member).record.status == PERF_METAGROUP_OK);
}
