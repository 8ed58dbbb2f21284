// SPDX-License-Identifier: MIT
// The memory of rings: who pays for it, and what is refused.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "limits.hpp"
#include "streams.hpp"

using namespace metagroup::test;

namespace {

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

TEST_CASE_METHOD(NeedsStreams, "A stopped stream keeps only mapped rings", "[privilege]") {
    const OpenDevice device;
    const std::size_t pages = 2 * kCharged / kRingPage;
    const MaxRingKb limit(static_cast<int>((pages / online_cpus().size() + 1) * kRingPage / 1024));
    const Memlock none(0);
    const auto groups = groups_for(3);
    struct Result {
        long first, second, third, freed, unmapped;
    };
    const Result user = run_as(Identity::user, leaders_of(groups), [](std::span<const int> fds) {
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
    utsname system{};
    ::uname(&system);
    if (std::string_view(system.release).starts_with("5.10"))
        SKIP("before Linux 5.11 memory that is mapped is not charged to cgroups");
    const EventGroup group = open_group(online_cpus().back(), kFull, 1);
    REQUIRE(in_child([&] {
                std::ofstream(cgroup.procs()) << ::getpid() << std::flush;
                const Meta meta(group);
                perf_metagroup_stream arg = stream_of(1s, PERF_METAGROUP_MAX_RING);
                const long error = start_stream(meta, arg);
                arg = stream_of(1s, kRing);
                if (error != -ENOMEM) return 1 - static_cast<int>(error);
                return start_stream(meta, arg) == 0 ? 0 : 200;
            }) == 0);
}

namespace {

// A child that starts a stream with the largest rings, on all CPUs. It says when it begins and
// ends.
class LargeStream {
  public:
    LargeStream() {
        REQUIRE(::pipe2(pipe_.data(), O_CLOEXEC) == 0);
        child_ = ::fork();
        if (child_ == 0) {
            const auto [groups, meta] = attached(open_everywhere(kTimes, 1));
            perf_metagroup_stream arg = stream_of(1s, PERF_METAGROUP_MAX_RING);
            (void)!::write(pipe_[1], "", 1);
            const long error = start_stream(meta, arg);
            (void)!::write(pipe_[1], "", 1);
            ::_exit(error != 0);
        }
        wait_for_message();
    }
    ~LargeStream() {
        ::close(pipe_[0]);
        ::close(pipe_[1]);
    }
    LargeStream(const LargeStream&) = delete;
    LargeStream& operator=(const LargeStream&) = delete;

    void wait_for_message() const {
        char byte = 0;
        REQUIRE(::read(pipe_[0], &byte, 1) == 1);
    }
    void kill() const { ::kill(child_, SIGKILL); }
    void wait() const { REQUIRE(::waitpid(child_, nullptr, 0) == child_); }

  private:
    std::array<int, 2> pipe_{};
    pid_t child_ = -1;
};

}  // namespace

TEST_CASE_METHOD(NeedsStreams, "A task that is killed does not allocate the rest of its rings") {
    auto whole = std::chrono::nanoseconds::max();
    for (int round = 0; round < 3; ++round) {
        const LargeStream stream;
        whole = std::min(whole, time_of([&] { stream.wait_for_message(); }));
        stream.wait();
    }
    auto shortest = whole;
    for (int round = 0; round < 20 && shortest >= whole / 2; ++round) {
        const LargeStream stream;
        const auto before = time_of([&] {
            std::this_thread::sleep_for(whole / 8);
            stream.kill();
        });
        const auto after = time_of([&] { stream.wait(); });
        if (before < whole / 4) shortest = std::min(shortest, after);
    }
    REQUIRE(shortest < whole / 2);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A ring that could not be allocated for a moved member is tried again") {
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

TEST_CASE_METHOD(NeedsStreams, "A ring cannot be mapped through a read-only handle") {
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
