// SPDX-License-Identifier: MIT
// The numbers of top.
#include <array>

#include "program.hpp"
#include "top/source.hpp"

namespace {

std::vector<tool::Cell> cells_of(const tool::Counts& counts) {
    std::vector<tool::Cell> cells;
    tool::Figures(counts.columns()).fill(cells, counts);
    return cells;
}

}  // namespace

TEST_CASE("A number is an estimate if the event was not always on the PMU", "[no-module]") {
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        std::vector<tool::Column>{{.event = "a"}},
        std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {1, 0, 1}},
        tool::Aggregation(metagroup::AggrMode::cpu, metagroup::CpuList({0, 1}))));
    const std::array<std::uint64_t, 1> some{100};
    counts.add(0, {.to = 1000, .enabled = 1000, .running = 1000, .counts = some});
    counts.add(1, {.to = 1000, .enabled = 1000, .running = 500, .missed = 1, .counts = some});
    counts.add_up(1000);
    const auto cells = cells_of(counts);
    CHECK_FALSE(cells.at(0).estimated);
    CHECK(cells.at(1).estimated);
    CHECK(cells.at(2).estimated);  // all
    CHECK_FALSE(cells.at(2).lacks_cpus());
}

TEST_CASE("A reading has a value in its unit, not a rate", "[no-module]") {
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        std::vector<tool::Column>{{.event = "margin", .unit = "C", .reading = true}},
        std::vector<tool::CountLayout::Lane>{{0, 0, 1}},
        tool::Aggregation(metagroup::AggrMode::cpu, metagroup::CpuList({0}))));
    const std::array<std::uint64_t, 1> margin{40};
    counts.add(0, {.to = 1000, .counts = margin, .readings = margin});
    counts.add_up(1000);
    CHECK(cells_of(counts).at(0).value == 40);
    CHECK(tool::Figures(counts.columns()).series().at(0).unit == "C");
}
