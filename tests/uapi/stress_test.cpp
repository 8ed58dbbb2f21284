// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

std::chrono::seconds duration() {
    const char* text = std::getenv("METAGROUP_STRESS_SECONDS");
    return std::chrono::seconds(text ? std::atoi(text) : 30);
}

struct Tally {
    std::atomic<unsigned long> attached{0}, detached{0}, reads{0}, commands{0}, plugs{0};
    std::atomic<unsigned long> bad{0};
};

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;

// One thread's work: whatever comes, for as long as it takes.
void hammer(const std::array<Meta, 2>& metas, unsigned seed, Tally& tally,
            const std::atomic<bool>& stop) {
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t below) { return static_cast<unsigned>(random() % below); };
    Bytes buffer(4 * 1024 * 1024);
    std::vector<EventGroup> mine;
    while (!stop) {
        const Meta& meta = metas[pick(metas.size())];
        const auto cpus = online_cpus();
        const int cpu = cpus[pick(cpus.size())];
        switch (pick(8)) {
            case 0:
            case 1: {
                EventGroup group;
                auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
                for (unsigned i = 0, events = 1 + pick(6); i < events; ++i) {
                    Fd fd(open_event(attr, -1, cpu, group.fds.empty() ? -1 : group.leader()));
                    if (fd) group.fds.push_back(std::move(fd));
                }
                if (group.fds.empty()) break;  // its CPU has just gone
                const long got = meta.attach(group);
                if (got == 0)
                    ++tally.attached;
                else if (got != -E2BIG)
                    ++tally.bad;
                if (pick(2) == 0) mine.push_back(std::move(group));
                if (mine.size() > 20) mine.erase(mine.begin());
                break;
            }
            case 2: {
                // A number that may be anybody's.
                const unsigned highest = static_cast<unsigned>(tally.attached);
                const long got = meta.detach(highest ? pick(highest) : 0);
                if (got == 0)
                    ++tally.detached;
                else if (got != -ENOENT)
                    ++tally.bad;
                break;
            }
            case 3:
                if (meta.control(std::array<unsigned long, 3>{PERF_METAGROUP_IOC_ENABLE,
                                                              PERF_METAGROUP_IOC_DISABLE,
                                                              PERF_METAGROUP_IOC_RESET}[pick(3)]))
                    ++tally.bad;
                ++tally.commands;
                break;
            case 4:
                if (!mine.empty()) {
                    EventGroup& group = mine[pick(mine.size())];
                    if (group.fds.size() > 1) group.fds.pop_back();
                }
                break;
            default: {
                meta.set_format(pick(2));
                const long got = meta.read(buffer.data(), buffer.size());
                if (got < 0) ++tally.bad;
                ++tally.reads;
            }
        }
        if (meta.info().members > 300)
            for (unsigned number = 0; number < tally.attached; ++number)
                if (meta.detach(number) == 0) ++tally.detached;
    }
}

}  // namespace

TEST_CASE("Eight threads attach, detach, read, enable and hotplug at once") {
    const std::array<Meta, 2> metas;
    Tally tally;
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 7; ++seed)
        threads.emplace_back([&, seed] { hammer(metas, seed, tally, stop); });
    const int last = online_cpus().back();
    threads.emplace_back([&] {
        while (!stop) {
            set_online(last, false);
            set_online(last, true);
            ++tally.plugs;
        }
    });
    std::this_thread::sleep_for(duration());
    stop = true;
    for (std::thread& thread : threads)
        thread.join();

    std::cout << "attached " << tally.attached << ", detached " << tally.detached << ", reads "
              << tally.reads << ", commands " << tally.commands << ", hotplugs " << tally.plugs
              << '\n';
    REQUIRE(tally.bad == 0);
    REQUIRE(tally.attached > 0);
    REQUIRE(tally.detached > 0);
    REQUIRE(tally.reads > 0);
    REQUIRE(tally.commands > 0);
    REQUIRE(tally.plugs > 0);
    REQUIRE(is_online(last));
    for (const Meta& meta : metas) {
        meta.set_format(PERF_METAGROUP_FORMAT_FRAMED);
        REQUIRE_NOTHROW(take_apart(meta.read()));
    }
}
