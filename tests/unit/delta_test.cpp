// SPDX-License-Identifier: MIT
#include "metagroup/delta.hpp"

#include <algorithm>
#include <ranges>
#include <thread>

#include "fake_module.hpp"
#include "helpers.hpp"
#include "metagroup/live_group.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {

Frame frame(std::uint32_t member, std::uint64_t time, std::uint64_t count,
            std::uint64_t enabled = 0, std::uint64_t running = 0) {
    return {member, member, time, payload(timed, {{count}}, enabled, running), timed};
}

Frame frame_of_set(std::uint64_t time, std::uint64_t enabled, std::uint32_t generation,
                   std::uint32_t status = PERF_METAGROUP_OK) {
    Frame made = frame(0, time, enabled, enabled, enabled);
    made.generation = generation;
    made.status = status;
    return made;
}

Frame frame_of(std::uint32_t format, const std::vector<Event>& events) {
    return {0, 0, 1, payload(format, events), format};
}

}  // namespace

TEST_CASE("A delta subtracts counts and times of each member") {
    const Snapshot older = snapshot(framed({frame(0, 100, 10, 50, 40), frame(1, 101, 5, 50, 50)}));
    const Snapshot newer =
        snapshot(framed({frame(0, 300, 25, 250, 140), frame(1, 302, 9, 250, 250)}, 1700));
    const Delta delta(older, newer);
    REQUIRE(delta.size() == 2);
    CHECK(delta.elapsed_ns() == 700);
    CHECK(delta.removed_count() == 0);
    CHECK(delta[0].match() == Match::ok);
    CHECK(delta[0].raw(0) == 15);
    CHECK(delta[0].elapsed_ns() == 200);
    CHECK(delta[0].time_enabled() == 200);
    CHECK(delta[0].time_running() == 100);
    CHECK(delta[0].scaled(0) == 30.0);
    CHECK(delta[1].raw(0) == 4);
    CHECK(delta[1].newer().cpu() == 1);
    CHECK_FALSE(delta[0].raw(1));
    CHECK_THROWS_AS(delta[2], std::out_of_range);
}

TEST_CASE("A delta can be iterated even if the older snapshot has fewer or other members") {
    const Snapshot older = snapshot(framed({frame(1, 100, 10), frame(3, 100, 30)}));
    const Snapshot newer = snapshot(
        framed({frame(1, 200, 11), frame(2, 200, 20), frame(3, 200, 33), frame(4, 200, 40)}));
    const Delta delta(older, newer);
    std::vector<Match> matches;
    std::vector<std::optional<std::uint64_t>> counts;
    for (const MemberDelta& member : delta) {
        matches.push_back(member.match());
        counts.push_back(member.raw(0));
    }
    CHECK(matches == std::vector{Match::ok, Match::added, Match::ok, Match::added});
    CHECK(counts == std::vector<std::optional<std::uint64_t>>{1, std::nullopt, 3, std::nullopt});
}

TEST_CASE(
    "The time for which a CPU was offline is the time for which its events were not enabled") {
    const Snapshot on = snapshot(framed({frame_of_set(100, 50, 0)}));
    const Snapshot later = snapshot(framed({frame_of_set(200, 149, 0)}));
    const Snapshot off = snapshot(framed({frame_of_set(300, 180, 0, PERF_METAGROUP_OFFLINE)}));
    const Snapshot still = snapshot(framed({frame_of_set(400, 180, 0, PERF_METAGROUP_OFFLINE)}));
    const Snapshot back = snapshot(framed({frame_of_set(500, 230, 1)}));
    CHECK(Delta(on, later)[0].offline_ns() == 0);
    CHECK(Delta(later, off)[0].offline_ns() == 69);
    CHECK(Delta(off, still)[0].offline_ns() == 100);
    CHECK(Delta(still, back)[0].offline_ns() == 50);
    CHECK(Delta(on, back)[0].offline_ns() == 220);
    CHECK(Delta(on, back)[0].raw(0) == 180);
}

