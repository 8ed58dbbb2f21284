// SPDX-License-Identifier: MIT
// The updates that metagroup top makes from sweeps.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "support/cpus.hpp"
#include "support/settings.hpp"
#include "top/source.hpp"

using namespace std::chrono_literals;
using Catch::Approx;
using metagroup::Backend;
using tool::AggrMode;
using tool::Sampler;
using tool::Update;

namespace {

metagroup::MetaGroup::Options counting(const char* events, Backend backend = Backend::automatic) {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.cpus = metagroup::CpuList::online();
    options.backend = backend;
    options.start_disabled = true;
    return options;
}

// Samples until the condition holds. \return false after a time limit.
bool comes(Sampler& sampler, const std::function<bool(const Update&)>& so) {
    for (int tries = 0; tries < 200; ++tries) {
        std::this_thread::sleep_for(50ms);
        if (so(*sampler.sample())) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("The clock of a CPU runs at one second per second") {
    Sampler sampler(counting("cpu-clock,page-faults"), AggrMode::cpu);
    std::this_thread::sleep_for(50ms);
    const Update& update = *sampler.sample();
    const std::size_t cpus = sampler.places().size();
    REQUIRE(update.cells.size() == (cpus + 1) * 2);
    for (std::size_t place = 0; place < cpus; ++place)
        CHECK(update.cells[place * 2].value.value() == Approx(1).epsilon(0.05));
    CHECK(update.cells[cpus * 2].value.value() == Approx(static_cast<double>(cpus)).epsilon(0.05));
}

TEST_CASE("Columns are events with their units, then ratios") {
    const auto series = Sampler(counting("{cpu-clock,page-faults}"), AggrMode::all).series();
    REQUIRE(series.size() == 2);
    CHECK(series[0].name == "cpu-clock");
    CHECK(series[0].unit == "CPUs");
    CHECK(series[1].unit == "/s");
}

TEST_CASE("A ratio is a column of its own", "[module]") {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/armv8_pmuv3") &&
        !std::filesystem::exists("/sys/bus/event_source/devices/cpu"))
        SKIP("no PMU counts cycles here");
    Sampler sampler(counting("{cycles,cpu-clock}"), AggrMode::cpu);
    std::this_thread::sleep_for(200ms);
    REQUIRE(sampler.series().size() == 3);
    CHECK(sampler.series()[2].name == "GHz");
    CHECK(sampler.sample()->cells.back().value.value() > 0);
}

TEST_CASE("A CPU that goes offline is marked, and counts again when it is back", "[module]") {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    Sampler sampler(counting("cpu-clock", backend), AggrMode::cpu);
    {
        const metagroup::test::OfflineCpu gone(1);
        REQUIRE(comes(sampler, [](const Update& update) { return update.online[1] == 0; }));
        CHECK(sampler.sample()->online[0] == 1);
        CHECK_FALSE(sampler.sample()->cells[1].value);
    }
    REQUIRE(comes(sampler, [](const Update& update) { return update.online[1] == 1; }));
    CHECK(comes(sampler, [](const Update& update) { return update.cells[1].value > 0.5; }));
}

TEST_CASE("A CPU on which a cgroup does not run is not marked as offline", "[machine]") {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    const metagroup::test::Cgroup empty("metagroup_empty");
    metagroup::MetaGroup::Options options = counting("cpu-clock", backend);
    options.cgroup = "metagroup_empty";
    Sampler sampler(options, AggrMode::cpu);
    const std::vector<std::size_t> all(sampler.places().size(), 1);
    for (int sweep = 0; sweep < 3; ++sweep) {
        std::this_thread::sleep_for(10ms);
        CHECK(sampler.sample()->online == all);
    }
}
