// SPDX-License-Identifier: MIT
// The parts of the command metagroup that need no counters.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include "histogram.hpp"
#include "metrics.hpp"
#include "places.hpp"
#include "support/temp_tree.hpp"
#include "ticker.hpp"

using namespace std::chrono_literals;
using tool::By;
using tool::Histogram;
using tool::Places;
using tool::Signals;
using tool::Ticker;

TEST_CASE("A histogram without values has only zeros", "[no-module]") {
    const Histogram histogram;
    REQUIRE(histogram.quantile(0.5) == 0);
    REQUIRE(histogram.max() == 0);
}

TEST_CASE("Small values are kept exactly", "[no-module]") {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 31; ++value)
        histogram.add(value);
    REQUIRE(histogram.quantile(0.5) == 16);
    REQUIRE(histogram.quantile(1) == 31);
}

TEST_CASE("Quantiles of large values are off by less than one part in 32", "[no-module]") {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 100'000; ++value)
        histogram.add(value * 1000);
    for (const double part : {0.01, 0.5, 0.9, 0.99}) {
        CAPTURE(part);
        REQUIRE(static_cast<double>(histogram.quantile(part)) ==
                Catch::Approx(part * 1e8).epsilon(1.0 / 32));
    }
}

TEST_CASE("The largest of all numbers fits into a histogram", "[no-module]") {
    Histogram histogram;
    histogram.add(UINT64_MAX);
    REQUIRE(histogram.quantile(0.5) == UINT64_MAX);
}

TEST_CASE("A ratio is made where both events are counted, of the same kind", "[no-module]") {
    const tool::Metrics metrics({{"cycles", "", 1},
                                 {"instructions", "", 1},
                                 {"branch-misses", "", 1},
                                 {"cycles:u", "", 1}});
    REQUIRE(metrics.ratio_of(1)->name == "IPC");
    REQUIRE(metrics.ratio_of(1)->divisor == 0);
    REQUIRE_FALSE(metrics.ratio_of(0));
    REQUIRE_FALSE(metrics.ratio_of(2));
    REQUIRE_FALSE(metrics.ratio_of(3));
}

TEST_CASE("Clocks are told from what counts events", "[no-module]") {
    REQUIRE(tool::is_clock("cpu-clock"));
    REQUIRE(tool::is_clock("task-clock:u"));
    REQUIRE_FALSE(tool::is_clock("cycles"));
}

TEST_CASE("Ticks stay on their grid when one comes late", "[no-module]") {
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

TEST_CASE("What is done during the wait for a tick costs none", "[no-module]") {
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

TEST_CASE("A ticker that is restarted keeps what it has missed", "[no-module]") {
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
            tree_.file(directory + "/node" + std::to_string(core / 2) + "/cpulist", "");
        }
    }
    Places places(By by) const { return {by, metagroup::CpuList::parse("0-7"), tree_.path()}; }

  private:
    metagroup::test::TempTree tree_;
};

}  // namespace

TEST_CASE("Threads of a core are one place", "[no-module]") {
    const Places places = Machine().places(By::core);
    REQUIRE(places.all().size() == 4);
    REQUIRE(places.all()[1].name == "S0-D0-C1");
    REQUIRE(places.all()[1].cpus == 2);
    REQUIRE(places.index_of(1) == places.index_of(5));
}

TEST_CASE("Sockets and nodes have their CPUs", "[no-module]") {
    const Machine machine;
    for (const By by : {By::socket, By::node}) {
        const Places places = machine.places(by);
        REQUIRE(places.all().size() == 2);
        REQUIRE(places.all()[0].cpus == 4);
        REQUIRE(places.index_of(4) == 0);
        REQUIRE(places.index_of(6) == 1);
    }
}

TEST_CASE("On a machine without dies each socket is one", "[no-module]") {
    metagroup::test::TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "0").file("cpu/cpu0/topology/core_id", "3");
    const Places places(By::core, metagroup::CpuList::parse("0"), tree.path());
    REQUIRE(places.all().front().name == "S0-D0-C3");
}

TEST_CASE("A machine that does not tell its topology is an error with the file's name",
          "[no-module]") {
    const metagroup::test::TempTree nothing;
    REQUIRE_THROWS_AS(Places(By::socket, metagroup::CpuList::parse("0"), nothing.path()),
                      std::system_error);
}
