// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "event_sources.hpp"

using metagroup::detail::pfm_encode;
using metagroup::detail::pfm_events;
using metagroup::detail::pfm_variants;
using metagroup::detail::PfmEvent;
using metagroup::detail::PfmStatus;

TEST_CASE("libpfm4 encodes events of its PMU perf on every machine") {
    perf_event_attr attr{};
    REQUIRE(pfm_encode("perf::CYCLES", attr).status == PfmStatus::ok);
    CHECK(attr.type == PERF_TYPE_HARDWARE);
    CHECK(attr.config == PERF_COUNT_HW_CPU_CYCLES);
    CHECK(attr.size == sizeof(attr));
}

TEST_CASE("a libpfm4 event without modifiers filters nothing") {
    perf_event_attr attr{};
    REQUIRE(pfm_encode("PERF_COUNT_HW_INSTRUCTIONS", attr).status == PfmStatus::ok);
    CHECK(attr.exclude_user == 0);
    CHECK(attr.exclude_kernel == 0);
    CHECK(attr.exclude_hv == 0);
    CHECK(attr.exclude_guest == 0);
}

TEST_CASE("libpfm4's own modifiers are kept") {
    perf_event_attr attr{};
    REQUIRE(pfm_encode("perf::CYCLES:u=1:k=0", attr).status == PfmStatus::ok);
    CHECK(attr.exclude_kernel == 1);
    CHECK(attr.exclude_user == 0);
}

TEST_CASE("an event unknown to libpfm4 leaves the attribute alone") {
    perf_event_attr attr{};
    attr.config = 42;
    CHECK(pfm_encode("NO_SUCH_EVENT", attr).status == PfmStatus::not_found);
    CHECK(attr.config == 42);
}

TEST_CASE("a refused unit mask or modifier of a known event is explained") {
    perf_event_attr attr{};
    const auto result = pfm_encode("perf::CYCLES:nonsense", attr);
    CHECK(result.status == PfmStatus::refused);
    CHECK(result.diagnosis.reason.find("\"perf::CYCLES:nonsense\"") != std::string::npos);
    CHECK(result.diagnosis.reason.find("\"perf::CYCLES\"") != std::string::npos);
}

TEST_CASE("periods and CPUs within an event are refused") {
    perf_event_attr attr{};
    CHECK(pfm_encode("perf::CYCLES:period=1000", attr).status == PfmStatus::refused);
    CHECK(pfm_encode("perf::CYCLES:cpu=1", attr).status == PfmStatus::refused);
}

TEST_CASE("the list of libpfm4's events has those of its PMU perf") {
    const auto events = pfm_events();
    CHECK(std::any_of(events.begin(), events.end(), [](const PfmEvent& event) {
        return event.pmu == "perf" && event.name == "PERF_COUNT_HW_CPU_CYCLES";
    }));
}

TEST_CASE("an event with unit masks has a variant for each that libpfm4 takes") {
    const auto variants = pfm_variants({"perf", "PERF_COUNT_HW_CACHE_L1D", "cache"});
    const auto found = std::find_if(variants.begin(), variants.end(), [](const PfmEvent& event) {
        return event.name == "PERF_COUNT_HW_CACHE_L1D:WRITE";
    });
    REQUIRE(found != variants.end());
    CHECK(found->pmu == "perf");
    CHECK(found->description.starts_with("cache: "));
    perf_event_attr attr{};
    CHECK(pfm_encode("perf::" + found->name, attr).status == PfmStatus::ok);
}
