// SPDX-License-Identifier: MIT
// CPUs that go and come.
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;

}  // namespace

TEST_CASE("A member whose CPU goes offline keeps the leader's last count, as read(2) does") {
    const auto groups = open_everywhere(kFormat, 3);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    meta.read();
    const OfflineCpu offline(online_cpus().back());

    const Framed framed = read_framed(meta);
    for (std::size_t i = 0; i + 1 < groups.size(); ++i)
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_OK);
    const Frame& gone = framed.frames.back();
    REQUIRE(gone.record.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(gone.payload == groups.back().read());
    REQUIRE(meta.member(gone.record.member).status == PERF_METAGROUP_OFFLINE);
    REQUIRE(meta.member(gone.record.member).events == 1);
}

TEST_CASE("A member stays offline when its CPU comes back, and the others go on") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    OfflineCpu offline(online_cpus().back());
    read_framed(meta);
    offline.back();
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.back().record.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(framed.frames.front().record.status == PERF_METAGROUP_OK);

    // A new group on that CPU takes its place.
    REQUIRE(meta.detach(framed.frames.back().record.member) == 0);
    const EventGroup fresh = open_group(offline.cpu(), kFormat, 1);
    REQUIRE(meta.attach(fresh) == 0);
    REQUIRE(read_framed(meta).frames.back().record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A group whose CPU is offline already can be attached and read") {
    const EventGroup group = open_group(online_cpus().back(), kFormat, 2);
    const OfflineCpu offline(online_cpus().back());
    const Meta meta;
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.read() == group.read());
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OFFLINE);
}

TEST_CASE("The commands work on a meta-group whose CPU has gone") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const OfflineCpu offline(online_cpus().back());
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    REQUIRE(meta.info().members == groups.size());
    REQUIRE(meta.info().cpus == groups.size());
    REQUIRE(meta.read().size() == meta.info().raw_size);
    REQUIRE(meta.detach(static_cast<unsigned>(groups.size() - 1)) == 0);
    REQUIRE(meta.detach(0) == 0);
}

TEST_CASE("Sweeps go on while a CPU goes and comes") {
    const int cpu = online_cpus().back();
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);

    std::atomic<bool> stop = false;
    std::atomic<int> turns = 0;
    std::thread plug([&] {
        while (!stop) {
            set_online(cpu, false);
            set_online(cpu, true);
            ++turns;
        }
    });
    // A fresh group on that CPU again and again, so that it is interrupted.
    unsigned reads = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    while (std::chrono::steady_clock::now() < end || turns < 3) {
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
        const Fd fd(open_event(attr, -1, cpu, -1));
        perf_metagroup_attach out{};
        const int number = fd.get();
        const bool fresh = fd && meta.attach(std::span(&number, 1), &out) == 0;
        for (int round = 0; round < 20; ++round, ++reads) {
            const Framed framed = take_apart(meta.read());
            REQUIRE(framed.frames.front().record.status == PERF_METAGROUP_OK);
            for (const Frame& frame : framed.frames) {
                const auto status = frame.record.status;
                const bool sane = status == PERF_METAGROUP_OK ||
                                  status == PERF_METAGROUP_INACTIVE ||
                                  status == PERF_METAGROUP_OFFLINE;
                CAPTURE(status, frame.record.cpu, turns.load());
                REQUIRE(sane);
            }
        }
        if (fresh) REQUIRE(meta.detach(out.first) == 0);
    }
    stop = true;
    plug.join();
    REQUIRE(turns >= 3);
    REQUIRE(reads > 20);
    REQUIRE(is_online(cpu));
}