TEST_CASE("Without times, or in groups of other events, the time offline is not known") {
    constexpr auto group = static_cast<std::uint32_t>(ReadFormat::group);
    Frame gone = frame_of(group, {{1}});
    gone.status = PERF_METAGROUP_OFFLINE;
    const Snapshot older = snapshot(framed({frame_of(group, {{1}})}));
    const Snapshot same = snapshot(framed({gone}));
    CHECK_FALSE(Delta(older, same)[0].offline_ns());
    gone.payload = payload(group, {{1}, {2}});
    const Snapshot others = snapshot(framed({gone}));
    CHECK_FALSE(Delta(older, others)[0].offline_ns());
}

TEST_CASE("Snapshots and deltas are standard ranges") {
    static_assert(std::ranges::forward_range<const SnapshotView>);
    static_assert(std::ranges::sized_range<const SnapshotView>);
    static_assert(std::ranges::sized_range<const Delta>);
    const Snapshot older = snapshot(framed({frame(0, 1, 10), frame(1, 1, 10), frame(2, 1, 10)}));
    const Snapshot newer = snapshot(framed({frame(0, 2, 11), frame(1, 2, 19), frame(2, 2, 14)}));
    const Delta delta(older, newer);
    const auto busiest = std::ranges::max_element(
        delta, {}, [](const MemberDelta& member) { return member.raw(0); });
    CHECK((*busiest).newer().cpu() == 1);
    const auto busy = [](const MemberView& record) { return record.raw(0) > 13U; };
    CHECK(std::ranges::distance(newer | std::views::filter(busy)) == 2);
}

TEST_CASE("A count that wraps at 64 bits is subtracted modulo 2^64") {
    const Snapshot older = snapshot(framed({frame(0, 1, UINT64_MAX - 4)}));
    const Snapshot newer = snapshot(framed({frame(0, 2, 5)}));
    CHECK(Delta(older, newer)[0].raw(0) == 10);
}

TEST_CASE("A count that went back gives no value, not a huge number") {
    const Snapshot older = snapshot(framed({frame(0, 1, 1000, 10, 10)}));
    const Snapshot newer = snapshot(framed({frame(0, 2, 3, 20, 20)}));
    CHECK(Delta(older, newer)[0].match() == Match::ok);
    CHECK_FALSE(Delta(older, newer)[0].raw(0));
    CHECK_FALSE(Delta(older, newer)[0].scaled(0));
    CHECK_FALSE(Delta(newer, older)[0].elapsed_ns());
}

TEST_CASE("An event that was not on the PMU in between has a raw count and no estimate") {
    const Snapshot older = snapshot(framed({frame(0, 1, 7, 10, 10)}));
    const Snapshot newer = snapshot(framed({frame(0, 2, 7, 20, 10)}));
    CHECK(Delta(older, newer)[0].raw(0) == 0);
    CHECK_FALSE(Delta(older, newer)[0].scaled(0));
}

TEST_CASE("Members are matched by number when some joined or left") {
    const Snapshot older = snapshot(framed({frame(0, 1, 1), frame(2, 1, 20), frame(3, 1, 30)}));
    const Snapshot newer = snapshot(framed({frame(2, 2, 22), frame(3, 2, 33), frame(4, 2, 44)}));
    const Delta delta(older, newer);
    CHECK(delta[0].raw(0) == 2);
    CHECK(delta[1].raw(0) == 3);
    CHECK(delta[2].match() == Match::added);
    CHECK_FALSE(delta[2].raw(0));
    CHECK_FALSE(delta[2].time_enabled());
    CHECK_FALSE(delta[2].elapsed_ns());
    CHECK(delta.removed_count() == 1);
}

TEST_CASE("Members that are no longer the same are not subtracted") {
    const auto group = static_cast<std::uint32_t>(ReadFormat::group);
    const auto ids = static_cast<std::uint32_t>(ReadFormat::group | ReadFormat::id);
    const auto match = [](const Frame& a, const Frame& b) {
        const Snapshot older = snapshot(framed({a}));
        const Snapshot newer = snapshot(framed({b}));
        return Delta(older, newer)[0].match();
    };
    CHECK(match(frame_of(group, {{1}}), frame_of(group, {{1}, {2}})) == Match::changed);
    CHECK(match(frame_of(group, {{1}}), frame_of(ids, {{1}})) == Match::changed);
    CHECK(match(frame_of(ids, {{1, 7}}), frame_of(ids, {{1, 8}})) == Match::changed);
    CHECK(match(frame_of(ids, {{1, 7}}), frame_of(ids, {{1, 7}})) == Match::ok);
    Frame moved = frame_of(group, {{1}});
    moved.cpu = 1;
    CHECK(match(frame_of(group, {{1}}), moved) == Match::changed);
    Frame failed = frame_of(group, {{1}});
    failed.payload.clear();
    CHECK(match(frame_of(group, {{1}}), failed) == Match::no_payload);
    CHECK(match(failed, frame_of(group, {{1}})) == Match::no_payload);
}

