// SPDX-License-Identifier: MIT
// SET_MODE with SPARE_ISOLATED. The tests tagged [isolated] want a guest with isolated CPUs.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "support/cpus.hpp"
#include "support/mapping.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// As the kernel tells, by nohz_full= or isolcpus=.
std::set<int> isolated_cpus() {
    std::set<int> isolated;
    for (const char* name : {"isolated", "nohz_full"})
        for (const int cpu : listed_cpus(std::string("/sys/devices/system/cpu/") + name))
            isolated.insert(cpu);
    return isolated;
}

// Stopped groups everywhere, on a meta-group that spares isolated CPUs.
struct Spared {
    std::set<int> isolated = isolated_cpus();
    std::vector<int> cpus = online_cpus();
    std::vector<EventGroup> groups;
    Meta meta;
    explicit Spared(bool stopped) : groups(open_everywhere(kFormat, 2, stopped)) {
        if (isolated.empty()) SKIP("no CPU is isolated by nohz_full= or isolcpus=");
        REQUIRE(isolated.size() < cpus.size());
        REQUIRE(meta.attach(groups) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SPARE_ISOLATED) == 0);
    }
    bool is_spared(std::size_t index) const { return isolated.contains(cpus[index]); }
    Framed framed() const { return read_framed(meta); }
};

}  // namespace

TEST_CASE("Where no CPU is isolated, sparing them changes nothing") {
    if (!isolated_cpus().empty()) SKIP("a CPU is isolated");
    const auto groups = open_everywhere(kFormat, 2, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SPARE_ISOLATED) == 0);
    REQUIRE(meta.read() == concatenated(groups));
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
}

TEST_CASE("Members of isolated CPUs are spared, without payload, and the others are read",
          "[isolated]") {
    const Spared spared(true);
    const Framed framed = spared.framed();
    REQUIRE(framed.head.count == spared.groups.size());
    for (std::size_t i = 0; i < spared.groups.size(); ++i) {
        const Frame& frame = framed.frames[i];
        CAPTURE(i);
        REQUIRE(frame.record.cpu == static_cast<unsigned>(spared.cpus[i]));
        if (spared.is_spared(i)) {
            REQUIRE(frame.record.status == PERF_METAGROUP_SPARED);
            REQUIRE(frame.payload.empty());
            REQUIRE(frame.record.time < framed.head.begin);
        } else {
            REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
            REQUIRE(frame.payload == spared.groups[i].read());
        }
    }
}

TEST_CASE("A raw read leaves out what is spared", "[isolated]") {
    const Spared spared(true);
    Bytes expected;
    for (std::size_t i = 0; i < spared.groups.size(); ++i) {
        if (spared.is_spared(i)) continue;
        const Bytes one = spared.groups[i].read();
        expected.insert(expected.end(), one.begin(), one.end());
    }
    REQUIRE(spared.meta.read() == expected);
}

TEST_CASE("Isolated CPUs are not interrupted until the mode is left", "[isolated]") {
    const Spared spared(false);
    run_on(*std::ranges::find_if(spared.cpus,
                                 [&](int cpu) { return !spared.isolated.contains(cpu); }));
    constexpr unsigned kSweeps = 1000;
    const auto interrupts = [&](int cpu) {
        const auto before = function_calls(cpu);
        for (unsigned i = 0; i < kSweeps; ++i)
            REQUIRE(spared.meta.sweep() == 0);
        return function_calls(cpu) - before;
    };
    for (const int cpu : spared.isolated)
        REQUIRE(interrupts(cpu) < kSweeps / 10);
    REQUIRE(spared.meta.set_mode(0) == 0);
    for (const int cpu : spared.isolated)
        REQUIRE(interrupts(cpu) >= kSweeps / 2);
    run_anywhere();
}

TEST_CASE("A reader on an isolated CPU spares that one, too", "[isolated]") {
    const Spared spared(false);
    run_on(*spared.isolated.begin());
    const Framed framed = spared.framed();
    run_anywhere();
    for (std::size_t i = 0; i < spared.groups.size(); ++i)
        REQUIRE((framed.frames[i].record.status == PERF_METAGROUP_SPARED) == spared.is_spared(i));
}

TEST_CASE("Out of the mode, members of isolated CPUs are read", "[isolated]") {
    const Spared spared(true);
    spared.framed();
    REQUIRE(spared.meta.set_mode(0) == 0);
    REQUIRE(spared.meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(spared.meta.read() == concatenated(spared.groups));
    REQUIRE(spared.meta.set_mode(PERF_METAGROUP_MODE_SPARE_ISOLATED) == 0);
    const Framed framed = spared.framed();
    for (std::size_t i = 0; i < spared.groups.size(); ++i)
        if (spared.is_spared(i)) REQUIRE(framed.frames[i].payload.empty());
}

TEST_CASE("A member that is attached to an isolated CPU later is spared", "[isolated]") {
    const Spared spared(true);
    const EventGroup late = open_group(*spared.isolated.begin(), kFormat, 1);
    REQUIRE(spared.meta.attach(late) == 0);
    const Mapping mapping(spared.meta);
    REQUIRE(mapping.framed().frames.back().record.status == PERF_METAGROUP_SPARED);
    REQUIRE(spared.framed().frames.back().record.status == PERF_METAGROUP_SPARED);
}

TEST_CASE("A sweep of isolated CPUs finds them spared", "[isolated]") {
    const Spared spared(false);
    const int cpu = *spared.isolated.begin();
    REQUIRE(spared.meta.sweep_copy({cpu}).empty());
    REQUIRE(spared.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed framed = take_apart(spared.meta.sweep_copy({cpu}));
    REQUIRE(framed.head.count == 1);
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_SPARED);
}

TEST_CASE("Quiet and sparing, a meta-group reads the rest only", "[isolated]") {
    const Spared spared(false);
    REQUIRE(spared.meta.set_mode(PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SPARE_ISOLATED) ==
            0);
    for (int round = 0; round < 100; ++round) {
        const Framed framed = spared.framed();
        for (std::size_t i = 0; i < spared.groups.size(); ++i) {
            const auto status = framed.frames[i].record.status;
            CAPTURE(i, status);
            if (spared.is_spared(i)) {
                REQUIRE(status == PERF_METAGROUP_SPARED);
            } else {
                REQUIRE((status == PERF_METAGROUP_OK || status == PERF_METAGROUP_IDLE));
            }
        }
    }
}

TEST_CASE("An isolated CPU that goes offline is spared all the same", "[isolated]") {
    const Spared spared(false);
    const OfflineCpu offline(*spared.isolated.begin());
    const Framed framed = spared.framed();
    for (std::size_t i = 0; i < spared.groups.size(); ++i)
        REQUIRE((framed.frames[i].record.status == PERF_METAGROUP_SPARED) == spared.is_spared(i));
}
