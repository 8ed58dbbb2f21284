// SPDX-License-Identifier: MIT
// The memory of rings: who pays for it, and what is refused.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "streams.hpp"

using namespace metagroup::test;

namespace {

struct MaxRingKb : Setting {
    explicit MaxRingKb(int kb) : Setting("/sys/module/perf_metagroup/parameters/max_ring_kb", kb) {}
};

void set_memlock(rlim_t bytes) {
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit)) throw std::runtime_error("RLIMIT_MEMLOCK");
}

constexpr std::size_t kRing = 64 * kRingPage;
constexpr std::size_t kCharged = kRing + kRingPage;

// A message passes no more descriptors.
constexpr std::size_t kGroups = 16;

// As many streams as start, each with one ring, and the error of the next.
struct Streams {
    std::vector<Meta> running;
    long error = 0;

    explicit Streams(std::span<const int> leaders, std::size_t ring = kRing) {
        for (const int leader : leaders) {
            Meta meta;
            perf_metagroup_stream arg = stream_of(1s, ring);
            if (meta.attach(std::span(&leader, 1)) == 0) error = start_stream(meta, arg);
            if (error) return;
            running.push_back(std::move(meta));
        }
    }
};

std::vector<EventGroup> groups_for(std::size_t streams) {
    std::vector<EventGroup> groups;
    for (std::size_t i = 0; i < streams; ++i)
        groups.push_back(open_group(online_cpus().back(), kFull, 1));
    return groups;
}

// Memory that this process has pinned, in kB.
std::uint64_t pinned_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (std::uint64_t kb = 0; word == "VmPin:" && status >> kb) return kb;
    throw std::runtime_error("no VmPin");
}

// A handle of a user without capabilities.
Meta handle_of_user() {
    const OpenDevice device;
    std::array<int, 2> sockets{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) == 0);
    const Fd here(sockets[0]), there(sockets[1]);
    REQUIRE(in_child([&] {
                if (::setuid(65534)) return 1;
                const Fd fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC));
                if (!fd) return 2;
                const int number = fd.get();
                send_fds(there.get(), std::span(&number, 1));
                return 0;
            }) == 0);
    return Meta(std::move(receive_fds(here.get()).at(0)));
}

// The capability of locking memory without limit is not in effect.
class NoIpcLock {
  public:
    NoIpcLock() { set(false); }
    ~NoIpcLock() { set(true); }
    NoIpcLock(const NoIpcLock&) = delete;
    NoIpcLock& operator=(const NoIpcLock&) = delete;

  private:
    static void set(bool on) {
        __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2]{};
        ::syscall(SYS_capget, &head, data);
        const unsigned bit = 1U << CAP_IPC_LOCK;
        data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
        ::syscall(SYS_capset, &head, data);
    }
};

}  // namespace

TEST_CASE_METHOD(NeedsStreams,
                 "A user's rings are within max_ring_kb for each CPU and RLIMIT_MEMLOCK",
                 "[privilege]") {
    const OpenDevice device;
    // More than a ring, so that a part of the last one is the process's.
    const std::uint64_t kb = 132, memlock = 300 * 1024;
    const MaxRingKb limit(static_cast<int>(kb));
    const auto groups = groups_for(kGroups);
    struct Result {
        std::size_t started, again, after_stop;
        std::uint64_t pinned, unpinned;
        long error, too_large;
    };
    const Result user = run_as(Identity::user, leaders_of(groups), [&](std::span<const int> fds) {
        set_memlock(memlock);
        Result result{};
        {
            const Streams streams(fds);
            result.started = streams.running.size();
            result.error = streams.error;
            result.pinned = pinned_kb();
        }
        result.unpinned = pinned_kb();
        result.again = Streams(fds).running.size();
        for (std::size_t i = 0; i < fds.size(); ++i) {
            const Streams one(fds.subspan(i, 1));
            if (!one.running.empty() && stop_stream(one.running[0]) == 0) ++result.after_stop;
        }
        result.too_large = Streams(fds.first(1), 4096 * kRingPage).error;
        return result;
    });
    const std::size_t most = (online_cpus().size() * kb * 1024 + memlock) / kCharged;
    REQUIRE(user.started == most);
    REQUIRE(user.error == -EPERM);
    REQUIRE(user.pinned > 0);
    REQUIRE(user.pinned <= memlock / 1024);
    REQUIRE(user.unpinned == 0);
    REQUIRE(user.again == most);
    REQUIRE(user.after_stop == kGroups);
    REQUIRE(user.too_large == -EPERM);
    for (const Identity identity : {Identity::root, Identity::monitor}) {
        const auto started = run_as(identity, leaders_of(groups), [&](std::span<const int> fds) {
            set_memlock(memlock);
            return Streams(fds).running.size();
        });
        REQUIRE(started == kGroups);
    }
}

