// SPDX-License-Identifier: MIT
#include "event_sources.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <set>

#include "helpers.hpp"
#include "metagroup/known_events.hpp"
#include "support/fake_system.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;

namespace {

// A core PMU, and an uncore PMU with a designated CPU.
struct FakePmus {
    FakePmus() {
        tree.file("core/type", "4")
            .file("core/format/event", "config:0-7,32-35")
            .file("core/format/umask", "config:8-15")
            .file("core/format/edge", "config:18")
            .file("core/format/offcore", "config1:0-63")
            .file("core/format/ldlat", "config2:0-15")
            .file("core/format/odd", "config9:0-1")
            .file("core/events/stalls", "event=0xa2,umask=0x1,edge")
            .file("core/events/slot", "event=0x10,umask=?")
            .file("core/events/endless", "event=0x11")
            .file("core/events/cut", std::string("\0event=0x12", 11))
            .file("core/events/endless.scale", "inf")
            .file("large/type", "4294967296")
            .file("lost/type", "18")
            .file("lost/cpumask", "3-1")
            .file("uncore/type", "17")
            .file("uncore/cpumask", "0,18")
            .file("uncore/format/event", "config:0-7")
            .file("uncore/events/energy", "event=0x02")
            .file("uncore/events/energy.scale", "2.5e-10")
            .file("uncore/events/energy.unit", "Joules")
            .file("uncore/events/energy.per-pkg", "1")
            .file("core/events/margin", "event=0x13")
            .file("core/events/margin.snapshot", "1")
            .file("core/events/margin.unit", "C");
        paths.pmus = tree.path();
    }
    TempTree tree;
    SystemPaths paths;

    [[nodiscard]] EventSpec encode(const char* pmu, const char* terms) const {
        EventSpec spec;
        SysfsPmu::find(paths, pmu).value().encode(terms, 0, spec);
        return spec;
    }
    [[nodiscard]] std::string refusal(const char* terms) const {
        try {
            static_cast<void>(encode("core", terms));
        } catch (const SpecError& error) {
            return std::to_string(error.offset()) + ": " + error.what();
        }
        return "not refused";
    }
};

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A format places bits in one or several ranges") {
    const auto field = parse_format("config:0-7,32-35");
    REQUIRE(field);
    CHECK(field->config == 0);
    CHECK(field->width() == 12);
    CHECK(field->scatter(0xabc) == 0xa000000bcULL);
    CHECK(parse_format("config1:0-63")->mask() == UINT64_MAX);
    CHECK(parse_format("config2:5")->scatter(1) == 0x20);
    CHECK(parse_format("config1:0-63")->config == 1);
}

TEST_CASE("A malformed format is refused") {
    const auto* text =
        GENERATE("", "config", "config:", "conf:0-7", "config:7-0", "config:0-64", "config:a-b",
                 "config:0-7,", "config9:0", "config:0-63,0-7", "config:0-7,4-9");
    CAPTURE(text);
    CHECK_FALSE(parse_format(text));
}

TEST_CASE("Terms are put where the format says") {
    const FakePmus pmus;
    CHECK(pmus.encode("core", "event=0x3c,umask=1").attr.config == 0x13c);
    CHECK(pmus.encode("core", "event=0xf3c").attr.config == 0xf0000003cULL);
    CHECK(pmus.encode("core", "edge").attr.config == 1U << 18);
    CHECK(pmus.encode("core", "offcore=0xffffffffffffffff").attr.config1 == UINT64_MAX);
    CHECK(pmus.encode("core", "ldlat=30").attr.config2 == 30);
    CHECK(pmus.encode("core", "config=0x1,umask=0x2").attr.config == 0x201);
    CHECK(pmus.encode("core", "config1=7").attr.config1 == 7);
    CHECK(pmus.encode("core", "event=1").attr.type == 4);
}

TEST_CASE("An event's name expands to its terms, and terms written by hand override them") {
    const FakePmus pmus;
    CHECK(pmus.encode("core", "stalls").attr.config == (0x1a2U | (1U << 18)));
    CHECK(pmus.encode("core", "stalls,umask=0x4").attr.config == (0x4a2U | (1U << 18)));
    CHECK(pmus.encode("core", "umask=0x4,stalls").attr.config == (0x4a2U | (1U << 18)));
    CHECK(pmus.encode("core", "slot,umask=3").attr.config == 0x310);
}

TEST_CASE("An event reports whether it is a reading, and whether it counts for a whole package") {
    const FakePmus pmus;
    CHECK(pmus.encode("core", "margin").reading);
    CHECK_FALSE(pmus.encode("core", "margin").per_package);
    CHECK(pmus.encode("uncore", "energy").per_package);
    CHECK_FALSE(pmus.encode("uncore", "energy").reading);
}

