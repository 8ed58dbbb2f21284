// SPDX-License-Identifier: MIT
// Numbers at their limits, in all output formats of counts.
#include <functional>

#include "common/count_report.hpp"
#include "common/counts.hpp"
#include "program.hpp"

namespace {

constexpr std::uint64_t kLength = 1'000'000'000;
constexpr std::uint64_t kHuge = (std::uint64_t{1} << 60U) + 1;

const std::vector<tool::Column> kColumns{{.event = "huge", .scale = 1e300},
                                         {.event = "large"},
                                         {.event = "waited"},
                                         {.event = "clock", .clock = true},
                                         {.event = "none"}};

// On two CPUs, for this many ns each.
class Numbers {
  public:
    explicit Numbers(std::uint64_t time) {
        const std::array<std::uint64_t, 4> counted{UINT64_MAX / 2 - 1, kHuge, UINT64_MAX / 4, 0};
        for (const std::size_t cpu : {0U, 1U}) {
            counts.add(3 * cpu, {.to = time,
                                 .enabled = time,
                                 .running = time,
                                 .counts = std::span(counted).first(2)});
            counts.add(3 * cpu + 1, {.to = time,
                                     .enabled = time,
                                     .running = 1,
                                     .missed = 0x1p63,
                                     .counts = std::span(counted).last(2)});
        }
        counts.add_up(time);
    }

    // The report of an interval, and of the mean of two runs.
    std::string printed(const tool::CountOutput& format) const {
        const metagroup::test::TempTree tree;
        tool::Output output(tree.path("output"));
        const auto report = format.make_report(
            output, {rows_, counts.columns(), metrics_, "system wide", "", "module", "groups"});
        report->interval(1, counts);
        tool::Runs runs;
        runs.add(1, counts);
        runs.add(2, Numbers(2 * kLength).counts);
        report->whole(runs.seconds(), runs.counts());
        report->overhead({});
        return contents_of(tree.path("output"));
    }

  private:
    const metagroup::test::TempTree machine_;
    const tool::Aggregation rows_{tool::AggrMode::all, metagroup::CpuList({0, 1}), machine_.path()};

  public:
    tool::Counts counts{std::make_shared<tool::CountLayout>(
        kColumns,
        std::vector<tool::CountLayout::Lane>{
            {0, 0, 2}, {0, 2, 2}, {0, 4, 1}, {1, 0, 2}, {1, 2, 2}, {1, 4, 1}},
        rows_)};

  private:
    const tool::Metrics metrics_{counts.columns()};
};

// Makes a report of these counts.
std::string shown(const tool::CountOutput& format, const tool::Aggregation& rows,
                  const tool::Counts& counts, const std::function<void(tool::Report&)>& show,
                  const std::string& cgroup = "") {
    const metagroup::test::TempTree tree;
    tool::Output output(tree.path("output"));
    const tool::Metrics metrics(counts.columns());
    show(*format.make_report(output,
                             {rows, counts.columns(), metrics, "", cgroup, "module", "groups"}));
    return contents_of(tree.path("output"));
}

const std::vector<tool::CountOutput> kFormats{{}, {.separator = ","}, {.json = true}};

}  // namespace

TEST_CASE("A sum of large counts is written to its last digit in each format", "[no-module]") {
    const Numbers numbers(kLength);
    const std::string sum = std::to_string(2 * kHuge);
    CHECK(sum == "2305843009213693954");
    CHECK_THAT(numbers.printed(kFormats[0]),
               ContainsSubstring(" 2,305,843,009,213,693,954 ") && ContainsSubstring("large"));
    CHECK_THAT(numbers.printed(kFormats[1]), ContainsSubstring(sum + ",,large,"));
    const auto line = json_lines(numbers.printed(kFormats[2])).at(1);
    CHECK(line.at("event") == "large");
    CHECK(line.at("counter-value").get<std::uint64_t>() == 2 * kHuge);
}

TEST_CASE("No format prints numbers that are not finite", "[no-module]") {
    for (const std::uint64_t time : {std::uint64_t{0}, std::uint64_t{1}, kLength})
        for (const tool::CountOutput& format : kFormats) {
            const std::string text = Numbers(time).printed(format);
            CAPTURE(time, text);
            CHECK_THAT(text, !ContainsSubstring("inf") && !ContainsSubstring("nan"));
        }
}

