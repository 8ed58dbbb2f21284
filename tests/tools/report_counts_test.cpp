// SPDX-License-Identifier: MIT
// The figures of report for recordings in which counts are missing, or begin anew.
#include <linux/perf_event.h>

#include <metagroup/recording.hpp>
#include <metagroup/recording_writer.hpp>

#include "common/analysis.hpp"
#include "program.hpp"
#include "support/perf_data_builder.hpp"

namespace {

using metagroup::test::SyntheticStream;

constexpr std::uint64_t kPeriod = SyntheticStream::period;

// A recording of "cycles" of some CPUs, sample by sample, from the first deadline.
class Counted {
  public:
    explicit Counted(int cpus) : writer_(file, options(cpus)) {}

    void sample(int cpu, std::uint64_t deadline, std::uint64_t count,
                std::optional<std::uint64_t> running = {},
                std::optional<std::uint64_t> enabled = {}) {
        using namespace metagroup::test;
        const std::uint64_t elapsed = enabled.value_or((deadline + 1) * kPeriod);
        const Bytes read =
            payload(SyntheticStream::format, {{count, SyntheticStream::cycles_id(cpu)}}, elapsed,
                    running.value_or(elapsed));
        Bytes record;
        append(record, perf_event_header{PERF_RECORD_SAMPLE, 0,
                                         static_cast<std::uint16_t>(32 + read.size())});
        append(record, SyntheticStream::cycles_id(cpu));
        append(record, SyntheticStream::first + deadline * kPeriod);
        append(record, static_cast<std::uint64_t>(cpu));
        record.insert(record.end(), read.begin(), read.end());
        writer_.write(metagroup::Records(record));
        if (++samples_ % 10 == 0) writer_.finish_round();
    }
    // The `count` deadlines before this one.
    void lost(int cpu, std::uint64_t deadline, std::uint64_t count) {
        metagroup::test::Bytes record;
        SyntheticStream::lost(record, cpu, deadline, count);
        writer_.write(metagroup::Records(record));
    }
    std::vector<nlohmann::json> report(const std::string& options) {
        writer_.finish();
        std::vector<nlohmann::json> counts;
        for (const auto& line : json_lines(tool_output("report -j " + options + ' ' + file)))
            if (line.contains("counter-value")) counts.push_back(line);
        return counts;
    }

  private:
    static metagroup::RecordingWriter::Options options(int cpus) {
        auto options = SyntheticStream{.cpus = cpus}.options();
        options.events.pop_back();
        return options;
    }

    metagroup::test::TempTree tree_;

  public:
    const std::string file = tree_.path("recording");

  private:
    metagroup::RecordingWriter writer_;
    std::size_t samples_ = 0;
};

}  // namespace

