// SPDX-License-Identifier: MIT
// CPUs that are offline for a time while they are counted. Tag [machine]: takes a CPU offline, so
// it runs in guests only.
#include "common/count_report.hpp"
#include "common/counts.hpp"
#include "program.hpp"
#include "support/cpus.hpp"
#include "support/frame_builder.hpp"

using metagroup::Snapshot;
using metagroup::test::Frame;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Of a set on CPUs 0 and 1, of which the second was enabled for less time.
Snapshot snapshot(std::uint64_t time, std::uint64_t enabled, std::uint32_t generation) {
    std::vector<Frame> frames;
    for (const std::uint64_t counted : {time, enabled}) {
        Frame& frame = frames.emplace_back();
        frame.member = frame.cpu = static_cast<std::uint32_t>(frames.size() - 1);
        frame.time = time;
        frame.read_format = metagroup::test::timed;
        frame.payload =
            metagroup::test::payload(frame.read_format, {{counted / 1000}}, counted, counted);
        frame.generation = frame.cpu == 0 ? 0 : generation;
    }
    return metagroup::test::snapshot(metagroup::test::framed(frames));
}

using MakeReport = std::function<std::unique_ptr<tool::Report>(tool::Output&, tool::Subject)>;

// The lines of an interval of three seconds, for two of which CPU 1 was offline.
std::vector<std::string> lines(const MakeReport& make_report,
                               tool::AggrMode mode = tool::AggrMode::cpu) {
    const metagroup::test::TempTree machine;
    const tool::Aggregation rows(mode, metagroup::CpuList({0, 1}), machine.path());
    const auto groups = metagroup::parse_events("page-faults");
    const std::vector<metagroup::MetaGroup::Member> members{{0, 0, 0}, {1, 1, 0}};
    tool::Counts totals(std::make_shared<tool::CountLayout>(groups, members, rows));
    tool::Accumulator accumulator(members.size());
    const Snapshot older = snapshot(kSecond, kSecond, 0);
    const Snapshot newer = snapshot(4 * kSecond, 2 * kSecond, 1);
    accumulator.add(totals, older);
    accumulator.add(totals, newer);
    totals.add_up();
    const tool::Metrics metrics(totals.columns());
    const metagroup::test::TempTree tree;
    tool::Output output(tree.path("output"));
    make_report(output, {rows, totals.columns(), metrics, "system wide", "", "module", "set"})
        ->interval(3, totals);
    return split(contents_of(tree.path("output")), '\n');
}

// Of the last CPU, which the tests take offline.
std::string online_file() {
    return "/sys/devices/system/cpu/cpu" + std::to_string(metagroup::test::online_cpus().back()) +
           "/online";
}

std::vector<nlohmann::json> lines_of_last_cpu(const std::string& text) {
    std::vector<nlohmann::json> found;
    for (const nlohmann::json& line : json_lines(text)) {
        if (line.value("cpu", "") == std::to_string(metagroup::test::online_cpus().back()) &&
            line.at("event") == "cpu-clock")
            found.push_back(line);
    }
    return found;
}

}  // namespace

TEST_CASE("A row of text ends in the time for which its CPUs were offline", "[no-module]") {
    const auto text = lines(tool::make_text_report);
    REQUIRE(text.size() == 3);
    CHECK_THAT(text[1], !ContainsSubstring("offline"));
    CHECK_THAT(text[2], Catch::Matchers::EndsWith("/sec  (offline 2 s)"));
    CHECK_THAT(lines(tool::make_text_report, tool::AggrMode::all).at(1),
               ContainsSubstring("4,000,000") && Catch::Matchers::EndsWith("  (offline 2 s)"));
}

TEST_CASE("A row of CSV has an additional field, the time for which its CPUs were offline",
          "[no-module]") {
    const auto csv = lines([](tool::Output& output, tool::Subject subject) {
        return tool::make_csv_report(output, std::move(subject), ",");
    });
    REQUIRE(csv.size() == 2);
    CHECK(csv[0] == "3.000000000,CPU0,3000000,,page-faults,3000000000,100.00,1000000.000,/sec");
    CHECK(csv[1] ==
          "3.000000000,CPU1,1000000,,page-faults,1000000000,100.00,333333.333,/sec,2000000000");
}

TEST_CASE("A line of JSON has the time for which its CPUs were offline", "[no-module]") {
    const auto json = lines(tool::make_json_report);
    REQUIRE(json.size() == 2);
    CHECK_FALSE(nlohmann::json::parse(json[0]).contains("offline-time"));
    CHECK(nlohmann::json::parse(json[1]).at("offline-time") == 2 * kSecond);
    const auto all = lines(tool::make_json_report, tool::AggrMode::all);
    CHECK(nlohmann::json::parse(all.at(0)).at("offline-time") == 2 * kSecond);
}

