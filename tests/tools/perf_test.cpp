// SPDX-License-Identifier: MIT
// perf(1) reads what this project records, and the reverse. Skipped without perf.
#include <cstdlib>
#include <metagroup/recording.hpp>

#include "program.hpp"
#include "support/cpus.hpp"
#include "support/testpmu.hpp"

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
    struct Row {
        int cpu;
        std::string time, event;
        double count;
    };
    std::vector<Row> rows_by_perf() const {
        std::vector<Row> rows;
        std::istringstream lines(perf("script -i recording --ns -F cpu,time,event,period").text);
        const std::regex row(R"( *\[0*(\d+)\] +([\d.]+): +(\d+) +(\S+): *)");
        std::smatch found;
        for (std::string line; std::getline(lines, line);)
            if (std::regex_match(line, found, row))
                rows.push_back({std::stoi(found[1]), found[2], found[4], std::stod(found[3])});
        return rows;
    }
    Counts counts_by_perf() const {
        Counts counts;
        for (const Row& row : rows_by_perf())
            counts[name_of(row.cpu, row.event)] += row.count;
        return counts;
    }
    // Without the first sample of each CPU.
    Counts counts_after_first_by_perf() const {
        Counts counts;
        std::map<int, std::string> first;
        for (const Row& row : rows_by_perf())
            if (first.try_emplace(row.cpu, row.time).first->second != row.time)
                counts[name_of(row.cpu, row.event)] += row.count;
        return counts;
    }
    // By event, of all samples. It has the groups of perf report.
    Counts event_counts_by_perf() const {
        Counts counts;
        const std::string text = perf("report --stdio --no-group -i recording 2>/dev/null").text;
        const std::regex header(
            R"(# Samples: \S+ +of events? '([^']+)'\n# Event count \(approx\.\): (\d+))");
        for (std::sregex_iterator found(text.begin(), text.end(), header), end; found != end;
             ++found)
            counts[(*found)[1]] = std::stod((*found)[2]);
        return counts;
    }
    // Between the first sample and the last.
    Counts counts_by_report() const {
        Counts counts;
        for (const auto& line : json_lines(tool_output("report -A -j " + path + " 2>/dev/null")))
            if (line.contains("event") && line.at("counter-value").is_number())
                counts[name_of(std::stoi(line.at("cpu").get<std::string>()), line.at("event"))] =
                    line.at("counter-value").get<double>() * (line.at("unit") == "msec" ? 1e6 : 1);
        return counts;
    }

    static std::string name_of(int cpu, const std::string& event) {
        return "CPU" + std::to_string(cpu) + ' ' + event;
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

// Of a recording of perf record: each count, on each CPU, and of all samples.
void check_counts(const World& world, std::size_t cpus) {
    const Counts by_perf = world.counts_after_first_by_perf();
    const Counts by_report = world.counts_by_report();
    REQUIRE(by_report.size() == 2 * cpus);
    for (const auto& [name, count] : by_report) {
        CAPTURE(name);
        // perf prints no samples without counts.
        CHECK((by_perf.contains(name) ? by_perf.at(name) : 0) == count);
        if (name.ends_with("cpu-clock")) CHECK(count > 0);
    }
    for (const auto& [name, count] : by_perf) {
        CAPTURE(name);
        CHECK(by_report.contains(name));
    }
    Counts events;
    for (const auto& row : world.rows_by_perf())
        events[row.event] += row.count;
    CHECK(world.event_counts_by_perf() == events);
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
    check_counts(world, number_online());
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

TEST_CASE("report has the CPUs of perf record -C", "[no-module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const World world;
    const Outcome recorded = run_program(
        "cd " + world.tree.path() +
        " && perf record -o recording -C 1 -e '{cpu-clock,page-faults}:S' --clockid mono -c "
        "1000000 "
        "-- taskset -c 1 sh -c 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done'");
    if (recorded.text.find("perf_event_paranoid") != std::string::npos)
        SKIP("perf record is not permitted here");
    CAPTURE(recorded.text);
    REQUIRE(recorded.status == 0);
    check_counts(world, 1);
}

TEST_CASE("report has units and scales of events that perf record wrote", "[machine]") {
    if (!metagroup::test::testpmu_event(0)) SKIP("metagroup_testpmu is not loaded");
    const World world;
    world.perf(
        "record -o recording -a -e '{cpu-clock,metagroup_test/energy/}:S' --clockid mono -c "
        "1000000 -- sleep 0.5");
    const Counts by_perf = world.counts_after_first_by_perf();
    std::size_t rows = 0;
    for (const auto& line : json_lines(tool_output("report -A -j " + world.path))) {
        if (line.value("event", "") != "metagroup_test/energy/") continue;
        CAPTURE(line.dump());
        CHECK(line.at("unit") == "Joules");
        const std::string name =
            World::name_of(std::stoi(line.at("cpu").get<std::string>()), line.at("event"));
        CHECK(line.at("counter-value").get<double>() ==
              Approx(by_perf.at(name) * 0x1p-32).epsilon(1e-6));
        ++rows;
    }
    CHECK(rows == number_online());
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
