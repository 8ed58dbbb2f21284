// SPDX-License-Identifier: MIT
#include "known_events.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <metagroup/event_spec.hpp>
#include <set>
#include <string>
#include <vector>

#include "event_resolver.hpp"
#include "support/temp_tree.hpp"

using metagroup::KnownEvent;
using metagroup::detail::PfmEvent;

namespace {

// A system with an uncore PMU and a tracepoint, the same on every machine.
struct FakeSources {
    FakeSources() {
        tree.file("pmus/power/type", "9")
            .file("pmus/power/format/event", "config:0-7")
            .file("pmus/power/events/energy", "event=0x02")
            .file("pmus/power/events/energy.unit", "Joules")
            .file("pmus/power/events/energy.scale", "2.5e-10")
            .file("pmus/power/events/of-a-core", "event=?")
            .file("pmus/power/events/of a blank", "event=0x03")
            .file("tracing/events/sched/enable", "0")
            .file("tracing/events/ftrace/print/format", "")
            .file("tracing/events/sched/sched_switch/id", "314");
        paths.pmus = tree.path("pmus");
        paths.tracefs = {tree.path("tracing")};
    }
    metagroup::test::TempTree tree;
    metagroup::detail::SystemPaths paths;

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

TEST_CASE("known events tell PMU, unit and who knows them") {
    const FakeSources fake;
    CHECK(fake.event("cycles").pmu == "hardware");
    CHECK(fake.event("page-faults").pmu == "software");
    CHECK(fake.event("LLC-load-misses").pmu == "cache");
    CHECK(fake.event("LLC-load-misses").description == "last-level cache: load-misses");
    CHECK(fake.event("LLC-load-misses").source == "perf");
    const KnownEvent energy = fake.event("power/energy/");
    CHECK(energy.pmu == "power");
    CHECK(energy.description == "event=0x02");
    CHECK(energy.unit == "Joules");
    CHECK(energy.source == "sysfs");
    CHECK(fake.event("sched:sched_switch").pmu == "tracepoint");
    CHECK(fake.event("sched:sched_switch").source == "tracefs");
}

TEST_CASE("every known event is understood") {
    const FakeSources fake;
    for (const KnownEvent& event : fake.events()) {
        CAPTURE(event.name);
        CHECK_NOTHROW(metagroup::detail::parse_events(event.name, fake.paths));
    }
}

TEST_CASE("every known event of this machine is understood") {
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

TEST_CASE("the events of libpfm4's PMU perf stand under the names of perf only") {
    const auto events = metagroup::known_events();
    CHECK(std::none_of(events.begin(), events.end(), [](const KnownEvent& event) {
        return event.name.starts_with("PERF_COUNT_") || event.pmu == "perf";
    }));
}

TEST_CASE("a name that several PMUs have is told from others") {
    const std::array events{PfmEvent{"pmu0", "A", ""}, PfmEvent{"pmu0", "B", ""},
                            PfmEvent{"pmu1", "A", ""}};
    CHECK(metagroup::detail::shared_names(events) == std::set<std::string>{"A"});
}

TEST_CASE("near events are found by a typing error") {
    CHECK(metagroup::near_events("cycels") == std::vector<std::string>{"cycles"});
    CHECK(metagroup::near_events("zzzzzzzzzz").empty());
}
