// SPDX-License-Identifier: MIT
// The parts of metagroup top that need no terminal.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "top/interval.hpp"
#include "top/model.hpp"
#include "top/view.hpp"

using namespace std::chrono_literals;
using tool::Cell;
using tool::History;
using tool::Layout;
using tool::Model;
using tool::Update;

namespace {

using Order = std::vector<std::size_t>;

// Three CPUs, two events; the first row of numbers is the first CPU's, the last the total.
Model model() {
    return {{{"CPU0", 1}, {"CPU1", 1}, {"CPU2", 1}}, {{"cycles", "/s"}, {"IPC", ""}}};
}

Update update(std::vector<Cell> cells) {
    return {std::move(cells), {1, 1, 1}};
}

Update example() {
    return update({{20}, {0.5}, {30}, {}, {10}, {1.5}, {60}, {1}});
}

}  // namespace

TEST_CASE("A history gives the newest values, and drops the oldest", "[no-module]") {
    History history;
    CHECK_FALSE(history.ago(0));
    for (std::size_t i = 0; i <= History::kLength; ++i)
        history.add(static_cast<double>(i));
    CHECK(history.ago(0) == static_cast<double>(History::kLength));
    CHECK(history.ago(History::kLength - 1) == 1);
    CHECK_FALSE(history.ago(History::kLength));
}

TEST_CASE("The peak is that of the newest values", "[no-module]") {
    History history;
    for (const double value : {9.0, 2.0, 3.0})
        history.add(value);
    CHECK(history.peak() == 9);
    CHECK(history.peak(2) == 3);
    CHECK(History().peak() == 0);
}

TEST_CASE("A graph has the newest value on the right", "[no-module]") {
    History history;
    history.add(0);
    history.add(50);
    history.add(100);
    CHECK(tool::graph(history, 4, 100, true) == " ▁▅█");
    CHECK(tool::graph(history, 4, 100, false) == " _=#");
}

TEST_CASE("In a graph small values differ from zero, and unknown ones are blank", "[no-module]") {
    History history;
    history.add(1);
    history.add({});
    history.add(0);
    CHECK(tool::graph(history, 3, 1e9, false) == ". _");
    CHECK(tool::graph(history, 3, 0, false) == "_ _");
}

TEST_CASE("Places are in their own order at first", "[no-module]") {
    Model shown = model();
    shown.update(example());
    CHECK(shown.order() == Order{0, 1, 2});
}

TEST_CASE("A column is sorted from the largest, then reversed", "[no-module]") {
    Model shown = model();
    shown.update(example());
    shown.sort_by(1);
    CHECK(shown.order() == Order{1, 0, 2});
    shown.sort_by(1);
    CHECK(shown.order() == Order{2, 0, 1});
}

TEST_CASE("Unknown values are at the bottom in any order", "[no-module]") {
    Model shown = model();
    shown.update(example());
    shown.sort_by(2);
    CHECK(shown.order() == Order{2, 0, 1});
    shown.reverse();
    CHECK(shown.order() == Order{0, 2, 1});
}

TEST_CASE("Places of the same value keep their order", "[no-module]") {
    Model shown = model();
    shown.update(update({{5}, {}, {5}, {}, {5}, {}, {15}, {}}));
    shown.sort_by(1);
    CHECK(shown.order() == Order{0, 1, 2});
}

TEST_CASE("Sorting goes from column to column and stays at the ends", "[no-module]") {
    Model shown = model();
    shown.sort_left();
    CHECK(shown.sorted_by() == Model::kByPlace);
    for (int i = 0; i < 5; ++i)
        shown.sort_right();
    CHECK(shown.sorted_by() == 2);
    shown.sort_by(9);
    CHECK(shown.sorted_by() == 2);
    CHECK(shown.descending());
}

TEST_CASE("New values are sorted again", "[no-module]") {
    Model shown = model();
    shown.sort_by(1);
    shown.update(example());
    shown.update(update({{1}, {}, {2}, {}, {3}, {}, {6}, {}}));
    CHECK(shown.order() == Order{2, 1, 0});
    CHECK(shown.history(0, 0).ago(1) == 20);
    CHECK(shown.cell(shown.total(), 0).value == 6);
}

TEST_CASE("Rows of a column share its peak, without the total", "[no-module]") {
    Model shown = model();
    shown.update(example());
    CHECK(shown.peak(0, 4) == 30);
    CHECK(shown.peak(1, 4) == 1.5);
}

TEST_CASE("Columns share the width, and those that do not fit are left out", "[no-module]") {
    const Layout all(75, 4, 0, 0);
    CHECK(all.shown == 4);
    CHECK(all.shown * (all.width() + Layout::kGap) <= 75);
    const Layout some(75, 9, 0, 0);
    CHECK(some.shown == 5);
    CHECK(some.shown * (some.width() + Layout::kGap) <= 75);
}

TEST_CASE("The wanted column is shown", "[no-module]") {
    CHECK(Layout(75, 9, 0, 7).first == 3);
    CHECK(Layout(75, 9, 3, 1).first == 1);
    CHECK(Layout(75, 9, 3, 5).first == 3);
    CHECK(Layout(200, 9, 3, 8).first == 0);
}

TEST_CASE("A narrow screen has a number without graph, or no column", "[no-module]") {
    CHECK(Layout(10, 3, 0, 0).shown == 1);
    CHECK(Layout(10, 3, 0, 2).first == 2);
    CHECK(Layout(5, 3, 0, 0).shown == 0);
    CHECK(Layout(0, 3, 0, 2).shown == 0);
    CHECK(Layout(80, 0, 0, 0).shown == 0);
}

TEST_CASE("Scrolling ends where the window is full", "[no-module]") {
    CHECK(tool::scroll_to(5, 100, 20) == 5);
    CHECK(tool::scroll_to(95, 100, 20) == 80);
    CHECK(tool::scroll_to(3, 10, 20) == 0);
}

TEST_CASE("Intervals go up and down in steps, within bounds", "[no-module]") {
    CHECK(tool::longer(1s) == 2s);
    CHECK(tool::longer(300ms) == 500ms);
    CHECK(tool::shorter(1s) == 500ms);
    CHECK(tool::shorter(3s) == 2s);
    CHECK(tool::shorter(72h) == tool::kLongestInterval);
    CHECK(tool::shorter(tool::kShortestInterval) == tool::kShortestInterval);
    CHECK(tool::longer(tool::kLongestInterval) == tool::kLongestInterval);
}