TEST_CASE("The number of CPUs of a row excludes those that did not count", "[no-module]") {
    const std::vector<metagroup::CpuPlace> sockets{{.socket = 0}, {.socket = 0}, {.socket = 1}};
    const tool::Aggregation rows(tool::AggrMode::socket, metagroup::CpuList({0, 1, 2}), sockets);
    const std::vector<tool::Column> columns{{.event = "a"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}, rows));
    const std::array<std::uint64_t, 1> some{100};
    counts.add(1, {.to = kLength, .enabled = kLength, .running = kLength / 2, .counts = some});
    counts.add_up(kLength);
    const auto lines = [&](const tool::CountOutput& format) {
        return split(
            shown(format, rows, counts, [&](tool::Report& report) { report.interval(1, counts); }),
            '\n');
    };
    const auto csv = lines(kFormats[1]);
    CHECK(csv.at(0) == "1.000000000,S0,1,100,,a,500000000,50.00,100.000,/sec,0,1");
    CHECK(csv.at(1) == "1.000000000,S1,0,<not counted>,,a,0,0.00,,,0,1");
    const auto json = lines(kFormats[2]);
    CHECK(nlohmann::json::parse(json.at(0)).at("counters") == 1);
    CHECK(nlohmann::json::parse(json.at(0)).at("counters-missing") == 1);
    CHECK(nlohmann::json::parse(json.at(1)).at("counters") == 0);
    const auto text = lines(kFormats[0]);
    CHECK_THAT(text.at(1), Catch::Matchers::EndsWith("(1 of 2 CPUs)"));
    CHECK_THAT(text.at(1), ContainsSubstring(" S0             1 "));
    CHECK_THAT(text.at(2), ContainsSubstring(" S1             0 "));
}

TEST_CASE("The count of a cgroup that did not run is not shown as 0, as in perf", "[no-module]") {
    const tool::Aggregation rows(tool::AggrMode::all, metagroup::CpuList({0}));
    tool::Counts counts(
        std::make_shared<tool::CountLayout>(std::vector<tool::Column>{{.event = "a"}},
                                            std::vector<tool::CountLayout::Lane>{{0, 0, 1}}, rows));
    const std::array<std::uint64_t, 1> none{0};
    counts.add(0, {.to = kLength, .counts = none});
    counts.add_up(kLength);
    const auto show = [&](tool::Report& report) { report.interval(1, counts); };
    for (const tool::CountOutput& format : kFormats) {
        CHECK_THAT(shown(format, rows, counts, show, "/idle"), ContainsSubstring("<not counted>"));
        CHECK_THAT(shown(format, rows, counts, show), !ContainsSubstring("<not counted>"));
    }
}

TEST_CASE("The deviation of a mean is a percentage in each format", "[no-module]") {
    const tool::Aggregation rows(tool::AggrMode::all, metagroup::CpuList({0}));
    tool::Counts counts(
        std::make_shared<tool::CountLayout>(std::vector<tool::Column>{{.event = "a"}},
                                            std::vector<tool::CountLayout::Lane>{{0, 0, 1}}, rows));
    tool::Runs runs;
    for (const std::uint64_t count : {100U, 300U}) {
        counts.clear();
        const std::array<std::uint64_t, 1> counted{count};
        counts.add(0, {.to = kLength, .enabled = kLength, .running = kLength, .counts = counted});
        counts.add_up(kLength);
        runs.add(1, counts);
    }
    const auto show = [&](tool::Report& report) { report.whole(runs.seconds(), runs.counts()); };
    CHECK_THAT(shown(kFormats[0], rows, counts, show), ContainsSubstring("( +- 50.00 % )"));
    CHECK_THAT(shown(kFormats[1], rows, counts, show),
               Catch::Matchers::StartsWith("200,,a,50.00%,1000000000,"));
    const auto line = json_lines(shown(kFormats[2], rows, counts, show)).at(0);
    CHECK(line.at("counter-value") == 200);
    CHECK(line.at("variance") == 50);
}

TEST_CASE("In text, rates have a prefix for each factor of 1000", "[no-module]") {
    const tool::Aggregation rows(tool::AggrMode::all, metagroup::CpuList({0}));
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        std::vector<tool::Column>{{.event = "a"}, {.event = "b"}},
        std::vector<tool::CountLayout::Lane>{{0, 0, 2}}, rows));
    const std::array<std::uint64_t, 2> some{999, 1'010'000};
    counts.add(0, {.to = kLength, .enabled = kLength, .running = kLength, .counts = some});
    counts.add_up(kLength);
    CHECK_THAT(
        shown(kFormats[0], rows, counts, [&](tool::Report& report) { report.interval(1, counts); }),
        ContainsSubstring(" 999.000 /sec\n") && ContainsSubstring(" 1.010 M/sec\n"));
}
