// SPDX-License-Identifier: MIT
// Groups that change, fail or move while they are members.
#include <sys/prctl.h>

#include "fixtures.hpp"

using namespace metagroup::test;

namespace {}  // namespace

TEST_CASE("A group that has grown is read completely by the next read") {
    EventGroup group = open_group(0, kFull, 1, true);
    const EventGroup other = open_group(1, kFull, 1, true);
    const Meta meta(group, other);
    // Far more than the frame has room for at first.
    for (int events = 2; events <= 200; events += 1) {
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFull), 0);
        if (events % 33 != 0 && events != 2) continue;
        REQUIRE(meta.read() == concatenated({group.read(), other.read()}));
    }
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames[0].payload == group.read());
    REQUIRE(framed.frames[1].payload == other.read());
}

TEST_CASE("A running group that grows and shrinks has a payload of its size") {
    auto [group, meta] = attached(open_group(online_cpus().back(), PERF_FORMAT_GROUP, 1));
    for (int round = 0; round < 50; ++round) {
        group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, PERF_FORMAT_GROUP), online_cpus().back());
        REQUIRE(meta.read().size() == group.read().size());
    }
    while (group.fds.size() > 1) {
        group.fds.pop_back();
        REQUIRE(meta.read().size() == group.read().size());
    }
}

TEST_CASE("Sweeps continue while groups grow and shrink, with no record torn") {
    const auto cpus = online_cpus();
    const Meta meta;
    std::vector<EventGroup> groups = open_everywhere(PERF_FORMAT_GROUP, 1);
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);

    Background changer([&] {
        for (std::size_t i = 0; i < groups.size(); ++i)
            while (groups[i].fds.size() < 30)
                groups[i].add(software_event(PERF_COUNT_SW_CPU_CLOCK, PERF_FORMAT_GROUP), cpus[i]);
        for (auto& group : groups)
            group.fds.resize(1);
    });
    int round = 0;
    repeat_for(
        std::chrono::milliseconds(100),
        [&] {
            ++round;
            for (const Frame& frame : take_apart(meta.read()).frames) {
                REQUIRE(frame.record.status == PERF_METAGROUP_OK);
                const auto nr = words(frame.payload).at(0);
                REQUIRE(nr >= 1);
                REQUIRE(nr <= 30);
                REQUIRE(frame.payload.size() == 8 * (1 + nr));
            }
        },
        [&] { return round >= 300 && changer.rounds() >= 3; });
    changer.stop();
    REQUIRE(changer.rounds() >= 3);
}

TEST_CASE("A pinned group stays in error when its CPU goes offline") {
    auto attr = testpmu_or_skip(kTimes);
    attr.pinned = 1;
    const TestpmuCounters few(0);
    const int last = online_cpus().back();
    const EventGroup failed = group_of(last, {attr});
    const EventGroup fine = open_group(0, kTimes, 1, true);
    const Meta meta(failed, fine);
    const OfflineCpu offline(last);
    REQUIRE(failed.read().empty());
    REQUIRE(meta.read() == fine.read());
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_ERROR);
    REQUIRE(meta.member(0).status == PERF_METAGROUP_ERROR);
}

TEST_CASE("A group that waits for a counter is inactive and keeps its counts") {
    const auto attr = testpmu_or_skip(kTimed);
    const TestpmuCounters few(0);
    const auto [waiting, meta] = attached(group_of(0, {attr}));
    const Frame frame = read_framed(meta).frames[0];
    REQUIRE(frame.record.status == PERF_METAGROUP_INACTIVE);
    REQUIRE(meta.member(0).status == PERF_METAGROUP_INACTIVE);
    const auto payload = words(frame.payload);
    REQUIRE(payload.size() == 4);
    REQUIRE(payload[1] > 0);   // enabled
    REQUIRE(payload[2] == 0);  // running
    REQUIRE(payload[3] == 0);  // count
}

TEST_CASE("A member that is stopped is off, and counts again once it is started") {
    const auto attr = testpmu_or_skip(kTimes);
    const auto [group, meta] = attached(group_of(0, {attr}));
    group.control(PERF_EVENT_IOC_DISABLE);
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OFF);
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OFF);
    group.control(PERF_EVENT_IOC_ENABLE);
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OK);
}

TEST_CASE("An error of a PMU fails a raw read, and makes one frame of a framed read stale") {
    const auto attr = testpmu_or_skip(kTimed);
    const EventGroup bad = group_of(0, {attr});
    const EventGroup fine = open_group(1, kTimes, 1);
    const Meta meta(bad, fine);

    testpmu_set_read_error(EIO);
    char buffer[4096];
    const long own = ::read(bad.leader(), buffer, sizeof(buffer)) < 0 ? -errno : 0;
    const long ours = meta.read(buffer, sizeof(buffer));
    const Framed framed = read_framed(meta);
    testpmu_set_read_error(0);

    REQUIRE(own == -EIO);
    REQUIRE(ours == -EIO);
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_STALE);
    REQUIRE(framed.frames[0].payload.empty());
    REQUIRE(framed.frames[1].record.status == PERF_METAGROUP_OK);
    REQUIRE(read_framed(meta).frames[0].record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A member is followed to the CPU that its PMU moves it to") {
    const auto attr = testpmu_or_skip(kTimed);
    const auto [group, meta] = attached(group_of(0, {attr, attr}));
    REQUIRE(read_framed(meta).frames[0].record.cpu == 0);

    testpmu_move(0, 1);
    for (int round = 0; round < 2; ++round) {
        const Frame frame = read_framed(meta).frames[0];
        REQUIRE(frame.record.cpu == 1);
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        REQUIRE(frame.payload.size() == group.read().size());
    }
    REQUIRE(meta.info().cpus == 1);
    REQUIRE(meta.member(0).cpu == 1);
}

