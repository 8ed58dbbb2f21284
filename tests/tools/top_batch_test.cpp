// SPDX-License-Identifier: MIT
// metagroup top --batch: plain lines.
#include "program.hpp"
#include "top/batch.hpp"
#include "top/source.hpp"

TEST_CASE("In plain lines each value follows its name", "[no-module]") {
    using metagroup::CpuList;
    tool::Model shown({{"CPU0", CpuList({0})}, {"CPU1", CpuList({1})}, {"CPU2", CpuList({2})}},
                      {{"cycles", "/s"}, {"IPC", ""}});
    shown.update({{{20, true}, {0.5}, {30}, {}, {10}, {1.5}, {60}, {1}}, {1, 1, 0}});
    shown.sort_by(1);
    CHECK(tool::plain_lines(shown, "1: per-fd") ==
          "1: per-fd\n"
          "total 2/3: cycles 60.0/s, IPC 1.00\n"
          "CPU1: cycles 30.0/s, IPC not counted\n"
          "CPU0: cycles about 20.0/s, IPC 0.50\n"
          "CPU2: offline\n"
          "\n");
}

TEST_CASE("Plain lines say how many CPUs a number includes", "[no-module]") {
    tool::Model shown({{"S0", metagroup::CpuList({0, 1, 2, 3})}}, {{"cycles", "/s"}, {"IPC", ""}});
    const std::vector<tool::Cell> row{{30, true, 3, 4}, {1}};
    shown.update({{row[0], row[1], row[0], row[1]}, {4}});
    CHECK(tool::plain_lines(shown, "1") ==
          "1\n"
          "total 3/4: cycles about 30.0/s (3 of 4 CPUs), IPC 1.00\n"
          "S0 3/4: cycles about 30.0/s (3 of 4 CPUs), IPC 1.00\n"
          "\n");
}

TEST_CASE("top --batch prints plain lines without a terminal, and ends after -n updates") {
    const std::string text =
        tool_output("top --batch -n 2 -d 0.1 -e cpu-clock,page-faults </dev/null");
    CHECK_THAT(text, ContainsSubstring("1: ") && ContainsSubstring("\n2: ") &&
                         !ContainsSubstring("\n3: "));
    const std::regex row("CPU0: cpu-clock [0-9.]+ CPUs, page-faults [0-9.]+[kM]?/s\n");
    CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), row), {}) == 2);
    CHECK(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST_CASE("top --filter prints only matching rows, and refuses a filter that matches none") {
    const std::string text = tool_output("top -b -n 1 -d 0.1 -e cpu-clock --filter CPU0");
    CHECK_THAT(text, ContainsSubstring("CPU0: ") && ContainsSubstring("total: ") &&
                         !ContainsSubstring("CPU1: "));
    tool_fails("top -b -n 1 -e cpu-clock --filter rack", {"--filter rack", "CPU0"});
}

TEST_CASE("top -M has a column for the metric in place of its events") {
    metagroup::test::TempTree tree;
    tree.file("mine.json", R"([{"MetricName": "clocks_per_clock", "ScaleUnit": "100%",
        "MetricExpr": "task\\-clock / cpu\\-clock"}])");
    const std::string options =
        "top -b -n 1 -d 0.1 -M clocks_per_clock --metric-dir " + tree.path() + " ";
    const std::string alone = tool_output(options);
    CHECK_THAT(alone, ContainsSubstring("CPU0: clocks_per_clock ") && ContainsSubstring(" %\n") &&
                          !ContainsSubstring("-clock"));
    CHECK_THAT(tool_output(options + "-e page-faults"),
               ContainsSubstring(" %, page-faults ") && !ContainsSubstring("-clock"));
}
