// SPDX-License-Identifier: MIT
// metagroup top: its parts, and on a pseudo-terminal what needs no picture of the screen, for which
// there is top_test.py.
#include "program.hpp"
#include "support/cpus.hpp"
#include "support/settings.hpp"
#include "top/source.hpp"
#include "top/view.hpp"

using Catch::Matchers::StartsWith;
using metagroup::Backend;
using tool::AggrMode;
using tool::Cell;
using tool::History;
using tool::Layout;
using tool::LiveSource;
using tool::Model;
using tool::Update;

namespace {

using Order = std::vector<std::size_t>;

// Three CPUs, two events; the first row of numbers is the first CPU's, the last the total.
Model model() {
    using metagroup::CpuList;
    return {{{"CPU0", CpuList({0})}, {"CPU1", CpuList({1})}, {"CPU2", CpuList({2})}},
            {{"cycles", "/s"}, {"IPC", ""}}};
}

Update update(std::vector<Cell> cells) {
    return {std::move(cells), {1, 1, 1}};
}

Update example() {
    return update({{20}, {0.5}, {30}, {}, {10}, {1.5}, {60}, {1}});
}

metagroup::MetaGroup::Options counting(const char* events, Backend backend = Backend::automatic) {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.cpus = metagroup::CpuList::online();
    options.backend = backend;
    options.start_disabled = true;
    return options;
}

// Samples until the condition holds. \return false after a time limit.
bool comes(LiveSource& sampler, const std::function<bool(const Update&)>& so) {
    for (int tries = 0; tries < 200; ++tries) {
        std::this_thread::sleep_for(50ms);
        while (const Update* update = sampler.sample()) {
            if (so(*update)) return true;
            if (!sampler.has_batches()) break;
        }
    }
    return false;
}

std::vector<std::string> top(std::initializer_list<std::string> arguments = {},
                             const char* delay = "0.1") {
    std::vector<std::string> words{METAGROUP_TOOL,          "top", "-e",
                                   "cpu-clock,page-faults", "-d",  delay};
    words.insert(words.end(), arguments);
    return words;
}

// Takes the intervals that are there. \return their number.
int drain(
    LiveSource& sampler, const std::function<void(const Update&)>& check = [](const Update&) {}) {
    int updates = 0;
    for (; const Update* update = sampler.sample(); ++updates)
        check(*update);
    return updates;
}

int milliseconds_since(std::chrono::steady_clock::time_point start) {
    return static_cast<int>((std::chrono::steady_clock::now() - start) / 1ms);
}

}  // namespace

