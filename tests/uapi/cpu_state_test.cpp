// SPDX-License-Identifier: MIT
// CPUs that are offline or isolated.
#include "fixtures.hpp"

using namespace metagroup::test;

TEST_CASE("A member whose CPU goes offline keeps the leader's last count, as read(2) does") {
    const auto [groups, meta] = attached(open_everywhere(kTimed, 3));
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

TEST_CASE("A member stays offline when its CPU is online again, while the others count") {
    const auto [groups, meta] = attached(open_everywhere(kTimed, 1));
    OfflineCpu offline(online_cpus().back());
    read_framed(meta);
    offline.back();
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames.back().record.status == PERF_METAGROUP_OFFLINE);
    REQUIRE(framed.frames.front().record.status == PERF_METAGROUP_OK);

    // A new group on that CPU takes its place.
    REQUIRE(meta.detach(framed.frames.back().record.member) == 0);
    const EventGroup fresh = open_group(offline.cpu(), kTimed, 1);
    REQUIRE(meta.attach(fresh) == 0);
    REQUIRE(read_framed(meta).frames.back().record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A group whose CPU is already offline can be attached and read") {
    const EventGroup group = open_group(online_cpus().back(), kTimed, 2);
    const OfflineCpu offline(online_cpus().back());
    const Meta meta(group);
    REQUIRE(meta.read() == group.read());
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OFFLINE);
}

TEST_CASE("A group that was moved before its CPU goes offline reads the same as its own read") {
    const auto attr = testpmu_or_skip(kTimed | PERF_FORMAT_ID);
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
    const auto [groups, meta] = attached(open_everywhere(kTimed, 1));
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
    const auto [groups, meta] = attached(open_everywhere(kTimed, 2));
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);

    Background plug([&] {
        set_online(cpu, false);
        set_online(cpu, true);
    });
    unsigned reads = 0;
    // Again and again a new group on that CPU, so that it is interrupted.
    const auto read_with_new_member = [&] {
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kTimed);
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

// SET_MODE with SKIP_ISOLATED. The tests tagged [isolated] need a guest with isolated CPUs.

namespace {

// By nohz_full= or isolcpus=.
std::set<int> isolated_cpus() {
    std::set<int> isolated;
    for (const char* name : {"isolated", "nohz_full"})
        for (const int cpu : listed_cpus(std::string("/sys/devices/system/cpu/") + name))
            isolated.insert(cpu);
    return isolated;
}

// On a meta-group that skips isolated CPUs: clocks, which only their CPU can read, on each of
// those; on the others the same, or stopped.
struct IsolatedWorld {
    std::set<int> isolated = isolated_cpus();
    std::vector<int> cpus = online_cpus();
    std::vector<EventGroup> groups;
    Meta meta;
    explicit IsolatedWorld(bool stopped) {
        if (isolated.empty()) SKIP("no CPU is isolated by nohz_full= or isolcpus=");
        REQUIRE(isolated.size() < cpus.size());
        for (const int cpu : cpus)
            groups.push_back(open_group(cpu, kIds, 2, stopped && !isolated.contains(cpu)));
        REQUIRE(meta.attach(groups) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
        run_at_home();
    }
    ~IsolatedWorld() { run_anywhere(); }
    void run_at_home() const {
        run_on(*std::ranges::find_if(cpus, [&](int cpu) { return !isolated.contains(cpu); }));
    }
    bool is_skipped(std::size_t index) const { return isolated.contains(cpus[index]); }
    Framed framed() const { return read_framed(meta); }
};

}  // namespace

TEST_CASE("SKIP_ISOLATED changes nothing where no CPU is isolated") {
    if (!isolated_cpus().empty()) SKIP("a CPU is isolated");
    const auto [groups, meta] = attached(open_everywhere(kIds, 2, true));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    REQUIRE(meta.read() == concatenated(groups));
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
}

TEST_CASE("Members of isolated CPUs are skipped, without payload, and the others are read",
          "[isolated]") {
    const IsolatedWorld world(true);
    const Framed framed = world.framed();
    REQUIRE(framed.head.count == world.groups.size());
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const Frame& frame = framed.frames[i];
        CAPTURE(i);
        REQUIRE(frame.record.cpu == static_cast<unsigned>(world.cpus[i]));
        if (world.is_skipped(i)) {
            REQUIRE(frame.record.status == PERF_METAGROUP_SKIPPED);
            REQUIRE(frame.payload.empty());
        } else {
            REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
            REQUIRE(frame.payload == world.groups[i].read());
        }
    }
}

TEST_CASE("A raw read has no payloads of skipped members", "[isolated]") {
    const IsolatedWorld world(true);
    Bytes expected;
    for (std::size_t i = 0; i < world.groups.size(); ++i)
        if (!world.is_skipped(i)) expected = concatenated({expected, world.groups[i].read()});
    REQUIRE(world.meta.read() == expected);
}

TEST_CASE("Isolated CPUs are not interrupted until the mode is left", "[isolated]") {
    const IsolatedWorld world(false);
    for (const int cpu : world.isolated)
        require_not_interrupted(world.meta, cpu);
    REQUIRE(world.meta.set_mode(0) == 0);
    for (const int cpu : world.isolated)
        require_interrupted(world.meta, cpu);
}

TEST_CASE(
    "A reader on an isolated CPU reads the members there, but not those of other isolated CPUs",
    "[isolated]") {
    const IsolatedWorld world(false);
    const int here = *world.isolated.begin();
    run_on(here);
    const Framed framed = world.framed();
    world.run_at_home();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const bool skipped = world.is_skipped(i) && world.cpus[i] != here;
        REQUIRE(framed.frames[i].record.status ==
                (skipped ? PERF_METAGROUP_SKIPPED : PERF_METAGROUP_OK));
    }
}

