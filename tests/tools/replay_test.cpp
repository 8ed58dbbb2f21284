// SPDX-License-Identifier: MIT
// Recordings in place of counters.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>

#include "program.hpp"
#include "recorded.hpp"
#include "top/source.hpp"

using namespace std::chrono_literals;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("stat --replay prints the counts of a recording", "[no-module]") {
    const Recorded recorded;
    const auto stat = [&](const std::string& options) {
        const Outcome outcome =
            run_program(METAGROUP_TOOL " stat --replay " + recorded.path + " -j " + options);
        CAPTURE(outcome.text);
        REQUIRE(outcome.status == 0);
        return json_lines(outcome.text);
    };
    const auto whole = stat("-A");
    REQUIRE(whole.size() == 6);
    CHECK(whole[2].at("place") == "CPU1");
    CHECK(whole[2].at("counter-value") == 2 * 999'000'000);
    const auto intervals = stat("-I 100ms");
    REQUIRE(intervals.size() == 20);
    CHECK(intervals[2].at("interval") == 0.2);
    CHECK(intervals[2].at("counter-value") == 6 * 100'000'000);
}

TEST_CASE("A recording is not replayed with options of counting", "[no-module]") {
    const Recorded recorded;
    for (const char* line : {"stat -e cycles", "stat -C 0", "stat --timeout 1s", "top --cpu 0",
                             "stat --quiet-cpus", "stat -I 1s --count 2"}) {
        CAPTURE(line);
        const Outcome outcome = run_program(std::string(METAGROUP_TOOL " ") + line + " --replay " +
                                            recorded.path + " </dev/null");
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text, ContainsSubstring("the recording decides"));
    }
}

TEST_CASE("Recordings that cannot be replayed are named", "[no-module]") {
    for (const char* subcommand : {"stat", "top"}) {
        const Outcome outcome = run_program(std::string(METAGROUP_TOOL " ") + subcommand +
                                            " --replay /no/such/file </dev/null");
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text, ContainsSubstring("/no/such/file"));
    }
}

TEST_CASE("A replay has the rates and the ratio of each interval, then ends", "[no-module]") {
    const Recorded recorded;
    tool::Player player({.file = recorded.path}, tool::AggrMode::cpu, 250ms);
    REQUIRE(player.places().size() == 3);
    REQUIRE(player.series().size() == 3);
    CHECK(player.series()[2].name == "IPC");
    for (int interval = 0; interval < 4; ++interval) {
        const tool::Update* update = player.sample();
        REQUIRE(update != nullptr);
        REQUIRE(update->cells.size() == 12);
        for (std::size_t cpu = 0; cpu < 3; ++cpu) {
            CHECK(update->cells[3 * cpu].value.value() ==
                  Approx(1e9 * static_cast<double>(cpu + 1)).epsilon(0.01));
            CHECK(update->cells[3 * cpu + 2].value.value() == Approx(2));
        }
        CHECK(update->cells[9].value.value() == Approx(6e9).epsilon(0.01));  // of all CPUs
        CHECK(update->online == std::vector<std::size_t>{1, 1, 1});
    }
    CHECK(player.sample() == nullptr);
    CHECK_THAT(player.problem(), ContainsSubstring("end of the recording"));
    CHECK(player.progress() == "1.00 of 1.00 s");
}

TEST_CASE("top --replay shows a recording to its end", "[no-module]") {
    const Recorded recorded;
    Pty terminal({METAGROUP_TOOL, "top", "--replay", recorded.path, "-d", "0.1"});
    REQUIRE(terminal.shows("IPC"));
    REQUIRE(terminal.shows("end of the recording"));
    terminal.type("q");
    CHECK(terminal.end() == 0);
}
