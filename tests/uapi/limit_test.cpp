// SPDX-License-Identifier: MIT
// The limits of groups and meta-groups, and of interrupts: users without CAP_PERFMON keep to the
// module's parameter max_sweep_rate.
#include <sched.h>
#include <sys/resource.h>

#include "fixtures.hpp"
#include "limits.hpp"
#include "support/set.hpp"

using namespace metagroup::test;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

// Nearly the most that a group may have: the kernel limits its payload to 16 KiB.
constexpr int kManySiblings = 1000;

void allow_many_files() {
    const rlimit files{100'000, 100'000};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
}

void add_siblings(EventGroup& group, int cpu) {
    for (int i = 0; i < kManySiblings; ++i)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kIds), cpu);
}

}  // namespace

TEST_CASE("The largest group that the kernel allows is read completely") {
    allow_many_files();
    EventGroup group;
    group.add(software_event(PERF_COUNT_SW_DUMMY, kIds), 0);
    add_siblings(group, 0);
    const Meta meta(group);
    REQUIRE(meta.read() == group.read());
}

TEST_CASE("A refused attach does not change the size of a read") {
    const Meta meta;
    const EventGroup small = open_group(1, 0, 1, true);
    REQUIRE(meta.attach(small) == 0);
    const auto before = meta.info().framed_size;

    allow_many_files();
    const auto larger = software_event(PERF_COUNT_SW_DUMMY, kIds | kTimes);
    std::vector<EventGroup> too_many(meta.info().max_per_cpu + 1);
    for (EventGroup& group : too_many)
        group.add(larger, 0);
    REQUIRE(meta.attach(too_many) == -E2BIG);
    REQUIRE(meta.info().framed_size == before);
    REQUIRE(meta.info().cpus == 1);
    REQUIRE(meta.read() == small.read());
}

TEST_CASE("A group that exceeds the events of its CPU is refused, and the others stay") {
    allow_many_files();
    const Meta meta;
    std::vector<EventGroup> groups(2);
    for (EventGroup& group : groups) {
        group.add(software_event(PERF_COUNT_SW_DUMMY, kIds), 0);
        add_siblings(group, 0);
    }
    REQUIRE(meta.attach(groups) == 0);
    EventGroup third;
    third.add(software_event(PERF_COUNT_SW_DUMMY, kIds), 0);
    for (unsigned i = 2 * (kManySiblings + 1); i < meta.info().max_events_per_cpu; ++i)
        third.add(software_event(PERF_COUNT_SW_DUMMY, kIds), 0);
    REQUIRE(meta.attach(third) == -E2BIG);
    third.fds.pop_back();
    REQUIRE(meta.attach(third) == 0);
    groups.push_back(std::move(third));
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A group that outgrows the limit of its CPU is stale, and the others are read") {
    allow_many_files();
    const Meta meta;
    std::vector<EventGroup> groups;
    for (int i = 0; i < 3; ++i) {
        groups.push_back(open_group(0, kIds, 1, true));
        REQUIRE(meta.attach(groups.back()) == 0);
    }
    for (EventGroup& group : groups)
        add_siblings(group, 0);

    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames[0].payload == groups[0].read());
    REQUIRE(framed.frames[1].payload == groups[1].read());
    REQUIRE(framed.frames[2].record.status == PERF_METAGROUP_STALE);
    REQUIRE(framed.frames[2].payload.empty());

    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.read() == concatenated({groups[0].read(), groups[1].read()}));
    groups[2].fds.resize(1);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A group that grows does not enlarge the frames of others") {
    allow_many_files();
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        for (int i = 0; i < 32; ++i)
            groups.push_back(open_group(cpu, kIds, 1, true));
    const Meta meta(groups);
    const auto before = read_framed(meta).head;
    add_siblings(groups.front(), online_cpus().front());

    const Framed grown = read_framed(meta);
    REQUIRE(grown.head.layout != before.layout);
    REQUIRE(grown.head.bytes < before.bytes + 2 * 16 * 1024);
    for (std::size_t i = 1; i < groups.size(); ++i)
        REQUIRE(grown.frames[i].record.frame == before.stride);
    for (std::size_t i = 0; i < groups.size(); ++i)
        REQUIRE(grown.frames[i].payload == groups[i].read());
}

TEST_CASE("All handles of a user without CAP_PERFMON together sweep at the limit", "[privilege]") {
    const OpenMachine machine;
    const MaxSweepRate rate(kRate);
    for (const Identity identity : {Identity::user, Identity::bare_root}) {
        const auto took = run_as(identity, {}, [](auto) {
            std::vector<Meta> handles;
            while (handles.size() < 4)
                handles.push_back(with_clocks());
            return time_of_sweeps([&](int turn) -> const Meta& {
                return handles[static_cast<std::size_t>(turn) % handles.size()];
            });
        });
        CAPTURE(name(identity));
        REQUIRE(took >= kLeast);
    }
}

TEST_CASE("Closing and reopening a handle does not allow more sweeps", "[privilege]") {
    const OpenMachine machine;
    const MaxSweepRate rate(kRate);
    const auto took = run_as(
        Identity::user, {}, [](auto) { return time_of_sweeps([](int) { return with_clocks(); }); });
    REQUIRE(took >= kLeast);
}

