// SPDX-License-Identifier: MIT
// Tag [module]: needs the module, so it runs in guests only; [no-module]: the opposite.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <string>

using Catch::Matchers::ContainsSubstring;

namespace {

struct Outcome {
    int status;
    std::string text;  // both streams
};

Outcome demo(const std::string& arguments) {
    std::FILE* pipe = ::popen((METAGROUP_DEMO " " + arguments + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    Outcome outcome{};
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        outcome.text.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
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