TEST_CASE("A stopped member is followed to another CPU") {
    const auto attr = testpmu_or_skip(kTimed);
    const EventGroup group = group_of(0, {attr});
    const EventGroup fine = open_group(0, kTimes, 1);
    const Meta meta(group, fine);
    testpmu_move(0, 1);
    group.control(PERF_EVENT_IOC_DISABLE);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_OFF);
    REQUIRE(framed.frames[0].record.cpu == 1);
    REQUIRE(framed.frames[1].record.cpu == 0);
    REQUIRE(meta.info().cpus == 2);
    REQUIRE(take_apart(meta.sweep_copy({1})).frames.size() == 1);
}

TEST_CASE("Sweeps continue while members are moved back and forth") {
    const auto attr = testpmu_or_skip(kTimed);
    const auto [group, meta] = attached(group_of(0, {attr, attr}));
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    Background mover([] {
        testpmu_move(0, 1);
        testpmu_move(1, 0);
    });
    std::uint64_t last = 0;
    int round = 0;
    repeat_for(
        std::chrono::milliseconds(100),
        [&] {
            ++round;
            const auto payload = words(take_apart(meta.read()).frames[0].payload);
            REQUIRE(payload.size() == 5);
            REQUIRE(payload[3] >= last);
            last = payload[3];
        },
        [&] { return round >= 300 && mover.rounds() >= 3; });
    mover.stop();
    REQUIRE(mover.rounds() >= 3);
    REQUIRE(last > 0);
}

TEST_CASE("A member whose PMU is unregistered is revoked and keeps its last counts") {
    const auto attr = testpmu_or_skip(kTimed);
    need_revoked_events();
    const EventGroup group = group_of(0, {attr, attr});
    const EventGroup fine = open_group(1, kTimes, 1);
    const Meta meta(group, fine);
    meta.read();
    testpmu_set_registered(false);
    const Framed framed = read_framed(meta);
    const long enabled = meta.control(PERF_METAGROUP_IOC_ENABLE);
    testpmu_set_registered(true);

    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_REVOKED);
    REQUIRE(framed.frames[0].payload == group.read());
    REQUIRE(framed.frames[1].record.status == PERF_METAGROUP_OK);
    REQUIRE(meta.member(0).status == PERF_METAGROUP_REVOKED);
    REQUIRE(enabled == -ENODEV);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A member whose PMU is unregistered during a stream keeps its last counts in it") {
    const MaxStreamPercent no_limit(100);
    const auto attr = testpmu_or_skip(kFull);
    need_revoked_events();
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(group_of(cpu, {attr, attr}));
    RunningStream stream(meta, std::chrono::milliseconds(1));
    stream.run(std::chrono::milliseconds(20));
    testpmu_set_registered(false);
    stream.drain();
    const auto all = stream.run(std::chrono::milliseconds(50));
    testpmu_set_registered(true);

    std::size_t samples = 0;
    for (const RingRecord& record : all.at(cpu)) {
        if (!record.is_sample()) continue;
        REQUIRE(record.payload == group.read());
        ++samples;
    }
    REQUIRE(samples > 0);
}

namespace {

// A group of a cgroup on the last CPU, in format FRAMED; the test runs on the first one.
struct CgroupOnCpu {
    OnFirstCpu here;
    int cpu = online_cpus().back();
    Cgroup cgroup{"metagroup_test"};
    EventGroup group;
    Meta meta;

    CgroupOnCpu() {
        const Fd directory(::open(cgroup.path().c_str(), O_RDONLY | O_DIRECTORY));
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kTimes);
        group.fds.emplace_back(static_cast<int>(
            ::syscall(SYS_perf_event_open, &attr, directory.get(), cpu, -1, PERF_FLAG_PID_CGROUP)));
        if (!group.fds[0]) SKIP("no cgroup events here: " << std::strerror(errno));
        REQUIRE(meta.attach(group) == 0);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    }

    Frame frame() const { return take_apart(meta.read()).frames.at(0); }
};

// A process that keeps a CPU busy, in a cgroup.
class BusyTask {
  public:
    BusyTask(int cpu, const Cgroup& cgroup) : pid_(::fork()) {
        if (pid_) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_on(cpu);
        std::ofstream(cgroup.procs()) << ::getpid() << std::flush;
        for (;;)
            burn_ms(1000);
    }
    ~BusyTask() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    BusyTask(const BusyTask&) = delete;
    BusyTask& operator=(const BusyTask&) = delete;

    void stop() const {
        ::kill(pid_, SIGSTOP);
        REQUIRE(::waitpid(pid_, nullptr, WUNTRACED) == pid_);
    }

  private:
    pid_t pid_;
};

}  // namespace

TEST_CASE("A group of a cgroup without tasks on that CPU is inactive") {
    const CgroupOnCpu world;
    const Frame frame = world.frame();
    REQUIRE(frame.record.status == PERF_METAGROUP_INACTIVE);
    REQUIRE(frame.payload == world.group.read());
}

// perf leaves the clock of a cgroup marked as active if its last event is disabled meanwhile.
TEST_CASE(
    "The times of a group stop while its cgroup does not run, even after it was disabled while the "
    "cgroup ran") {
    const CgroupOnCpu world;
    if (world.cpu == online_cpus().front()) SKIP("needs two CPUs");
    const BusyTask task(world.cpu, world.cgroup);
    for (int round = 0; world.frame().record.status != PERF_METAGROUP_OK; ++round) {
        REQUIRE(round < 2000);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    REQUIRE(world.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    task.stop();
    REQUIRE(world.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);

    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Frame frame = world.frame();
    REQUIRE(frame.record.status == PERF_METAGROUP_INACTIVE);
    REQUIRE(frame.payload == world.group.read());
}
