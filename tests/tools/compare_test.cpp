// SPDX-License-Identifier: MIT
// metagroup compare by its command line.
// Tag [module]: needs the module, so it runs in guests only; [no-module]: the opposite.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <metagroup/cpu_list.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

Outcome compare(const std::string& arguments) {
    return run_program(METAGROUP_TOOL " compare " + arguments);
}

// The comparison on all CPUs, which is the last one.
nlohmann::json compare_all_cpus() {
    const Outcome outcome = compare("--sweeps 200 --json");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    return nlohmann::json::parse(
        outcome.text.substr(outcome.text.rfind('\n', outcome.text.size() - 2) + 1));
}

}  // namespace

TEST_CASE("compare --help lists its options") {
    const Outcome outcome = compare("--help");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("--event") && ContainsSubstring("--cpu") &&
                                 ContainsSubstring("--sweeps"));
}

TEST_CASE("compare refuses options it does not know, and bad numbers") {
    CHECK(compare("--nonsense").status != 0);
    CHECK(compare("--sweeps 0").status != 0);
    CHECK(compare("--sweeps many").status != 0);
}

TEST_CASE("compare suggests events near an unknown one") {
    const Outcome outcome = compare("-e '{cpu-clok}'");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("cpu-clock"));
}

TEST_CASE("compare refuses several groups and says how one is written") {
    const Outcome outcome = compare("-e cpu-clock,task-clock");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("in braces"));
}

TEST_CASE("compare refuses CPUs that are no list") {
    CHECK(compare("-C 1-").status == kFailure);
}

TEST_CASE("without the module compare says how to load it", "[no-module]") {
    if (::access("/dev/perf_metagroup", F_OK) == 0) SKIP("the module is loaded here");
    const Outcome outcome = compare("-e '{cpu-clock}'");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("modprobe perf_metagroup"));
}

TEST_CASE("compare shows that both ways count the same, and what they cost", "[module]") {
    const Outcome outcome = compare("--sweeps 200");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("all counts are the same in both ways") &&
                                 ContainsSubstring("mutexes") && ContainsSubstring("interrupts") &&
                                 !ContainsSubstring("slow motion"));
}

TEST_CASE("In slow motion compare labels its times", "[module]") {
    const Outcome outcome =
        run_program("METAGROUP_SLOW_MOTION=10000000 " METAGROUP_TOOL " compare --sweeps 20");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("in slow motion:"));
}

TEST_CASE("compare counts one system call for the module and one per CPU without", "[module]") {
    const nlohmann::json last = compare_all_cpus();
    const auto cpus = static_cast<double>(metagroup::CpuList::online().size());
    CHECK(last["cpus"] == cpus);
    CHECK(last["same-counts"] == true);
    CHECK(last["module"]["system-calls"] == 1.0);
    CHECK(last["per-fd"]["system-calls"] == cpus);
    CHECK(last["module"]["samples-per-second"] > 0);
}

TEST_CASE("compare counts mutexes and waits per CPU without the module and one of each with it",
          "[module]") {
    if (metagroup::CpuList::online().size() < 2) SKIP("needs two CPUs");
    const nlohmann::json last = compare_all_cpus();
    const auto cpus = static_cast<double>(metagroup::CpuList::online().size());
    CHECK(last["per-fd"]["mutexes"] >= cpus);
    CHECK(last["per-fd"]["waits"] == cpus - 1);  // its own CPU needs no interrupt
    CHECK(last["module"]["mutexes"] == 1.0);
    CHECK(last["module"]["waits"] == 1.0);
}

TEST_CASE("compare --numbers selects the numbers of CPUs", "[module]") {
    if (metagroup::CpuList::online().size() < 2) SKIP("needs two CPUs");
    const Outcome outcome = compare("--sweeps 10 --numbers 2,1 --json");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    const std::size_t second = outcome.text.find('\n') + 1;
    CHECK(nlohmann::json::parse(outcome.text.substr(0, second))["cpus"] == 2);
    CHECK(nlohmann::json::parse(outcome.text.substr(second))["cpus"] == 1);
}

TEST_CASE("compare refuses more CPUs than there are") {
    const Outcome outcome = compare("-C 0 -e '{cpu-clock}' --numbers 2");
    CHECK(outcome.status == 125);
    CHECK_THAT(outcome.text, ContainsSubstring("--numbers asks for 2 CPUs"));
}

TEST_CASE("compare compares 1, 2, 4 ... and all of the CPUs", "[module]") {
    const Outcome outcome = compare("--sweeps 10 --json");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    std::size_t rows = 0;
    std::size_t expected = 1;
    for (const char c : outcome.text)
        rows += c == '\n';
    for (std::size_t number = 1; number < metagroup::CpuList::online().size(); number *= 2)
        ++expected;
    CHECK(rows == expected);
}

TEST_CASE("compare names a CPU that does not exist", "[module]") {
    const Outcome outcome = compare("-C 0,4095");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("4095"));
}
