// SPDX-License-Identifier: MIT
// metagroup list by its command line.
#include <pty.h>
#include <sys/ioctl.h>

#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <set>

#include "program.hpp"

namespace {

std::vector<nlohmann::json> events(const std::string& arguments) {
    const Outcome outcome = run_tool("list -j " + arguments);
    return outcome.status == 0 ? json_lines(outcome.text) : std::vector<nlohmann::json>();
}

std::set<std::string> names(const std::string& arguments) {
    std::set<std::string> all;
    for (const auto& event : events(arguments))
        all.insert(event.at("name").get<std::string>());
    return all;
}

bool has_tracepoints() {
    return ::access("/sys/kernel/tracing/events/sched/sched_switch/id", R_OK) == 0;
}

// The output on a terminal of so many columns.
std::string on_terminal(const std::string& arguments, unsigned short columns) {
    int master = -1;
    int slave = -1;
    std::array<char, 64> name{};
    const winsize size{.ws_row = 25, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&master, &slave, name.data(), nullptr, &size) != 0)
        SKIP("there are no terminals here");
    const metagroup::detail::UniqueFd ours(master);
    const metagroup::detail::UniqueFd theirs(slave);
    REQUIRE(run_tool("list " + arguments + " >" + name.data()).status == 0);
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(ours.get(), buffer.data(), buffer.size());
    REQUIRE(got > 0);
    std::string text(buffer.data(), static_cast<std::size_t>(got));
    std::erase(text, '\r');
    return text;
}

std::size_t longest_line(const std::string& text) {
    std::size_t longest = 0;
    for (const std::string& line : split(text, '\n'))
        longest = std::max(longest, line.size());
    return longest;
}

}  // namespace

TEST_CASE("list shows events below their PMU, with a description") {
    CHECK_THAT(tool_output("list page-faults"),
               ContainsSubstring("software (perf):\n") &&
                   ContainsSubstring("\n  page-faults               page faults\n"));
}

TEST_CASE("Every name that list shows is an event that can be parsed") {
    const auto all = names("--all");
    REQUIRE(all.contains("cpu-clock"));
    for (const std::string& name : all) {
        CAPTURE(name);
        CHECK_NOTHROW(metagroup::parse_events(name));
    }
}

TEST_CASE("A name that list shows can be given to stat") {
    const std::string name = events("sw").front().at("name");
    tool_output("stat --timeout 10ms -x , -e '" + name + "'");
}

TEST_CASE("list shows only those of perf's names that this machine counts") {
    const auto all = events("");
    REQUIRE_FALSE(all.empty());
    for (const auto& event : all) {
        if (event.at("source") != "perf") continue;
        CAPTURE(event.dump());
        try {
            const auto group = metagroup::parse_events(event.at("name").get<std::string>()).front();
            metagroup::EventGroup::open(group, metagroup::CpuList::online().cpus().front());
        } catch (const metagroup::Error& error) {
            CHECK(error.code().value() != ENOENT);
        }
    }
}

TEST_CASE("list reports a known event that cannot be counted here") {
    if (!names("cycles").empty()) SKIP("this machine counts cycles");
    const Outcome outcome = run_tool("list cpu-cycles");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("cannot") && ContainsSubstring("--all"));
    CHECK(names("--all cpu-cycles").contains("cpu-cycles"));
}

TEST_CASE("Without permission for perf list shows all known events") {
    const Outcome outcome = run_without_perf(METAGROUP_TOOL " list -j cpu-cycles");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("{\"name\":\"cpu-cycles\""));
}

TEST_CASE("A pattern matches a part of a name, PMU or description, ignoring case") {
    CHECK(names("PAGE-fault").contains("page-faults"));
    CHECK(names("SOFTwar").contains("page-faults"));
    CHECK(names("'another cpu'").contains("cpu-migrations"));
    CHECK_FALSE(names("PAGE-fault").contains("cpu-clock"));
}

TEST_CASE("list with wildcards matches whole names") {
    CHECK(names("'*-clock'").contains("task-clock"));
    CHECK_FALSE(names("'clock*'").contains("task-clock"));
    CHECK(names("'[ct]*-clock'").contains("cpu-clock"));
    CHECK(names("'TASK-cloc?'").contains("task-clock"));
    CHECK_FALSE(names("'task-cl?'").contains("task-clock"));
}

TEST_CASE("The short names of perf list stand for PMUs") {
    for (const auto& event : events("sw"))
        CHECK(event.at("pmu") == "software");
    CHECK(names("sw").contains("context-switches"));
    CHECK(names("--all hw").contains("cpu-cycles"));
    for (const auto& event : events("--all hw"))
        CHECK(event.at("pmu") == "hardware");
}

TEST_CASE("Without a match, list fails and suggests similar events") {
    const Outcome outcome = run_tool("list page-fualts");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("no event matches \"page-fualts\"") &&
                                 ContainsSubstring("page-faults"));
}

TEST_CASE("Without similar events, list refers to the whole list") {
    const Outcome outcome = run_tool("list zzzzzzzzzz");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("\"metagroup list\""));
}

TEST_CASE("Tracepoints are listed only if a pattern matches") {
    if (!has_tracepoints()) SKIP("tracefs cannot be read");
    CHECK_THAT(tool_output("list"),
               !ContainsSubstring("sched:sched_switch") && ContainsSubstring(" tracepoints: "));
    CHECK(names("'sched:*'").contains("sched:sched_switch"));
    CHECK(names("tracepoint").contains("sched:sched_switch"));
    CHECK(names("sched_switch").contains("sched:sched_switch"));
}

TEST_CASE("If tracefs cannot be read, list says so rather than that nothing matches", "[machine]") {
    if (!has_tracepoints()) SKIP("tracefs cannot be read by root either");
    const Outcome outcome = run_program(METAGROUP_TOOL " list 'sched:*'", Who::nobody);
    CAPTURE(outcome.text);
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("only root can access tracefs") &&
                                 ContainsSubstring("remount,gid=GROUP"));
}

TEST_CASE("Without a terminal, list wraps descriptions at 80 columns") {
    CHECK(longest_line(run_tool("list --all 'stalled-cycles-frontend'").text) <= 80);
}

TEST_CASE("list wraps descriptions at the terminal's width") {
    const std::string narrow = on_terminal("task-clock", 50);
    CHECK(longest_line(narrow) <= 50);
    CHECK_THAT(narrow, ContainsSubstring("task-clock"));
    CHECK(split(on_terminal("task-clock", 200), '\n').size() < split(narrow, '\n').size());
}

TEST_CASE("list --help explains which events are left out") {
    CHECK_THAT(tool_output("list --help"),
               ContainsSubstring("'sched:*'") && ContainsSubstring("--all"));
}