TEST_CASE("The intervals of a set continue when a CPU is back, and have the time offline",
          "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    // A line for each event and CPU: it goes after the second interval, is back after the tenth.
    const std::size_t per_interval = 2 * number_online();
    const auto at = [&](std::size_t interval, const char* state) {
        return "[ $lines != " + std::to_string(interval * per_interval) + " ] || echo " + state +
               " >" + online_file() + "; ";
    };
    const Outcome outcome =
        run_program("{ " METAGROUP_TOOL
                    " stat --origin set -A -j -e '{cpu-clock,page-faults}' -I 50ms --count 60 -o "
                    "/dev/stdout 2>/dev/null || "
                    "echo failed; } | { lines=0; while read -r line; do printf '%s\\n' \"$line\"; "
                    "lines=$((lines + 1)); " +
                    at(2, "0") + at(10, "1") + "done; }");
    CAPTURE(outcome.text);
    REQUIRE_THAT(outcome.text, !ContainsSubstring("failed"));
    const auto intervals = lines_of_last_cpu(outcome.text);
    REQUIRE(intervals.size() == 60);
    CHECK(intervals.front().at("counter-value").is_number());
    CHECK_FALSE(intervals.front().contains("offline-time"));
    CHECK(intervals.back().at("counter-value").is_number());
    CHECK_FALSE(intervals.back().contains("offline-time"));
    double offline = 0;  // ms
    double counted = 0;
    for (const nlohmann::json& interval : intervals) {
        offline += interval.value("offline-time", 0.0) / 1e6;
        if (interval.at("counter-value").is_number())
            counted += interval.at("counter-value").get<double>();
    }
    CHECK(offline > 100);
    // cpu-clock counts each millisecond that the CPU is online.
    CHECK(counted + offline ==
          Approx(1000 * intervals.back().at("interval").get<double>()).epsilon(0.05));
}

TEST_CASE("The summary of a set has the counts before and after a CPU was offline",
          "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const Outcome outcome = run_tool(
        "stat --origin set -A -j -e '{cpu-clock,page-faults}' -- sh -c 'sleep 0.5; echo 0 >" +
        online_file() + "; sleep 0.5; echo 1 >" + online_file() + "; sleep 1'");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    const std::size_t note = outcome.text.find("metagroup: ");
    REQUIRE(note != std::string::npos);
    CHECK_THAT(outcome.text.substr(note),
               ContainsSubstring("CPU " + std::to_string(metagroup::test::online_cpus().back()) +
                                 " was offline for ") &&
                   ContainsSubstring("which the counts do not include"));
    const auto whole = lines_of_last_cpu(outcome.text.substr(0, note));
    REQUIRE(whole.size() == 1);
    const double offline = whole[0].at("offline-time").get<double>() / 1e6;
    const double counted = whole[0].at("counter-value").get<double>();
    CHECK(offline > 400);
    CHECK(counted > 700);
    CHECK(counted + offline == Approx(1000 * whole[0].at("elapsed").get<double>()).epsilon(0.05));
}

TEST_CASE("stat names a CPU of a set if it is offline at the end", "[machine][module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const std::string number = std::to_string(metagroup::test::online_cpus().back());
    const std::string online = online_file();
    CHECK_THAT(
        run_tool("stat --origin set -e '{cpu-clock,page-faults}' -- sh -c 'echo 0 >" + online +
                 "; sleep 0.1'; echo 1 >" + online)
            .text,
        ContainsSubstring("CPU " + number + " was offline for ") && ContainsSubstring("(offline "));
}

TEST_CASE("stat and top report that a CPU came online after the start", "[machine]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const std::string message =
        "CPU " + std::to_string(metagroup::test::online_cpus().back()) + " came online";
    const std::string online = online_file();
    const std::string offline = "echo 0 >" + online + "; ", back = "echo 1 >" + online;
    const metagroup::test::TempTree tree;
    const std::string shown = tree.path("shown");
    for (const std::string& commands :
         {METAGROUP_TOOL " stat -e cpu-clock -- sh -c '" + back + "'",
          METAGROUP_TOOL " top --batch -e cpu-clock -d 100ms --count 30 >" + shown +
              " 2>&1 & until grep -q ^1: " + shown + "; do sleep 0.1; done; " + back +
              "; wait; cat " + shown})
        CHECK_THAT(run_program(offline + commands).text, ContainsSubstring(message));
}

TEST_CASE("Example ipc prints no ratio of a CPU that went offline", "[machine]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const std::string number = std::to_string(metagroup::test::online_cpus().back());
    const std::string online = online_file();
    const Outcome outcome =
        run_program("{ sleep 3; echo 0 >" + online + "; } & " +
                    METAGROUP_EXAMPLES "/ipc '{cpu-clock,cpu-clock}' 6; echo 1 >" + online);
    CAPTURE(outcome.text);
    CHECK_THAT(outcome.text, Catch::Matchers::EndsWith("CPU   " + number + "  not counted\n"));
}
