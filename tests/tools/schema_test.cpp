// SPDX-License-Identifier: MIT
// What programs read stays as it is: JSON as the schemas say, CSV and JSON to the byte but for the
// numbers.
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <string>

#include "json_lines.hpp"
#include "program.hpp"
#include "schema.hpp"

namespace {

// All lines that the tool prints with `arguments` are as the schema of its subcommand says.
void check_lines(const std::string& subcommand, const std::string& arguments) {
    const Outcome outcome = run_program(METAGROUP_TOOL " " + subcommand + " --json " + arguments);
    CAPTURE(subcommand, arguments, outcome.text);
    CHECK(outcome.status == 0);
    const auto lines = json_lines(outcome.text);
    CHECK_FALSE(lines.empty());
    const Schema schema(subcommand);
    for (const auto& line : lines)
        CHECK(schema.errors(line) == "");
}

// The first line that stat prints on CPU 0, with N for numbers that are not in names.
std::string first_line(const std::string& arguments) {
    const Outcome outcome = run_program(METAGROUP_TOOL " stat -C 0 -e dummy " + arguments);
    CAPTURE(arguments, outcome.text);
    REQUIRE(outcome.status == 0);
    const std::regex number(R"((^|[,;:])\d+(\.\d+)?(e[-+]?\d+)?(?=[,;}]|$))");
    return std::regex_replace(split(outcome.text, '\n').at(0), number, "$1N");
}

}  // namespace

TEST_CASE("A schema refuses what is not so") {
    const Schema schema("list");
    const auto event = json_lines(run_program(METAGROUP_TOOL " list --json cpu-clock").text).at(0);
    CHECK(schema.errors(event) == "");
    auto wrong = event;
    wrong["source"] = "hearsay";
    CHECK(schema.errors(wrong) != "");
    wrong = event;
    wrong.erase("pmu");
    CHECK(schema.errors(wrong) != "");
    wrong = event;
    wrong["more"] = 1;
    CHECK(schema.errors(wrong) != "");
}

TEST_CASE("The JSON of stat is as its schema says") {
    check_lines("stat", "-e '{dummy,page-faults},cpu-clock' --timeout 20ms");
    check_lines("stat", "-e '{dummy,page-faults},cpu-clock' -I 10ms --count 2");
    check_lines("stat", "-e cpu-clock -A --timeout 20ms");
    check_lines("stat", "-e cpu-clock --per-core --timeout 20ms");
    check_lines("stat", "-e cpu-clock --per-socket --timeout 20ms");
    check_lines("stat", "-e cpu-clock --per-node --timeout 20ms");
    check_lines("stat", "-e cpu-clock --backend=perfd --timeout 20ms");
}

TEST_CASE("The JSON of list is as its schema says") {
    check_lines("list", "");
    check_lines("list", "--all");
}

TEST_CASE("The JSON of info is as its schema says") {
    check_lines("info", "");
    check_lines("info", "--device /no/such/device");
}

TEST_CASE("The JSON of compare is as its schema says", "[module]") {
    check_lines("compare", "--sweeps 20");
}

TEST_CASE("A line of stat's CSV has its fields where they were") {
    CHECK(first_line("-x ';' --timeout 10ms") == "N;;dummy;N;N;N;/sec");
    CHECK(first_line("-x , --timeout 10ms") == "N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -A --timeout 10ms") == "CPU0,N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -I 10ms --count 1") == "N,N,,dummy,N,N,N,/sec");
    CHECK(first_line("-x , -A -I 10ms --count 1") == "N,CPU0,N,N,,dummy,N,N,N,/sec");
}

TEST_CASE("A line of stat's JSON has its keys where they were") {
    const std::string rest =
        R"("cpus":N,"counter-value":N,"unit":"","event":"dummy","event-runtime":N,)"
        R"("pcnt-running":N,"metric-value":N,"metric-unit":"/sec"})";
    CHECK(first_line("-j --timeout 10ms") == R"({"elapsed":N,)" + rest);
    CHECK(first_line("-j -I 10ms --count 1") == R"({"interval":N,)" + rest);
    CHECK(first_line("-j -A --timeout 10ms") == R"({"elapsed":N,"place":"CPU0",)" + rest);
}

TEST_CASE("A line of list's JSON is what it was") {
    CHECK(run_program(METAGROUP_TOOL " list --json dummy").text ==
          R"({"name":"dummy","pmu":"software","description":"counts nothing; for what wants an )"
          R"(event only","source":"perf"})"
          "\n");
}