TEST_CASE("Subordinate user ids share the limit of their owner", "[privilege]") {
    if (identity_error(Identity::container)) SKIP("no user namespaces here");
    const OpenMachine machine;
    const MaxSweepRate rate(kRate);
    std::array<int, 2> unshared{}, mapped{};
    REQUIRE(::pipe(unshared.data()) == 0);
    REQUIRE(::pipe(mapped.data()) == 0);
    // Only root maps ids that are not the caller's own, as newuidmap(1) does.
    std::thread root([&] {
        pid_t child = 0;
        if (::read(unshared[0], &child, sizeof(child)) != sizeof(child)) return;
        std::ofstream("/proc/" + std::to_string(child) + "/uid_map") << "0 100000 1" << std::flush;
        ::close(mapped[1]);
    });
    nanoseconds took{};
    std::string error;
    try {
        took = run_as(
            Identity::user, std::array{unshared[1], mapped[0]}, [](std::span<const int> fds) {
                std::vector<Meta> handles;
                handles.push_back(with_clocks());
                const pid_t self = ::getpid();
                char byte = 0;
                if (::unshare(CLONE_NEWUSER) || ::write(fds[0], &self, sizeof(self)) < 0 ||
                    ::read(fds[1], &byte, 1) != 0 || ::setresuid(0, 0, 0))
                    throw std::runtime_error("no other user id");
                handles.push_back(with_clocks());
                return time_of_sweeps([&](int turn) -> const Meta& {
                    return handles[static_cast<std::size_t>(turn) % handles.size()];
                });
            });
    } catch (const std::exception& failure) {
        error = failure.what();
    }
    ::close(unshared[1]);
    root.join();
    ::close(unshared[0]);
    ::close(mapped[0]);
    REQUIRE(error == "");
    REQUIRE(took >= kLeast);
}

TEST_CASE("With CAP_PERFMON, or a rate of 0, there is no limit", "[privilege]") {
    const OpenMachine machine;
    const std::map<Identity, int> rates{
        {Identity::root, 1}, {Identity::monitor, 1}, {Identity::user, 0}};
    for (const auto& [identity, most] : rates) {
        const MaxSweepRate rate(most);
        const auto took = run_as(identity, {}, [](auto) {
            const Meta meta = with_clocks();
            return time_of_sweeps([&](int) -> const Meta& { return meta; });
        });
        CAPTURE(name(identity), most);
        REQUIRE(took < kNoWait);
    }
}

TEST_CASE("A change of the rate applies to open handles", "[privilege]") {
    const OpenDevice device;
    const MaxSweepRate rate(0);
    const Fd handle = [] {
        struct Effective {
            Effective() { REQUIRE(::seteuid(65534) == 0); }
            ~Effective() { (void)!::seteuid(0); }
        } const user;
        return Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    }();
    REQUIRE(handle);
    const Meta meta{Fd(::dup(handle.get()))};
    REQUIRE(meta.attach(open_everywhere(kTimes, 1)) == 0);
    REQUIRE(first_error([&] { return meta.sweep(); }) == 0);
    REQUIRE(rate.set(1));
    REQUIRE(first_error([&] { return meta.sweep(); }) == -EAGAIN);
}

TEST_CASE("At the limit, a handle with O_NONBLOCK fails with EAGAIN", "[privilege]") {
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const auto errors = run_as(Identity::user, {}, [](auto) {
        const Meta meta = with_clocks(O_NONBLOCK);
        std::array<char, 4096> buffer;
        return std::array{first_error([&] { return meta.sweep(); }),
                          first_error([&] { return meta.read(buffer.data(), buffer.size()); })};
    });
    REQUIRE(errors == std::array<long, 2>{-EAGAIN, -EAGAIN});
}

TEST_CASE("A sweep of one CPU is charged for one", "[privilege]") {
    const OpenMachine machine;
    // Ten sweeps of all CPUs are a burst, without a wait.
    const MaxSweepRate rate(1000);
    const auto cpus = online_cpus();
    const auto done = run_as(Identity::user, {}, [&](auto) {
        with_clocks().sweep();  // at most the burst is charged then, which is over after 10 ms
        std::this_thread::sleep_for(milliseconds(20));
        const Meta meta = with_clocks(O_NONBLOCK);
        std::size_t sweeps = 0;
        while (meta.sweep_on({cpus.back()}) == 0)
            ++sweeps;
        return sweeps;
    });
    REQUIRE(done >= 10 * cpus.size());
}

TEST_CASE("A signal ends the wait for the next sweep", "[privilege]") {
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const long error = run_as(Identity::user, {}, [](auto) {
        struct sigaction action {};
        action.sa_handler = [](int) {};
        ::sigaction(SIGALRM, &action, nullptr);
        ::ualarm(50'000, 50'000);
        const Meta meta = with_clocks();
        return first_error([&] { return meta.sweep(); });
    });
    REQUIRE(error == -EINTR);
}

TEST_CASE("A sweep that waits for the limit does not block the meta-group", "[privilege]") {
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const auto took = run_as(Identity::user, {}, [](auto) {
        const Meta meta = with_clocks();
        const Background sweeper([&] { meta.sweep(); });
        return time_of([&] {
            for (int turn = 0; turn < kTurns; ++turn) {
                meta.info();
                std::this_thread::sleep_for(milliseconds(1));
            }
        });
    });
    REQUIRE(took < kNoWait);
}
