// SPDX-License-Identifier: MIT
// One word for several events, and the names that perf has beside those of the kernel.
#include "event_sources.hpp"
#include "helpers.hpp"
#include "metagroup/metagroup.hpp"
#include "support/fake_system.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;

namespace {

// A server of two sockets: memory controllers, and energy by RAPL.
struct Server : FakeSystem {
    Server()
        : FakeSystem({{"pmus/uncore_imc_0/type", "20"},
                      {"pmus/uncore_imc_0/cpumask", "0,2"},
                      {"pmus/uncore_imc_0/format/event", "config:0-7"},
                      {"pmus/uncore_imc_0/events/cas_count_read", "event=0x04"},
                      {"pmus/uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5"},
                      {"pmus/uncore_imc_0/events/cas_count_read.unit", "MiB"},
                      {"pmus/uncore_imc_1/type", "21"},
                      {"pmus/uncore_imc_1/cpumask", "0,2"},
                      {"pmus/uncore_imc_1/format/event", "config:0-7"},
                      {"pmus/uncore_imc_1/events/cas_count_read", "event=0x04"},
                      {"pmus/uncore_imc_free_running/type", "22"},
                      {"pmus/uncore_imc_free_running/events/data_read", "event=0xff"},
                      {"pmus/uncore_imc_free_running/format/event", "config:0-7"},
                      {"pmus/power/type", "23"},
                      {"pmus/power/cpumask", "0,2"},
                      {"pmus/power/format/event", "config:0-7"},
                      {"pmus/power/events/energy-pkg", "event=0x02"},
                      {"pmus/power/events/energy-pkg.scale", "2.3283064365386962890625e-10"},
                      {"pmus/power/events/energy-pkg.unit", "Joules"},
                      {"pmus/cpu/type", "4"},
                      {"pmus/cpu/format/event", "config:0-7"},
                      {"pmus/cpu/caps/max_precise", "2"},
                      {"tracing/events/sched/sched_waking/id", "315"},
                      {"tracing/events/irq/irq_entry/id", "77"}}) {}
    [[nodiscard]] std::vector<GroupSpec> parse(std::string_view text) const {
        return parse_events(text, paths);
    }
    [[nodiscard]] std::vector<std::string> texts(std::string_view text) const {
        std::vector<std::string> groups;
        for (const GroupSpec& group : parse(text))
            groups.push_back(to_string(group));
        return groups;
    }
    [[nodiscard]] EventSpec one(std::string_view text) const {
        const auto groups = parse(text);
        REQUIRE(groups.size() == 1);
        REQUIRE(groups[0].events.size() == 1);
        return groups[0].events[0];
    }
    [[nodiscard]] Error refusal(std::string_view text) const {
        return error_from([&] { static_cast<void>(parse(text)); });
    }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Wildcards expand to each matching tracepoint") {
    const Server server;
    CHECK(server.texts("sched:*") == Texts{"sched:sched_switch", "sched:sched_waking"});
    CHECK(server.texts("*:*_[es]*:u") == Texts{"irq:irq_entry:u", "sched:sched_switch:u"});
    CHECK(server.parse("sched:sched_w*:k")[0].events[0].attr.exclude_user == 1);
    CHECK(server.parse("sched:sched_w*")[0].events[0].attr.config == 315);
    CHECK(server.texts("{dummy,sched:*}") ==
          Texts{"{dummy,sched:sched_switch,sched:sched_waking}"});
    CHECK(server.parse("sched:*")[0].events[0].merged.empty());
    CHECK(server.refusal("sched:x*").cause() == Cause::unknown_event);
}

TEST_CASE("An event of numbered PMUs expands to one event for each, which are merged") {
    const Server server;
    const auto* text = GENERATE("uncore_imc/cas_count_read/", "imc/cas_count_read/",
                                "uncore_imc_[01]/cas_count_read/", "uncore_*/cas_count_read/");
    CAPTURE(text);
    const auto groups = server.parse(text);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].events[0].name == "uncore_imc_0/cas_count_read/");
    CHECK(groups[1].events[0].name == "uncore_imc_1/cas_count_read/");
    CHECK(groups[1].events[0].attr.type == 21);
    CHECK(groups[0].events[0].scale == 6.103515625e-5);
    for (const GroupSpec& group : groups) {
        CHECK(group.events[0].merged == text);
        CHECK(group.events[0].cpus->to_string() == "0,2");
    }
}

TEST_CASE("An exact PMU name selects only that PMU") {
    const Server server;
    CHECK(server.one("uncore_imc_0/cas_count_read/").merged.empty());
    CHECK(server.one("uncore_imc_free_running/data_read/").merged.empty());
    CHECK(server.one("uncore_imc_free*/data_read/u").name == "uncore_imc_free_running/data_read/u");
}

TEST_CASE("An event that no matching PMU has is refused with the reason of the first") {
    const Server server;
    CHECK_THAT(server.refusal("uncore_imc/cas_count_raed/").what(),
               ContainsSubstring("\"uncore_imc_0\" has no event") &&
                   ContainsSubstring("did you mean \"cas_count_read\""));
    CHECK(server.refusal("uncore_x*/y/").cause() == Cause::unknown_pmu);
}

