// SPDX-License-Identifier: MIT
// A meta-group whose CPUs go offline and come back.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <metagroup/live_group.hpp>
#include <thread>

#include "support/cpus.hpp"

using namespace std::chrono_literals;
using metagroup::Backend;
using metagroup::CpuList;
using metagroup::LiveGroup;
namespace test = metagroup::test;

namespace {

LiveGroup open(const char* events) {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    UNSCOPED_INFO(metagroup::to_string(backend));
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.backend = backend;
    return LiveGroup::open(options);
}

// As long as it may take until the backend shows it.
bool comes_back(LiveGroup& live) {
    for (int tries = 0; tries < 200; ++tries) {
        std::this_thread::sleep_for(50ms);
        live.read();
        if (live.reopen()) return true;
    }
    return false;
}

void require_all_count(LiveGroup& live) {
    REQUIRE(live.offline().empty());
    live.read();
    REQUIRE(live.delta().size() == test::online_cpus().size());
    for (std::size_t i = 0; i < live.delta().size(); ++i)
        REQUIRE(live.delta()[i].raw(0) > 0);
}

}  // namespace

TEST_CASE("While a CPU is offline the others count, and all once it is back") {
    const char* const events = GENERATE("cpu-clock", "{cpu-clock,page-faults}");
    LiveGroup live = open(events);
    {
        const test::OfflineCpu gone(test::online_cpus().back());
        live.read();
        live.read();
        REQUIRE(live.offline() == CpuList({gone.cpu()}));
        REQUIRE_FALSE(live.reopen());
        REQUIRE(live.problem().empty());
        REQUIRE(live.delta()[0].raw(0) > 0);
    }
    REQUIRE(live.reopen());
    require_all_count(live);
}

TEST_CASE("A CPU that was offline for a moment counts again") {
    const char* const events = GENERATE("cpu-clock", "{cpu-clock,page-faults}");
    LiveGroup live = open(events);
    test::OfflineCpu(test::online_cpus().back()).back();
    REQUIRE(comes_back(live));
    require_all_count(live);
}

TEST_CASE("A CPU that is offline when the groups are opened again is not among them") {
    if (test::online_cpus().size() < 3) SKIP("needs three CPUs");
    LiveGroup live = open("cpu-clock");
    const int last = test::online_cpus().back();
    {
        const test::OfflineCpu other(last - 1);
        test::OfflineCpu(last).back();
        REQUIRE(comes_back(live));
        REQUIRE(live.offline() == CpuList({other.cpu()}));
        live.read();
        REQUIRE(live.delta()[live.delta().size() - 1].raw(0) > 0);
    }
    REQUIRE(live.reopen());
    require_all_count(live);
}