TEST_CASE("A sum includes the counts before and after a reset", "[no-module]") {
    const bool intervals = GENERATE(true, false);
    Counted counted(1);
    for (std::uint64_t at = 0; at < 25; ++at)
        counted.sample(0, at, (at < 5 ? at + 1 : at - 4) * 1000);
    double sum = 0;
    for (const auto& line : counted.report(intervals ? "-I 5ms" : "")) {
        sum += line.at("counter-value").get<double>();
        CHECK(line.at("metric-value") == Approx(1e6));
    }
    CHECK(sum == 23'000);
}

TEST_CASE("The counts of lost samples are divided among their intervals", "[no-module]") {
    Counted counted(2);
    for (std::uint64_t at = 0; at <= 1000; ++at)
        for (const int cpu : {0, 1})
            if (cpu == 0 || at <= 400 || at > 600) counted.sample(cpu, at, at * 1000);
    const auto lines = counted.report("-I 100ms --phases");
    REQUIRE(lines.size() == 10);
    for (const auto& line : lines) {
        CHECK(line.at("counter-value").get<double>() == Approx(200'000).epsilon(0.001));
        CHECK(line.at("counters") == 2);
        CHECK_FALSE(line.contains("counters-missing"));
    }
    CHECK_THAT(tool_output("report --phases " + counted.file),
               ContainsSubstring("phase 1") && !ContainsSubstring("phase 2"));
}

TEST_CASE("A CPU with fewer samples than the others is in every interval and phase",
          "[no-module]") {
    Counted counted(2);
    for (std::uint64_t at = 0; at <= 900; ++at)
        for (const int cpu : {0, 1})
            if (cpu == 0 || at % 3 == 0) counted.sample(cpu, at, at * 1000);
    const auto lines = counted.report("-I 1ms");
    REQUIRE(lines.size() == 900);
    for (const auto& line : lines) {
        CHECK(line.at("metric-value").get<double>() == Approx(2e6).epsilon(0.001));
        CHECK(line.at("counters") == 2);
    }
    std::vector<double> means;
    for (const auto& line : json_lines(tool_output("report -j --phases " + counted.file)))
        if (line.contains("phase")) means.push_back(line.at("mean"));
    REQUIRE(means.size() == 1);
    CHECK(means[0] == Approx(2e6).epsilon(0.001));
}

TEST_CASE("A CPU without samples at the end of a recording is missing in the last intervals",
          "[no-module]") {
    Counted counted(2);
    for (std::uint64_t at = 0; at <= 400; ++at)
        for (const int cpu : {0, 1})
            if (cpu == 0 || at <= 220) counted.sample(cpu, at, at * 1000);
    const auto lines = counted.report("-I 100ms");
    REQUIRE(lines.size() == 4);
    CHECK(lines[1].at("counters") == 2);
    CHECK(lines[2].at("counters") == 1);
    CHECK(lines[2].at("counters-missing") == 1);
    CHECK(lines[3].at("counters") == 1);
    CHECK(lines[3].at("counter-value") == 100'000);
}

TEST_CASE("Intervals end as soon as all CPUs have later samples, even without rounds",
          "[no-module]") {
    const metagroup::test::TempTree tree;
    const std::string path = tree.path("recording");
    metagroup::test::PerfDataBuilder file;
    file.event({1, 2});
    constexpr std::uint64_t samples = 300;
    for (std::uint64_t i = 1; i <= samples; ++i)
        for (const std::uint32_t cpu : {0U, 1U})
            file.sample(i * metagroup::test::PerfDataBuilder::ms, cpu, {{1000 * i, cpu + 1}});
    file.write(path);
    metagroup::Recording recording(path);
    const auto extent = tool::find_extent(recording, 0, UINT64_MAX);
    tool::Analysis analysis(recording, extent, tool::Aggregation(tool::AggrMode::all, extent.cpus),
                            2'000'000);
    std::uint64_t entries = 0;
    std::uint64_t intervals = 0;
    bool late = false;
    while (analysis.step([&](double, const tool::Counts& counts) {
        ++intervals;
        CHECK(counts.at(0, 0).complete());
    })) {
        ++entries;
        late = late || 4 * intervals + 12 < entries;
    }
    CHECK(entries == 2 * samples);
    CHECK(intervals == samples / 2);
    CHECK_FALSE(late);
}

TEST_CASE("The rate of an event excludes CPUs that did not count it", "[no-module]") {
    Counted counted(4);
    for (std::uint64_t at = 0; at <= 39; ++at)
        for (int cpu = 0; cpu < 4; ++cpu)
            counted.sample(cpu, at, cpu == 0 ? at * 1000 : 0,
                           cpu == 0 ? std::nullopt : std::optional<std::uint64_t>(0));
    const auto all = counted.report("").at(0);
    CHECK(all.at("counter-value") == 39'000);
    CHECK(all.at("metric-value") == Approx(1e6));
    CHECK(all.at("counters") == 1);
    CHECK(all.at("counters-missing") == 3);
    CHECK_THAT(tool_output("report " + counted.file), ContainsSubstring("(1 of 4 CPUs)"));
    CHECK_THAT(tool_output("report -x, " + counted.file), ContainsSubstring(",/sec,0,3\n"));
}

TEST_CASE("A CPU without a sample is missing from the count", "[no-module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    Counted counted(static_cast<int>(number_online()));
    for (std::uint64_t at = 0; at <= 10; ++at)
        counted.sample(0, at, at * 1000);
    CHECK(counted.report("").at(0).at("counters-missing") == number_online() - 1);
    const auto rows = json_lines(tool_output("report -A -j " + counted.file));
    CHECK(rows.at(1).at("counter-value") == "<not counted>");
}

TEST_CASE("Phases and plots of fewer CPUs say so, and leave out times that lack more",
          "[no-module]") {
    if (number_online() < 2) SKIP("needs two CPUs");
    const auto cpus = static_cast<int>(number_online());
    Counted counted(cpus);
    // One CPU has no sample; CPU 0 has none in the middle and at the end.
    for (std::uint64_t at = 0; at <= 400; ++at)
        for (int cpu = 0; cpu < cpus - 1; ++cpu)
            if (cpu > 0 || at <= 300) counted.sample(cpu, at, at * 1000);
    const std::string mark = std::to_string(cpus - 1) + " of " + std::to_string(cpus) + " CPUs)";
    counted.report("");
    const std::string files = " --plot " + counted.file + ".svg --html " + counted.file + ".html ";
    CHECK_THAT(tool_output("report --phases" + files + counted.file), ContainsSubstring(mark));
    CHECK_THAT(contents_of(counted.file + ".svg"), ContainsSubstring("cycles, /sec (" + mark));
    CHECK_THAT(contents_of(counted.file + ".html"), ContainsSubstring("cycles, /sec (" + mark));
    std::vector<nlohmann::json> phases;
    for (const auto& line : json_lines(tool_output("report -j --phases " + counted.file)))
        if (line.contains("phase")) phases.push_back(line);
    REQUIRE(phases.size() == 1);
    CHECK(phases[0].at("mean") == Approx(1e6 * (cpus - 1)));
    CHECK(phases[0].at("counters-missing") == 1);
    CHECK_THAT(tool_output("report -x, --phases " + counted.file),
               ContainsSubstring(",mean,cpus-missing\n") && ContainsSubstring(",1\n"));
}

TEST_CASE("Phases and plots of all CPUs have no mark", "[no-module]") {
    Counted counted(2);
    for (std::uint64_t at = 0; at <= 400; ++at)
        for (const int cpu : {0, 1})
            counted.sample(cpu, at, at * 1000);
    counted.report("");
    CHECK_THAT(tool_output("report --phases --plot " + counted.file + ".svg " + counted.file),
               !ContainsSubstring("of 2 CPUs"));
    CHECK_THAT(contents_of(counted.file + ".svg"), !ContainsSubstring("of 2 CPUs"));
    CHECK_THAT(tool_output("report -j --phases " + counted.file),
               !ContainsSubstring("counters-missing"));
}

TEST_CASE("The row of a CPU without a sample shows its losses", "[no-module]") {
    Counted counted(2);
    for (std::uint64_t at = 0; at < 40; ++at) {
        counted.sample(0, at, at * 1000);
        if (at == 30) counted.lost(1, 30, 30);
    }
    counted.report("");
    const auto rows = json_lines(tool_output("report -A -j --figure lateness " + counted.file));
    CHECK(rows.back().at("place") == "CPU1");
    CHECK(rows.back().at("samples") == 0);
    CHECK(rows.back().at("lost") == 30);
    CHECK_FALSE(rows.back().contains("p50"));
    CHECK_THAT(tool_output("report -A -x, " + counted.file),
               ContainsSubstring("CPU1,1,lateness,ns,0,30,,,,\n"));
    for (const char* rows_of : {"-A ", ""})
        CHECK_THAT(tool_output(std::string("report ") + rows_of + counted.file),
                   ContainsSubstring("deadlines lost: 30 of 70"));
}

namespace {

// A deadline each millisecond, of which those from 10 to 499 are lost, which the one of 500
// reports.
struct LongLoss : Counted {
    LongLoss() : Counted(1) {
        for (std::uint64_t at = 0; at < 520; ++at) {
            if (at == 500) lost(0, 500, 490);
            if (at < 10 || at >= 500) sample(0, at, at * 1000);
        }
        report("");
    }
    std::string text(const std::string& options) const {
        return tool_output("report " + options + ' ' + file);
    }
};

}  // namespace

TEST_CASE("Losses exclude deadlines before the time that is shown", "[no-module]") {
    const LongLoss recorded;
    CHECK_THAT(recorded.text("--since 500ms"), ContainsSubstring("deadlines lost: 0 of 20"));
    CHECK_THAT(recorded.text("--since 495ms"), ContainsSubstring("deadlines lost: 5 of 25"));
    CHECK_THAT(recorded.text("--since 0ms"), ContainsSubstring("deadlines lost: 490 of 520"));
}

TEST_CASE("Losses include deadlines before --until that are reported after it", "[no-module]") {
    const LongLoss recorded;
    CHECK_THAT(recorded.text("--until 9ms"), ContainsSubstring("deadlines lost: 0 of 10\n"));
    CHECK_THAT(recorded.text("--until 10ms"), ContainsSubstring("deadlines lost: 1 of 11\n"));
    CHECK_THAT(recorded.text("--until 499ms"), ContainsSubstring("deadlines lost: 490 of 500\n"));
    CHECK_THAT(recorded.text("--until 500ms"), ContainsSubstring("deadlines lost: 490 of 501\n"));
}

TEST_CASE("An event is counted although the first sample of its group lacks it", "[no-module]") {
    const metagroup::test::TempTree tree;
    metagroup::test::PerfDataBuilder file;
    file.event({1});
    file.event({2});
    constexpr std::uint64_t ms = metagroup::test::PerfDataBuilder::ms;
    file.sample(ms, 0, {{5, 1}});
    for (std::uint64_t at = 2; at < 10; ++at)
        file.sample(at * ms, 0, {{5 * at, 1}, {7 * at, 2}});
    metagroup::test::append(file.features[3], std::uint32_t{0});  // so that it is finished
    file.write(tree.path("recording"));
    const auto lines = json_lines(tool_output("report -j " + tree.path("recording")));
    CHECK(lines.at(0).at("counter-value") == 35);
    CHECK(lines.at(1).at("counter-value") == 49);
}

TEST_CASE("The rate of a cgroup is over the whole time, not only that in which it ran",
          "[no-module]") {
    Counted counted(1);
    for (std::uint64_t at = 0; at <= 40; ++at) {
        const std::uint64_t ran = (at + 3) / 4 * kPeriod;  // every fourth period
        counted.sample(0, at, ran, ran, ran);
    }
    const auto lines = counted.report("");
    CHECK(lines.at(0).at("counter-value") == 10 * kPeriod);
    CHECK(lines.at(0).at("metric-value") == 0.25e9);
    CHECK_FALSE(lines.at(0).contains("counters-missing"));
}

TEST_CASE("A large count is written with all digits", "[no-module]") {
    Counted counted(1);
    constexpr std::uint64_t large = (std::uint64_t{1} << 60U) + 1;
    counted.sample(0, 0, 0);
    counted.sample(0, 1, large);
    const auto lines = counted.report("");
    CHECK(lines.at(0).at("counter-value").get<std::uint64_t>() == large);
    CHECK_THAT(tool_output("report -x, " + counted.file),
               ContainsSubstring("1152921504606846977,,cycles"));
    CHECK_THAT(tool_output("report " + counted.file),
               ContainsSubstring("1,152,921,504,606,846,977"));
}
