// SPDX-License-Identifier: MIT
#include "metagroup/known_events.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <metagroup/event_spec.hpp>
#include <set>
#include <string>
#include <vector>

#include "event_sources.hpp"
#include "support/fake_system.hpp"

using metagroup::KnownEvent;
using metagroup::detail::PfmEvent;

namespace {

struct FakeSources : metagroup::test::FakeSystem {
    FakeSources()
        : FakeSystem({{"pmus/uncore/events/of-a-core", "event=?"},
                      {"pmus/uncore/events/of a blank", "event=0x03"},
                      {"tracing/events/ftrace/print/format", ""}}) {}
    [[nodiscard]] std::vector<KnownEvent> events() const {
        return metagroup::detail::known_events(paths);
    }
    [[nodiscard]] KnownEvent event(const std::string& name) const {
        for (const KnownEvent& event : events()) {
            if (event.name == name) return event;
        }
        return {};
    }
};

}  // namespace

TEST_CASE("known events have PMU, unit and source") {
    const FakeSources fake;
    CHECK(fake.event("cycles").pmu == "hardware");
    CHECK(fake.event("page-faults").pmu == "software");
    CHECK(fake.event("LLC-load-misses").pmu == "cache");
    CHECK(fake.event("LLC-load-misses").description == "last-level cache: load-misses");
    CHECK(fake.event("LLC-load-misses").source == "perf");
    const KnownEvent energy = fake.event("uncore/energy/");
    CHECK(energy.pmu == "uncore");
    CHECK(energy.description == "event=0x02");
    CHECK(energy.unit == "Joules");
    CHECK(energy.source == "sysfs");
    CHECK(fake.event("sched:sched_switch").pmu == "tracepoint");
    CHECK(fake.event("sched:sched_switch").source == "tracefs");
}

TEST_CASE("every known event can be parsed") {
    const FakeSources fake;
    for (const KnownEvent& event : fake.events()) {
        CAPTURE(event.name);
        CHECK_NOTHROW(metagroup::detail::parse_events(event.name, fake.paths));
    }
}

TEST_CASE("every known event of this machine can be parsed") {
    for (const KnownEvent& event : metagroup::known_events()) {
        CAPTURE(event.name);
        CHECK_NOTHROW(metagroup::parse_events(event.name));
    }
}

TEST_CASE("no event is known twice") {
    std::set<std::string> names;
    for (const KnownEvent& event : metagroup::known_events()) {
        CAPTURE(event.name);
        CHECK(names.insert(event.name).second);
    }
}

TEST_CASE("the events of libpfm4's PMU perf are listed under the names of perf only") {
    const auto events = metagroup::known_events();
    CHECK(std::none_of(events.begin(), events.end(), [](const KnownEvent& event) {
        return event.name.starts_with("PERF_COUNT_") || event.pmu == "perf";
    }));
}

TEST_CASE("names of several PMUs are found") {
    const std::array events{PfmEvent{"pmu0", "A", ""}, PfmEvent{"pmu0", "B", ""},
                            PfmEvent{"pmu1", "A", ""}};
    CHECK(metagroup::detail::shared_names(events) == std::set<std::string>{"A"});
}

TEST_CASE("similar events are found by a typing error") {
    CHECK(metagroup::similar_events("cycels") == std::vector<std::string>{"cycles"});
    CHECK(metagroup::similar_events("zzzzzzzzzz").empty());
}
