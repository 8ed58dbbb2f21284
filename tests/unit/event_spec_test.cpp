// SPDX-License-Identifier: MIT
#include "metagroup/event_spec.hpp"

#include "event_sources.hpp"
#include "helpers.hpp"
#include "support/fake_system.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;

namespace {

struct Parser : FakeSystem {
    Parser()
        : FakeSystem({{"pmus/msr/events/broken", "event=0x02"},
                      {"pmus/msr/events/broken.scale", "much"}}) {}
    [[nodiscard]] std::vector<GroupSpec> parse(std::string_view text) const {
        return parse_events(text, paths);
    }
    [[nodiscard]] EventSpec one(std::string_view text) const {
        const auto groups = parse(text);
        REQUIRE(groups.size() == 1);
        REQUIRE(groups[0].events.size() == 1);
        return groups[0].events[0];
    }
};

std::vector<std::string> texts(const std::vector<GroupSpec>& groups) {
    std::vector<std::string> all;
    all.reserve(groups.size());
    for (const GroupSpec& group : groups)
        all.push_back(to_string(group));
    return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Events without braces are groups of one, braces make groups") {
    const Parser parser;
    CHECK(texts(parser.parse("cycles,instructions")) == Texts{"cycles", "instructions"});
    CHECK(texts(parser.parse("{cycles,instructions}")) == Texts{"{cycles,instructions}"});
    CHECK(texts(parser.parse("{cycles,instructions},{dummy},cs")) ==
          Texts{"{cycles,instructions}", "dummy", "cs"});
}

TEST_CASE("Blanks may surround events, groups and commas") {
    const Parser parser;
    CHECK(texts(parser.parse(" { cycles , instructions } ,\n\tdummy ")) ==
          Texts{"{cycles,instructions}", "dummy"});
}

TEST_CASE("Commas between slashes belong to the PMU's terms") {
    const Parser parser;
    CHECK(texts(parser.parse("{msr/event=1,config1=2/,dummy},msr/tsc/")) ==
          Texts{"{msr/event=1,config1=2/,dummy}", "msr/tsc/"});
}

TEST_CASE("Generic names are those of perf") {
    struct Known {
        const char* name;
        std::uint32_t type;
        std::uint64_t config;
    };
    const auto known = GENERATE(values<Known>({
        {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
        {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
        {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
        {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
        {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
        {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
        {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
        {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
        {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
        {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
        {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
        {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
        {"dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
        {"bpf-output", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT},
        {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000},
        {"LLC-stores", PERF_TYPE_HW_CACHE, 0x102},
        {"dTLB-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10203},
        {"r1234", PERF_TYPE_RAW, 0x1234},
        {"rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX},
        {"msr/aperf/", 9, 1},
        {"msr/event=0x20/", 9, 0x20},
        {"sched:sched_switch", PERF_TYPE_TRACEPOINT, 314},
        {"perf::PERF_COUNT_SW_PAGE_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    }));
    CAPTURE(known.name);
    const Parser parser;
    const EventSpec spec = parser.one(known.name);
    CHECK(spec.name == known.name);
    CHECK(spec.attr.type == known.type);
    CHECK(spec.attr.config == known.config);
    CHECK(spec.attr.size == sizeof(perf_event_attr));
    CHECK(spec.attr.exclude_kernel == 0);
    CHECK(spec.attr.exclude_guest == 0);
}

TEST_CASE("Modifiers work after names of every kind") {
    const auto* text = GENERATE("cycles:u", "r1234:u", "msr/tsc/u", "msr/tsc/:u",
                                "sched:sched_switch:u", "perf::PERF_COUNT_HW_CPU_CYCLES:u");
    CAPTURE(text);
    const Parser parser;
    const EventSpec spec = parser.one(text);
    CHECK(spec.attr.exclude_user == 0);
    CHECK(spec.attr.exclude_kernel == 1);
    CHECK(spec.name == text);
}

TEST_CASE("Modifiers of perf and of libpfm4 may be mixed") {
    const Parser parser;
    CHECK(parser.one("perf::PERF_COUNT_HW_CPU_CYCLES:uD").attr.pinned == 1);
    CHECK(parser.one("cycles:u=1:k=0").attr.exclude_kernel == 1);
}

TEST_CASE(
    "Modifiers after a group apply to all events, but pinned and exclusive only to the leader") {
    const Parser parser;
    const auto groups = parser.parse("{cycles,instructions:k}:uDe");
    REQUIRE(groups[0].events.size() == 2);
    const auto& leader = groups[0].events[0].attr;
    const auto& sibling = groups[0].events[1].attr;
    CHECK(leader.exclude_kernel == 1);
    CHECK(leader.pinned == 1);
    CHECK(leader.exclusive == 1);
    CHECK(sibling.pinned == 0);
    CHECK(sibling.exclusive == 0);
    CHECK(sibling.exclude_user == 0);
    CHECK(sibling.exclude_kernel == 0);
    CHECK(to_string(groups[0]) == "{cycles:u,instructions:ku}:De");
}

TEST_CASE("Names include the modifiers of their group that affect counts") {
    const Parser parser;
    const auto names = [&](const char* text) {
        std::vector<std::string> all;
        for (const GroupSpec& group : parser.parse(text))
            for (const EventSpec& event : group.events)
                all.push_back(event.name);
        return all;
    };
    using Names = std::vector<std::string>;
    CHECK(names("{cycles,dummy}:u,{cycles,dummy}:k") ==
          Names{"cycles:u", "dummy:u", "cycles:k", "dummy:k"});
    CHECK(names("{cycles:u,msr/tsc/,msr/tsc/:k}:uS") ==
          Names{"cycles:u", "msr/tsc/u", "msr/tsc/:ku"});
    CHECK(names("{cycles,dummy}:WD") == Names{"cycles", "dummy"});
    CHECK(names("{msr/tsc,name=mine/}:u") == Names{"mine"});
}

TEST_CASE("Quoted names may have any character, and terms of samples are ignored") {
    const Parser parser;
    const EventSpec spec = parser.one("msr/name='A:orig=b,desc=c/d',period=0x1,config=0x2/u");
    CHECK(spec.name == "A:orig=b,desc=c/d");
    CHECK(spec.attr.config == 2);
    CHECK(spec.attr.sample_period == 0);
    CHECK(spec.attr.exclude_kernel == 1);
    CHECK(parser.one("msr/config=1,name=\"it's\"/").name == "it's");
    CHECK_THAT(error_from([&] { return parser.one("msr/name='a,config=1/"); }).what(),
               ContainsSubstring("not closed"));
    CHECK_THAT(error_from([&] { return parser.one("msr/tsc,percore/"); }).what(),
               ContainsSubstring("option of perf"));
}

TEST_CASE("A PMU accepts a raw event") {
    const Parser parser;
    CHECK(parser.one("msr/r1a/").attr.config == 0x1a);
    CHECK(parser.one("msr/r0x1a/").attr.config == 0x1a);
    CHECK_THROWS_AS(parser.one("msr/rx/"), Error);
}

TEST_CASE("An unknown name suggests similar ones") {
    struct Typo {
        const char* text;
        const char* suggestion;
    };
    const auto typo = GENERATE(values<Typo>({
        {"cycels", "did you mean \"cycles\""},
        {"instrucions", "\"instructions\""},
        {"page-fault", "\"page-faults\""},
        {"cache-mises:u", "\"cache-misses\""},
        {"mrs/tsc/", "\"msr\""},
        {"msr/tcs/", "\"tsc\""},
        {"sched:sched_swich", "\"sched:sched_switch\""},
        {"PERF_COUNT_HW_CPU_CYCELS", "\"PERF_COUNT_HW_CPU_CYCLES\""},
    }));
    CAPTURE(typo.text);
    const Parser parser;
    CHECK_THROWS_MATCHES(parser.parse(typo.text), Error,
                         MessageMatches(ContainsSubstring(typo.suggestion) &&
                                        ContainsSubstring('"' + std::string(typo.text) + '"')));
}

TEST_CASE("An invalid event list is refused with text, column and remedy") {
    struct Wrong {
        const char* text;
        const char* column;
        const char* message;
    };
    const auto wrong = GENERATE(values<Wrong>({
        {"", "column 1:", "an event is missing"},
        {"  ", "column 3:", "an event is missing"},
        {"cycles,", "column 8:", "an event is missing"},
        {",cycles", "column 1:", "an event is missing"},
        {"cycles,,dummy", "column 8:", "an event is missing"},
        {"{cycles", "column 1:", "add '}'"},
        {"{cycles,", "column 1:", "add '}'"},
        {"{", "column 1:", "add '}'"},
        {"{}", "column 1:", "empty"},
        {"{cycles,}", "column 9:", "an event is missing"},
        {"cycles}", "column 7:", "'}' without '{'"},
        {"{cycles}}", "column 9:", "'}' without '{'"},
        {"{cycles,{dummy}}", "column 9:", "group inside a group"},
        {"cycles{dummy}", "column 7:", "write ','"},
        {"{cycles}dummy", "column 9:", "write ','"},
        {"cycles dummy", "column 8:", "write ','"},
        {"msr/tsc", "column 4:", "add '/'"},
        {"msr/tsc,dummy", "column 4:", "add '/'"},
        {"msr/tsc//", "column 9:", "third '/'"},
        {"/tsc/", "column 1:", "unknown PMU"},
        {"msr/tsc/z", "column 9:", "unknown modifier 'z'"},
        {"msr/tsc/:", "column 10:", "modifiers are missing"},
        {"dummy,cycles:x", "column 14:", "unknown modifier 'x'"},
        {"cycles:", "column 8:", "modifiers are missing"},
        {"cycles:uku", "column 10:", "duplicate modifier"},
        {"{cycles,dummy}:", "column 16:", "modifiers are missing"},
        {"{cycles,dummy}:uq", "column 17:", "unknown modifier 'q'"},
        {"{cycles,dummy:D}", "column 9:", "\"dummy:D\" is a sibling"},
        {"{cycles,dummy:e}", "column 9:", "\"dummy:e\" is a sibling"},
        {"r12345678901234567", "column 1:", "64 bits"},
        {"nosuch::event", "column 1:", "unknown event \"nosuch::event\""},
        {"cycles:period=7", "column 1:", "periods"},
        {":u", "column 1:", "unknown event"},
        {"sched:sched_switch:z", "column 20:", "unknown modifier"},
    }));
    CAPTURE(wrong.text);
    const Parser parser;
    REQUIRE_THROWS_MATCHES(
        parser.parse(wrong.text), Error,
        MessageMatches(ContainsSubstring(wrong.column) && ContainsSubstring(wrong.message) &&
                       ContainsSubstring('"' + std::string(wrong.text) + '"')));
}

TEST_CASE("Each error in an event list has a specific cause and remedy") {
    struct Wrong {
        const char* text;
        Cause cause;
        int error;
    };
    const auto wrong = GENERATE(values<Wrong>({
        {"{cycles", Cause::syntax, EINVAL},
        {"cycles:x", Cause::syntax, EINVAL},
        {"cycles:period=7", Cause::syntax, EINVAL},
        {"msr/event=x/", Cause::syntax, EINVAL},
        {"nosuchevent", Cause::unknown_event, ENOENT},
        {"sched:nosuch", Cause::unknown_event, ENOENT},
        {"msr/nosuch/", Cause::unknown_event, ENOENT},
        {"nosuch/tsc/", Cause::unknown_pmu, ENOENT},
        {"msr/broken/", Cause::unsupported_event, EINVAL},
    }));
    CAPTURE(wrong.text);
    const Parser parser;
    const Error error = error_from([&] { static_cast<void>(parser.parse(wrong.text)); });
    CHECK(error.cause() == wrong.cause);
    CHECK(error.code().value() == wrong.error);
    CHECK_FALSE(error.reason().empty());
    CHECK_FALSE(error.remedy().empty());
}

TEST_CASE("An event that continues after a NUL is refused at that position") {
    const Parser parser;
    const auto* name =
        GENERATE("cycles", "msr/tsc/", "sched:sched_switch", "perf::PERF_COUNT_SW_DUMMY");
    const std::string text = std::string(name) + '\0' + "u";
    CHECK_THROWS_MATCHES(
        parser.parse(text), Error,
        MessageMatches(ContainsSubstring("a NUL inside an event") &&
                       ContainsSubstring("column " + std::to_string(text.size() - 1))));
}

TEST_CASE("Software events are known on this machine") {
    CHECK(parse_events("{cpu-clock,page-faults}").size() == 1);
}

namespace {
perf_event_attr with(const char* letters, perf_event_attr attr = {}) {
    apply_modifiers(parse_modifiers(letters, 0), FakeSystem().paths, attr);
    return attr;
}
}  // namespace

TEST_CASE("A single level excludes the others") {
    const auto user = with("u");
    CHECK(user.exclude_user == 0);
    CHECK(user.exclude_kernel == 1);
    CHECK(user.exclude_hv == 1);
    const auto both = with("uk");
    CHECK(both.exclude_user == 0);
    CHECK(both.exclude_kernel == 0);
    CHECK(both.exclude_hv == 1);
    const auto hypervisor = with("h");
    CHECK(hypervisor.exclude_hv == 0);
    CHECK(hypervisor.exclude_user == 1);
}

TEST_CASE("Levels of the group add to those of the event") {
    const auto attr = with("k", with("u"));
    CHECK(attr.exclude_user == 0);
    CHECK(attr.exclude_kernel == 0);
    CHECK(attr.exclude_hv == 1);
}

TEST_CASE("Guest and host exclude each other unless both are given") {
    CHECK(with("G").exclude_host == 1);
    CHECK(with("G").exclude_guest == 0);
    CHECK(with("H").exclude_guest == 1);
    CHECK(with("GH").exclude_guest == 0);
    CHECK(with("GH").exclude_host == 0);
}

TEST_CASE("Each p makes an event more precise") {
    CHECK(with("p").precise_ip == 1);
    CHECK(with("ppp").precise_ip == 3);
    CHECK(with("p").exclude_guest == 1);
    CHECK_THROWS_AS(with("pppp"), SpecError);
}

TEST_CASE("Pinned, exclusive and not-idle are separate bits") {
    CHECK(with("D").pinned == 1);
    CHECK(with("e").exclusive == 1);
    CHECK(with("I").exclude_idle == 1);
    CHECK(with("D").exclude_kernel == 0);
}

TEST_CASE("An invalid modifier is refused with its position") {
    try {
        parse_modifiers("ukz", 10);
        FAIL("not refused");
    } catch (const SpecError& error) {
        CHECK(error.offset() == 12);
        CHECK(std::string(error.what()).find("'z'") != std::string::npos);
    }
    CHECK_THROWS_AS(parse_modifiers("uu", 0), SpecError);
    CHECK_THROWS_AS(parse_modifiers("", 0), SpecError);
}

TEST_CASE("Only known letters are parsed as modifiers") {
    CHECK(looks_like_modifiers("ukhGHDepIPSWb"));
    CHECK_FALSE(looks_like_modifiers(""));
    CHECK_FALSE(looks_like_modifiers("u=1"));
    CHECK_FALSE(looks_like_modifiers("sched_switch"));
}
