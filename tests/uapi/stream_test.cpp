// SPDX-License-Identifier: MIT
// STREAM: CPUs that sample themselves at common deadlines.
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

#include "fixtures.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// Bytes for a group of three events that a ring has left when there is room for a deadline: lost
// samples, header of a sample, payload.
constexpr std::size_t kSampleRoom = 40 + 32 + 8 * (3 + 2 * 3);

void append(std::map<int, std::vector<RingRecord>>& all,
            const std::map<int, std::vector<RingRecord>>& more) {
    for (const auto& [cpu, records] : more)
        all[cpu].insert(all[cpu].end(), records.begin(), records.end());
}

std::set<std::uint64_t> deadlines(const std::vector<RingRecord>& records, std::uint64_t period) {
    std::set<std::uint64_t> set;
    for (const RingRecord& record : records)
        if (record.is_sample()) set.insert(record.time / period);
    return set;
}

std::size_t samples(const std::vector<RingRecord>& records) {
    return static_cast<std::size_t>(std::count_if(
        records.begin(), records.end(), [](const RingRecord& r) { return r.is_sample(); }));
}

short poll_now(const Meta& meta, int timeout_ms = 0) {
    pollfd fd{.fd = meta.fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&fd, 1, timeout_ms) >= 0);
    return fd.revents;
}

struct Streaming {
    MaxStreamPercent no_limit{100};
    std::vector<EventGroup> groups = open_everywhere(kFull, 3);
    Meta meta{groups};
};

}  // namespace

TEST_CASE_METHOD(NeedsStreams,
                 "A sample has the payload of read(2), the identifier of the leader and its CPU") {
    const MaxStreamPercent no_limit(100);
    for (const std::uint64_t format : {kFull, std::uint64_t{PERF_FORMAT_GROUP}, kTimes,
                                       std::uint64_t{PERF_FORMAT_ID}, std::uint64_t{0}}) {
        auto [groups, meta] = attached(open_everywhere(format, format & PERF_FORMAT_GROUP ? 4 : 1));
        burn_ms(2);
        REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        RunningStream stream(meta, kPeriod);
        const auto all = stream.run(50ms);
        REQUIRE(all.size() == groups.size());
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const auto& records = all.at(online_cpus()[i]);
            REQUIRE(samples(records) > 0);
            for (const RingRecord& record : records) {
                REQUIRE(record.cpu == online_cpus()[i]);
                REQUIRE(record.id == groups[i].id(0));
                if (record.is_sample()) REQUIRE(record.payload == groups[i].read());
            }
        }
    }
}

TEST_CASE_METHOD(NeedsStreams, "Each deadline of each CPU has a sample or is counted as lost") {
    Streaming world;
    RunningStream stream(world.meta, kPeriod, 4 * kRingPage);
    std::map<int, std::vector<RingRecord>> all;
    repeat_for(
        300ms, [&] { append(all, stream.run(20ms)); },
        [&] {
            return std::ranges::all_of(all,
                                       [](const auto& one) { return samples(one.second) > 0; });
        });
    const std::uint64_t unreported = stream.stop();
    append(all, stream.drain());
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const auto& records = all.at(online_cpus()[i]);
        const auto number =
            check_deadlines(records, world.groups[i].id(0), stream.arg().first, stream.period());
        REQUIRE(number >= periods(300ms) - 1);
        REQUIRE(samples(records) > 0);
    }
    REQUIRE(unreported == 0);
}

TEST_CASE_METHOD(
    NeedsStreams,
    "The time of a sample is less than a period after a deadline that all CPUs share") {
    Streaming world;
    RunningStream stream(world.meta, kPeriod);
    REQUIRE(stream.arg().first % stream.period() == 0);
    std::map<int, std::vector<RingRecord>> all;
    const auto common = [&] {
        auto of_all = deadlines(all[online_cpus().front()], stream.period());
        for (const auto& [cpu, records] : all) {
            const auto these = deadlines(records, stream.period());
            std::erase_if(of_all, [&](std::uint64_t one) { return !these.contains(one); });
        }
        return of_all.size();
    };
    // Virtual CPUs stand still at different times.
    repeat_for(
        0ms, [&] { append(all, stream.run(100ms)); }, [&] { return common() > 10; });
    REQUIRE(all.size() == online_cpus().size());
    REQUIRE(common() > 10);
}

