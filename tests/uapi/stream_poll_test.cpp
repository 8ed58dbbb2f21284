// SPDX-License-Identifier: MIT
// Waiting for a stream, whatever else its CPUs do.
#include <poll.h>
#include <sys/epoll.h>

#include "streams.hpp"
#include "support/real_time.hpp"

using namespace metagroup::test;

TEST_CASE_METHOD(NeedsStreams,
                 "epoll_wait returns for a handle that was added before its first stream") {
    const OneCpu here;
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 3));
    const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    REQUIRE(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, meta.fd(), &event) == 0);
    perf_metagroup_stream arg = stream_of(kPeriod, 4 * kRingPage);
    REQUIRE(start_stream(meta, arg) == 0);
    REQUIRE(::epoll_wait(epoll.get(), &event, 1, 30'000) == 1);
    REQUIRE(event.events == EPOLLIN);
    MappedRing ring(meta, arg, here.cpu);
    ring.drain();
    REQUIRE(stop_stream(meta) == 0);
    REQUIRE(::epoll_wait(epoll.get(), &event, 1, 30'000) == 1);
    REQUIRE((event.events & EPOLLHUP) != 0);
}

TEST_CASE_METHOD(
    NeedsStreams,
    "A reader is woken, and a stop ends, while a real-time thread never leaves the CPU") {
    const OnFirstCpu test;
    const OneCpu here;
    if (online_cpus().size() < 2) SKIP("needs two CPUs");
    const auto [group, meta] = attached(open_group(here.cpu, kFull, 3));
    const RealTimeCpu busy(here.cpu, [] {
        const sched_param priority{.sched_priority = 50};
        ::sched_setscheduler(0, SCHED_FIFO, &priority);
    });
    perf_metagroup_stream arg = stream_of(kPeriod, 4 * kRingPage);
    REQUIRE(start_stream(meta, arg) == 0);
    const auto took = time_of([&] {
        pollfd fd{.fd = meta.fd(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&fd, 1, 30'000) == 1);
        REQUIRE(stop_stream(meta) == 0);
    });
    REQUIRE(took < 15s);
}

TEST_CASE_METHOD(NeedsStreamsAndQuiet,
                 "In quiet mode each deadline that is throttled is counted once") {
    const MaxStreamPercent limit(1);
    const OnFirstCpu test;
    const int cpu = online_cpus().back();
    if (cpu == online_cpus().front()) SKIP("needs two CPUs");
    // Each of its samples takes the share of 100 ms.
    const TestpmuUpdateTime slow(500);
    const auto [core, other] = attached(open_core(cpu, kFull, 2));
    RunningStream takes_share(other, 10ms);
    const auto [clock, meta] = attached(open_group(cpu, kFull, 1));
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    RunningStream stream(meta, 100us);
    // The CPU is busy for a moment, and idle at the next deadline.
    for (int i = 0; i < 200; ++i) {
        run_on(cpu);
        run_on(online_cpus().front());
        takes_share.drain();
        stream.drain();
        std::this_thread::sleep_for(1ms);
    }
    stream.stop();
    const std::uint64_t end = monotonic_ns();
    const std::uint64_t counted = fdinfo(meta, "stream_deadlines") + fdinfo(meta, "stream_lost");
    REQUIRE(fdinfo(meta, "stream_throttled") > 0);
    REQUIRE(counted <= (end - stream.arg().first) / stream.period() + 1);
}
