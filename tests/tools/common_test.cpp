// SPDX-License-Identifier: MIT
// The parts that subcommands share and that need no counters, and the instructions of an interval
// of `stat -I` after its sweep: they take CPU time from the measured load.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/count_report.hpp"
#include "common/counts.hpp"
#include "common/late_cpus.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "common/totals.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"
#include "support/instruction_counter.hpp"
#include "support/temp_tree.hpp"

using namespace std::chrono_literals;
using tool::Aggregation;
using tool::AggrMode;
using tool::Columns;
using tool::entry;
using tool::fold;
using tool::short_number;
using tool::Signals;
using tool::Ticker;
using Lines = std::vector<std::string>;
TEST_CASE("CPUs that come online while all online CPUs are counted are reported as late") {
    const auto list = [](const char* text) { return metagroup::CpuList::parse(text); };
    const tool::LateCpus all(list("0-3"), list("0-3"));
    CHECK(all.among(list("0-5,8")) == list("4-5,8"));
    CHECK(all.among(list("0-2")).empty());
    CHECK(tool::LateCpus(list("0,2"), list("0-3")).among(list("0-5")).empty());
    CHECK(tool::LateCpus(list("0-7"), list("0-3")).among(list("0-7")).empty());
    CHECK(all.message().find("CPU") == (all.among().empty() ? std::string::npos : 0));
}

TEST_CASE("A ratio needs both events, with the same modifiers", "[no-module]") {
    const tool::Metrics metrics({{.event = "cycles"},
                                 {.event = "instructions"},
                                 {.event = "branch-misses"},
                                 {.event = "cycles:u"}});
    REQUIRE(metrics.ratio_of(1)->name == "IPC");
    REQUIRE(metrics.ratio_of(1)->divisor == 0);
    REQUIRE_FALSE(metrics.ratio_of(0));
    REQUIRE_FALSE(metrics.ratio_of(2));
    REQUIRE_FALSE(metrics.ratio_of(3));
}
TEST_CASE("Clocks are recognized whatever their name", "[no-module]") {
    const auto is_clock = [](const char* event) {
        return metagroup::is_clock(metagroup::parse_events(event).front().events.front().attr);
    };
    CHECK(is_clock("cpu-clock"));
    CHECK(is_clock("task-clock:u"));
    CHECK(is_clock("software/config=0/"));
    CHECK_FALSE(is_clock("software/config=2,name=cpu-clock/"));
}
TEST_CASE("Ticks stay on their grid when one is late", "[no-module]") {
    const Signals signals{SIGUSR1};
    const auto start = Ticker::Clock::now();
    Ticker ticker(10ms, start - 35ms);
    REQUIRE(ticker.wait(signals) == 0);
    REQUIRE(ticker.missed() == 3);
    REQUIRE(Ticker::Clock::now() >= start + 5ms);
    REQUIRE(ticker.lateness() >= 0ms);
}
TEST_CASE("A signal ends the wait for a tick", "[no-module]") {
    const Signals signals{SIGUSR1};
    Ticker ticker(1h, Ticker::Clock::now());
    ::raise(SIGUSR1);
    REQUIRE(ticker.wait(signals) == SIGUSR1);
    REQUIRE(ticker.missed() == 0);
}
TEST_CASE("Work during the wait for a tick does not count as a missed tick", "[no-module]") {
    struct Busy {
        int wait_until(Ticker::Clock::time_point deadline) const {
            std::this_thread::sleep_until(deadline + 20ms);
            return 0;
        }
    };
    Ticker ticker(1h, Ticker::Clock::now() - 1h + 10ms);
    REQUIRE(ticker.wait(Busy{}) == 0);
    REQUIRE(ticker.lateness() >= 20ms);
    REQUIRE(ticker.missed() == 0);
}
TEST_CASE("A restarted ticker keeps its missed ticks", "[no-module]") {
    const Signals signals{SIGUSR1};
    Ticker ticker(10ms, Ticker::Clock::now() - 35ms);
    REQUIRE(ticker.wait(signals) == 0);
    const auto missed = ticker.missed();
    const auto start = Ticker::Clock::now();
    ticker.restart(30ms);
    REQUIRE(ticker.wait(signals) == 0);
    REQUIRE(Ticker::Clock::now() >= start + 30ms);
    REQUIRE(ticker.missed() == missed);
}
using metagroup::MetaGroup;
using metagroup::ReadFormat;
using metagroup::Snapshot;
using metagroup::test::Frame;

