// SPDX-License-Identifier: MIT
// CPU hotplug.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <chrono>

#include "fixtures.hpp"
#include "support/background.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;

}  // namespace

TEST_CASE("A member whose CPU goes offline keeps the leader's last count, as read(2) does") {
    const auto groups = open_everywhere(kFormat, 3);
    const Meta meta(groups);
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

TEST_CASE("A member stays offline when its CPU is online again, and the others count") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta(groups);
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
    const Meta meta(group);
    REQUIRE(meta.read() == group.read());
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OFFLINE);
}

TEST_CASE("A group that was moved before its CPU goes offline reads as its own read") {
    const auto attr = testpmu_or_skip(kFormat | PERF_FORMAT_ID);
    const int cpu = online_cpus().back();
    const EventGroup group = group_of(0, {attr, attr, attr});
    const Meta meta;
    const bool early = GENERATE(true, false);  // attached before it is moved
    CAPTURE(early);
    if (early) {
        REQUIRE(meta.attach(group) == 0);
        meta.read();
    }
    // Hotplug then removes the leader first, and Linux 5.10 does not reset its number of siblings.
    testpmu_move(0, cpu);
    if (early) meta.read();
    const OfflineCpu offline(cpu);
    if (!early) REQUIRE(meta.attach(group) == 0);

    const Bytes own = group.read();
    for (int round = 0; round < 3; ++round) {
        REQUIRE(meta.read() == own);
        const Frame frame = read_framed(meta).frames.at(0);
        REQUIRE(frame.record.status == PERF_METAGROUP_OFFLINE);
        REQUIRE(frame.payload == own);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    }

    std::array<__u64, 4> ids{7, 7, 7, 7};
    perf_metagroup_member member{};
    member.ids = reinterpret_cast<std::uintptr_t>(ids.data());
    member.max_ids = ids.size();
    REQUIRE(meta.member(member) == 0);
    REQUIRE(member.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(member.payload == own.size());
    REQUIRE(member.events == words(own).at(0));
    REQUIRE(ids[0] == group.id(0));
    for (unsigned i = 1; i < ids.size(); ++i)
        REQUIRE(ids.at(i) == (i < member.events ? 0 : 7));
}

TEST_CASE("The commands work on a meta-group with an offline CPU") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta(groups);
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

TEST_CASE("Sweeps continue while a CPU goes offline and online") {
    const int cpu = online_cpus().back();
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta(groups);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);

    Background plug([&] {
        set_online(cpu, false);
        set_online(cpu, true);
    });
    unsigned reads = 0;
    // Again and again a new group on that CPU, so that it is interrupted.
    const auto read_with_new_member = [&] {
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
                CAPTURE(status, frame.record.cpu, plug.rounds());
                REQUIRE(sane);
            }
        }
        if (fresh) REQUIRE(meta.detach(out.first) == 0);
    };
    repeat_for(long_time(std::chrono::seconds(8)), read_with_new_member,
               [&] { return plug.rounds() >= 3 && reads > 20; });
    plug.stop();
    REQUIRE(plug.rounds() >= 3);
    REQUIRE(reads > 20);
    REQUIRE(is_online(cpu));
}
