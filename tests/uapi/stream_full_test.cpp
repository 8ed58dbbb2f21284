// SPDX-License-Identifier: MIT
// Deadlines are of different length: those that find a full ring are short, and some are
// interrupted.
#include "streams.hpp"

using namespace metagroup::test;

TEST_CASE_METHOD(NeedsStreams,
                 "A ring that is sometimes full does not hide the CPU time of a stream",
                 "[share]") {
    const MaxStreamPercent limit(10);
    const OnFirstCpu test;
    const int cpu = online_cpus().back();
    if (cpu == online_cpus().front()) SKIP("needs two CPUs");
    // A ring has room for seven samples of these; the eighth deadline reads nothing.
    const TestpmuUpdateTime slow(90);
    const auto [group, meta] = attached(open_core(cpu, kFull, 32));
    const BusyCpu busy(cpu);
    RunningStream stream(meta, 4ms, kRingPage);
    MappedRing& ring = stream.ring(cpu);
    for (std::uint64_t next = stream.arg().first + stream.period() * 15 / 2;
         next < stream.arg().first + 2'000'000'000; next += 8 * stream.period()) {
        const std::uint64_t now = monotonic_ns();
        if (next > now) std::this_thread::sleep_for(std::chrono::nanoseconds(next - now));
        __atomic_store_n(&ring.page().data_tail, ring.head(), __ATOMIC_RELEASE);
    }
    stream.stop();
    // A sample takes 2.9 ms, so one in 7 deadlines is 10 % of the time, and 7 in 8 are 63 %.
    const auto deadlines = fdinfo(meta, "stream_deadlines");
    REQUIRE(deadlines >= 10);
    REQUIRE(deadlines <= 120);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A deadline that is interrupted for long does not stop later ones for longer") {
    const MaxStreamPercent limit(10);
    const OnFirstCpu test;
    const int cpu = online_cpus().back();
    if (cpu == online_cpus().front()) SKIP("needs two CPUs");
    const auto [group, meta] = attached(open_core(cpu, kFull, 1));
    const BusyCpu busy(cpu);
    RunningStream stream(meta, 2ms, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
    const auto deadlines = [&] { return fdinfo(meta, "stream_deadlines"); };
    const auto next_deadlines = [&](std::uint64_t number) {
        const std::uint64_t before = deadlines();
        REQUIRE(wait_until([&] { return deadlines() >= before + number; }));
    };
    // The virtual CPU itself may stand still, but hardly each time.
    bool soon = false;
    for (int round = 0; round < 3 && !soon; ++round) {
        next_deadlines(1);
        {
            // As long as a virtual CPU may be stopped by its host.
            const TestpmuUpdateTime stopped(200'000);
            next_deadlines(2);  // the first one may have begun before
        }
        // 2 s or more, if all of that time were charged.
        soon = time_of([&] { next_deadlines(2); }) < 1s;
    }
    REQUIRE(soon);
}