TEST_CASE_METHOD(NeedsStreams, "A stopped stream keeps no ring but those that are mapped",
                 "[privilege]") {
    const OpenDevice device;
    const std::size_t pages = 2 * kCharged / kRingPage;
    const MaxRingKb limit(static_cast<int>((pages / online_cpus().size() + 1) * kRingPage / 1024));
    const auto groups = groups_for(3);
    struct Result {
        long first, second, third, freed, unmapped;
    };
    const Result user = run_as(Identity::user, leaders_of(groups), [](std::span<const int> fds) {
        set_memlock(0);
        std::array<Meta, 3> metas;
        perf_metagroup_stream arg = stream_of(1s, kRing);
        for (std::size_t i = 0; i < metas.size(); ++i)
            if (metas[i].attach(fds.subspan(i, 1))) throw std::runtime_error("ATTACH");
        Result result{};
        result.first = start_stream(metas[0], arg);
        std::optional<MappedRing> ring(std::in_place, metas[0], arg, online_cpus().back());
        result.second = start_stream(metas[1], arg);
        stop_stream(metas[0]);
        result.third = start_stream(metas[2], arg);
        stop_stream(metas[1]);
        result.freed = start_stream(metas[2], arg);
        ring.reset();
        result.unmapped = start_stream(metas[1], arg);
        return result;
    });
    REQUIRE(user.first == 0);
    REQUIRE(user.second == 0);
    REQUIRE(user.third == -EPERM);
    REQUIRE(user.freed == 0);
    REQUIRE(user.unmapped == 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A cgroup without memory for rings refuses them, and no process is killed") {
    std::ofstream("/sys/fs/cgroup/cgroup.subtree_control") << "+memory" << std::flush;
    const Cgroup cgroup("rings");
    if (!(std::ofstream(cgroup.path() / "memory.max") << "32M" << std::flush))
        SKIP("no memory cgroups");
    const EventGroup group = open_group(online_cpus().back(), kFull, 1);
    REQUIRE(in_child([&] {
                std::ofstream(cgroup.procs()) << ::getpid() << std::flush;
                const Meta meta(group);
                perf_metagroup_stream arg = stream_of(1s, PERF_METAGROUP_MAX_RING);
                const long error = start_stream(meta, arg);
                arg = stream_of(1s, kRing);
                return error == -ENOMEM && start_stream(meta, arg) == 0 ? 0 : 1;
            }) == 0);
}

TEST_CASE_METHOD(NeedsStreams, "A ring that a moved member could not have is tried again") {
    const OneCpu here;
    const int to = online_cpus().front();
    if (to == here.cpu) SKIP("needs two CPUs");
    const EventGroup group = group_of(here.cpu, {testpmu_or_skip(kFull)});
    const Meta meta = handle_of_user();
    REQUIRE(meta.attach(group) == 0);
    // Of one CPU, and half of another.
    const auto kb = static_cast<int>(3 * kCharged / 2 / 1024 / online_cpus().size());
    const MaxRingKb limit(kb);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &none) == 0);
    perf_metagroup_stream arg = stream_of(kPeriod, kRing);
    long error = 0;
    {
        const NoIpcLock unprivileged;
        error = start_stream(meta, arg);
    }
    ::setrlimit(RLIMIT_MEMLOCK, &before);
    REQUIRE(error == 0);
    testpmu_move(here.cpu, to);
    std::this_thread::sleep_for(100ms);
    const long refused = try_to_map_ring(meta, arg, to);
    REQUIRE(limit.set(10 * kb));
    long mapped = -ENODEV;
    repeat_for(
        0ms, [&] { std::this_thread::sleep_for(10ms); },
        [&] { return (mapped = try_to_map_ring(meta, arg, to)) == 0; });
    if (mapped == 0) {
        MappedRing ring(meta, arg, to);
        wait_for(ring, sample_of(group));
    }
    testpmu_move(to, here.cpu);
    REQUIRE(refused == -ENODEV);
    REQUIRE(mapped == 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A ring cannot be mapped through a handle that is open for reading only") {
    const EventGroup group = open_group(online_cpus().back(), kFull, 1);
    const Meta meta(Fd(::open(PERF_METAGROUP_DEVICE, O_RDONLY | O_CLOEXEC)));
    REQUIRE(meta.attach(group) == 0);
    perf_metagroup_stream arg = stream_of(kPeriod, kRingPage);
    REQUIRE(start_stream(meta, arg) == 0);
    const auto offset = static_cast<off_t>(
        arg.map_offset + static_cast<unsigned>(online_cpus().back()) * arg.map_stride);
    REQUIRE(try_to_map(meta.fd(), kRingPage, PROT_READ, MAP_SHARED, offset) == -EACCES);
    REQUIRE(try_to_map(meta.fd(), kRingPage, PROT_READ, MAP_PRIVATE, offset) == -EINVAL);
}
