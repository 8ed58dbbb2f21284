// SPDX-License-Identifier: MIT
// metagroup top on a pseudo-terminal, natively and with the module in guests. top_test.py checks
// the picture on the screen.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <string>

#include "program.hpp"
#include "pty.hpp"
#include "support/cpus.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

// Leaving the alternate screen.
constexpr std::string_view kLeave = "\033[?1049l";

std::vector<std::string> top(std::initializer_list<std::string> arguments = {}) {
    std::vector<std::string> words{METAGROUP_TOOL,          "top", "-e",
                                   "cpu-clock,page-faults", "-d",  "0.1"};
    words.insert(words.end(), arguments);
    return words;
}

// Otherwise only what has changed is written.
void repaint(const Pty& terminal) {
    terminal.signal(SIGCONT);
}

}  // namespace

TEST_CASE("top shows events, a total and a row for each CPU") {
    Pty terminal(top());
    CAPTURE(terminal.screen());
    REQUIRE(terminal.shows("cpu-clock"));
    REQUIRE(terminal.shows("1.00"));
    REQUIRE(terminal.wrote("total"));
    REQUIRE(terminal.wrote("CPU0"));
}

TEST_CASE("top restores the terminal when it ends") {
    const int how = GENERATE(0, SIGINT, SIGTERM, SIGHUP, SIGQUIT);
    CAPTURE(how);
    Pty terminal(top());
    REQUIRE(terminal.shows("cpu-clock"));
    REQUIRE_FALSE(terminal.restored());
    if (how == 0)
        terminal.type("q");
    else
        terminal.signal(how);
    CHECK(terminal.end() == 0);
    CHECK(terminal.restored());
    CHECK(terminal.wrote(kLeave));
}

TEST_CASE("top ends when its terminal is gone") {
    Pty terminal(top());
    REQUIRE(terminal.shows("cpu-clock"));
    terminal.hang_up();
    CHECK(terminal.end().has_value());
}

TEST_CASE("top restores the terminal when it is stopped, and takes it again") {
    Pty terminal(top());
    REQUIRE(terminal.shows("cpu-clock"));
    terminal.type("\x1a");
    REQUIRE(terminal.stops());
    CHECK(terminal.restored());
    CHECK(terminal.wrote(kLeave));
    terminal.signal(SIGCONT);
    REQUIRE(terminal.taken());
    terminal.type("q");
    CHECK(terminal.end() == 0);
    CHECK(terminal.restored());
}

TEST_CASE("top --count ends after as many updates") {
    Pty terminal(top({"--count", "2"}));
    CHECK(terminal.end() == 0);
    CHECK(terminal.wrote("cpu-clock"));
}

TEST_CASE("top marks a pause, without colour if NO_COLOR is set") {
    const bool colour = GENERATE(true, false);
    CAPTURE(colour);
    Pty terminal(top(), {{"NO_COLOR", colour ? "" : "1"}});
    REQUIRE(terminal.shows("cpu-clock"));
    terminal.type("p");
    REQUIRE(terminal.shows("PAUSED"));
    CHECK(terminal.wrote("\033[33m") == colour);
}

TEST_CASE("Graphs are ASCII in an ASCII locale") {
    const bool utf8 = GENERATE(true, false);
    CAPTURE(utf8);
    Pty terminal(top({"--count", "3"}), {{"LC_ALL", utf8 ? "C.UTF-8" : "C"}});
    CHECK(terminal.end() == 0);
    CHECK(terminal.wrote("█") == utf8);
    CHECK(terminal.wrote("#") == !utf8);
}

TEST_CASE("Keys lengthen and shorten the interval") {
    Pty terminal(top());
    REQUIRE(terminal.shows("every 100 ms"));
    terminal.type("+");
    repaint(terminal);
    REQUIRE(terminal.shows("every 200 ms"));
    terminal.type("--");
    repaint(terminal);
    REQUIRE(terminal.shows("every 50 ms"));
}

TEST_CASE("top without a terminal points to stat") {
    const Outcome outcome = run_program(METAGROUP_TOOL " top -e cpu-clock </dev/null");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("metagroup stat"));
}

TEST_CASE("top names an unknown terminal") {
    Pty terminal(top(), {{"TERM", "nonsense"}});
    CHECK(terminal.end() == kFailure);
    CHECK_THAT(terminal.screen(), ContainsSubstring("nonsense"));
    CHECK(terminal.restored());
}

TEST_CASE("top refuses invalid options") {
    const auto status = [](const std::string& arguments) {
        return run_program(METAGROUP_TOOL " top " + arguments).status;
    };
    CHECK(status("-d 0") > 1);
    CHECK(status("-d 1 -I 100") > 1);
    CHECK(status("-A --per-core") > 1);
}

TEST_CASE("top marks a CPU that is offline", "[module]") {
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    Pty terminal(top());
    REQUIRE(terminal.shows("CPU1"));
    const metagroup::test::OfflineCpu gone(1);
    CHECK(terminal.shows("offline"));
}

TEST_CASE("With the module top reads by it", "[module]") {
    Pty terminal(top());
    REQUIRE(terminal.shows("module | sweep"));
}
