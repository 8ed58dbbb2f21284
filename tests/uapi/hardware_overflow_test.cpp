// SPDX-License-Identifier: MIT
// Counts that outgrow the counters: those of arm64 have 32 bits, but for one.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

#include "support/cpus.hpp"
#include "support/hardware.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

// Cycles of a busy CPU, counted three times: by the one wide counter, if there is such a thing, and
// by ordinary ones. A wrap that is lost by one of them sets it apart.
struct Cycles {
    int cpu = online_cpus().back();
    BusyCpu busy{cpu};
    std::vector<EventGroup> groups;
    Meta meta;

    Cycles() {
        for (int i = 0; i < 3; ++i)
            groups.emplace_back().add(hardware_event(PERF_COUNT_HW_CPU_CYCLES, 0), cpu);
        REQUIRE(meta.attach(groups) == 0);
    }

    std::vector<std::uint64_t> counts() const { return words(meta.read()); }
};

void need_cycles() {
    if (!has_cycles()) SKIP("this machine has no hardware counters");
}

std::uint64_t least(const std::vector<std::uint64_t>& counts) {
    return *std::min_element(counts.begin(), counts.end());
}

void require_agreement(const std::vector<std::uint64_t>& counts) {
    CAPTURE(counts);
    REQUIRE(*std::max_element(counts.begin(), counts.end()) - least(counts) < kWrap / 8);
}

}  // namespace

TEST_CASE("Counts that are read all the time grow beyond 32 bits", "[hardware]") {
    need_cycles();
    const Cycles cycles;
    const auto end = std::chrono::steady_clock::now() + 60s;
    auto last = cycles.counts();
    while (least(last) < kWrap + kWrap / 4) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        const auto before = words(concatenated(cycles.groups));
        const auto now = cycles.counts();
        const auto after = words(concatenated(cycles.groups));
        for (std::size_t i = 0; i < now.size(); ++i) {
            CAPTURE(i, last, before, now, after);
            REQUIRE(last[i] < now[i]);
            REQUIRE(before[i] <= now[i]);
            REQUIRE(now[i] <= after[i]);
        }
        require_agreement(now);
        last = now;
        std::this_thread::sleep_for(5ms);
    }
}

TEST_CASE("Counts that nobody reads meanwhile have grown beyond 32 bits", "[hardware]") {
    need_cycles();
    const Cycles cycles;
    const auto begin = cycles.counts()[0];
    std::this_thread::sleep_for(200ms);
    const auto soon = cycles.counts()[0];
    REQUIRE(soon > begin);
    const std::chrono::duration<double> enough = 200ms * (1.5 * kWrap / double(soon - begin));
    CAPTURE(begin, soon, enough.count());
    REQUIRE(enough < 60s);
    std::this_thread::sleep_for(enough);

    const auto later = cycles.counts();
    require_agreement(later);
    REQUIRE(least(later) > kWrap);
    REQUIRE(cycles.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(cycles.meta.read() == concatenated(cycles.groups));
}