TEST_CASE("The delta to a snapshot that was never read has only added members") {
    const Snapshot empty;
    const Snapshot newer = snapshot(framed({frame(0, 1, 1)}));
    CHECK(Delta(empty, newer)[0].match() == Match::added);
    CHECK(Delta(newer, empty).size() == 0);
    CHECK(Delta(newer, empty).removed_count() == 1);
}

TEST_CASE("A delta does not allocate") {
    const Snapshot older = snapshot(framed({frame(0, 1, 1), frame(2, 1, 20)}));
    const Snapshot newer = snapshot(framed({frame(2, 2, 22)}));
    const AllocationCounter allocations;
    const Delta delta(older, newer);
    const auto count = delta[0].raw(0);
    const auto removed = delta.removed_count();
    CHECK(allocations.count() == 0);
    CHECK(count == 2);
    CHECK(removed == 1);
}

namespace {

LiveGroup count_clock(Backend backend = Backend::per_fd) {
    need_software_events();
    MetaGroup::Options options;
    options.groups = parse_events("cpu-clock");
    options.backend = backend;
    options.start_disabled = true;
    options.device = FakeModule::path();
    return LiveGroup::open(options);
}

void go_offline(LiveGroup& live) {
    stop_clocks();
    live.read();
    std::this_thread::sleep_for(kLongStop);
    live.read();
    REQUIRE(live.offline() == CpuList::online());
}

}  // namespace

TEST_CASE("A live group counts on all CPUs from the beginning") {
    LiveGroup live = count_clock();
    CHECK(live.group().members().size() == CpuList::online().size());
    CHECK(live.delta()[0].raw(0) == 0);
    live.read();
    CHECK(live.delta()[0].raw(0) > 0);
    CHECK(live.newest().sequence() == 2);
    CHECK(live.offline().empty());
    CHECK_FALSE(live.reopen());
}

TEST_CASE("A live group does not allocate while all its CPUs are online") {
    LiveGroup live = count_clock();
    const AllocationCounter allocations;
    live.read();
    live.reopen();
    CHECK(allocations.count() == 0);
}

TEST_CASE("A live group counts again on CPUs that are back") {
    LiveGroup live = count_clock();
    go_offline(live);
    CHECK(live.delta()[0].raw(0) == 0);
    REQUIRE(live.reopen());
    CHECK(live.reopen_error().empty());
    CHECK(live.offline().empty());
    CHECK(live.newest().sequence() == 1);
    CHECK(live.delta()[0].raw(0) == 0);
    live.read();
    CHECK(live.delta()[0].raw(0) > 0);
    CHECK_FALSE(live.reopen());
}

TEST_CASE("A live group that cannot be reopened stays as it is, and reports the reason") {
    LiveGroup live = count_clock(Backend::automatic);
    go_offline(live);
    {
        FakeModule module;
        module.max_members = 0;
        CHECK_FALSE(live.reopen());
    }
    CHECK_THAT(live.reopen_error(), ContainsSubstring("limits"));
    CHECK(live.offline() == CpuList::online());
    live.read();
    CHECK(live.delta()[0].raw(0) == 0);
    CHECK(live.reopen());
    CHECK(live.reopen_error().empty());
}

TEST_CASE("A failed sweep leaves a live group with the previous snapshot") {
    FakeModule module;
    LiveGroup live = count_clock(Backend::module);
    live.read();
    const auto sequence = live.newest().sequence();
    module.fail_reads = 1;
    CHECK_THROWS_AS(live.read(), Error);
    CHECK(live.newest().sequence() == sequence);
    live.read();
    CHECK(live.delta().elapsed_ns() > 0);
}
