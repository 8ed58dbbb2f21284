// SPDX-License-Identifier: MIT
// Tasks keep their CPU, whatever streams read there.
#include <sys/resource.h>

#include <bit>

#include "streams.hpp"

using namespace metagroup::test;
using std::chrono::nanoseconds;

namespace {

struct Row {
    int streams, members, events;
    nanoseconds period;
    nanoseconds longer;  // by which the period of each stream exceeds that of the one before
};

constexpr Row kRows[] = {
    {1, 60, 8, 1ms, 0ns},      {1, 120, 16, 4ms, 0ns},   {1, 120, 16, 100us, 0ns},
    {16, 60, 16, 100us, 0ns},  {64, 16, 16, 100us, 0ns}, {64, 1, 1, 10us, 0ns},
    {2, 60, 16, 100us, 900ns}, {2, 120, 16, 1ms, 70us},
};

// Counts as fast as its CPU can.
class Spinner {
  public:
    explicit Spinner(int cpu)
        : thread_([this, cpu](const std::stop_token& stop) {
              run_on(cpu);
              while (!stop.stop_requested())
                  rounds_.fetch_add(1, std::memory_order_relaxed);
          }) {}

    // Rounds per ns: the most of some times, because a virtual CPU may stand still.
    double speed() const {
        double most = 0;
        for (int i = 0; i < 4; ++i) {
            const std::uint64_t begin = monotonic_ns(), before = rounds_;
            std::this_thread::sleep_for(250ms);
            const auto rounds = static_cast<double>(rounds_ - before);
            most = std::max(most, rounds / static_cast<double>(monotonic_ns() - begin));
        }
        return most;
    }

  private:
    std::atomic<std::uint64_t> rounds_ = 0;
    std::jthread thread_;
};

}  // namespace

// Guests whose time is a number of instructions set METAGROUP_EXACT: run --icount.
TEST_CASE_METHOD(NeedsStreams,
                 "Streams leave a task what max_stream_percent says of its CPU, and samples come",
                 "[share]") {
    if (!std::getenv("METAGROUP_EXACT")) SKIP("parts of time are not exact: run --icount");
    const Row row = GENERATE(from_range(kRows));
    constexpr double least = 0.87;
    const rlimit files{100'000, 100'000};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
    const MaxStreamPercent limit(10);
    const int cpu = online_cpus().back();
    const auto events = static_cast<std::size_t>(row.events);
    const std::size_t ring = std::bit_ceil(
        std::max(kRingPage, static_cast<std::size_t>(row.members) * (104 + 16 * events)));

    std::vector<Meta> metas(static_cast<std::size_t>(row.streams));
    for (const Meta& meta : metas)
        for (int i = 0; i < row.members; ++i)
            REQUIRE(meta.attach(open_group(cpu, kFull, row.events)) == 0);
    const Spinner spinner(cpu);
    std::this_thread::sleep_for(50ms);
    const double alone = spinner.speed();
    nanoseconds period = row.period;
    for (const Meta& meta : metas) {
        perf_metagroup_stream arg = stream_of(period, ring, PERF_METAGROUP_STREAM_OVERWRITE);
        REQUIRE(start_stream(meta, arg) == 0);
        period += row.longer;
    }
    std::this_thread::sleep_for(200ms);  // the share that was not used before
    const double kept = spinner.speed() / alone;
    std::uint64_t samples = 0, starved = 0;
    for (const Meta& meta : metas) {
        samples += fdinfo(meta, "stream_deadlines");
        starved += fdinfo(meta, "stream_deadlines") < 2;
    }
    std::printf("%d x %d x %d, %lld ns: keeps %.3f, %llu samples\n", row.streams, row.members,
                row.events, static_cast<long long>(row.period.count()), kept,
                static_cast<unsigned long long>(samples));
    CAPTURE(row.streams, row.members, row.events, row.period.count(), kept, samples);
    REQUIRE(kept >= least);
    REQUIRE(starved == 0);
}