TEST_CASE_METHOD(NeedsStreams, "Counts of a stream and of sweeps are consistent") {
    Streaming world;
    const Bytes before = world.meta.read();
    RunningStream stream(world.meta, kPeriod);
    std::map<int, std::vector<RingRecord>> all;
    Bytes swept;
    for (int round = 0; round < 20; ++round) {
        append(all, stream.run(5ms));
        swept = world.meta.read();
    }
    stream.stop();
    append(all, stream.drain());
    REQUIRE(words(swept).at(3) >= words(before).at(3));
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        std::uint64_t last = 0;
        for (const RingRecord& record : all.at(online_cpus()[i])) {
            if (!record.is_sample()) continue;
            const std::uint64_t count = words(record.payload).at(3);
            REQUIRE(count >= last);
            last = count;
        }
        REQUIRE(words(world.groups[i].read()).at(3) >= last);
    }
}

TEST_CASE_METHOD(NeedsStreams,
                 "A full ring keeps its samples, and losses are reported when there is space") {
    const MaxStreamPercent no_limit(100);
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 3));
    RunningStream stream(meta, 100us, kRingPage);
    MappedRing& ring = stream.ring(cpu);
    repeat_for(
        1ms, [] { std::this_thread::sleep_for(1ms); },
        [&] { return kRingPage - ring.head() < kSampleRoom; });
    std::this_thread::sleep_for(20ms);
    REQUIRE(kRingPage - ring.head() < kSampleRoom);
    auto records = ring.drain();
    const std::uint64_t full = ring.head();
    REQUIRE(wait_until([&] { return ring.head() > full; }));
    const auto more = ring.drain();
    REQUIRE_FALSE(more.front().is_sample());
    REQUIRE(more.front().lost >= 20ms / 100us - 1);
    records.insert(records.end(), more.begin(), more.end());
    check_deadlines(records, group.id(0), stream.arg().first, stream.period());
}

TEST_CASE_METHOD(NeedsStreams,
                 "Stopping a stream returns the lost deadlines that no ring reports") {
    const MaxStreamPercent no_limit(100);
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 3));
    RunningStream stream(meta, 100us, kRingPage);
    REQUIRE(wait_until([&] { return kRingPage - stream.ring(cpu).head() < kSampleRoom; }));
    std::this_thread::sleep_for(20ms);
    const auto before = std::chrono::steady_clock::now();
    const std::uint64_t lost = stream.stop();
    const auto after = std::chrono::steady_clock::now();
    REQUIRE(lost > 0);
    const auto records = stream.ring(cpu).drain();
    std::uint64_t reported = 0;
    for (const RingRecord& record : records)
        reported += record.lost;
    REQUIRE(lost + reported == fdinfo(meta, "stream_lost"));
    const auto deadlines = [&](std::chrono::steady_clock::time_point time) {
        const auto ns = static_cast<std::uint64_t>(time.time_since_epoch().count());
        return (ns - stream.arg().first) / stream.period() + 1;
    };
    REQUIRE(samples(records) + reported + lost >= deadlines(before));
    REQUIRE(samples(records) + reported + lost <= deadlines(after));
}

TEST_CASE_METHOD(NeedsStreams,
                 "An index that user space writes into a ring can only cause lost samples") {
    const MaxStreamPercent no_limit(100);
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 3));
    RunningStream stream(meta, 100us, kRingPage);
    perf_event_mmap_page& page = stream.ring(cpu).page();
    std::uint64_t value = 1;
    for (int round = 0; round < 200; ++round) {
        value = value * 6364136223846793005ULL + 1442695040888963407ULL;
        __atomic_store_n(&page.data_tail, value >> (round % 64), __ATOMIC_RELAXED);
        __atomic_store_n(&page.data_head, ~value, __ATOMIC_RELAXED);
        page.data_offset = value;
        page.data_size = ~value;
        std::this_thread::sleep_for(1ms);
    }
    // The kernel has kept its own index, and shows it again.
    const std::uint64_t deadlines = fdinfo(meta, "stream_deadlines");
    repeat_for(
        1ms, [&] { page.data_tail = stream.ring(cpu).head(); },
        [&] { return fdinfo(meta, "stream_deadlines") > deadlines + 10; });
}

