// SPDX-License-Identifier: MIT
#include "metagroup/live_group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "fake_module.hpp"
#include "helpers.hpp"
#include "support/allocation_counter.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Backend;
using metagroup::CpuList;
using metagroup::LiveGroup;
using metagroup::MetaGroup;
using namespace metagroup::test;

namespace {

LiveGroup count_clock(Backend backend = Backend::per_fd) {
    need_software_events();
    MetaGroup::Options options;
    options.groups = metagroup::parse_events("cpu-clock");
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

TEST_CASE("a live group counts on all CPUs from the beginning") {
    LiveGroup live = count_clock();
    CHECK(live.group().members().size() == CpuList::online().size());
    CHECK(live.delta()[0].raw(0) == 0);
    live.read();
    CHECK(live.delta()[0].raw(0) > 0);
    CHECK(live.newest().sequence() == 2);
    CHECK(live.offline().empty());
    CHECK_FALSE(live.reopen());
}

TEST_CASE("a live group does not allocate while all its CPUs are online") {
    LiveGroup live = count_clock();
    const AllocationCounter allocations;
    live.read();
    live.reopen();
    CHECK(allocations.count() == 0);
}

TEST_CASE("a live group counts again on CPUs that are back") {
    LiveGroup live = count_clock();
    go_offline(live);
    CHECK(live.delta()[0].raw(0) == 0);
    REQUIRE(live.reopen());
    CHECK(live.problem().empty());
    CHECK(live.offline().empty());
    CHECK(live.newest().sequence() == 1);
    CHECK(live.delta()[0].raw(0) == 0);
    live.read();
    CHECK(live.delta()[0].raw(0) > 0);
    CHECK_FALSE(live.reopen());
}

TEST_CASE("a live group that cannot be opened again stays as it is, and says why") {
    LiveGroup live = count_clock(Backend::automatic);
    go_offline(live);
    {
        FakeModule module;
        module.max_members = 0;
        CHECK_FALSE(live.reopen());
    }
    CHECK_THAT(live.problem(), ContainsSubstring("limits"));
    CHECK(live.offline() == CpuList::online());
    live.read();
    CHECK(live.delta()[0].raw(0) == 0);
    CHECK(live.reopen());
    CHECK(live.problem().empty());
}

TEST_CASE("a sweep that fails leaves a live group with the snapshot before") {
    FakeModule module;
    LiveGroup live = count_clock(Backend::module);
    live.read();
    const auto sequence = live.newest().sequence();
    module.fail_reads = 1;
    CHECK_THROWS_AS(live.read(), metagroup::Error);
    CHECK(live.newest().sequence() == sequence);
    live.read();
    CHECK(live.delta().elapsed_ns() > 0);
}
