// SPDX-License-Identifier: MIT
// The names of events that perf has, and their rows.
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>

#include "common/command_line.hpp"
#include "common/count_report.hpp"
#include "common/counts.hpp"
#include "program.hpp"

namespace {

using metagroup::Cause;

constexpr auto npos = std::string::npos;

// perf list prints them for programs. Metrics are no events.
void check_names(const std::string& perf) {
    if (run_program(perf + " version").status != 0) SKIP("perf is not installed");
    const Outcome outcome =
        run_program(perf + " list --raw-dump hw sw cache tracepoint pmu tool sdt 2>/dev/null");
    REQUIRE(outcome.status == 0);
    std::size_t accepted = 0;
    std::istringstream names(outcome.text);
    for (std::string name; names >> name;) {
        CAPTURE(name);
        // An explanation, as cpu/t1=v1/modifier; or the file behind the name of a probe.
        if (name == "rNNN" || name.ends_with("/modifier") || name.find_first_of("<>[]()@") != npos)
            continue;
        try {
            accepted += metagroup::parse_events(name).size();
        } catch (const metagroup::Error& error) {
            CAPTURE(error.what());
            CHECK((error.cause() == Cause::unsupported_event ||
                   error.cause() == Cause::no_trace_permission));
        }
    }
    CHECK(accepted > 10);
}

}  // namespace

TEST_CASE("Every name that perf list prints is counted, or refused with a reason", "[no-module]") {
    check_names("perf");
}

TEST_CASE("Every name that a newer perf list prints is counted, or refused with a reason",
          "[no-module][newer-perf]") {
    check_names(newer_perf());
}

TEST_CASE("An event that expands to several PMUs has one column", "[no-module]") {
    const auto named = [](const std::string& name, const std::string& merged) {
        metagroup::EventSpec spec;
        spec.name = name;
        spec.merged = merged;
        return spec;
    };
    std::vector<metagroup::GroupSpec> groups;
    for (int written = 0; written < 2; ++written) {
        groups.push_back({{named("imc_0/a/", "imc/a/")}, {}});
        groups.push_back({{named("imc_1/a/", "imc/a/")}, {}});
    }
    for (const std::string pmu : {"imc_0", "imc_1"})
        groups.push_back({{named(pmu + "/a/", "imc/a/"), named(pmu + "/b/", "imc/b/")}, {}});
    std::vector<metagroup::MetaGroup::Member> members;
    for (std::uint32_t i = 0; i < groups.size(); ++i)
        members.push_back({i, 0, i});
    const tool::Aggregation rows(tool::AggrMode::all, metagroup::CpuList({0}));
    const std::array<std::uint64_t, 2> counted{3, 5};
    const auto columns_of = [&](bool merge) {
        tool::Counts counts(std::make_shared<tool::CountLayout>(groups, members, rows, merge));
        for (std::size_t i = 0; i < members.size(); ++i)
            counts.add(i, {.to = 100, .enabled = 100, .running = 100, .counts = counted});
        counts.add_up();
        std::vector<std::pair<std::string, double>> columns;
        for (std::size_t i = 0; i < counts.columns().size(); ++i)
            columns.emplace_back(counts.columns()[i].event, counts.at(0, i).value());
        return columns;
    };
    using Sums = std::vector<std::pair<std::string, double>>;
    CHECK(columns_of(true) == Sums{{"imc/a/", 6}, {"imc/a/", 6}, {"imc/a/", 6}, {"imc/b/", 10}});
    CHECK(columns_of(false).size() == 8);
    CHECK(columns_of(false)[1] == std::pair<std::string, double>("imc_1/a/", 3));
}

TEST_CASE("stat counts duration_time under perf's name") {
    const auto lines = json_lines(tool_output("stat -A -j -e duration_time,dummy --timeout 100ms"));
    CHECK(lines.at(0).at("event") == "duration_time");
    CHECK(lines.at(0).at("unit") == "ns");
    CHECK(lines.at(0).at("counter-value").get<double>() ==
          Catch::Approx(lines.at(0).at("elapsed").get<double>() * 1e9).epsilon(0.2));
    CHECK(lines.at(1).at("event") == "dummy");  // the time has one row for all CPUs
    CHECK(lines.size() == 1 + number_online() + 1);
}

TEST_CASE("A recording of duration_time has one row for it") {
    const metagroup::test::TempTree tree;
    const std::string file = tree.path("perf.data");
    tool_output("record -e duration_time,cpu-clock -o " + file + " -- sleep 0.2");
    const std::string text = tool_output("report -A -x , " + file);
    CAPTURE(text);
    CHECK_THAT(text, ContainsSubstring(",duration_time,") && !ContainsSubstring("not counted"));
    const auto row = json_lines(tool_output("report -j " + file)).at(0);
    CHECK(row.at("event") == "duration_time");
    CHECK(row.at("unit") == "ns");  // as stat has it: the CPU may be idle
    CHECK(row.at("counter-value").get<double>() > 0.1e9);
    CHECK(row.at("counter-value").get<double>() < 10e9);
    CHECK(row.at("metric-unit") == "/sec");
}

TEST_CASE("An event that some CPUs count for all has rows only for these", "[no-module]") {
    const metagroup::test::TempTree tree;
    const tool::Aggregation rows(tool::AggrMode::cpu, metagroup::CpuList({0, 1}), tree.path());
    const std::vector<metagroup::MetaGroup::Member> members{{0, 0, 0}, {1, 1, 0}, {2, 1, 1}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        metagroup::parse_events("page-faults,minor-faults,major-faults"), members, rows));
    counts.add_up();
    const tool::Metrics metrics(counts.columns());
    tool::Output output(tree.path("output"));
    tool::make_csv_report(output, {rows, counts.columns(), metrics, "", "", "per-fd", "groups"},
                          ",")
        ->whole({}, counts);
    std::vector<std::string> shown;
    for (const std::string& line : split(contents_of(tree.path("output")), '\n'))
        shown.push_back(line.substr(0, line.find(',', 5)) + split(line, ',').at(3));
    CHECK(shown == std::vector<std::string>{
                       "CPU0,<not counted>page-faults", "CPU1,<not counted>page-faults",
                       "CPU1,<not counted>minor-faults", "CPU0,<not supported>major-faults",
                       "CPU1,<not supported>major-faults"});
}

TEST_CASE("stat counts each tracepoint that matches a wildcard") {
    if (::access("/sys/kernel/tracing/events/irq/softirq_entry/id", R_OK) != 0)
        SKIP("tracefs cannot be read");
    const auto lines = json_lines(tool_output("stat -j -e 'irq:softirq_*' --timeout 10ms"));
    CHECK(lines.size() == 4);  // entry, exit, raise, and the overhead
    CHECK(lines.at(0).at("event") == "irq:softirq_entry");
}

TEST_CASE("A weak group that cannot be counted is counted event by event") {
    // No machine has both.
    const std::string weak = "{dummy,L1-icache-stores}:W";
    CHECK(metagroup::divide_weak(metagroup::parse_events(weak)).size() == 2);
    CHECK(metagroup::divide_weak(metagroup::parse_events("{dummy,cpu-clock}:W")).size() == 1);
    const auto lines = json_lines(tool_output("stat -j --timeout 10ms -e '" + weak + "'"));
    CHECK(lines.at(0).at("counter-value") == 0);
    CHECK(lines.at(1).at("counter-value") == "<not supported>");
}
