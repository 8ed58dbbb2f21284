// SPDX-License-Identifier: MIT
// CSV and JSON are interfaces for programs: only the numbers may change.
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <string>

#include "program.hpp"

namespace {

// The first line of stat on CPU 0, with N for each number.
std::string first_line(const std::string& arguments) {
    const Outcome outcome = run_program(METAGROUP_TOOL " stat -C 0 -e dummy " + arguments);
    CAPTURE(arguments, outcome.text);
    REQUIRE(outcome.status == 0);
    const std::regex number(R"((^|[,;:])\d+(\.\d+)?(e[-+]?\d+)?(?=[,;}]|$))");
    return std::regex_replace(split(outcome.text, '\n').at(0), number, "$1N");
}

}  // namespace

TEST_CASE("The fields of stat's CSV do not change") {
    CHECK(first_line("-x ';' --timeout 10ms") == "N;;dummy;N;N;N;/sec");
    CHECK(first_line("-x , --timeout 10ms") == "N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -A --timeout 10ms") == "CPU0,N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -I 10ms --count 1") == "N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -A -I 10ms --count 1") == "N,CPU0,N,N,,dummy,N,N,N,/sec");
}

TEST_CASE("The keys of stat's JSON do not change") {
    const std::string rest =
        R"("cpus":N,"counter-value":N,"unit":"","event":"dummy","event-runtime":N,)"
        R"("pcnt-running":N,"metric-value":N,"metric-unit":"/sec"})";
    CHECK(first_line("-j --timeout 10ms") == R"({"elapsed":N,)" + rest);
    CHECK(first_line("-j -I 10ms --count 1") == R"({"interval":N,)" + rest);
    CHECK(first_line("-j -A --timeout 10ms") == R"({"elapsed":N,"place":"CPU0",)" + rest);
}

TEST_CASE("The keys of list's JSON do not change") {
    CHECK(run_program(METAGROUP_TOOL " list --json dummy").text ==
          R"({"name":"dummy","pmu":"software","description":"counts nothing; a placeholder",)"
          R"("source":"perf"})"
          "\n");
}