TEST_CASE("A group of events of several PMUs expands to one group for each PMU") {
    const Server server;
    const auto groups = server.parse("{uncore_imc/cas_count_read/,uncore_imc/event=1/}:u");
    REQUIRE(groups.size() == 2);
    CHECK(to_string(groups[1]) == "{uncore_imc_1/cas_count_read/u,uncore_imc_1/event=1/u}");
    CHECK(groups[1].events[0].merged == "uncore_imc/cas_count_read/u");
    CHECK(server.parse("{cas_count_read}:u")[1].events[0].name ==
          "cas_count_read:u [uncore_imc_1]");
    CHECK(groups[1].events[1].attr.exclude_kernel == 1);
    for (const char* text : {"{dummy,uncore_imc/event=1/}", "{uncore_imc/event=1/,dummy}",
                             "{uncore_imc/event=1/,uncore_imc_*/event=1/}"}) {
        CAPTURE(text);
        const Error error = server.refusal(text);
        CHECK(error.cause() == Cause::syntax);
        CHECK_THAT(error.what(), ContainsSubstring("several PMUs"));
    }
}

TEST_CASE("An event in sysfs does not need a PMU prefix") {
    const Server server;
    CHECK(server.one("tsc").attr.type == 9);
    CHECK(server.one("energy-pkg").unit == "Joules");
    CHECK(server.one("energy-pkg").merged.empty());
    CHECK(server.one("tsc:u").attr.exclude_kernel == 1);
    CHECK(server.one("tsc:u").name == "tsc:u");
    const auto groups = server.parse("cas_count_read");
    REQUIRE(groups.size() == 2);
    CHECK(groups[1].events[0].name == "cas_count_read [uncore_imc_1]");
    CHECK(groups[1].events[0].merged == "cas_count_read");
}

TEST_CASE("name= gives an event another name") {
    const Server server;
    CHECK(server.one("cpu/event=0x3c,name=busy/u").name == "busy");
    CHECK(server.one("cpu/event=0x3c,name=busy/u").attr.config == 0x3c);
    CHECK(server.one("cpu/event=0x3c,name=busy/u").attr.exclude_kernel == 1);
    const auto groups = server.parse("uncore_imc/event=1,name=reads/");
    CHECK(groups[0].events[0].name == "reads [uncore_imc_0]");
    CHECK(groups[0].events[0].merged == "reads");
    CHECK_THAT(server.refusal("cpu/event=1,name=/").what(), ContainsSubstring("\"name\""));
}

TEST_CASE(
    "A term that would change counts, and that only perf supports, is refused with the reason") {
    const Server server;
    for (const char* text : {"cpu/event=1,percore/", "cpu/event=1,aux-action=pause/"}) {
        CAPTURE(text);
        const Error error = server.refusal(text);
        CHECK(error.cause() == Cause::unsupported_event);
        CHECK_THAT(error.what(), ContainsSubstring("an option of perf"));
    }
}

TEST_CASE("A name of perf that cannot be counted is refused with the reason") {
    const Server server;
    for (const char* text : {"user_time", "system_time", "num_cpus", "sdt_libc:setjmp",
                             "ftrace:print", "mem:0x1000:rw"}) {
        CAPTURE(text);
        const Error error = server.refusal(text);
        CHECK(error.cause() == Cause::unsupported_event);
        CHECK_FALSE(error.remedy().empty());
    }
}

TEST_CASE("duration_time is the time in nanoseconds, counted on one CPU") {
    const Server server;
    const EventSpec time = server.one("duration_time");
    CHECK(time.attr.config == PERF_COUNT_SW_CPU_CLOCK);
    CHECK(time.unit == "ns");
    CHECK(time.on_one_cpu);
}

TEST_CASE("P asks for the highest precision of the CPU") {
    Server server;
    CHECK(server.one("cycles:P").attr.precise_ip == 2);
    CHECK(server.one("cycles:P").attr.exclude_guest == 1);
    server.tree.file("pmus/cpu/caps/max_precise", "7");
    CHECK(server.one("cycles:P").attr.precise_ip == 3);
    const FakeSystem plain;
    CHECK(parse_events("cycles:P", plain.paths)[0].events[0].attr.precise_ip == 0);
}

TEST_CASE("S and W change no event, and W marks the group as weak") {
    const Server server;
    const auto groups = server.parse("{cycles,dummy}:SW");
    CHECK(groups[0].weak());
    CHECK_FALSE(server.parse("{cycles,dummy}:S")[0].weak());
    CHECK(groups[0].events[0].attr.precise_ip == 0);
    CHECK(groups[0].events[0].attr.exclude_kernel == 0);
}

TEST_CASE("b is refused with the reason") {
    const Error error = Server().refusal("cycles:b");
    CHECK(error.cause() == Cause::syntax);
    CHECK_THAT(error.what(), ContainsSubstring("column 8:") && ContainsSubstring("BPF"));
}
