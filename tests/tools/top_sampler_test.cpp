// SPDX-License-Identifier: MIT
// What metagroup top makes of sweeps.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "support/cpus.hpp"
#include "top/sampler.hpp"

using namespace std::chrono_literals;
using Catch::Approx;
using metagroup::Backend;
using tool::By;
using tool::Frame;
using tool::Sampler;

namespace {

metagroup::MetaGroup::Options counting(const char* events, Backend backend = Backend::automatic) {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.cpus = metagroup::CpuList::online();
    options.backend = backend;
    options.start_disabled = true;
    return options;
}

// Samples until it is so, or for long enough.
bool comes(Sampler& sampler, const std::function<bool(const Frame&)>& so) {
    for (int tries = 0; tries < 200; ++tries) {
        std::this_thread::sleep_for(50ms);
        if (so(sampler.sample())) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("A clock of a CPU runs at one second a second") {
    Sampler sampler(counting("cpu-clock,page-faults"), By::cpu);
    std::this_thread::sleep_for(50ms);
    const Frame& frame = sampler.sample();
    const std::size_t cpus = sampler.places().size();
    REQUIRE(frame.cells.size() == (cpus + 1) * 2);
    for (std::size_t place = 0; place < cpus; ++place)
        CHECK(frame.cells[place * 2].value.value() == Approx(1).epsilon(0.05));
    CHECK(frame.cells[cpus * 2].value.value() == Approx(static_cast<double>(cpus)).epsilon(0.05));
}

TEST_CASE("Columns are events with their units, then ratios") {
    const auto series = Sampler(counting("{cpu-clock,page-faults}"), By::all).series();
    REQUIRE(series.size() == 2);
    CHECK(series[0].name == "cpu-clock");
    CHECK(series[0].unit == "CPUs");
    CHECK(series[1].unit == "/s");
}

TEST_CASE("A ratio is a column of its own", "[module]") {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/armv8_pmuv3") &&
        !std::filesystem::exists("/sys/bus/event_source/devices/cpu"))
        SKIP("no PMU counts cycles here");
    Sampler sampler(counting("{cycles,cpu-clock}"), By::cpu);
    std::this_thread::sleep_for(200ms);
    REQUIRE(sampler.series().size() == 3);
    CHECK(sampler.series()[2].name == "GHz");
    CHECK(sampler.sample().cells.back().value.value() > 0);
}

TEST_CASE("A CPU that goes offline shows so, and counts again when it is back", "[module]") {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    Sampler sampler(counting("cpu-clock", backend), By::cpu);
    {
        const metagroup::test::OfflineCpu gone(1);
        REQUIRE(comes(sampler, [](const Frame& frame) { return frame.online[1] == 0; }));
        CHECK(sampler.sample().online[0] == 1);
        CHECK_FALSE(sampler.sample().cells[1].value);
    }
    REQUIRE(comes(sampler, [](const Frame& frame) { return frame.online[1] == 1; }));
    CHECK(comes(sampler, [](const Frame& frame) { return frame.cells[1].value > 0.5; }));
}

TEST_CASE("A CPU that was offline for a moment counts again", "[module]") {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    Sampler sampler(counting("cpu-clock", backend), By::cpu);
    sampler.sample();
    metagroup::test::OfflineCpu(1).back();
    CHECK(comes(sampler, [](const Frame& frame) {
        return frame.online[1] == 1 && frame.cells[1].value > 0.5;
    }));
}