TEST_CASE_METHOD(NeedsStreams, "In overwrite mode the newest record is at data_head") {
    const MaxStreamPercent no_limit(100);
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 3));
    RunningStream stream(meta, 200us, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
    constexpr std::uint64_t kSamples = 450;
    REQUIRE(wait_until([&] { return fdinfo(meta, "stream_deadlines") >= kSamples; }));
    REQUIRE(poll_now(meta) == 0);
    stream.stop();

    auto records = stream.ring(cpu).newest_first();
    REQUIRE(records.size() > 10);
    std::reverse(records.begin(), records.end());
    const std::uint64_t first = records.front().time / stream.period() * stream.period();
    if (records.front().is_sample()) check_deadlines(records, group.id(0), first, stream.period());
    REQUIRE(records.back().time >= stream.arg().first + (kSamples - 1) * stream.period());
}

TEST_CASE_METHOD(
    NeedsStreams,
    "poll returns when a ring has reached the watermark, and when the stream has stopped") {
    Streaming world;
    REQUIRE(poll_now(world.meta) == POLLIN);  // no stream: read(2) does not wait
    perf_metagroup_stream arg = stream_of(1ms, 16 * kRingPage);
    arg.watermark = 4096;
    REQUIRE(start_stream(world.meta, arg) == 0);
    std::vector<MappedRing> rings;
    for (const int cpu : online_cpus())
        rings.emplace_back(world.meta, arg, cpu);
    for (int round = 0; round < 5; ++round) {
        REQUIRE(poll_now(world.meta, 10'000) == POLLIN);
        std::uint64_t most = 0;
        for (MappedRing& ring : rings) {
            most = std::max<std::uint64_t>(most, ring.head() - ring.page().data_tail);
            ring.drain();
        }
        REQUIRE(most >= 4096);
    }
    REQUIRE(stop_stream(world.meta) == 0);
    REQUIRE((poll_now(world.meta) & POLLHUP) != 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "epoll_wait returns when a ring is full before it has reached the watermark") {
    const MaxStreamPercent no_limit(100);
    const auto [group, meta] = attached(open_group(online_cpus().back(), kFull, 3));
    perf_metagroup_stream arg = stream_of(100us, kRingPage);
    arg.watermark = kRingPage;
    REQUIRE(start_stream(meta, arg) == 0);
    const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    REQUIRE(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, meta.fd(), &event) == 0);
    REQUIRE(::epoll_wait(epoll.get(), &event, 1, 30'000) == 1);
    REQUIRE(event.events == EPOLLIN);
    MappedRing ring(meta, arg, online_cpus().back());
    REQUIRE(ring.head() < kRingPage);
}

TEST_CASE_METHOD(NeedsStreams, "A stream is refused with a specific error") {
    Streaming world;
    const auto refused = [&](perf_metagroup_stream arg) { return start_stream(world.meta, arg); };
    REQUIRE(refused(stream_of(9999ns)) == -EINVAL);
    REQUIRE(refused(stream_of(61s)) == -EINVAL);
    REQUIRE(refused(stream_of(1ms, 0)) == -EINVAL);
    REQUIRE(refused(stream_of(1ms, 2048)) == -EINVAL);
    REQUIRE(refused(stream_of(1ms, 3 * kRingPage)) == -EINVAL);
    REQUIRE(refused(stream_of(1ms, 2 * PERF_METAGROUP_MAX_RING)) == -EINVAL);
    for (int bit = 1; bit < 32; ++bit)
        REQUIRE(refused(stream_of(1ms, kRingPage, 1U << bit)) == -EINVAL);
    perf_metagroup_stream arg = stream_of(1ms, kRingPage);
    arg.watermark = kRingPage + 1;
    REQUIRE(refused(arg) == -EINVAL);
    REQUIRE(refused(stream_of(0ms, kRingPage)) == -EINVAL);

    const EventGroup large = open_group(online_cpus().front(), kFull, 300);
    REQUIRE(world.meta.attach(large) == 0);
    REQUIRE(refused(stream_of(1ms, kRingPage)) == -ENOSPC);
    REQUIRE(stop_stream(world.meta) == 0);
    REQUIRE(refused(stream_of(1ms, 4 * kRingPage)) == 0);
    REQUIRE(refused(stream_of(1ms, 4 * kRingPage)) == -EBUSY);
    REQUIRE(stop_stream(world.meta) == 0);
    REQUIRE(refused(stream_of(1ms, 4 * kRingPage)) == 0);
}

TEST_CASE_METHOD(NeedsStreams,
                 "A ring can be mapped only at its offset, shared, and not beyond its end") {
    const auto [group, meta] = attached(open_group(online_cpus().back(), kFull, 1));
    perf_metagroup_stream arg = stream_of(kPeriod, kRingPage);
    arg.map_offset = PERF_METAGROUP_RINGS;
    arg.map_stride = 2 * kRingPage;
    const int cpu = online_cpus().back();
    REQUIRE(try_to_map_ring(meta, arg, cpu) == -EINVAL);  // no stream was started
    REQUIRE(start_stream(meta, arg) == 0);
    REQUIRE(arg.map_offset == PERF_METAGROUP_RINGS);
    REQUIRE(arg.map_stride == 2 * kRingPage);
    REQUIRE(try_to_map_ring(meta, arg, cpu) == 0);
    REQUIRE(try_to_map_ring(meta, arg, cpu, kRingPage) == 0);
    REQUIRE(try_to_map_ring(meta, arg, cpu, 3 * kRingPage) == -EINVAL);
    REQUIRE(try_to_map_ring(meta, arg, cpu, 0, MAP_PRIVATE) == -EINVAL);
    REQUIRE(try_to_map_ring(meta, arg, 1'000'000) == -ENODEV);
    if (cpu > 0) REQUIRE(try_to_map_ring(meta, arg, 0) == -ENODEV);
    perf_metagroup_stream between = arg;
    between.map_offset += kRingPage;
    REQUIRE(try_to_map_ring(meta, between, cpu) == -EINVAL);
}

TEST_CASE_METHOD(NeedsStreams, "A ring stays mapped after the stream and the handle are gone") {
    const EventGroup group = open_group(online_cpus().back(), kFull, 1);
    std::optional<MappedRing> ring;
    {
        const MaxStreamPercent no_limit(100);
        const Meta meta(group);
        RunningStream stream(meta, kPeriod);
        ring.emplace(meta, stream.arg(), online_cpus().back());
        stream.run(50ms);
    }
    const std::uint64_t end = ring->head();
    REQUIRE(end > 0);
    std::this_thread::sleep_for(20ms);
    // The mapping holds the file, so the stream goes on until it is unmapped.
    REQUIRE(ring->head() >= end);
}

TEST_CASE_METHOD(NeedsStreams, "A mapped ring keeps the module after its handle is closed") {
    std::optional<MappedRing> ring;
    {
        const auto [group, meta] = attached(open_group(online_cpus().back(), kFull, 1));
        ring.emplace(meta, RunningStream(meta, kPeriod).arg(), online_cpus().back());
    }
    REQUIRE(error_of(::syscall(SYS_delete_module, "perf_metagroup", O_NONBLOCK)) == EWOULDBLOCK);
}

TEST_CASE_METHOD(NeedsStreams, "Setting the time of day does not move deadlines") {
    Streaming world;
    RunningStream stream(world.meta, kPeriod);
    auto all = stream.run(50ms);
    timespec now{};
    REQUIRE(::clock_gettime(CLOCK_REALTIME, &now) == 0);
    timespec later = now;
    later.tv_sec += 3600;
    REQUIRE(::clock_settime(CLOCK_REALTIME, &later) == 0);
    append(all, stream.run(50ms));
    REQUIRE(::clock_settime(CLOCK_REALTIME, &now) == 0);
    append(all, stream.run(50ms));
    for (std::size_t i = 0; i < world.groups.size(); ++i)
        REQUIRE(check_deadlines(all.at(online_cpus()[i]), world.groups[i].id(0), stream.arg().first,
                                stream.period()) >= periods(100ms));
}

TEST_CASE_METHOD(
    NeedsStreams,
    "Streams use no more CPU time than max_stream_percent, and their losses are counted") {
    const MaxStreamPercent limit(1);
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 8));
    RunningStream stream(meta, 10us, 1024 * kRingPage);
    auto all = stream.run(1s);
    stream.stop();
    append(all, stream.drain());
    REQUIRE(fdinfo(meta, "stream_throttled") > 0);
    REQUIRE(fdinfo(meta, "stream_deadlines") < fdinfo(meta, "stream_throttled"));
    REQUIRE(check_deadlines(all.at(cpu), group.id(0), stream.arg().first, stream.period()) >=
            1s / 10us - 1000);
}