TEST_CASE("A history keeps the newest values, not the oldest", "[no-module]") {
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

TEST_CASE("In a graph small values differ from zero, and unknown values are blank", "[no-module]") {
    History history;
    history.add(1);
    history.add({});
    history.add(0);
    CHECK(tool::graph(history, 3, 1e9, false) == ". _");
    CHECK(tool::graph(history, 3, 0, false) == "_ _");
}

TEST_CASE("Rows are in their original order until they are sorted", "[no-module]") {
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

TEST_CASE("Rows with the same value keep their order", "[no-module]") {
    Model shown = model();
    shown.update(update({{5}, {}, {5}, {}, {5}, {}, {15}, {}}));
    shown.sort_by(1);
    CHECK(shown.order() == Order{0, 1, 2});
}

TEST_CASE("The sort column moves from column to column, and stops at the first and the last",
          "[no-module]") {
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

TEST_CASE("Rows are sorted again when values change", "[no-module]") {
    Model shown = model();
    shown.sort_by(1);
    shown.update(example());
    shown.update(update({{1}, {}, {2}, {}, {3}, {}, {6}, {}}));
    CHECK(shown.order() == Order{2, 1, 0});
    CHECK(shown.history(0, 0).ago(1) == 20);
    CHECK(shown.cell(shown.total(), 0).value == 6);
}

TEST_CASE("All rows of a column except the total share its peak", "[no-module]") {
    Model shown = model();
    shown.update(example());
    CHECK(shown.peak(0, 4) == 30);
    CHECK(shown.peak(1, 4) == 1.5);
}

TEST_CASE("A filter selects rows by CPUs or by a part of the name", "[no-module]") {
    Model shown = model();
    shown.update(example());
    const auto [text, rows] = GENERATE(table<std::string, Order>({{"", {0, 1, 2}},
                                                                  {"1-2,8", {1, 2}},
                                                                  {"cpu2", {2}},
                                                                  {"U", {0, 1, 2}},
                                                                  {"1-", {}},
                                                                  {"S0", {}}}));
    CAPTURE(text);
    shown.filter(text);
    CHECK(shown.order() == rows);
    CHECK(shown.cell(shown.total(), 0).value == 60);
}

TEST_CASE("A filter by CPUs selects the row that they are folded into", "[no-module]") {
    Model shown = model();
    shown.filter("3");
    shown.sort_by(1);
    shown.replace({{"S0", metagroup::CpuList({0, 1})}, {"S1", metagroup::CpuList({2, 3})}});
    CHECK(shown.order() == Order{1});
    CHECK(shown.sorted_by() == 1);
    CHECK_FALSE(shown.cell(1, 0).value);
}

TEST_CASE("Folding starts with CPUs, and finally returns to them") {
    LiveSource sampler(counting("cpu-clock"), AggrMode::cpu);
    const std::string first = sampler.places().front().name;
    REQUIRE(sampler.fold());
    CHECK_THAT(sampler.places().front().name, StartsWith("S0-D0-C"));
    sampler.restart(100ms);
    std::this_thread::sleep_for(50ms);
    const Update& update = *sampler.sample();
    REQUIRE(update.cells.size() == sampler.places().size() + 1);
    REQUIRE(update.online.size() == sampler.places().size());
    CHECK(update.cells.back().value.value() ==
          Approx(static_cast<double>(number_online())).epsilon(0.05));
    for (int folds = 0; folds < 5 && sampler.places().front().name != first; ++folds)
        sampler.fold();
    CHECK(sampler.places().front().name == first);
}

TEST_CASE("Columns share the width, and columns that do not fit are left out", "[no-module]") {
    const Layout all(75, 4, 0, 0);
    CHECK(all.shown == 4);
    CHECK(all.shown * (all.width() + Layout::kGap) <= 75);
    const Layout some(75, 9, 0, 0);
    CHECK(some.shown == 5);
    CHECK(some.shown * (some.width() + Layout::kGap) <= 75);
}

TEST_CASE("The selected column is shown", "[no-module]") {
    CHECK(Layout(75, 9, 0, 7).first == 3);
    CHECK(Layout(75, 9, 3, 1).first == 1);
    CHECK(Layout(75, 9, 3, 5).first == 3);
    CHECK(Layout(200, 9, 3, 8).first == 0);
}

TEST_CASE("A narrow screen has numbers without graphs, or no columns", "[no-module]") {
    CHECK(Layout(10, 3, 0, 0).shown == 1);
    CHECK(Layout(10, 3, 0, 2).first == 2);
    CHECK(Layout(5, 3, 0, 0).shown == 0);
    CHECK(Layout(0, 3, 0, 2).shown == 0);
    CHECK(Layout(80, 0, 0, 0).shown == 0);
}

TEST_CASE("Scrolling stops when the last row is visible", "[no-module]") {
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

TEST_CASE("The clock of a CPU counts one second per second") {
    LiveSource sampler(counting("cpu-clock,page-faults"), AggrMode::cpu);
    std::this_thread::sleep_for(50ms);
    const Update& update = *sampler.sample();
    const std::size_t cpus = sampler.places().size();
    REQUIRE(update.cells.size() == (cpus + 1) * 2);
    for (std::size_t place = 0; place < cpus; ++place)
        CHECK(update.cells[place * 2].value.value() == Approx(1).epsilon(0.05));
    CHECK(update.cells[cpus * 2].value.value() == Approx(static_cast<double>(cpus)).epsilon(0.05));
}

TEST_CASE("Columns are events with their units, then ratios") {
    const auto series = LiveSource(counting("{cpu-clock,page-faults}"), AggrMode::all).series();
    REQUIRE(series.size() == 2);
    CHECK(series[0].name == "cpu-clock");
    CHECK(series[0].unit == "CPUs");
    CHECK(series[1].unit == "/s");
}

TEST_CASE("A number that lacks CPUs is marked, and a CPU without a count has none", "[no-module]") {
    const std::vector<tool::Column> columns{{.event = "a"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {1, 0, 1}},
        tool::Aggregation(AggrMode::cpu, metagroup::CpuList({0, 1}))));
    constexpr std::uint64_t second = 1'000'000'000;
    const std::array<std::uint64_t, 1> some{100};
    counts.add(0, {.to = second, .enabled = second, .running = second, .counts = some});
    counts.add_up(second);
    std::vector<Cell> cells;
    tool::Figures(columns).fill(cells, counts);
    REQUIRE(cells.size() == 3);
    CHECK(cells[0].value == 100);
    CHECK_FALSE(cells[0].estimated);
    CHECK_FALSE(cells[1].value);
    CHECK(cells[2].value == 100);
    CHECK(cells[2].estimated);
    CHECK(cells[2].counted == 1);
    CHECK(cells[2].counters == 2);
}

TEST_CASE("A row that lacks CPUs shows how many it includes", "[no-module]") {
    Model shown = model();
    CHECK(shown.name_of(shown.total()) == "total");
    Update next = example();
    next.cells[0] = {.value = 20, .estimated = true, .counted = 1, .counters = 2};
    next.cells[2] = {.value = std::nullopt, .counted = 0, .counters = 1};
    next.cells[7] = {.value = 1, .estimated = true, .counted = 2, .counters = 3};
    shown.update(next);
    CHECK(shown.name_of(0) == "CPU0");  // all of its one CPU
    CHECK(shown.name_of(1) == "CPU1");
    CHECK(shown.name_of(shown.total()) == "total 2/3");
    next.online = {1, 0, 0};
    shown.update(next);
    CHECK(shown.name_of(shown.total()) == "total 1/3");
    Model folded({{"S0", metagroup::CpuList({0, 1, 2, 3})}}, {{"cycles", "/s"}});
    folded.update({{{1, true, 3, 4}, {1, true, 3, 4}}, {4}});
    CHECK(folded.name_of(0) == "S0 3/4");
}

TEST_CASE("A ratio lacks the CPUs that either of its events lacks", "[no-module]") {
    const std::vector<tool::Column> columns{{.event = "instructions"}, {.event = "cycles"}};
    tool::Counts counts(std::make_shared<tool::CountLayout>(
        columns, std::vector<tool::CountLayout::Lane>{{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}},
        tool::Aggregation(AggrMode::cpu, metagroup::CpuList({0, 1}))));
    const std::array<std::uint64_t, 1> some{100};
    for (const std::size_t lane : {0U, 1U, 2U})
        counts.add(lane, {.to = 1000, .enabled = 1000, .running = 1000, .counts = some});
    counts.add_up(1000);
    std::vector<Cell> cells;
    tool::Figures(columns).fill(cells, counts);
    REQUIRE(cells.size() == 9);
    CHECK_FALSE(cells[6].lacks_cpus());  // instructions
    CHECK(cells[7].counted == 1);        // cycles
    CHECK(cells[8].value == 1);
    CHECK(cells[8].counted == 1);
    CHECK(cells[8].counters == 2);
}

TEST_CASE("A ratio has its own column", "[module]") {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/armv8_pmuv3") &&
        !std::filesystem::exists("/sys/bus/event_source/devices/cpu"))
        SKIP("no PMU counts cycles here");
    LiveSource sampler(counting("{cycles,cpu-clock}"), AggrMode::cpu);
    std::this_thread::sleep_for(200ms);
    REQUIRE(sampler.series().size() == 3);
    CHECK(sampler.series()[2].name == "GHz");
    CHECK(sampler.sample()->cells.back().value.value() > 0);
}

TEST_CASE("A CPU that goes offline is marked, and counts again when it is back", "[module]") {
    const auto [backend, method] =
        GENERATE(std::pair(Backend::module, "sweep"), std::pair(Backend::per_fd, "sweep"),
                 std::pair(Backend::module, "stream"));
    CAPTURE(metagroup::to_string(backend), method);
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    LiveSource sampler(counting("cpu-clock", backend), AggrMode::cpu, method);
    sampler.restart(5ms);
    REQUIRE(comes(sampler, [](const Update& update) { return update.gaps.empty(); }));
    {
        const metagroup::test::OfflineCpu gone(1);
        REQUIRE(comes(sampler, [](const Update& update) { return update.online[1] == 0; }));
        CHECK(comes(sampler, [](const Update& update) {
            return update.online[0] == 1 && update.cells[0].value && !update.cells[1].value;
        }));
    }
    REQUIRE(comes(sampler, [](const Update& update) { return update.online[1] == 1; }));
    CHECK(comes(sampler, [](const Update& update) {
        return update.cells[1].value > 0.5 && update.gaps == std::set<int>{1};
    }));
}

TEST_CASE("top reads short intervals from a stream, in batches", "[module]") {
    LiveSource sampler(counting("cpu-clock"), AggrMode::cpu, "auto");
    CHECK(sampler.restart(20ms) == 20ms);
    CHECK_FALSE(sampler.has_batches());
    const auto start = std::chrono::steady_clock::now();
    const auto batch = sampler.restart(1ms);
    REQUIRE(sampler.has_batches());
    CHECK(batch == 100ms);
    CHECK_THAT(sampler.progress(), StartsWith("stream"));
    std::this_thread::sleep_for(3 * batch);
    const int updates = drain(sampler, [](const Update& update) {
        CHECK(update.cells.front().value.value_or(1) == Approx(1).epsilon(0.1));
    });
    CHECK(updates > 10);
    CHECK(updates <= milliseconds_since(start) + 1);
}

TEST_CASE("After a pause, top shows only intervals that begin later", "[module]") {
    LiveSource sampler(counting("cpu-clock"), AggrMode::cpu, "stream");
    sampler.restart(1ms);
    sampler.pause();
    std::this_thread::sleep_for(300ms);
    const auto start = std::chrono::steady_clock::now();
    sampler.restart(1ms);
    std::this_thread::sleep_for(50ms);
    const int updates = drain(sampler);
    CHECK(updates > 0);
    CHECK(updates <= milliseconds_since(start) + 1);
}

TEST_CASE("A CPU on which a cgroup does not run is not marked as offline", "[machine][module]") {
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    CAPTURE(metagroup::to_string(backend));
    const metagroup::test::Cgroup empty("metagroup_empty");
    metagroup::MetaGroup::Options options = counting("cpu-clock", backend);
    options.cgroup = "metagroup_empty";
    LiveSource sampler(options, AggrMode::cpu);
    const std::vector<std::size_t> all(sampler.places().size(), 1);
    for (int sweep = 0; sweep < 3; ++sweep) {
        std::this_thread::sleep_for(10ms);
        CHECK(sampler.sample()->online == all);
    }
}

TEST_CASE("top exits when its terminal is closed") {
    Pty terminal(top());
    REQUIRE(terminal.shows("cpu-clock"));
    terminal.hang_up();
    CHECK(terminal.end().has_value());
}

TEST_CASE("top --count exits after that number of updates") {
    Pty terminal(top({"--count", "2"}));
    CHECK(terminal.end() == 0);
    CHECK(terminal.wrote("cpu-clock"));
}

TEST_CASE("top marks a pause, without colour if NO_COLOR is set") {
    const bool colour = GENERATE(true, false);
    CAPTURE(colour);
    Pty terminal(top(), {{"NO_COLOR", colour ? "" : "1"}});
    REQUIRE(terminal.shows("cpu-clock"));
    terminal.type("p");
    REQUIRE(terminal.shows("PAUSED"));
    CHECK(terminal.wrote("\033[33m") == colour);
}

TEST_CASE("Graphs are ASCII in an ASCII locale") {
    const bool utf8 = GENERATE(true, false);
    CAPTURE(utf8);
    Pty terminal(top({"--count", "3"}), {{"LC_ALL", utf8 ? "C.UTF-8" : "C"}});
    CHECK(terminal.end() == 0);
    CHECK(terminal.wrote("█") == utf8);
    CHECK(terminal.wrote("#") == !utf8);
}

TEST_CASE("Without a terminal, top refers to plain lines and to stat") {
    tool_fails("top -e cpu-clock </dev/null", {"--batch", "metagroup stat"});
}

TEST_CASE("top refuses invalid options") {
    tool_fails("top -d 0", {"--delay: 0 is not between"});
    tool_fails("top -d 9us", {"--delay: 9us is not between"});
    tool_fails("top -d 1 -I 100", {"excludes"});
    tool_fails("top -A --per-core", {"at most 1"});
    tool_fails("top --method guess", {"guess not in {"});
}

TEST_CASE("Without the module, top --method stream fails with the reason", "[no-module]") {
    Pty terminal(top({"--method", "stream"}));
    CHECK(terminal.end() == kFailure);
    CHECK_THAT(terminal.screen(), ContainsSubstring("--method stream") &&
                                      ContainsSubstring("perf_metagroup is not loaded"));
}

TEST_CASE("top marks a CPU that is offline at the start or goes offline later", "[module]") {
    if (metagroup::test::online_cpus().size() < 2) SKIP("needs two CPUs");
    Pty terminal(top());
    REQUIRE(terminal.shows("CPU1"));
    metagroup::test::OfflineCpu gone(1);
    CHECK(terminal.shows("offline"));
    gone.back();
    CHECK(terminal.shows("CPU1*"));
}

TEST_CASE("With the module, top reads through it, and short intervals from a stream", "[module]") {
    const bool is_short = GENERATE(false, true);
    Pty terminal(top({}, is_short ? "1ms" : "0.1"));
    CHECK(terminal.shows(is_short ? "module | stream" : "module | sweep"));
}
