// SPDX-License-Identifier: MIT
// metagroup report by its command line.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "program.hpp"
#include "recorded.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<nlohmann::json> report(const Recorded& recorded, const std::string& options) {
    const Outcome outcome =
        run_program(METAGROUP_TOOL " report -j " + options + ' ' + recorded.path);
    CAPTURE(outcome.text);
    REQUIRE(outcome.status == 0);
    return json_lines(outcome.text);
}

nlohmann::json figure(const std::vector<nlohmann::json>& lines, const std::string& name,
                      const std::string& place = "") {
    for (const auto& line : lines)
        if (line.value("figure", "") == name && line.value("place", "") == place) return line;
    return {};
}

}  // namespace

TEST_CASE("report adds up the counts of each CPU", "[no-module]") {
    const auto lines = report(Recorded(), "-A");
    for (std::size_t cpu = 0; cpu < 3; ++cpu) {
        const auto& cycles = lines.at(2 * cpu);
        const auto& instructions = lines.at(2 * cpu + 1);
        CHECK(cycles.at("place") == "CPU" + std::to_string(cpu));
        // Between the first sample and the last.
        CHECK(cycles.at("counter-value") == 999'000'000 * (cpu + 1));
        CHECK(cycles.at("metric-value") == 1'000'000'000 * (cpu + 1));
        CHECK(instructions.at("counter-value") == 1'998'000'000 * (cpu + 1));
        CHECK(instructions.at("metric-value") == 2);
    }
}

TEST_CASE("The counts of intervals are those of the whole time", "[no-module]") {
    const Recorded recorded;
    const double whole = report(recorded, "").at(0).at("counter-value");
    CHECK(whole == 6 * 999'000'000.0);
    double sum = 0;
    std::vector<double> times;
    for (const auto& line : report(recorded, "-I 100ms")) {
        if (line.value("event", "") != "cycles") continue;
        sum += line.at("counter-value").get<double>();
        times.push_back(line.at("interval"));
    }
    CHECK(sum == whole);
    CHECK(times == std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999});
}

TEST_CASE("report has the distributions of rates, ratios, lateness and skew", "[no-module]") {
    const auto lines = report(Recorded(), "-A");
    const auto cycles = figure(lines, "cycles", "CPU1");
    CHECK(cycles.at("samples") == 999);
    for (const char* part : {"p50", "p90", "p99", "max"}) {
        CHECK(cycles.at(part).get<double>() == Approx(2e9).epsilon(1.0 / 32));
        CHECK(figure(lines, "IPC", "CPU1").at(part).get<double>() == Approx(2).epsilon(1.0 / 32));
    }
    const auto late = figure(lines, "lateness", "CPU2");
    CHECK(late.at("max") == 3000);
    CHECK(late.at("samples") == 998);
    CHECK(late.at("lost") == 2);
    CHECK(figure(lines, "lateness", "CPU0").at("lost") == 0);
    CHECK(figure(lines, "skew").at("max") == 2000);
    CHECK(figure(lines, "skew").at("samples") == 1000);
}

TEST_CASE("report leaves out what is before or after a time", "[no-module]") {
    const Recorded recorded;
    const auto lines = report(recorded, "-A --since 100ms --until 0.3");
    CHECK(lines.at(0).at("elapsed").get<double>() == Approx(0.2));
    CHECK(lines.at(0).at("counter-value") == 200'000'000);
    const Outcome outcome = run_program(METAGROUP_TOOL " report --since 5s " + recorded.path);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("no samples"));
}

TEST_CASE("report prints the same as text and CSV", "[no-module]") {
    const Recorded recorded;
    const auto run = [&](const char* options) {
        return run_program(METAGROUP_TOOL " report " + std::string(options) + ' ' + recorded.path);
    };
    CHECK_THAT(run("").text, ContainsSubstring("5,994,000,000          cycles") &&
                                 ContainsSubstring("insn per cycle") &&
                                 ContainsSubstring("deadlines lost: 2 of 3000"));
    const auto lines = split(run("-x ';' -A").text, '\n');
    CHECK(lines.at(0).starts_with("CPU0;1;999000000;;cycles;"));
    CHECK(lines.at(7) == "place;cpus;figure;unit;samples;lost;p50;p90;p99;max");
    CHECK(lines.at(11) == "CPU0;1;lateness;ns;1000;0;1000;1000;1000;1000");
}

TEST_CASE("report reads a recording that was not finished, and says so", "[no-module]") {
    const Recorded recorded;
    {
        metagroup::RecordingWriter writer(recorded.path, recorded.stream.options());
        recorded.stream.write(writer, 1000);
    }
    const Outcome outcome = run_program(METAGROUP_TOOL " report " + recorded.path);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text,
               ContainsSubstring("not finished") && ContainsSubstring("5,994,000,000"));
}

TEST_CASE("report draws each figure, and a page that loads nothing", "[no-module]") {
    const Recorded recorded;
    const auto draw = [&](const std::string& option, const std::string& file) {
        const std::string path = recorded.tree.path(file);
        const Outcome outcome = run_program(METAGROUP_TOOL " report -o /dev/null " + option + ' ' +
                                            path + ' ' + recorded.path);
        CAPTURE(outcome.text);
        REQUIRE(outcome.status == 0);
        std::ifstream stream(path);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    const std::string svg = draw("--plot", "picture.svg");
    CHECK(svg.starts_with("<svg "));
    for (const char* text : {"cycles, /sec", "instructions, /sec", "IPC, insn per cycle", ">CPU2<",
                             ">max of CPUs<", ">p50 of CPUs<"})
        CHECK_THAT(svg, ContainsSubstring(text));
    // The third CPU has the highest rate all the time: one rectangle of 333 steps.
    CHECK_THAT(svg, ContainsSubstring("<path fill=\"#fde725\" d=\"M0 2h333v1h-333z\"/>"));

    const std::string page = draw("--html", "page.html");
    CHECK_THAT(page, ContainsSubstring(svg) && ContainsSubstring("<script>"));
    CHECK_THAT(page, !ContainsSubstring("src=") && !ContainsSubstring("href="));
}

TEST_CASE("report draws no other formats", "[no-module]") {
    const Outcome outcome =
        run_program(METAGROUP_TOOL " report --plot /tmp/x.png " + Recorded().path);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("/tmp/x.png") && ContainsSubstring(".svg"));
}

TEST_CASE("report names a file that it cannot read", "[no-module]") {
    for (const char* file : {"/no/such/file", "/etc/passwd"}) {
        const Outcome outcome = run_program(std::string(METAGROUP_TOOL " report ") + file);
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text, ContainsSubstring(file));
    }
}