TEST_CASE("An uncore event has its scale, unit and CPUs") {
    const FakePmus pmus;
    const EventSpec spec = pmus.encode("uncore", "energy");
    CHECK(spec.attr.type == 17);
    CHECK(spec.scale == 2.5e-10);
    CHECK(spec.unit == "Joules");
    REQUIRE(spec.cpus);
    CHECK(spec.cpus->to_string() == "0,18");
    CHECK_FALSE(pmus.encode("core", "stalls").cpus);
    CHECK(SysfsPmu::cpus_of_type(pmus.paths, 17)->to_string() == "0,18");
    CHECK_FALSE(SysfsPmu::cpus_of_type(pmus.paths, 4));
    CHECK_FALSE(SysfsPmu::cpus_of_type(pmus.paths, 99));
}

TEST_CASE("An invalid term is refused with its position and the reason") {
    const FakePmus pmus;
    CHECK(contains(pmus.refusal("event=0x1000"), "12 bits"));
    CHECK(contains(pmus.refusal("event=1,umask=256"), "8: 0x100 is too large"));
    CHECK(contains(pmus.refusal("event=zz"), "\"zz\" is not a valid number"));
    CHECK(contains(pmus.refusal("event="), "\"\" is not a valid number"));
    CHECK(contains(pmus.refusal("umsk=1"), "did you mean \"umask\""));
    CHECK(contains(pmus.refusal("stals"), "did you mean \"stalls\""));
    CHECK(contains(pmus.refusal("event=1,,umask=1"), "8: a term is missing"));
    CHECK(contains(pmus.refusal(""), "0: a term is missing"));
    CHECK(contains(pmus.refusal("odd=1"), "cannot parse"));
    CHECK(contains(pmus.refusal("slot"), "add \",umask=N\""));
    CHECK(contains(pmus.refusal("../../core/type=1"), "no event or field"));
    CHECK(contains(pmus.refusal("endless"), "endless.scale is not a number: \"inf\""));
}

TEST_CASE("A term longer than any file name is unknown") {
    const FakePmus pmus;
    CHECK(contains(pmus.refusal(std::string(300, 'e').c_str()), "no event or field"));
}

TEST_CASE("A NUL in an event's file does not end the name of a field") {
    CHECK_THAT(FakePmus().refusal("cut"), ContainsSubstring("no event or field"));
}

TEST_CASE("A PMU whose CPUs cannot be read is refused with the file that names them") {
    const FakePmus pmus;
    CHECK_THROWS_MATCHES(pmus.encode("lost", "config=1"), SpecError,
                         MessageMatches(ContainsSubstring("lost/cpumask: CPU list \"3-1\"")));
}

TEST_CASE("Only directories with a type are PMUs") {
    const FakePmus pmus;
    CHECK(SysfsPmu::names(pmus.paths) ==
          (std::vector<std::string>{"core", "large", "lost", "uncore"}));
    CHECK_FALSE(SysfsPmu::find(pmus.paths, "nosuch"));
    CHECK_FALSE(SysfsPmu::find(pmus.paths, ""));
    CHECK_FALSE(SysfsPmu::find(pmus.paths, ".."));
    CHECK_FALSE(SysfsPmu::find(pmus.paths, "core/events"));
    // Types have 32 bits.
    CHECK_FALSE(SysfsPmu::find(pmus.paths, "large"));
}

TEST_CASE("Files that describe an event are not listed") {
    const FakePmus pmus;
    CHECK(SysfsPmu::find(pmus.paths, "uncore")->events() == std::vector<std::string>{"energy"});
}

TEST_CASE("libpfm4 encodes events of its PMU perf on every machine") {
    perf_event_attr attr{};
    REQUIRE(pfm_encode("perf::CYCLES", attr).status == PfmStatus::ok);
    CHECK(attr.type == PERF_TYPE_HARDWARE);
    CHECK(attr.config == PERF_COUNT_HW_CPU_CYCLES);
    CHECK(attr.size == sizeof(attr));
}

