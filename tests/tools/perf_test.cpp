// SPDX-License-Identifier: MIT
// perf(1) reads what this project records, and the reverse. Skipped without perf.
#include <cstdlib>
#include <metagroup/recording.hpp>

#include "program.hpp"
#include "support/cpus.hpp"

using metagroup::test::SyntheticStream;

namespace {

constexpr std::uint64_t kDeadlines = 100;

// Sums by CPU and event.
using Counts = std::map<std::string, double>;

struct World {
    explicit World(std::string path_of_perf = "perf") : program(std::move(path_of_perf)) {
        if (run_program(program + " version").status != 0)
            SKIP((program == "perf" ? "perf is not installed"
                                    : "no newer perf: tests/vm/fetch --perf fetches one"));
    }
    Outcome perf(const std::string& command) const {
        Outcome outcome = run_program("cd " + tree.path() + " && " + program + ' ' + command);
        CAPTURE(command, outcome.text);
        REQUIRE(outcome.status == 0);
        return outcome;
    }
    // perf script prints the count since the sample before; before the first one it is 0.
    Counts counts_by_perf() const {
        Counts counts;
        std::istringstream lines(perf("script -i recording -F cpu,time,event,period").text);
        const std::regex row(R"( *\[0*(\d+)\] +[\d.]+: +(\d+) +(\S+): *)");
        std::smatch found;
        for (std::string line; std::getline(lines, line);)
            if (std::regex_match(line, found, row))
                counts["CPU" + (found[1].str() + ' ') + found[3].str()] += std::stod(found[2]);
        return counts;
    }
    // Between the first sample and the last.
    Counts counts_by_report() const {
        Counts counts;
        for (const auto& line : json_lines(tool_output("report -A -j " + path + " 2>/dev/null")))
            if (line.contains("event") && line.at("counter-value").is_number())
                counts["CPU" + (line.at("cpu").get<std::string>() + ' ') +
                       line.at("event").get<std::string>()] =
                    line.at("counter-value").get<double>() * (line.at("unit") == "msec" ? 1e6 : 1);
        return counts;
    }

    std::string program;
    metagroup::test::TempTree tree;
    std::string path = tree.path("recording");
    SyntheticStream stream{};
};

// Of a recording of `stream`.
void check_script(const World& world) {
    const Counts by_perf = world.counts_by_perf();
    CHECK(by_perf.size() == 4);
    for (const auto& [name, count] : world.counts_by_report()) {
        const int cpu = name[3] - '0';
        const int factor = name.ends_with("instructions") ? 2 : 1;
        const auto first = static_cast<double>(SyntheticStream::cycles(cpu, 0)) * factor;
        CAPTURE(name);
        CHECK(by_perf.at(name) == first + count);
    }
}

// The JSON has a sample for each event of a group, without its count.
void check_json(const World& world) {
    world.perf("data -i recording convert --to-json out.json");
    const auto json = nlohmann::json::parse(std::ifstream(world.tree.path("out.json")));
    std::map<std::pair<int, std::uint64_t>, int> left;  // by CPU and time
    metagroup::Recording recording(world.path);
    while (const auto entry = recording.next())
        if (entry->kind == metagroup::RecordedEntry::Kind::sample)
            left[{entry->cpu, entry->time_ns}] += 2;
    CHECK(left.size() == 2 * kDeadlines - 2);
    for (const auto& sample : json.at("samples"))
        --left[{sample.at("cpu").get<int>(), sample.at("timestamp").get<std::uint64_t>()}];
    for (const auto& [sample, count] : left) {
        CAPTURE(sample.first, sample.second);
        CHECK(count == 0);
    }
}

void check_record(const World& world) {
    std::optional<metagroup::test::BusyCpus> busy(std::in_place);
    const Outcome recorded = run_program(world.program + " record -o " + world.path +
                                         " -e '{cpu-clock,page-faults}:S' -a --clockid mono -c "
                                         "1000000 -- sleep 0.3");
    busy.reset();
    if (recorded.text.find("perf_event_paranoid") != std::string::npos)
        SKIP("perf record is not permitted here");
    CAPTURE(recorded.text);
    REQUIRE(recorded.status == 0);
    const Counts by_perf = world.counts_by_perf();
    const Counts by_report = world.counts_by_report();
    REQUIRE_FALSE(by_report.empty());
    for (const auto& [name, count] : by_report) {
        CAPTURE(name);
        // perf prints no samples without counts.
        CHECK((by_perf.contains(name) ? by_perf.at(name) : 0) >= count);
        if (!name.ends_with("cpu-clock")) continue;
        CHECK(count > 0);
        // The first sample is after a period, and more if the CPU was busy.
        CHECK(by_perf.at(name) - count < 0.5 * count);
    }
    // Every deadline between two samples is a sample, or lost.
    std::map<int, std::array<double, 3>> cpus;  // first, last, samples and losses
    metagroup::Recording recording(world.path);
    while (const auto entry = recording.next()) {
        if (entry->kind == metagroup::RecordedEntry::Kind::round) continue;
        const auto time = static_cast<double>(entry->time_ns);
        const bool lost = entry->kind == metagroup::RecordedEntry::Kind::lost;
        auto& [first, last, deadlines] =
            cpus.try_emplace(entry->cpu, std::array{time, 0.0, 0.0}).first->second;
        last = time;
        deadlines += lost ? static_cast<double>(entry->lost) : 1;
    }
    for (const auto& [cpu, seen] : cpus) {
        CAPTURE(cpu);
        CHECK(std::abs(seen[2] - ((seen[1] - seen[0]) / 1e6 + 1)) <= 2);
    }
}

}  // namespace

