// SPDX-License-Identifier: MIT
// Metrics: their expressions, their files, and stat -M.
#include "common/metric_table.hpp"

#include "common/count_report.hpp"
#include "common/metric_expression.hpp"
#include "program.hpp"

namespace {

using tool::MetricExpression;

double value_of(const std::string& text, std::initializer_list<double> values = {}) {
    return MetricExpression(text).evaluate(std::vector<double>(values)).value();
}

// A directory of metrics that every machine can count.
struct Tables {
    Tables() {
        tree.file("mine.json", R"([
            {"$comment": "no metric"},
            {"MetricName": "CPUs", "MetricExpr": "cpu\\-clock / 1000 / duration_time",
             "ScaleUnit": "1CPUs", "MetricGroup": "busy;all", "BriefDescription": "CPUs that count"},
            {"MetricName": "clocks", "MetricExpr": "source_count(cpu\\-clock) + 0 * CPUs",
             "MetricGroup": "all"},
            {"MetricName": "absent", "MetricExpr": "L1\\-icache\\-stores / cpu\\-clock",
             "MetricGroup": "all"},
            {"MetricName": "unknown", "MetricExpr": "nosuch@event@ / cpu\\-clock"}
        ])");
    }
    std::string stat(const std::string& options) const {
        return "stat --metric-dir " + tree.path() + " --timeout 100ms " + options;
    }
    metagroup::test::TempTree tree;
};

}  // namespace

TEST_CASE("Operators in metrics have the same precedence as in perf", "[no-module]") {
    CHECK(value_of("1 + 2 * 3 - 4 / 2") == 5);
    CHECK(value_of("10 - 3 - 2") == 5);
    CHECK(value_of("-(2 + 1) * 1e1") == -30);
    CHECK(value_of("7 % 4 | 8 ^ 3 & 1") == 11);
    CHECK(value_of("1 < 2") == 1);
    CHECK(value_of("2 if 0 else 3 if 1 > 0 else 4") == 3);
    CHECK(value_of("min(3, max(1, 2)) + d_ratio(6, 3) + d_ratio(1, 0)") == 4);
}

TEST_CASE("Events in metrics are written as in perf's tables", "[no-module]") {
    const MetricExpression expression(
        "cycles:u + cpu@event\\=0x3c\\,umask\\=0x1@ * cycles:u - "
        "source_count(cycles:u) + 1.5");
    using Variables = std::vector<MetricExpression::Variable>;
    CHECK(expression.variables() ==
          Variables{{"cycles:u", false}, {"cpu/event=0x3c,umask=0x1/", false}, {"cycles:u", true}});
    CHECK(expression.evaluate(std::vector<double>{2, 3, 4}) == 2 + 3 * 2 - 4 + 1.5);
}

TEST_CASE("A metric that divides by zero has no value", "[no-module]") {
    CHECK_FALSE(MetricExpression("a / b").evaluate(std::vector<double>{1, 0}));
    CHECK(MetricExpression("a / b if b else 7").evaluate(std::vector<double>{1, 0}) == 7);
}

TEST_CASE("An invalid expression is refused with the position of the error", "[no-module]") {
    const auto* text = GENERATE("", "1 +", "(1", "1)", "min(1)", "a b", "1 if 2", "#nosuch",
                                "@ @ 1", "source_count(1 + 2)");
    CAPTURE(text);
    CHECK_THROWS_WITH(MetricExpression(text), ContainsSubstring("column"));
    CHECK_THROWS_WITH(MetricExpression(std::string(5000, '(')), ContainsSubstring("parentheses"));
}

TEST_CASE("Every line of JSON is an object, whatever names, units and descriptions contain") {
    metagroup::test::TempTree tree;
    tree.file("hostile.json", R"([{"MetricName": "a\"b\\c\u0001", "MetricExpr": "cpu\\-clock",
        "ScaleUnit": "1\"/\\s", "MetricGroup": "all", "BriefDescription": "\"\\\t\u00e9"}])");
    const std::string metrics = " -M all --timeout 20ms --metric-dir " + tree.path();
    // Its name is x"y\z.
    const std::string event = R"( -e "software/config=9,name='x\"y\\z'/")";
    const std::string recording = tree.path("perf.data");
    tool_output("record --duration 50ms" + event + " -o " + recording);
    for (const std::string& command :
         {"stat -j" + metrics, "stat -j -A --metric-only" + metrics,
          "stat -j -I 10ms --count 1" + event, "stat -j -A --timeout 10ms" + event,
          "list -j -M --metric-dir " + tree.path(), std::string("list -j"), std::string("info -j"),
          std::string("set list -j"), "report -j " + recording,
          "report -j --phases " + recording}) {
        CAPTURE(command);
        for (const nlohmann::json& line : json_lines(tool_output(command)))
            CHECK(line.is_object());
    }
    CHECK(json_lines(tool_output("stat -j --timeout 10ms" + event)).at(0).at("event") == "x\"y\\z");
    CHECK(json_lines(tool_output("stat -j" + metrics)).at(0).at("metric-unit") ==
          "\"/\\s  a\"b\\c\x01");
}

