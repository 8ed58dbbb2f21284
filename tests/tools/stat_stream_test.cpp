// SPDX-License-Identifier: MIT
// Intervals that stat reads from a stream.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "common/aggregation.hpp"
#include "program.hpp"
#include "stat/stream_counts.hpp"

using namespace std::chrono_literals;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::Stream;

namespace {

std::vector<nlohmann::json> stat(const std::string& options) {
    const Outcome outcome = run_program(METAGROUP_TOOL " stat -j -e cpu-clock " + options);
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    return json_lines(outcome.text);
}

}  // namespace

TEST_CASE("stat reads short intervals by a stream, and others by sweeps", "[module]") {
    const auto deadlines = [](const std::string& options) {
        return stat(options).back().at("self").at("deadlines").get<int>();
    };
    CHECK(deadlines("-I 1ms --count 20") >= 20);
    CHECK(deadlines("-I 1ms --count 20 --method sweep") == 0);
    CHECK(deadlines("-I 20ms --count 3") == 0);
    CHECK(deadlines("-I 20ms --count 3 --method stream") >= 3);
}

TEST_CASE("The intervals of a stream end at its deadlines", "[module]") {
    const auto lines = stat("-I 2ms --count 50");
    REQUIRE(lines.size() == 51);
    for (std::size_t i = 1; i < 50; ++i) {
        const double before = lines[i - 1].at("interval");
        // Deadlines may be lost; they do not shift.
        const double periods = (lines[i].at("interval").get<double>() - before) / 0.002;
        CAPTURE(i, periods);
        CHECK(periods >= 0.999);
        CHECK(periods == Approx(static_cast<double>(static_cast<int>(periods + 0.5))));
    }
}

TEST_CASE("A stream's last interval ends with counting", "[module]") {
    const auto lines = stat("-I 5ms --timeout 203ms");
    CHECK(lines.at(lines.size() - 2).at("interval").get<double>() > 0.203);
}

TEST_CASE("The intervals of a stream and its last one add up to all counts", "[module]") {
    MetaGroup group = MetaGroup::open(
        {.groups = metagroup::parse_events("{cpu-clock,context-switches},page-faults"),
         .cpus = metagroup::CpuList::online()});
    const tool::Aggregation rows(tool::AggrMode::cpu, metagroup::CpuList::online());
    tool::Totals parts(group, rows);
    tool::Totals whole(group, rows);
    Snapshot first;
    Snapshot last;
    group.read(first);
    tool::StreamCounts counts(first);
    Stream stream = Stream::start(group, {.period = 1ms});
    int deadlines = 0;
    const auto drain = [&] {
        for (auto some = stream.read(); !some.empty(); some = stream.read()) {
            for (const metagroup::Deadline& deadline : some) {
                counts.add(deadline, parts);
                ++deadlines;
            }
        }
    };
    while (deadlines < 100) {
        stream.wait(50ms);
        drain();
    }
    stream.stop();
    drain();
    group.disable();
    group.read(last);
    counts.add(last, parts);
    whole.add(metagroup::Delta(first, last));
    for (std::size_t place = 0; place < rows.places().size(); ++place) {
        for (std::size_t column = 0; column < whole.columns().size(); ++column) {
            CAPTURE(place, column);
            CHECK(parts.at(place, column).value == whole.at(place, column).value);
            CHECK(parts.at(place, column).enabled == whole.at(place, column).enabled);
        }
    }
}

TEST_CASE("Without the module stat --method stream fails, and names the reason", "[no-module]") {
    const Outcome outcome =
        run_program(METAGROUP_TOOL " stat -e cpu-clock -I 1ms --method stream --timeout 10ms");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("--method stream") &&
                                 ContainsSubstring("perf_metagroup is not loaded"));
}
