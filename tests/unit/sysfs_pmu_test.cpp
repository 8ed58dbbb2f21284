// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "event_sources.hpp"
#include "support/temp_tree.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using metagroup::EventSpec;
using metagroup::detail::parse_format;
using metagroup::detail::SpecError;
using metagroup::detail::SysfsPmu;
using metagroup::detail::SystemPaths;

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
            .file("uncore/events/energy.unit", "Joules");
        paths.pmus = tree.path();
    }
    metagroup::test::TempTree tree;
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

TEST_CASE("a format places bits in one or several ranges") {
    const auto field = parse_format("config:0-7,32-35");
    REQUIRE(field);
    CHECK(field->config == 0);
    CHECK(field->width() == 12);
    CHECK(field->scatter(0xabc) == 0xa000000bcULL);
    CHECK(parse_format("config1:0-63")->mask() == UINT64_MAX);
    CHECK(parse_format("config2:5")->scatter(1) == 0x20);
    CHECK(parse_format("config1:0-63")->config == 1);
}

TEST_CASE("a malformed format is refused") {
    const auto* text =
        GENERATE("", "config", "config:", "conf:0-7", "config:7-0", "config:0-64", "config:a-b",
                 "config:0-7,", "config9:0", "config:0-63,0-7", "config:0-7,4-9");
    CAPTURE(text);
    CHECK_FALSE(parse_format(text));
}

TEST_CASE("terms are put where the format says") {
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

TEST_CASE("an event's name expands to its terms, and terms written by hand override them") {
    const FakePmus pmus;
    CHECK(pmus.encode("core", "stalls").attr.config == (0x1a2U | (1U << 18)));
    CHECK(pmus.encode("core", "stalls,umask=0x4").attr.config == (0x4a2U | (1U << 18)));
    CHECK(pmus.encode("core", "umask=0x4,stalls").attr.config == (0x4a2U | (1U << 18)));
    CHECK(pmus.encode("core", "slot,umask=3").attr.config == 0x310);
}

TEST_CASE("scale, unit and CPUs of an uncore event come with it") {
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

TEST_CASE("a wrong term is refused at its place with the reason") {
    const FakePmus pmus;
    CHECK(contains(pmus.refusal("event=0x1000"), "12 bits"));
    CHECK(contains(pmus.refusal("event=1,umask=256"), "8: 0x100 is too large"));
    CHECK(contains(pmus.refusal("event=zz"), "\"zz\" is no number"));
    CHECK(contains(pmus.refusal("event="), "\"\" is no number"));
    CHECK(contains(pmus.refusal("umsk=1"), "did you mean \"umask\""));
    CHECK(contains(pmus.refusal("stals"), "did you mean \"stalls\""));
    CHECK(contains(pmus.refusal("event=1,,umask=1"), "8: a term is missing"));
    CHECK(contains(pmus.refusal(""), "0: a term is missing"));
    CHECK(contains(pmus.refusal("odd=1"), "does not understand"));
    CHECK(contains(pmus.refusal("slot"), "add \",umask=N\""));
    CHECK(contains(pmus.refusal("../../core/type=1"), "no event or field"));
    CHECK(contains(pmus.refusal("endless"), "endless.scale holds no number: \"inf\""));
}

TEST_CASE("a term longer than the name of any file is unknown") {
    const FakePmus pmus;
    CHECK(contains(pmus.refusal(std::string(300, 'e').c_str()), "no event or field"));
}

TEST_CASE("a NUL in an event's file does not make a field's name end") {
    CHECK_THAT(FakePmus().refusal("cut"), ContainsSubstring("no event or field"));
}

TEST_CASE("a PMU whose CPUs cannot be read is refused with the file that names them") {
    const FakePmus pmus;
    CHECK_THROWS_MATCHES(pmus.encode("lost", "config=1"), SpecError,
                         MessageMatches(ContainsSubstring("lost/cpumask: CPU list \"3-1\"")));
}

TEST_CASE("only directories with a type are PMUs") {
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

TEST_CASE("files that describe an event are not listed") {
    const FakePmus pmus;
    CHECK(SysfsPmu::find(pmus.paths, "uncore")->events() == std::vector<std::string>{"energy"});
}