namespace {

// Two sockets of two cores of two threads, numbered as usual.
class Machine {
  public:
    Machine() {
        for (int cpu = 0; cpu < 8; ++cpu) {
            const std::string directory = "cpu/cpu" + std::to_string(cpu);
            const int core = cpu % 4;
            tree_.file(directory + "/topology/physical_package_id", std::to_string(core / 2));
            tree_.file(directory + "/topology/die_id", "0");
            tree_.file(directory + "/topology/core_id", std::to_string(core % 2));
        }
        tree_.file("node/node0/cpulist", "0-1,4-5").file("node/node1/cpulist", "2-3,6-7");
    }
    Aggregation rows(AggrMode mode) const {
        return {mode, metagroup::CpuList::parse("0-7"), tree_.path()};
    }

  private:
    metagroup::test::TempTree tree_;
};

constexpr std::uint32_t kCpus = 32;

// Four events on 32 CPUs, in one row each: a group, or each by itself.
class Interval {
  public:
    using MakeReport = std::function<std::unique_ptr<tool::Report>(tool::Output&, tool::Subject)>;

    Interval(const MakeReport& make_report, bool grouped)
        : groups_(metagroup::parse_events(grouped ? "{" + std::string(kEvents) + "}" : kEvents)),
          report_(make_report(output_, {rows_, counts_.columns(), metrics_, "system wide", "",
                                        "module", "groups"})) {
        for (std::uint64_t second = 1; second <= 4; ++second)
            snapshots_.push_back(snapshot(second));
        accumulator_.add(counts_, snapshots_.front());
    }

    void show() {
        counts_.clear();
        accumulator_.add(counts_, snapshots_.at(++shown_));
        counts_.add_up(1'000'000'000);
        report_->interval(1234.567890123, counts_);
    }

  private:
    static constexpr const char* kEvents = "cpu-clock,task-clock,context-switches,page-faults";

    // By CPU, then by group, as MetaGroup::open() has them.
    std::vector<MetaGroup::Member> members() const {
        std::vector<MetaGroup::Member> all;
        for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu)
            for (std::size_t group = 0; group < groups_.size(); ++group)
                all.push_back(
                    {static_cast<std::uint32_t>(all.size()), static_cast<int>(cpu), group});
        return all;
    }

    Snapshot snapshot(std::uint64_t second) const {
        constexpr auto format =
            static_cast<std::uint32_t>(ReadFormat::group | ReadFormat::total_time_enabled |
                                       ReadFormat::total_time_running | ReadFormat::id);
        const std::uint64_t time = second * 1'000'000'000;
        std::vector<Frame> frames;
        for (const MetaGroup::Member& member : members()) {
            const std::array<std::uint64_t, 4> counts{time, time / 7 * 13, second * 1'234'567,
                                                      second * 321};
            std::vector<metagroup::test::Event> events;
            for (std::size_t i = 0; i < groups_[member.group].events.size(); ++i)
                events.push_back({counts[member.group + i], 4ULL * member.number + i});
            frames.push_back({member.number, static_cast<std::uint32_t>(member.cpu), time,
                              metagroup::test::payload(format, events, time, time), format});
        }
        return metagroup::test::snapshot(metagroup::test::framed(frames));
    }

    const std::vector<metagroup::GroupSpec> groups_;
    std::vector<Snapshot> snapshots_;
    std::size_t shown_ = 0;
    const tool::Aggregation rows_{tool::AggrMode::all, metagroup::CpuList::parse("0-31")};
    tool::Counts counts_{std::make_shared<tool::CountLayout>(groups_, members(), rows_)};
    tool::Accumulator accumulator_{members().size()};
    const tool::Metrics metrics_{counts_.columns()};
    tool::Output output_{"/dev/null"};
    std::unique_ptr<tool::Report> report_;
};

void check_instructions(const Interval::MakeReport& make_report, std::uint64_t most,
                        bool grouped = true) {
    Interval interval(make_report, grouped);
    const auto instructions = metagroup::test::count_instructions([&] { interval.show(); });
    if (!instructions) SKIP("not optimized, or processes may not be traced here");
    UNSCOPED_INFO("instructions: " << *instructions);
    CHECK(*instructions > 1000);
    CHECK(*instructions <= most);
}

}  // namespace

TEST_CASE("Threads of a core share one row", "[no-module]") {
    const Aggregation rows = Machine().rows(AggrMode::core);
    REQUIRE(rows.places().size() == 4);
    REQUIRE(rows.places()[1].name == "S0-D0-C1");
    REQUIRE(rows.places()[1].cpus.size() == 2);
    REQUIRE(rows.index_of(1) == rows.index_of(5));
}

TEST_CASE("Sockets and nodes contain their CPUs", "[no-module]") {
    const Machine machine;
    for (const AggrMode mode : {AggrMode::socket, AggrMode::node}) {
        const Aggregation rows = machine.rows(mode);
        REQUIRE(rows.places().size() == 2);
        REQUIRE(rows.places()[0].cpus.size() == 4);
        REQUIRE(rows.index_of(4) == 0);
        REQUIRE(rows.index_of(6) == 1);
    }
}

