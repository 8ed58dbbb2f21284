// SPDX-License-Identifier: MIT
// The programs of examples/ do what they say.
#include "program.hpp"

namespace {

Outcome example(const std::string& words) {
    return run_program(METAGROUP_EXAMPLES "/" + words);
}

// How often a pattern is found.
std::size_t count(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    return static_cast<std::size_t>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

}  // namespace

TEST_CASE("Example ipc prints a ratio for every CPU each second") {
    // Of equal events the ratio is 1, whatever they count and wherever this runs.
    const Outcome outcome = example("ipc '{cpu-clock,cpu-clock}' 2");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(count(outcome.text, "CPU +[0-9]+ +(1|0\\.99[0-9]|1\\.00[0-9]?)\n") ==
          2 * number_online());
}

TEST_CASE("Example ipc needs two events") {
    const Outcome outcome = example("ipc cpu-clock");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("one group of two events"));
}

TEST_CASE("Example sampler accounts for every deadline") {
    const Outcome outcome = example("sampler 1 1000");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    std::smatch match;
    REQUIRE(
        std::regex_search(outcome.text, match,
                          std::regex("([0-9]+) sweeps of ([0-9]+) groups in .* ([0-9]+) missed")));
    CHECK(std::stoul(match[1]) > 0);
    CHECK(std::stoul(match[1]) + std::stoul(match[3]) == 1000);
    CHECK(std::stoul(match[2]) == number_online());
}

TEST_CASE("Example sampler shows that time passes on every CPU") {
    const Outcome outcome = example("sampler 1 100 cpu-clock");
    CAPTURE(outcome.text);
    std::smatch match;
    REQUIRE(std::regex_search(outcome.text, match, std::regex("cpu-clock: ([0-9]+)")));
    // Of the deadlines some may be missed, also the last ones.
    CHECK(std::stoull(match[1]) > number_online() * 500'000'000);
}

TEST_CASE("Example sampler names an invalid argument") {
    CHECK_THAT(example("sampler 1 0").text, ContainsSubstring("RATE"));
    CHECK(example("sampler 1 0").status == 1);
}

TEST_CASE("Example sampler reads through the module", "[module]") {
    CHECK_THAT(example("sampler 1 100").text, ContainsSubstring("by module"));
}

TEST_CASE("Example stream_ipc prints a range for every CPU each second") {
    const Outcome outcome = example("stream_ipc '{cpu-clock,cpu-clock}' 2");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(count(outcome.text, "CPU +[0-9]+ +[0-9.]+ to +[0-9.]+, [0-9]+ samples, [0-9]+ lost\n") ==
          2 * number_online());
}

TEST_CASE("Example stream_ipc needs two events") {
    const Outcome outcome = example("stream_ipc cpu-clock");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("one group of two events"));
}

TEST_CASE("Example ioctls names the module if it is not loaded", "[no-module]") {
    const Outcome outcome = example("ioctls");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("modprobe perf_metagroup"));
}

TEST_CASE("Example ioctls prints the counts of every CPU", "[module]") {
    const Outcome outcome = example("ioctls");
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(count(outcome.text, "CPU [0-9]+: [0-9]+ context switches, [0-9]+ page faults\n") ==
          number_online());
    CHECK_THAT(outcome.text, ContainsSubstring("read in"));
}