TEST_CASE("A metric may refer to others, but not to itself", "[no-module]") {
    const auto metric = [](std::string_view name) -> std::string_view {
        return name == "twice" ? "2 * a" : name == "loop" ? "1 + loop" : "";
    };
    CHECK(MetricExpression("twice + 1", metric).evaluate(std::vector<double>{5}) == 11);
    CHECK_THROWS_WITH(MetricExpression("loop", metric), ContainsSubstring("contains itself"));
}

TEST_CASE("stat -M counts the events of a metric, and prints it next to its first event") {
    const Tables tables;
    const auto lines = json_lines(tool_output(tables.stat("-j -M CPUs")));
    CHECK(lines.at(0).at("event") == "cpu-clock");
    CHECK(lines.at(0).at("metric-unit") == "CPUs  CPUs");
    const auto cpus = static_cast<double>(number_online());
    CHECK(lines.at(0).at("metric-value").get<double>() == Catch::Approx(cpus).epsilon(0.2));
    CHECK(lines.at(1).contains("self"));
}

TEST_CASE("stat -M accepts groups, and names missing events") {
    const Tables tables;
    const Outcome outcome = run_tool(tables.stat("-M ALL,unknown -x, -e dummy"));
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text,
               ContainsSubstring("skipping metric \"absent\": this machine cannot count "
                                 "\"L1-icache-stores\"") &&
                   ContainsSubstring("skipping metric \"unknown\": unknown PMU \"nosuch\"") &&
                   ContainsSubstring("CPUs  CPUs") && ContainsSubstring("clocks"));
    tool_fails(tables.stat("-M absent"), {"\"L1-icache-stores\""});
    tool_fails(tables.stat("-M clockz"), {"unknown metric \"clockz\"", "did you mean \"clocks\""});
}

TEST_CASE("stat --metric-only prints only metrics") {
    const Tables tables;
    const std::string csv = tool_output(tables.stat("-A -x, -M CPUs,clocks --metric-only"));
    const auto lines = split(csv, '\n');
    CHECK(lines.at(0) == "time,place,CPUs  CPUs,clocks,");
    CHECK(split(lines.at(1), ',').at(1) == "CPU0");
    CHECK(split(lines.at(1), ',').at(3) == "1.000");
    const auto json = json_lines(tool_output(tables.stat("-j -M clocks --metric-only")));
    REQUIRE(json.size() == 1);
    CHECK(json[0].at("metrics").at("clocks") == number_online());
    CHECK_THAT(tool_output(tables.stat("-M clocks --metric-only")),
               ContainsSubstring("clocks \n") && ContainsSubstring(".000 \n"));
    tool_fails("stat -e dummy --metric-only --timeout 10ms", {"choose metrics with -M"});
}

TEST_CASE("A row of metrics shows how many CPUs it lacks", "[no-module]") {
    const tool::Aggregation rows(tool::AggrMode::all, metagroup::CpuList({0, 1, 2}));
    const std::vector<tool::Column> columns{{.event = "cycles"}, {.event = "instructions"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}, rows));
    const tool::Metrics metrics(columns);
    const std::array<std::uint64_t, 2> some{100, 200};
    const std::array<std::uint64_t, 2> cycles{100, metagroup::Difference::unknown};
    counts.add(0, {.to = 1, .enabled = 1, .running = 1, .counts = some});
    for (const std::size_t cpu : {1U, 2U})
        counts.add(cpu, {.to = 1, .enabled = 1, .running = 1, .counts = cycles});
    counts.add_up();
    const auto line = [&](bool json, std::optional<std::string> separator) {
        const metagroup::test::TempTree tree;
        {
            tool::Output output(tree.path("output"));
            tool::make_metric_report(output, {rows, columns, metrics, "", "", "", ""}, json,
                                     std::move(separator))
                ->interval(1, counts);
        }
        return split(contents_of(tree.path("output")), '\n').back();
    };
    CHECK_THAT(line(false, std::nullopt), Catch::Matchers::EndsWith("2.000  (1 of 3 CPUs)"));
    CHECK(line(false, ",") == "1.000000000,2.000,2");
    CHECK(nlohmann::json::parse(line(true, std::nullopt)).at("counters-missing") == 2);
    CHECK(nlohmann::json::parse(line(true, std::nullopt)).at("metrics").at("insn per cycle") == 2);
}

TEST_CASE("A metric that is too large is not shown") {
    metagroup::test::TempTree tree;
    tree.file("large.json", R"([{"MetricName": "large", "MetricExpr": "cpu\\-clock * 1e300",
        "ScaleUnit": "1e300y"}])");
    const std::string options = "stat -M large --timeout 20ms --metric-dir " + tree.path();
    const auto line = json_lines(tool_output(options + " -j")).at(0);
    CHECK(line.at("event") == "cpu-clock");
    CHECK_FALSE(line.contains("metric-value"));
    CHECK_THAT(tool_output(options + " -x,"), !ContainsSubstring("inf"));
    CHECK_THAT(tool_output(options), !ContainsSubstring("inf"));
    CHECK(json_lines(tool_output(options + " -j --metric-only"))
              .at(0)
              .at("metrics")
              .at("y  large")
              .is_null());
}