TEST_CASE("Without dies each socket has one", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "0").file("cpu/cpu0/topology/core_id", "3");
    const Aggregation rows(AggrMode::core, metagroup::CpuList::parse("0"), tree.path());
    REQUIRE(rows.places().front().name == "S0-D0-C3");
}

TEST_CASE("A missing topology is an error that names the file", "[no-module]") {
    const metagroup::test::TempTree nothing;
    REQUIRE_THROWS_AS(Aggregation(AggrMode::socket, metagroup::CpuList::parse("0"), nothing.path()),
                      std::system_error);
}

TEST_CASE("Text is wrapped at blanks", "[no-module]") {
    CHECK(fold("one two three", 8) == Lines{"one two", "three"});
    CHECK(fold("  one \t two\n", 80) == Lines{"one two"});
    CHECK(fold("", 80).empty());
}

TEST_CASE("A word that is too long gets its own line", "[no-module]") {
    CHECK(fold("a incomprehensible b", 8) == Lines{"a", "incomprehensible", "b"});
}

TEST_CASE("Characters of several bytes take one column", "[no-module]") {
    CHECK(fold("µµµ µµµ", 7) == Lines{"µµµ µµµ"});
}

TEST_CASE("The text of an entry begins in its column", "[no-module]") {
    const Columns columns{.indent = 2, .text = 10, .width = 31};
    CHECK(entry("name", "a text that is longer", columns) == "  name    a text that is longer\n");
    CHECK(entry("name", "a text that is longer still", columns) ==
          "  name    a text that is longer\n          still\n");
    CHECK(entry("name", "", columns) == "  name\n");
}

TEST_CASE("The text of a long name begins on the next line", "[no-module]") {
    CHECK(entry("long-name", "text", {.indent = 2, .text = 10, .width = 31}) ==
          "  long-name\n          text\n");
}

TEST_CASE("Numbers have three digits and a prefix", "[no-module]") {
    CHECK(short_number(0) == "0");
    CHECK(short_number(0.05) == "0.05");
    CHECK(short_number(7) == "7.00");
    CHECK(short_number(42.25) == "42.2");
    CHECK(short_number(999) == "999");
    CHECK(short_number(12'345) == "12.3k");
    CHECK(short_number(3.2e9) == "3.20G");
    CHECK(short_number(1.8e19) == "18.0E");
}

TEST_CASE("Numbers are rounded before their prefix is chosen", "[no-module]") {
    CHECK(short_number(9.996) == "10.0");
    CHECK(short_number(99.96) == "100");
    CHECK(short_number(999.6) == "1.00k");
    CHECK(short_number(999'600) == "1.00M");
}

TEST_CASE("Numbers beyond all prefixes, and infinity, fit", "[no-module]") {
    CHECK(short_number(0.0001) == "1e-04");
    CHECK(short_number(1e22) == "1e+22");
    CHECK(short_number(1.0 / 0.0) == "-");
    for (double value = 1e-9; value < 1e30; value *= 3.7) {
        CAPTURE(value);
        CHECK(short_number(value).size() <= 5);
    }
}

TEST_CASE("Times use a suitable unit", "[no-module]") {
    CHECK(tool::with_unit(250ns) == "250 ns");
    CHECK(tool::with_unit(51'200ns) == "51.2 us");
    CHECK(tool::with_unit(200ms) == "200 ms");
    CHECK(tool::with_unit(1500ms) == "1.5 s");
}

TEST_CASE("Text is cut between characters", "[no-module]") {
    CHECK(tool::clip("abc", 2) == "ab");
    CHECK(tool::clip("▁▂▃", 2) == "▁▂");
    CHECK(tool::clip("▁▂▃", 3) == "▁▂▃");
    CHECK(tool::clip("abc", 0).empty());
    CHECK(tool::display_width("▁b▃") == 3);
}

// perf stat -I takes 43,000 with its reads.
TEST_CASE("An interval of 32 CPUs as text takes few instructions", "[no-module]") {
    check_instructions(tool::make_text_report, 34'000);
}

TEST_CASE("An interval of 32 CPUs takes few instructions if the events are not a group",
          "[no-module]") {
    check_instructions(tool::make_text_report, 70'000, false);
}

TEST_CASE("An interval of 32 CPUs as CSV takes few instructions", "[no-module]") {
    check_instructions(
        [](tool::Output& output, tool::Subject subject) {
            return tool::make_csv_report(output, std::move(subject), ",");
        },
        36'500);
}

TEST_CASE("An interval of 32 CPUs as JSON takes few instructions", "[no-module]") {
    check_instructions(tool::make_json_report, 44'000);
}

TEST_CASE("An interval as text allocates nothing", "[no-module]") {
    Interval interval(tool::make_text_report, true);
    for (int i = 0; i < 2; ++i)
        interval.show();
    const metagroup::test::AllocationCounter allocations;
    interval.show();
    CHECK(allocations.count() == 0);
}
