// SPDX-License-Identifier: MIT
// Members that need no interrupt: any CPU can read them, or any of their package.
#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fixtures.hpp"
#include "support/background.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

int package_of(int cpu) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/physical_package_id");
    int package = -1;
    file >> package;
    return package;
}

// The last CPU that is, or is not, in the package of the first one.
std::optional<int> other_cpu(bool same_package) {
    const auto cpus = online_cpus();
    for (std::size_t i = cpus.size() - 1; i > 0; --i)
        if ((package_of(cpus[i]) == package_of(cpus[0])) == same_package) return cpus[i];
    return {};
}

EventGroup open_package_group(int cpu) {
    perf_event_attr attr = testpmu_or_skip(kFormat);
    attr.config = kTestpmuPackage;
    return group_of(cpu, {attr, attr});
}

// A page fault.
void touch_new_memory() {
    const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap");
    *static_cast<volatile char*>(page) = 1;
    ::munmap(page, size);
}

std::vector<EventGroup> open_both(int cpu) {
    std::vector<EventGroup> groups;
    groups.push_back(open_software(cpu, kFormat));
    groups.push_back(open_tracepoints(cpu, kFormat));
    return groups;
}

}  // namespace

TEST_CASE("Groups of software events and tracepoints do not interrupt a busy CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    const auto groups = open_both(cpu);
    const Meta meta(groups);
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);

    // A clock needs its CPU.
    const EventGroup clock = open_group(cpu, kFormat, 1);
    REQUIRE(meta.attach(clock) == 0);
    require_interrupted(meta, cpu);
    REQUIRE(meta.detach(2) == 0);
    require_not_interrupted(meta, cpu);
}

TEST_CASE("A group of software events that gets a clock interrupts its CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    EventGroup& group = groups.emplace_back(open_software(cpu, kFormat));
    const Meta meta(group);
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat), cpu);
    require_interrupted(meta, cpu);
    require_between_own_reads(meta, groups);
    group.fds.pop_back();
    require_not_interrupted(meta, cpu);
}

TEST_CASE("Software events that are read from another CPU are between two reads of their own") {
    const int cpu = online_cpus().back();
    const auto groups = open_both(cpu);
    const Meta meta(groups);
    Background worker([&] {
        run_on(cpu);
        touch_new_memory();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    const auto start = words(meta.read());
    const auto all_have_counted = [&] {
        const auto now = words(meta.read());
        // A payload has the number of its two events, then count and id of each.
        for (std::size_t i = 0; i < now.size(); i += 5)
            if (now[i + 1] == start[i + 1] || now[i + 3] == start[i + 3]) return false;
        return true;
    };
    repeat_for(
        std::chrono::milliseconds(200), [&] { require_between_own_reads(meta, groups); },
        all_have_counted);
    worker.stop();
    CAPTURE(start, words(meta.read()));
    REQUIRE(all_have_counted());
}

TEST_CASE("Software events that are stopped read as their own read, byte for byte") {
    const int cpu = online_cpus().back();
    const EventGroup group = open_software(cpu, kFormat | kTimes);
    const Meta meta(group);
    for (int round = 0; round < 20; ++round) {
        group.control(PERF_EVENT_IOC_ENABLE);
        burn_ms(1);
        meta.read();
        group.control(PERF_EVENT_IOC_DISABLE);
        REQUIRE(meta.read() == group.read());
    }
}

TEST_CASE("Events of a package do not interrupt a CPU of that package") {
    const OnFirstCpu here;
    const auto cpu = other_cpu(true);
    if (!cpu) SKIP("no other CPU is in the package of the first one");
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(*cpu));
    const Meta meta(groups);
    const BusyCpu busy(*cpu);
    require_not_interrupted(meta, *cpu);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
    REQUIRE(read_framed(meta).frames.at(0).record.status == PERF_METAGROUP_OK);

    // The number of events and count and id of each: the leader's count continues.
    const auto count = [&] { return words(read_framed(meta).frames.at(0).payload).at(1); };
    const std::uint64_t first = count();
    burn_ms(1);
    REQUIRE(count() > first);
}

TEST_CASE("Events of a PMU with a scope do not interrupt a CPU of that scope") {
    const OnFirstCpu here;
    const auto attr = testpmu_scope_event(kFormat);
    if (!attr) SKIP("PMUs have no scope before Linux 6.12, or metagroup_testpmu is not loaded");
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    groups.push_back(group_of(cpu, {*attr, *attr}));
    const Meta meta(groups);
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
}

TEST_CASE("Events of a package interrupt a CPU of another package") {
    const OnFirstCpu here;
    const auto cpu = other_cpu(false);
    if (!cpu) SKIP("all CPUs are in one package");
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(*cpu));
    const Meta meta(groups);
    const BusyCpu busy(*cpu);
    require_interrupted(meta, *cpu);
    require_between_own_reads(meta, groups);
    REQUIRE(read_framed(meta).frames.at(0).record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A group with one event that only its CPU can read interrupts that CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(cpu));
    groups[0].add(testpmu_or_skip(kFormat), cpu);
    const Meta meta(groups);
    const BusyCpu busy(cpu);
    require_interrupted(meta, cpu);
    require_between_own_reads(meta, groups);
}
