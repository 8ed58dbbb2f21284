// SPDX-License-Identifier: MIT
// Reading in place, on some CPUs and in quiet mode, through the library.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <metagroup/delta.hpp>
#include <metagroup/mapping.hpp>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <thread>

#include "fixtures.hpp"
#include "support/backends.hpp"
#include "support/cpus.hpp"

using metagroup::Backend;
using metagroup::CpuList;
using metagroup::Device;
using metagroup::EventGroup;
using metagroup::Mapping;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::SnapshotView;
using metagroup::Status;
namespace test = metagroup::test;

namespace {

// A device with a group of two clocks on every CPU, counting.
struct World {
    std::vector<EventGroup> groups;
    Device device = Device::open();

    World() {
        const auto spec = metagroup::parse_events("{cpu-clock,cpu-clock}").front();
        for (const int cpu : test::online_cpus()) {
            groups.push_back(EventGroup::open(spec, cpu));
            attach(groups.back());
        }
        device.set_format(metagroup::Format::framed);
        device.enable();
    }
    void attach(const EventGroup& group) {
        const int leader = group.leader_fd();
        device.attach(std::span(&leader, 1));
    }
};

}  // namespace

TEST_CASE("A mapping shows after a sweep what a read copies", "[backends]") {
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend));
        group.disable();
        Snapshot copy;
        group.read(copy);
        const SnapshotView view = group.sweep();
        REQUIRE(view.sequence() == copy.sequence() + 1);
        REQUIRE(view.size() == copy.size());
        for (std::size_t i = 0; i < view.size(); ++i) {
            REQUIRE(view[i].member() == copy[i].member());
            REQUIRE(std::ranges::equal(view[i].payload_bytes(), copy[i].payload_bytes()));
        }
    }
}

TEST_CASE("A mapping follows a snapshot that has outgrown its memory") {
    World world;
    Mapping mapping(world.device);
    const auto spec = metagroup::parse_events("{cpu-clock,cpu-clock}").front();
    const std::size_t first = world.groups.size();
    for (int i = 0; i < 200; ++i) {
        world.groups.push_back(EventGroup::open(spec, test::online_cpus().front()));
        world.attach(world.groups.back());
    }
    world.device.sweep();
    REQUIRE(mapping.view().size() == first + 200);
    Snapshot copy;
    mapping.read(copy);
    REQUIRE(copy.size() == first + 200);
    REQUIRE(copy.sequence() == mapping.view().sequence());
}

TEST_CASE("A mapping outlives the device and can be moved") {
    std::optional<World> world(std::in_place);
    world->device.sweep();
    Mapping first(world->device);
    const std::size_t members = first.view().size();
    world.reset();
    Mapping second = std::move(first);
    REQUIRE(second.view().size() == members);
    REQUIRE(second.view()[0].status() == Status::ok);
}

TEST_CASE("A copy of a mapping is consistent while another thread sweeps") {
    World world;
    std::atomic<bool> stop = false;
    std::thread sweeper([&] {
        while (!stop)
            world.device.sweep();
    });
    Mapping mapping(world.device);
    Snapshot older, newer;
    mapping.read(older);
    bool good = true;
    std::uint64_t seen = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto enough = begin + std::chrono::seconds(3), limit = begin + std::chrono::seconds(60);
    // A virtual CPU may stand still, in the middle of a sweep.
    for (auto now = begin; good && (now < enough || (seen <= 100 && now < limit));
         now = std::chrono::steady_clock::now()) {
        mapping.read(newer);
        seen += newer.sequence() != older.sequence();
        good = newer.size() == (newer.sequence() == 0 ? 0 : world.groups.size()) &&
               newer.sequence() >= older.sequence();
        for (const auto member : newer) {
            // Of one sweep, all of it.
            good = good && (newer.sequence() == 0 || (member.time_ns() >= newer.begin_ns() &&
                                                      member.time_ns() <= newer.end_ns()));
        }
        const metagroup::Delta delta(older, newer);
        for (std::size_t i = 0;
             good && newer.sequence() > 0 && older.sequence() > 0 && i < delta.size(); ++i)
            good = delta[i].raw(0).has_value() && delta[i].time_enabled().has_value();
        older.swap(newer);
    }
    stop = true;
    sweeper.join();
    REQUIRE(good);
    REQUIRE(seen > 100);
}

TEST_CASE("A read of some CPUs has only their members, in both backends", "[backends]") {
    const int cpu = test::online_cpus().back();
    const CpuList one({cpu});
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend));
        Snapshot snapshot;
        group.read(snapshot, one);
        REQUIRE(snapshot.size() == 1);
        REQUIRE(snapshot[0].cpu() == cpu);
        REQUIRE(snapshot[0].status() == Status::ok);
        group.read(snapshot);
        REQUIRE(snapshot.size() == test::online_cpus().size());
    }
}

TEST_CASE("A read of no CPU has no members and reads none, in both backends", "[backends]") {
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend));
        Snapshot snapshot;
        group.read(snapshot, CpuList());
        REQUIRE(snapshot.empty());
        REQUIRE(snapshot.sequence() == 1);
        REQUIRE(snapshot.begin_ns() > 0);
        REQUIRE(snapshot.begin_ns() <= snapshot.end_ns());
        group.read(snapshot);
        REQUIRE(snapshot.size() == test::online_cpus().size());
    }
}

TEST_CASE("In quiet mode only the reader's own CPU is not idle, and skew ignores idle CPUs") {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/metagroup_core"))
        SKIP("the module metagroup_testpmu is not loaded");
    test::run_on(test::online_cpus().front());
    auto wanted = test::options(Backend::module);
    // Its counts stand still while a CPU is idle.
    wanted.groups = metagroup::parse_events("{metagroup_core/config=0/}");
    wanted.mode.quiet = true;
    MetaGroup group = MetaGroup::open(wanted);
    std::size_t idle = 0;
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const SnapshotView view = group.sweep();
        REQUIRE(view[0].status() == Status::ok);
        REQUIRE(view.skew_ns() <= view.end_ns() - view.begin_ns());
        for (const auto member : view) {
            REQUIRE((member.status() == Status::ok || member.status() == Status::idle));
            idle += member.status() == Status::idle;
        }
    }
    test::run_anywhere();
    REQUIRE(idle > 0);
}