TEST_CASE("The time in a metric is wall time, even if a cgroup ran for a part of it",
          "[no-module]") {
    const std::vector<tool::Column> columns{{.event = "cpu-clock", .clock = true}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {1, 0, 1}},
        tool::Aggregation(tool::AggrMode::all, metagroup::CpuList({0, 1}))));
    // A tenth of two seconds on each CPU.
    const std::array<std::uint64_t, 1> clock{200'000'000};
    for (const std::size_t cpu : {0U, 1U})
        counts.add(
            cpu, {.to = 2'000'000'000, .enabled = clock[0], .running = clock[0], .counts = clock});
    counts.add_up();
    MetricExpression expression("cpu\\-clock / 1000 / duration_time");
    REQUIRE(expression.variables().size() == 2);
    const tool::Metrics metrics(
        columns, {{0, std::move(expression), {std::size_t{0}, std::nullopt}, 1, "CPUs"}});
    CHECK(metrics.of(counts, 0, 0)->value == Catch::Approx(0.2));
}

TEST_CASE("A metric has its scale, and the number of CPUs that counted its event", "[no-module]") {
    const std::vector<tool::Column> columns{{.event = "cycles"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
        tool::Aggregation(tool::AggrMode::all, metagroup::CpuList({0, 1, 2}))));
    const std::array<std::uint64_t, 1> some{300};
    for (const std::size_t cpu : {0U, 1U})
        counts.add(cpu, {.to = 1, .enabled = 1, .running = 1, .counts = some});
    counts.add_up();
    MetricExpression expression("cycles / source_count(cycles)");
    REQUIRE(expression.variables().size() == 2);
    const tool::Metrics metrics(
        columns, {{0, std::move(expression), {std::size_t{0}, std::size_t{0}}, 100, "%"}});
    CHECK(metrics.of(counts, 0, 0)->value == 30'000);
}

TEST_CASE("A ratio of misses is a percentage", "[no-module]") {
    const std::vector<tool::Column> columns{{.event = "branches"}, {.event = "branch-misses"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 2}},
        tool::Aggregation(tool::AggrMode::all, metagroup::CpuList({0}))));
    const std::array<std::uint64_t, 2> some{200, 10};
    counts.add(0, {.to = 1, .counts = some});
    counts.add_up();
    const auto metric = tool::Metrics(columns).of(counts, 0, 1);
    REQUIRE(metric);
    CHECK(metric->percent);
    CHECK(metric->value == 5);
}

TEST_CASE("stat -v prints how long each event was counted") {
    const Tables tables;
    CHECK_THAT(tool_output(tables.stat("-v -M CPUs")),
               ContainsSubstring("CPUs = cpu\\-clock / 1000 / duration_time\n") &&
                   ContainsSubstring("cpu-clock: "));
}

TEST_CASE("list -M shows metrics with their groups") {
    const Tables tables;
    CHECK_THAT(tool_output("list -M --metric-dir " + tables.tree.path()),
               ContainsSubstring("CPUs that count [CPUs]") && ContainsSubstring("busy"));
}

TEST_CASE("list -M -j has a line for each metric, with its missing events") {
    const Tables tables;
    const auto lines = json_lines(tool_output("list -Mj --metric-dir " + tables.tree.path()));
    const auto line_of = [&](const std::string& name) {
        return *std::ranges::find(lines, name, [](const nlohmann::json& line) {
            return line.at("metric").get<std::string>();
        });
    };
    CHECK(line_of("CPUs").at("unit") == "CPUs");
    CHECK(line_of("CPUs").at("expression") == "cpu\\-clock / 1000 / duration_time");
    CHECK_FALSE(line_of("CPUs").contains("missing"));
    CHECK_THAT(line_of("unknown").at("missing").get<std::string>(), ContainsSubstring("nosuch"));
}

TEST_CASE("list -M reports an unknown metric") {
    const Outcome outcome = run_tool("list -M no-such-metric");
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("no metric matches \"no-such-metric\""));
}

TEST_CASE("An invalid file of metrics is refused with its name", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("broken.json", "[{");
    tool_fails("stat --timeout 10ms -M x --metric-dir " + tree.path(), {"broken.json"});
    tool_fails("stat --timeout 10ms -M x --metric-dir " + tree.path("absent"),
               {"absent", "cannot read the metrics"});
}

TEST_CASE("All installed metrics have a valid expression", "[no-module]") {
    const auto table = tool::MetricTable::load(METAGROUP_METRICS_DIRECTORY);
    if (table.all().empty()) SKIP("the directory is not here");
    for (const tool::MetricDefinition& metric : table.all()) {
        CAPTURE(metric.name);
        CHECK_THAT(table.measure(metric).missing, !ContainsSubstring("expression"));
        CHECK_FALSE(metric.description.empty());
        CHECK_FALSE(metric.groups.empty());
    }
}
