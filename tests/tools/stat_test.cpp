// SPDX-License-Identifier: MIT
// metagroup stat by its command line.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

Outcome run_stat(const std::string& arguments) {
    return run_program(METAGROUP_TOOL " stat " + arguments);
}

std::size_t online() {
    return metagroup::CpuList::online().size();
}

}  // namespace

TEST_CASE("stat counts all CPUs while a command runs") {
    const Outcome outcome = run_stat("-e cpu-clock,context-switches -- sleep 0.1");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("'sleep 0.1'") && ContainsSubstring("cpu-clock") &&
                                 ContainsSubstring("CPUs utilized") &&
                                 ContainsSubstring("seconds time elapsed"));
}

TEST_CASE("stat shows large rates with a prefix") {
    const Outcome outcome = run_stat("-e dummy,msr/tsc/ --timeout 20ms");
    if (outcome.status != 0) SKIP("this machine has no msr/tsc/");
    CHECK_THAT(outcome.text, ContainsSubstring(" G/sec") || ContainsSubstring(" M/sec"));
}

TEST_CASE("stat returns the command's exit status") {
    CHECK(run_stat("-e cpu-clock -- sh -c 'exit 7'").status == 7);
    CHECK(run_stat("-e cpu-clock -- sh -c 'kill -9 $$'").status == 128 + 9);
}

TEST_CASE("stat names a command that cannot be run, with the statuses of env(1)") {
    const Outcome missing = run_stat("-e cpu-clock -- /no/such/program");
    CHECK(missing.status == 127);
    CHECK_THAT(missing.text,
               ContainsSubstring("/no/such/program") && ContainsSubstring("No such file"));
    const Outcome no_program = run_stat("-e cpu-clock -- /etc/passwd");
    CHECK(no_program.status == 126);
    CHECK_THAT(no_program.text,
               ContainsSubstring("/etc/passwd") && ContainsSubstring("Permission denied"));
}

TEST_CASE("stat prints one block for each interval") {
    const Outcome outcome = run_stat("-e cpu-clock -I 20ms --count 3 -x ,");
    CHECK(outcome.status == 0);
    const auto lines = split(outcome.text, '\n');
    REQUIRE(lines.size() == 3);
    CHECK(std::stod(lines[0]) < std::stod(lines[1]));
    CHECK(std::stod(lines[1]) < std::stod(lines[2]));
}

TEST_CASE("A bare number of an interval is milliseconds") {
    const auto lines = json_lines(run_stat("-e cpu-clock -I 50 --count 1 -j").text);
    const double seconds = lines.at(0).at("interval");
    CHECK(seconds >= 0.05);
    CHECK(seconds < 5);
}

TEST_CASE("stat -A has a row for each CPU") {
    const auto lines =
        split(run_stat("-A -e cpu-clock,page-faults -x ';' --timeout 20ms").text, '\n');
    REQUIRE(lines.size() == 2 * online());
    CHECK(split(lines[0], ';')[0] == "CPU0");
    CHECK(split(lines[0], ';')[1] == "1");
}

TEST_CASE("The fields of CSV are those of perf stat") {
    const auto lines =
        split(run_stat("-e '{cpu-clock,page-faults}' -x , --timeout 20ms").text, '\n');
    REQUIRE(lines.size() == 2);
    const auto fields = split(lines[0], ',');
    REQUIRE(fields.size() == 7);
    CHECK(std::stoull(fields[0]) > 0);
    CHECK(fields[1].empty());
    CHECK(fields[2] == "cpu-clock");
    CHECK(std::stoull(fields[3]) >= online() * 20'000'000);
    CHECK(fields[4] == "100.00");
    CHECK(fields[6] == "CPUs utilized");
}

TEST_CASE("Every line of JSON is an object, and the last one is the overhead") {
    const auto lines = json_lines(run_stat("-e cpu-clock -j -I 20ms --count 2").text);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].at("event") == "cpu-clock");
    CHECK(lines[0].at("cpus") == online());
    CHECK(lines[0].at("counter-value").get<double>() > 0);
    CHECK(lines[2].at("self").at("sweeps") == 4);
    CHECK(lines[2].at("self").at("missed-ticks").is_number_unsigned());
}

TEST_CASE("stat fails if it cannot write its file") {
    const Outcome outcome = run_stat("-e cpu-clock --timeout 10ms -o /dev/full");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("/dev/full") && ContainsSubstring("No space left"));
}

TEST_CASE("stat writes to a file and nothing else") {
    const auto file = std::filesystem::temp_directory_path() / "metagroup-stat-test.csv";
    const Outcome outcome = run_stat("-e cpu-clock --timeout 10ms -x , -o " + file.string());
    CHECK(outcome.status == 0);
    CHECK(outcome.text.empty());
    CHECK(std::filesystem::file_size(file) > 0);
    std::filesystem::remove(file);
}

TEST_CASE("stat suggests events near an unknown one") {
    const Outcome outcome = run_stat("-e cpu-clok --timeout 10ms");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("cpu-clock"));
}

TEST_CASE("stat names a CPU that does not exist") {
    const Outcome outcome = run_stat("-e cpu-clock -C 9999 --timeout 10ms");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("9999"));
}

TEST_CASE("Without the module stat reads by per_fd, and --backend module fails", "[no-module]") {
    const Outcome outcome = run_stat("-e cpu-clock --backend=module --timeout 10ms");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("perf_metagroup"));
    CHECK_THAT(run_stat("-e cpu-clock --timeout 10ms").text, ContainsSubstring("by per_fd"));
}

TEST_CASE("With the module stat reads by it", "[module]") {
    CHECK_THAT(run_stat("-e cpu-clock --timeout 10ms").text, ContainsSubstring("by module"));
    CHECK_THAT(run_stat("-e cpu-clock --timeout 10ms --backend=perfd").text,
               ContainsSubstring("by per_fd"));
}
