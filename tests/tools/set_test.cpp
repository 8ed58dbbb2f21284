// SPDX-License-Identifier: MIT
#include <grp.h>

#include <metagroup/device.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace metagroup::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using metagroup::MetaGroup;

namespace {

void need_names() {
    if ((metagroup::Device::open().info().features & PERF_METAGROUP_FEATURE_NAME) == 0)
        SKIP("the module has no names of sets");
}

// As info describes it.
nlohmann::json info_set(const std::string& name) {
    const auto info = nlohmann::json::parse(tool_output("info --json"));
    for (const auto& set : info.at("sets"))
        if (set.at("name") == name) return set;
    return nullptr;
}

}  // namespace

TEST_CASE("The option --set excludes options that the published set determines") {
    for (const char* option : {"-e cpu-clock", "-C 0", "-a", "-G /", "--origin groups"})
        for (const char* subcommand : {"stat", "top", "record", "export"})
            tool_fails(std::string(subcommand) + " --set web " + option, {"--set", "excludes"});
    tool_fails("stat --set web -d", {"--set", "excludes"});
}

TEST_CASE("A published set needs the module", "[no-module]") {
    tool_fails("stat --set web --timeout 10ms", {"perf_metagroup"});
    tool_fails("stat --set web --backend per-fd --timeout 10ms", {"sets require the module"});
    tool_fails("set create web", {"perf_metagroup"});
    tool_fails("stat --origin set -e cpu-clock --backend per-fd --timeout 10ms",
               {"sets require the module"});
}

TEST_CASE("Invalid words after set are named") {
    tool_fails("set", {"subcommand"});
    tool_fails("set lst", {"set: unknown subcommand \"lst\"", "\"list\""});
    tool_fails("set create web --mod 1", {"set create: unknown option \"--mod\"", "\"--mode\""});
    tool_fails("set create web --mode 999", {"\"999\" is not a file mode"});
    tool_fails("set create web --group no-such-group", {"no group \"no-such-group\""});
    tool_fails("set create", {"NAME"});
}

TEST_CASE("Without published sets the list is empty", "[no-module]") {
    CHECK(tool_output("set list").empty());
    CHECK(tool_output("set list --json").empty());
}

TEST_CASE("stat reports that it counts a set", "[module]") {
    CHECK_THAT(run_tool("stat -e '{cpu-clock,page-faults}' --origin set --timeout 10ms").text,
               ContainsSubstring("sweeps by module (set)"));
    CHECK_THAT(run_tool("stat -e '{cpu-clock,page-faults}' --timeout 10ms").text,
               ContainsSubstring("sweeps by module:"));
}

TEST_CASE("A set is created, shown, joined and removed", "[module]") {
    need_names();
    CHECK(tool_output("set create tool-set -e '{cpu-clock,page-faults},cs:u' -C 0 --mode 0644")
              .empty());
    CHECK_THAT(tool_output("set list"), ContainsSubstring("tool-set"));
    const auto set = nlohmann::json::parse(tool_output("set show tool-set --json"));
    CHECK(set.at("mode") == "0444");
    CHECK(set.at("cpus") == "0");
    CHECK(set.at("groups").at(0).at("events") == "{cpu-clock,page-faults}");
    CHECK(set.at("groups").at(1).at("events") == "context-switches:u");
    CHECK_THAT(tool_output("set show tool-set"), ContainsSubstring("{cpu-clock,page-faults}"));
    CHECK(std::regex_search(tool_output("info"), std::regex("\nsets\n.*users.*\n  tool-set ")));
    CHECK(info_set("tool-set").at("users") == 0);
    {
        const MetaGroup joined = MetaGroup::open({.set = "tool-set"});
        CHECK(info_set("tool-set").at("users") == 1);
    }
    CHECK_THAT(tool_output("complete -- stat --set tool"), StartsWith("tool-set\ton CPUs 0"));
    CHECK_THAT(tool_output("complete -- set show ''"), StartsWith("tool-set\t"));
    tool_fails("set create tool-set", {"a set with this name already exists"});
    const auto counts = json_lines(tool_output("stat --set tool-set -j --timeout 50ms"));
    CHECK(counts.at(0).at("event") == "cpu-clock");
    CHECK(counts.at(0).at("counter-value").get<double>() > 0);
    tool_fails("stat --set tool-sat --timeout 10ms", {"no such set", "\"tool-set\""});
    CHECK(tool_output("set remove tool-set").empty());
    tool_fails("set show tool-set", {"no such set"});
    tool_fails("set remove tool-set", {"no such set"});
}

TEST_CASE("Groups of the same events in a published set have separate rows", "[module]") {
    need_names();
    // duration_time is the cpu-clock of one CPU.
    CHECK(tool_output("set create tool-same -e cpu-clock,duration_time,cpu-clock -C 0").empty());
    const auto groups =
        nlohmann::json::parse(tool_output("set show tool-same --json")).at("groups");
    REQUIRE(groups.size() == 3);
    for (const auto& group : groups) {
        CHECK(group.at("events") == "cpu-clock");
        CHECK(group.at("cpus") == "0");
    }
    CHECK_THAT(tool_output("set show tool-same"), ContainsSubstring("cpu-clock"));
    std::size_t rows = 0;
    for (const auto& line : json_lines(tool_output("stat --set tool-same -j --timeout 200ms"))) {
        if (line.value("event", "") != "cpu-clock") continue;
        ++rows;
        CHECK(line.at("metric-value").get<double>() < 1.5);  // CPUs utilized
    }
    CHECK(rows == 3);
    CHECK(tool_output("set remove tool-same").empty());
}

TEST_CASE("A published set is recorded", "[module]") {
    need_names();
    CHECK(tool_output("set create tool-record -e '{cpu-clock,page-faults}'").empty());
    const Outcome outcome =
        run_tool("record --set tool-record --duration 100ms -o /tmp/tool-record.data");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(tool_output("report /tmp/tool-record.data"), ContainsSubstring("cpu-clock"));
    CHECK(tool_output("set remove tool-record").empty());
}
