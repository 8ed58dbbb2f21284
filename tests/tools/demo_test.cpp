// SPDX-License-Identifier: MIT
// Tag [module]: needs the module, so it runs in guests only; [no-module]: the opposite.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

Outcome demo(const std::string& arguments) {
    return run_program(METAGROUP_DEMO " " + arguments);
}

}  // namespace

TEST_CASE("the demo explains itself") {
    const Outcome outcome = demo("--help");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("--events") && ContainsSubstring("--cpus") &&
                                 ContainsSubstring("--sweeps"));
}

TEST_CASE("the demo tells its version") {
    const Outcome outcome = demo("--version");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring(METAGROUP_VERSION));
}

TEST_CASE("the demo refuses options it does not know, and bad numbers") {
    CHECK(demo("--nonsense").status != 0);
    CHECK(demo("--sweeps 0").status != 0);
    CHECK(demo("--sweeps many").status != 0);
}

TEST_CASE("the demo suggests events near an unknown one") {
    const Outcome outcome = demo("-e '{cpu-clok}'");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("cpu-clock"));
}

TEST_CASE("the demo refuses several groups and wrong CPUs") {
    CHECK(demo("-e cpu-clock,task-clock").status == 1);
    CHECK(demo("-C 1-").status == 1);
}

TEST_CASE("without the module the demo says how to load it", "[no-module]") {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module is loaded here");
    const Outcome outcome = demo("-e '{cpu-clock}'");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("modprobe perf_metagroup"));
}

TEST_CASE("the demo shows the same counts in both ways, and what they cost", "[module]") {
    const Outcome outcome = demo("--sweeps 200");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("All counts are the same in both ways"));
    CHECK_THAT(outcome.text, ContainsSubstring("skew between CPUs"));
    CHECK_THAT(outcome.text, ContainsSubstring("system calls"));
}

TEST_CASE("the demo names a CPU that does not exist", "[module]") {
    const Outcome outcome = demo("-C 0,4095");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("4095"));
}
