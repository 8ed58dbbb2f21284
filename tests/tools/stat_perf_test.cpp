// SPDX-License-Identifier: MIT
// metagroup stat for those who know perf stat: its options, and its output for one parser of both.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/counts.hpp"
#include "program.hpp"

namespace {

using Fields = std::vector<std::string>;

constexpr const char* kEvents = "-e cpu-clock,page-faults,cycles";

std::string output_of(const std::string& command) {
    const Outcome outcome = run_program(command);
    CAPTURE(command, outcome.text);
    REQUIRE(outcome.status == 0);
    return outcome.text;
}

// The output of perf stat, which goes on as metagroup stat does if an event is not supported.
std::string perf_stat(const std::string& perf, const std::string& options) {
    if (run_program(perf + " version").status != 0) SKIP("perf is not installed");
    const Outcome outcome =
        run_program(perf + " stat -a " + options + ' ' + kEvents + " -- sleep 0.2");
    if (outcome.text.find("perf_event_paranoid") != std::string::npos)
        SKIP("perf stat is not permitted here");
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    return outcome.text;
}

std::string our_stat(const std::string& options) {
    return output_of(METAGROUP_TOOL " stat -a " + options + ' ' + kEvents + " -- sleep 0.2");
}

bool is_number(const std::string& text) {
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0';
}

// Both counted for about 0.2 s, or longer on a busy machine. Other units differ by more: the counts
// themselves are compared in stat_both_test.cpp.
void check_value(const std::string& event, const std::string& theirs, const std::string& ours) {
    constexpr double longer = 30;
    REQUIRE(is_number(theirs) == is_number(ours));
    if (!is_number(theirs)) {
        CHECK(theirs == ours);
    } else if (event == "cpu-clock") {
        CHECK(std::stod(ours) <= longer * std::stod(theirs));
        CHECK(std::stod(theirs) <= longer * std::stod(ours));
    }
}

std::vector<Fields> rows_of(const std::string& csv) {
    std::vector<Fields> rows;
    for (const std::string& line : split(csv, '\n'))
        if (!line.empty()) {
            rows.push_back(split(line, ','));
            if (line.ends_with(',')) rows.back().emplace_back();
        }
    return rows;
}

void check_csv(const std::string& perf) {
    const std::string rows = GENERATE("", "-A", "--per-core", "--per-socket", "--per-node");
    CAPTURE(rows);
    const auto theirs = rows_of(perf_stat(perf, "-x, " + rows));
    const auto ours = rows_of(our_stat("-x, " + rows));
    REQUIRE(theirs.size() == ours.size());
    // Of the value.
    const std::size_t at = rows.empty() ? 0 : rows == "-A" ? 1 : 2;
    for (std::size_t row = 0; row < ours.size(); ++row) {
        CAPTURE(theirs[row], ours[row]);
        REQUIRE(theirs[row].size() == ours[row].size());
        const std::string& event = ours[row].at(at + 2);
        for (std::size_t field = 0; field < at + 3; ++field) {
            if (field == at)
                check_value(event, theirs[row][at], ours[row][at]);
            else if (field != 1 || event != "cycles")  // newer ones have 0 CPUs without support
                CHECK(theirs[row][field] == ours[row][field]);
        }
        check_value("cpu-clock", theirs[row].at(at + 3), ours[row].at(at + 3));
        CHECK(theirs[row].at(at + 4) == ours[row].at(at + 4));
        // Newer ones show a metric only if one is requested.
        if (event == "cpu-clock" && !theirs[row].back().empty())
            CHECK(theirs[row].back() == ours[row].back());
    }
}

void check_json(const std::string& perf) {
    const std::string rows = GENERATE("", "-A", "--per-core", "--per-socket", "--per-node");
    CAPTURE(rows);
    const auto theirs = json_lines(perf_stat(perf, "-j " + rows));
    const auto ours = json_lines(our_stat("-j " + rows));
    REQUIRE(theirs.size() + 1 == ours.size());  // our overhead
    for (std::size_t row = 0; row < theirs.size(); ++row) {
        CAPTURE(theirs[row].dump(), ours[row].dump());
        for (const auto& [key, value] : theirs[row].items()) {
            // Older ones call the number of counters otherwise.
            if (key.starts_with("metric-") || key == "counters" || key == "aggregate-number")
                continue;
            REQUIRE(ours[row].contains(key));
            const auto text = [](const nlohmann::json& one) {
                return one.is_string() ? one.get<std::string>() : one.dump();
            };
            if (key == "counter-value" || key == "event-runtime")
                check_value(ours[row].at("event"), text(value), text(ours[row].at(key)));
            else
                CHECK(value == ours[row].at(key));
        }
    }
}

}  // namespace

TEST_CASE("One parser reads the CSV of perf stat and of metagroup stat", "[no-module]") {
    check_csv("perf");
}