TEST_CASE("A libpfm4 event without modifiers excludes nothing") {
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

TEST_CASE("An event unknown to libpfm4 does not change the attribute") {
    perf_event_attr attr{};
    attr.config = 42;
    CHECK(pfm_encode("NO_SUCH_EVENT", attr).status == PfmStatus::not_found);
    CHECK(attr.config == 42);
}

TEST_CASE("A refused unit mask or modifier of a known event is explained") {
    perf_event_attr attr{};
    const auto result = pfm_encode("perf::CYCLES:nonsense", attr);
    CHECK(result.status == PfmStatus::refused);
    CHECK(result.diagnosis.reason.find("\"perf::CYCLES:nonsense\"") != std::string::npos);
    CHECK(result.diagnosis.reason.find("\"perf::CYCLES\"") != std::string::npos);
}

TEST_CASE("Periods and CPUs within an event are refused") {
    perf_event_attr attr{};
    CHECK(pfm_encode("perf::CYCLES:period=1000", attr).status == PfmStatus::refused);
    CHECK(pfm_encode("perf::CYCLES:cpu=1", attr).status == PfmStatus::refused);
}

TEST_CASE("The list of libpfm4's events has those of its PMU perf") {
    const auto events = pfm_events();
    CHECK(std::any_of(events.begin(), events.end(), [](const PfmEvent& event) {
        return event.pmu == "perf" && event.name == "PERF_COUNT_HW_CPU_CYCLES";
    }));
}

TEST_CASE("An event with unit masks has a variant for each that libpfm4 takes") {
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

namespace {

struct FakeTracefs : FakeSystem {
    FakeTracefs()
        : FakeSystem({{"tracing/events/sched/sched_waking/id", "315"},
                      {"tracing/events/sched/filter", "none"},
                      {"tracing/events/irq/irq_handler_entry/id", "77"},
                      {"tracing/events/odd/odd/id", "12x"}}) {}
};

}  // namespace

TEST_CASE("A tracepoint's number is looked up wherever tracefs is") {
    const FakeTracefs fake;
    CHECK(tracepoint_id("sched", "sched_switch", fake.paths) == 314);
    CHECK(tracepoint_id("irq", "irq_handler_entry", fake.paths) == 77);
}

TEST_CASE("An unknown tracepoint suggests similar ones") {
    const FakeTracefs fake;
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_swich", fake.paths), SpecError,
                         MessageMatches(ContainsSubstring("did you mean \"sched:sched_switch\"")));
    CHECK_THROWS_AS(tracepoint_id("..", "x", fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", "", fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", std::string(300, 't'), fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("odd", "odd", fake.paths), SpecError);
}

TEST_CASE("A tracepoint that only root may read has a specific cause") {
    const FakeTracefs fake;
    const std::string id = fake.tree.path("tracing/events/irq/irq_handler_entry/id");
    REQUIRE(chmod(id.c_str(), 0) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        try {
            tracepoint_id("irq", "irq_handler_entry", fake.paths);
        } catch (const Error& error) {
            const bool right = error.cause() == Cause::no_trace_permission &&
                               error.code().value() == EACCES && !error.remedy().empty();
            _exit(right ? 0 : 1);
        }
        _exit(3);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("Without tracefs the remedy mounts it") {
    SystemPaths paths;
    paths.tracefs = {"/nonexistent"};
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_switch", paths), SpecError,
                         MessageMatches(ContainsSubstring("mount -t tracefs")));
    CHECK(tracepoint_names(paths).empty());
}

TEST_CASE("The list of tracepoints leaves control files out") {
    const FakeTracefs fake;
    CHECK(tracepoint_names(fake.paths) == std::vector<std::string>{"irq:irq_handler_entry",
                                                                   "odd:odd", "sched:sched_switch",
                                                                   "sched:sched_waking"});
}

namespace {

struct FakeSources : FakeSystem {
    FakeSources()
        : FakeSystem({{"pmus/uncore/events/of-a-core", "event=?"},
                      {"pmus/uncore/events/of a blank", "event=0x03"},
                      {"tracing/events/ftrace/print/format", ""}}) {}
    [[nodiscard]] std::vector<KnownEvent> events() const { return known_events(paths); }
    [[nodiscard]] KnownEvent event(const std::string& name) const {
        for (const KnownEvent& event : events()) {
            if (event.name == name) return event;
        }
        return {};
    }
};

}  // namespace

TEST_CASE("Known events have PMU, unit and source") {
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

TEST_CASE("Every known event can be parsed") {
    const FakeSources fake;
    REQUIRE_FALSE(fake.events().empty());
    for (const KnownEvent& event : fake.events()) {
        CAPTURE(event.name);
        CHECK_NOTHROW(metagroup::detail::parse_events(event.name, fake.paths));
    }
}

TEST_CASE("Every known event of this machine can be parsed") {
    for (const KnownEvent& event : known_events()) {
        CAPTURE(event.name);
        CHECK_NOTHROW(metagroup::parse_events(event.name));
    }
}

TEST_CASE("No event is listed twice") {
    std::set<std::string> names;
    for (const KnownEvent& event : known_events()) {
        CAPTURE(event.name);
        CHECK(names.insert(event.name).second);
    }
    CHECK(names.contains("cycles"));
}

TEST_CASE("The events of libpfm4's PMU perf are listed only under the names of perf") {
    const auto events = known_events();
    CHECK(std::none_of(events.begin(), events.end(), [](const KnownEvent& event) {
        return event.name.starts_with("PERF_COUNT_") || event.pmu == "perf";
    }));
}

TEST_CASE("Names of several PMUs are found") {
    const std::array events{PfmEvent{"pmu0", "A", ""}, PfmEvent{"pmu0", "B", ""},
                            PfmEvent{"pmu1", "A", ""}};
    CHECK(shared_names(events) == std::set<std::string>{"A"});
}

TEST_CASE("A misspelled event finds similar events") {
    CHECK(similar_events("cycels") == std::vector<std::string>{"cycles"});
    CHECK(similar_events("zzzzzzzzzz").empty());
}