TEST_CASE("perf script prints the counts of a recording", "[no-module]") {
    const World world;
    SECTION("of a writer that finished") {
        world.stream.write_file(world.path, kDeadlines);
    }
    SECTION("of a writer that was killed") {
        metagroup::RecordingWriter writer(world.path, world.stream.options());
        world.stream.write(writer, kDeadlines);
    }
    check_script(world);
}

TEST_CASE("perf report shows samples, lost samples and the machine", "[no-module]") {
    const World world;
    world.stream.write_file(world.path, kDeadlines);
    const std::string report = world.perf("report --stdio -i recording").text;
    CHECK_THAT(report, ContainsSubstring("Total Lost Samples: 2") &&
                           ContainsSubstring("Event count (approx.): 900000000"));
    const std::string header = world.perf("report --header-only -I -i recording").text;
    for (const char* line :
         {"# hostname : ", "# os release : ", "# perf version : metagroup 1.2.3", "# arch : ",
          "# nrcpus online : ", "# total memory : ", "# cmdline : metagroup record -e ",
          "# event : name = instructions, , id = { 200, 201 }", "# sibling sockets :",
          "# CPU 0: Core ID ", "# node0 cpu list :", "# time of first sample : 5.000001",
          "# clockid frequency: 1000 MHz", "# clockid: monotonic (1)", "# reference time: "})
        CHECK_THAT(header, ContainsSubstring(line));
}

TEST_CASE("perf data converts a recording to JSON", "[no-module]") {
    const World world;
    world.stream.write_file(world.path, kDeadlines);
    check_json(world);
}

TEST_CASE("report reads what perf record wrote", "[no-module]") {
    check_record(World());
}

TEST_CASE("report shows the losses of perf record's rings", "[no-module]") {
    const World world;
    // A page of memory for each ring, and a sample of each page fault.
    const Outcome recorded = run_program(
        "cd " + world.tree.path() +
        " && perf record -o recording -a -m 1 -c 1 -e '{page-faults,context-switches}:S' --clockid "
        "mono -- sh -c 'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done'");
    if (recorded.text.find("perf_event_paranoid") != std::string::npos)
        SKIP("perf record is not permitted here");
    CAPTURE(recorded.text);
    REQUIRE(recorded.status == 0);
    const std::string dump = world.perf("report -D -i recording 2>/dev/null").text;
    const auto sum = [&](const char* record) {
        const std::regex pattern(record);
        std::uint64_t all = 0;
        for (std::sregex_iterator found(dump.begin(), dump.end(), pattern), end; found != end;
             ++found)
            all += std::stoull((*found)[1].str());
        return all;
    };
    const std::uint64_t reported = sum("PERF_RECORD_LOST: id:[0-9]+: lost:([0-9]+)");
    REQUIRE(reported > 0);
    // Newer kernels count for each event, too: also what no later record reports, and what the
    // event that perf adds for processes has lost, which has no counts.
    const std::uint64_t counted = sum("PERF_RECORD_LOST_SAMPLES.*: lost samples ?: ?([0-9]+)");
    std::uint64_t lost = 0;
    metagroup::Recording recording(world.path);
    while (const auto entry = recording.next()) {
        lost += entry->lost;
        if (entry->lost > 0) CHECK(entry->time_ns > 0);
    }
    CHECK(lost >= reported);
    CHECK(lost <= std::max(reported, counted));
    CHECK(recording.remarks().empty());
}

TEST_CASE("The perf of a newer kernel reads and writes the same recordings",
          "[no-module][newer-perf]") {
    const World world(newer_perf());
    SECTION("script") {
        world.stream.write_file(world.path, kDeadlines);
        check_script(world);
    }
    SECTION("data convert") {
        world.stream.write_file(world.path, kDeadlines);
        check_json(world);
    }
    SECTION("record") {
        check_record(world);
    }
}