TEST_CASE("One parser reads the JSON of perf stat and of metagroup stat", "[no-module]") {
    check_json("perf");
}

TEST_CASE("One parser reads the CSV of a newer perf stat as well", "[no-module][newer-perf]") {
    check_csv(newer_perf());
}

TEST_CASE("One parser reads the JSON of a newer perf stat as well", "[no-module][newer-perf]") {
    check_json(newer_perf());
}

TEST_CASE("stat accepts -a and several -e") {
    const auto lines = rows_of(tool_output("stat -a -e dummy -e cpu-clock -x, --timeout 10ms"));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0][2] == "dummy");
    CHECK(lines[1][2] == "cpu-clock");
}

TEST_CASE("stat -r runs the command several times and prints means") {
    const metagroup::test::TempTree tree;
    const std::string runs = tree.path("runs");
    const auto start = std::chrono::steady_clock::now();
    const auto lines = json_lines(
        tool_output("stat -r 3 -j -e cpu-clock -- sh -c 'echo >>" + runs + "; sleep 0.1'"));
    CHECK(std::filesystem::file_size(runs) == 3);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
    const double mean = lines.at(0).at("elapsed").get<double>();
    CHECK(mean >= 0.1);
    CHECK(3 * mean <= whole.count());
    CHECK(lines.at(0).at("variance").get<double>() > 0);
    CHECK(lines.at(1).at("self").at("sweeps") == 6);
    CHECK_THAT(tool_output("stat -r 2 -e dummy true"),
               ContainsSubstring("for 'true' (2 runs)") && ContainsSubstring(" +- "));
    tool_fails("stat -r 2 -e dummy", {"--repeat requires command"});
}

TEST_CASE("The deviation of a mean is that of its runs divided by the root of their number",
          "[no-module]") {
    tool::Mean mean;
    for (const double value : {2.0, 4.0, 6.0})
        mean.add(value);
    CHECK(mean.value == 4);
    CHECK(mean.deviation() == Catch::Approx(2 / std::sqrt(3)));
}

TEST_CASE("stat -D excludes the beginning of the command") {
    const auto lines = json_lines(tool_output("stat -D 300 -j -e cpu-clock -- sleep 0.4"));
    CHECK(lines.at(0).at("elapsed").get<double>() < 0.3);
}

TEST_CASE("stat --append keeps the contents of the file") {
    const metagroup::test::TempTree tree;
    const std::string stat = "stat -e dummy -x, --timeout 10ms -o " + tree.path("csv");
    tool_output(stat);
    tool_output(stat + " --append");
    std::ifstream file(tree.path("csv"));
    CHECK(split(std::string(std::istreambuf_iterator<char>(file), {}), '\n').size() == 2);
    tool_fails("stat -e dummy --append --timeout 10ms", {"--append requires --output"});
}

TEST_CASE("If one event is not supported, the others are counted") {
    // No machine has all of them.
    const auto lines = rows_of(tool_output("stat -ddd -e dummy -x, --timeout 10ms"));
    REQUIRE(lines.size() == 13);
    CHECK(lines[0][0] == "0");
    CHECK(std::ranges::any_of(lines,
                              [](const Fields& fields) { return fields[0] == "<not supported>"; }));
}

TEST_CASE("Rows can be dies and last-level caches", "[no-module]") {
    metagroup::test::TempTree tree;
    for (const std::string cpu : {"0", "1", "2"}) {
        const std::string directory = "cpu/cpu" + cpu;
        tree.file(directory + "/topology/physical_package_id", "0");
        tree.file(directory + "/topology/die_id", cpu == "2" ? "1" : "0");
        tree.file(directory + "/topology/core_id", cpu);
        tree.file(directory + "/cache/index0/level", "1").file(directory + "/cache/index0/id", cpu);
        tree.file(directory + "/cache/index3/level", "3");
        if (cpu != "1") tree.file(directory + "/cache/index3/id", cpu);
    }
    const auto cpus = metagroup::CpuList::parse("0-2");
    const tool::Aggregation dies(tool::AggrMode::die, cpus, tree.path());
    REQUIRE(dies.places().size() == 2);
    CHECK(dies.places()[1].name == "S0-D1");
    CHECK(dies.places()[0].cpus.size() == 2);
    const tool::Aggregation caches(tool::AggrMode::cache, metagroup::CpuList({0, 2}), tree.path());
    REQUIRE(caches.places().size() == 2);
    CHECK(caches.places()[1].name == "S0-D1-L3-ID2");
    const tool::Aggregation all(tool::AggrMode::cache, cpus, tree.path());
    REQUIRE(all.places().size() == 3);
    CHECK(all.places()[2].name == "unknown");
    CHECK(all.places()[2].cpus == metagroup::CpuList({1}));
    CHECK_THROWS_WITH(
        (tool::Aggregation(tool::AggrMode::cache, metagroup::CpuList({1}), tree.path())),
        ContainsSubstring("last-level cache of CPU 1"));
}