TEST_CASE("Without SKIP_ISOLATED, members of isolated CPUs are read", "[isolated]") {
    const IsolatedWorld world(true);
    world.framed();
    REQUIRE(world.meta.set_mode(0) == 0);
    const Framed all = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        REQUIRE(all.frames[i].record.status ==
                (world.is_skipped(i) ? PERF_METAGROUP_OK : PERF_METAGROUP_OFF));
        REQUIRE(all.frames[i].payload.size() == world.groups[i].read().size());
    }
    REQUIRE(world.meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    const Framed framed = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i)
        if (world.is_skipped(i)) REQUIRE(framed.frames[i].payload.empty());
}

TEST_CASE("Members of isolated CPUs that another CPU can read are read, without an interrupt",
          "[isolated]") {
    const IsolatedWorld world(true);
    const int cpu = *world.isolated.begin();
    const EventGroup running = open_software(cpu, kIds);
    const EventGroup stopped = open_software(cpu, kIds, true);
    const EventGroup off = open_group(cpu, kIds, 2, true);
    const Meta meta(running, stopped, off);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);

    require_not_interrupted(meta, cpu);
    const Bytes before = running.read();
    const Framed framed = read_framed(meta);
    const auto& frames = framed.frames;
    REQUIRE(frames.at(0).record.status == PERF_METAGROUP_OK);
    require_between(before, frames[0].payload, running.read());
    REQUIRE(frames.at(1).record.status == PERF_METAGROUP_OFF);
    REQUIRE(frames[1].payload == stopped.read());
    REQUIRE(frames.at(2).record.status == PERF_METAGROUP_OFF);
    REQUIRE(frames[2].payload == off.read());
}

TEST_CASE("A member of an isolated CPU is skipped while it counts, and read while it does not",
          "[isolated]") {
    const IsolatedWorld world(false);
    const auto index = static_cast<std::size_t>(
        std::ranges::find_if(world.cpus, [&](int cpu) { return world.isolated.contains(cpu); }) -
        world.cpus.begin());
    const EventGroup& group = world.groups[index];
    for (int round = 0; round < 3; ++round) {
        REQUIRE(world.framed().frames[index].record.status == PERF_METAGROUP_SKIPPED);
        group.control(PERF_EVENT_IOC_DISABLE);
        const Frame frame = world.framed().frames[index];
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
        REQUIRE(frame.payload == group.read());
        group.control(PERF_EVENT_IOC_ENABLE);
    }
}

TEST_CASE("A member of an isolated CPU that waits for a counter is read", "[isolated]") {
    const IsolatedWorld world(false);
    const int cpu = *world.isolated.begin();
    const auto attr = testpmu_or_skip(kIds);
    // Until the end: with a counter free, the next rotation would start the event.
    const TestpmuCounters none(0);
    const auto [waiting, meta] = attached(group_of(cpu, {attr}));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    const Frame frame = read_framed(meta).frames.at(0);
    REQUIRE(frame.record.status == PERF_METAGROUP_INACTIVE);
    REQUIRE(frame.payload == waiting.read());
}

TEST_CASE("A member that is attached to an isolated CPU later is skipped", "[isolated]") {
    const IsolatedWorld world(true);
    const EventGroup late = open_group(*world.isolated.begin(), kIds, 1);
    REQUIRE(world.meta.attach(late) == 0);
    const Mapping mapping(world.meta);
    REQUIRE(world.meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.back().record.status == PERF_METAGROUP_SKIPPED);
    REQUIRE(world.framed().frames.back().record.status == PERF_METAGROUP_SKIPPED);
}

TEST_CASE("A sweep of isolated CPUs skips their members", "[isolated]") {
    const IsolatedWorld world(false);
    const int cpu = *world.isolated.begin();
    REQUIRE(world.meta.sweep_copy({cpu}).empty());
    REQUIRE(world.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed framed = take_apart(world.meta.sweep_copy({cpu}));
    REQUIRE(framed.head.count == 1);
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_SKIPPED);
}

TEST_CASE_METHOD(NeedsQuiet, "With QUIET and SKIP_ISOLATED, only isolated CPUs are skipped",
                 "[isolated]") {
    const IsolatedWorld world(false);
    REQUIRE(world.meta.set_mode(PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED) ==
            0);
    for (int round = 0; round < 100; ++round) {
        const Framed framed = world.framed();
        for (std::size_t i = 0; i < world.groups.size(); ++i) {
            const auto status = framed.frames[i].record.status;
            CAPTURE(i, status);
            if (world.is_skipped(i)) {
                REQUIRE(status == PERF_METAGROUP_SKIPPED);
            } else {
                REQUIRE((status == PERF_METAGROUP_OK || status == PERF_METAGROUP_IDLE));
            }
        }
    }
}

TEST_CASE("Members of an isolated CPU that goes offline are read", "[isolated]") {
    const IsolatedWorld world(false);
    const OfflineCpu offline(*world.isolated.begin());
    const Framed framed = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const Frame& frame = framed.frames[i];
        CAPTURE(i);
        if (world.cpus[i] == offline.cpu()) {
            REQUIRE(frame.record.status == PERF_METAGROUP_OFFLINE);
            REQUIRE(frame.payload == world.groups[i].read());
        } else {
            REQUIRE((frame.record.status == PERF_METAGROUP_SKIPPED) == world.is_skipped(i));
        }
    }
}
