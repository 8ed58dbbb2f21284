// SPDX-License-Identifier: MIT
// A user of the device without privileges costs others no more than the limits in
// docs/privileges.md: interrupts, the time of CPUs, workers and memory are measured.
#include <sys/prctl.h>

#include <bit>
#include <filesystem>

#include "identities.hpp"
#include "limits.hpp"
#include "support/background.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

// Interrupts: max_sweep_rate.

namespace {

// A meta-group of clocks that are groups, or of a set, and its member on the last CPU.
struct Limited {
    Fd event{open_event(software_event(PERF_COUNT_SW_CPU_CLOCK, 0), -1, 0, -1)};
    Meta meta;
    unsigned last = 0;

    Limited(bool set, int flags) : meta(with_clocks(flags)) {
        if (set) open();
    }

    // Another set, by a template.
    long open(const std::vector<int>& cpus = {}) {
        SetRequest request(std::vector<int>{event.get()}, cpus);
        const long result = request.open(meta);
        last = request.arg.first + request.arg.count - 1;
        return result;
    }
    long open_and_detach() {
        const long result = open({online_cpus().back()});
        return result < 0 ? result : meta.detach(last);
    }
    long control() const {
        perf_metagroup_control arg{};
        arg.size = sizeof(arg);
        arg.op = PERF_METAGROUP_RESET;
        return meta.ioctl(PERF_METAGROUP_IOC_CONTROL, &arg);
    }
    long stream() const {
        perf_metagroup_stream arg{};
        arg.size = sizeof(arg);
        arg.period = 1'000'000'000;
        arg.ring_size = 64 * 1024;
        const long result = meta.ioctl(PERF_METAGROUP_IOC_STREAM, &arg);
        perf_metagroup_stream stop{};
        stop.size = sizeof(stop);
        return result < 0 ? result : meta.ioctl(PERF_METAGROUP_IOC_STREAM, &stop);
    }
};

struct Interrupting {
    const char* name;
    bool set;
    long (*call)(Limited&);
    bool one_cpu = false;
};

// clang-format off
constexpr Interrupting kInterrupting[] = {
    {"ENABLE of groups", false, [](Limited& on) { return on.meta.control(PERF_METAGROUP_IOC_ENABLE); }},
    {"DISABLE of groups", false, [](Limited& on) { return on.meta.control(PERF_METAGROUP_IOC_DISABLE); }},
    {"RESET of groups", false, [](Limited& on) { return on.meta.control(PERF_METAGROUP_IOC_RESET); }},
    {"RESET of sets", true, [](Limited& on) { return on.meta.control(PERF_METAGROUP_IOC_RESET); }},
    {"CONTROL", true, [](Limited& on) { return on.control(); }},
    {"OPEN_SET", true, [](Limited& on) { return on.open(); }},
    {"OPEN_SET and DETACH on a CPU", false, [](Limited& on) { return on.open_and_detach(); }, true},
    {"STREAM", false, [](Limited& on) { return on.stream(); }},
};
// clang-format on

}  // namespace

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "All calls that interrupt CPUs are charged to the rate of sweeps", "[privilege]") {
    const Interrupting& way = GENERATE(from_range(kInterrupting));
    CAPTURE(way.name);
    const OpenMachine machine;
    const MaxSweepRate rate(kRate);
    const int turns = kTurns * (way.one_cpu ? static_cast<int>(online_cpus().size()) : 1);
    const auto took = run_as(Identity::user, {}, [&](auto) {
        Limited on(way.set, 0);
        return time_of([&] {
            for (int turn = 0; turn < turns; ++turn)
                if (way.call(on) < 0) throw std::runtime_error("a call failed");
        });
    });
    REQUIRE(took >= kLeast);
}

TEST_CASE_METHOD(NeedsSetsAndStreams,
                 "At the limit, calls that interrupt CPUs fail with EAGAIN if O_NONBLOCK is set",
                 "[privilege]") {
    const Interrupting& way = GENERATE(from_range(kInterrupting));
    CAPTURE(way.name);
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const long error = run_as(Identity::user, {}, [&](auto) {
        Limited on(way.set, O_NONBLOCK);
        return first_error([&] { return way.call(on); });
    });
    REQUIRE(error == -EAGAIN);
}

namespace {

// Groups on these CPUs, of which the first has a stream whose start is paid for.
struct PaidStream {
    Meta meta{Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK))};
    std::vector<EventGroup> groups;

    explicit PaidStream(const std::vector<int>& cpus) {
        for (const int cpu : cpus)
            groups.push_back(open_group(cpu, kTimes, 1));
        perf_metagroup_stream arg = stream_of(100ms, kRingPage);
        if (meta.attach(groups.front())) throw std::runtime_error("no member");
        // EAGAIN until what was before is paid for.
        if (!wait_until([&] { return start_stream(meta, arg) == 0; }))
            throw std::runtime_error("no stream");
        std::this_thread::sleep_for(seconds(2));
    }
};

}  // namespace

TEST_CASE_METHOD(NeedsStreams,
                 "ATTACH to a running stream is charged for the CPU whose timer it starts",
                 "[privilege]") {
    const auto cpus = online_cpus();
    if (cpus.size() < 2) SKIP("needs two CPUs");
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const auto errors = run_as(Identity::user, {}, [&](auto) {
        const PaidStream stream({cpus.front(), cpus.back()});
        constexpr unsigned nobody = 99;
        const long before = stream.meta.detach(nobody);
        if (stream.meta.attach(stream.groups[1])) throw std::runtime_error("no member");
        return std::array{before, stream.meta.detach(nobody)};
    });
    REQUIRE(errors == std::array<long, 2>{-ENOENT, -EAGAIN});
}

TEST_CASE_METHOD(NeedsStreams,
                 "At the limit, ATTACH to a running stream fails with EAGAIN if O_NONBLOCK is set",
                 "[privilege]") {
    const auto cpus = online_cpus();
    if (cpus.size() < 3) SKIP("needs three CPUs");
    const OpenMachine machine;
    const MaxSweepRate rate(1);
    const auto errors = run_as(Identity::user, {}, [&](auto) {
        const PaidStream stream({cpus[0], cpus[1], cpus[2]});
        return std::array{stream.meta.attach(stream.groups[1]),
                          stream.meta.attach(stream.groups[2])};
    });
    REQUIRE(errors == std::array<long, 2>{0, -EAGAIN});
}

TEST_CASE_METHOD(NeedsStreams,
                 "A stream whose group cannot grow does not sweep more often than max_sweep_rate",
                 "[privilege]") {
    constexpr unsigned kPerSecond = 4;
    const OpenMachine machine;
    const MaxStreamPercent no_limit(100);
    const MaxSweepRate rate(kPerSecond);
    const auto [sweeps, most] = run_as(Identity::user, {}, [](auto) {
        const Meta meta = with_clocks();
        EventGroup group = open_group(online_cpus().back(), kFull, 1);
        perf_metagroup_stream arg = stream_of(10ms, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
        if (meta.attach(group) || start_stream(meta, arg)) throw std::runtime_error("no stream");
        for (std::size_t i = 0; i < kRingPage / 16; ++i)
            group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kFull), online_cpus().back());
        const auto before = fdinfo(meta, "sweeps");
        const auto took = time_of([] { std::this_thread::sleep_for(3s); });
        const auto seconds_or_more = static_cast<std::uint64_t>(took / 1s + 2);
        return std::array{fdinfo(meta, "sweeps") - before, seconds_or_more * kPerSecond};
    });
    REQUIRE(sweeps <= most);
}

// Time: max_stream_percent of each CPU, which a task that spins there does not get.

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
TEST_CASE_METHOD(
    NeedsStreams,
    "Streams leave a task the CPU time that max_stream_percent requires, and still sample",
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

namespace {

// Sleeps and works in turn.
std::uint64_t rounds_of_sleep_and_work(int cpu) {
    std::atomic<std::uint64_t> rounds = 0;
    std::jthread thread([&](const std::stop_token& stop) {
        run_on(cpu);
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(100us);
            for (int i = 0; i < 20'000; ++i)
                rounds.fetch_add(1, std::memory_order_relaxed);
        }
    });
    std::this_thread::sleep_for(100ms);
    const std::uint64_t before = rounds;
    std::this_thread::sleep_for(1s);
    return rounds - before;
}

}  // namespace

TEST_CASE_METHOD(
    NeedsStreamsAndQuiet,
    "Quiet streams leave a task that often sleeps the CPU time that max_stream_percent requires",
    "[share]") {
    if (!std::getenv("METAGROUP_EXACT")) SKIP("parts of time are not exact: run --icount");
    const MaxStreamPercent limit(10);
    const int cpu = online_cpus().back();
    const auto alone = rounds_of_sleep_and_work(cpu);
    std::vector<Meta> metas(60);
    for (const Meta& meta : metas) {
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
        REQUIRE(meta.attach(open_group(cpu, kFull, 1)) == 0);
        perf_metagroup_stream arg = stream_of(10us, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
        REQUIRE(start_stream(meta, arg) == 0);
        // It does not call the meta-group any more, but the stream.
        REQUIRE(meta.set_mode(0) == 0);
    }
    const auto kept = rounds_of_sleep_and_work(cpu);
    std::uint64_t samples = 0;
    for (const Meta& meta : metas)
        samples += fdinfo(meta, "stream_deadlines");
    std::printf("60 quiet streams: keeps %.3f, %llu samples\n",
                static_cast<double>(kept) / static_cast<double>(alone),
                static_cast<unsigned long long>(samples));
    CAPTURE(alone, kept, samples);
    REQUIRE(static_cast<double>(kept) >= 0.87 * static_cast<double>(alone));
    REQUIRE(samples > 0);
}

// Workers: a few of the module's own.

namespace {

// Threads of the kernel that work for any CPU.
std::size_t unbound_workers() {
    std::size_t workers = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        workers += name.starts_with("kworker/u");
    }
    return workers;
}

}  // namespace

TEST_CASE_METHOD(NeedsSets,
                 "No worker of the kernel waits for a task that holds a set that follows") {
    if (!SlowPage::available()) SKIP("no userfaultfd");
    constexpr std::size_t kSets = 40;
    const int last = online_cpus().back();
    std::vector<Meta> sets(kSets);
    for (const Meta& set : sets) {
        SetRequest request({faults()}, {0, last});
        request.arg.flags = PERF_METAGROUP_SET_FOLLOW;
        REQUIRE(request.open(set) == 0);
    }
    SlowPage page;
    std::vector<std::thread> readers;
    for (const Meta& set : sets) {
        readers.emplace_back([&] { set.read(page.at(), SlowPage::kSize); });
        REQUIRE(page.touched(10s));
    }
    OfflineCpu offline(last);
    const auto before = unbound_workers();
    offline.back();
    std::this_thread::sleep_for(1s);
    const auto now = unbound_workers();
    page.destroy();
    for (std::thread& reader : readers)
        reader.join();
    REQUIRE(now < before + kSets / 2);
    for (const Meta& set : sets)
        REQUIRE(wait_until([&] { return set.member(1).status == PERF_METAGROUP_OK; }));
}

TEST_CASE_METHOD(NeedsStreams,
                 "Few workers of the kernel wait for tasks that hold streams whose groups grow") {
    if (!SlowPage::available()) SKIP("no userfaultfd");
    constexpr std::size_t kStreams = 40;
    const MaxStreamPercent no_limit(100);
    const int last = online_cpus().back();
    std::vector<Meta> metas(kStreams);
    std::vector<EventGroup> groups;
    for (const Meta& meta : metas) {
        groups.push_back(open_group(last, kFull, 1));
        REQUIRE(meta.attach(groups.back()) == 0);
        perf_metagroup_stream arg = stream_of(10ms, kRingPage, PERF_METAGROUP_STREAM_OVERWRITE);
        REQUIRE(start_stream(meta, arg) == 0);
    }
    SlowPage page;
    std::vector<std::thread> readers;
    for (const Meta& meta : metas) {
        readers.emplace_back([&] { meta.read(page.at(), SlowPage::kSize); });
        REQUIRE(page.touched(10s));
    }
    const auto before = unbound_workers();
    for (EventGroup& group : groups)
        group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kFull), last);
    std::this_thread::sleep_for(1s);
    const auto now = unbound_workers();
    page.destroy();
    for (std::thread& reader : readers)
        reader.join();
    REQUIRE(now < before + kStreams / 2);
    // All are mended, although few at a time.
    for (const Meta& meta : metas) {
        const auto samples = fdinfo(meta, "stream_deadlines");
        REQUIRE(wait_until([&] { return fdinfo(meta, "stream_deadlines") > samples + 1; }));
    }
}

// Memory: max_ring_kb and RLIMIT_MEMLOCK for rings, and numbers of streams and events.

TEST_CASE_METHOD(NeedsStreams,
                 "A user's rings are limited by max_ring_kb for each CPU and RLIMIT_MEMLOCK",
                 "[privilege]") {
    const OpenDevice device;
    // More than a ring, so that a part of the last one is the process's.
    const std::uint64_t kb = 132, memlock = 300 * 1024;
    const MaxRingKb limit(static_cast<int>(kb));
    const Memlock memlock_limit(memlock);
    const auto groups = groups_for(kGroups);
    struct Result {
        std::size_t started, again, after_stop;
        std::uint64_t pinned, unpinned;
        long error, too_large;
    };
    const Result user = run_as(Identity::user, leaders_of(groups), [&](std::span<const int> fds) {
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
            return Streams(fds).running.size();
        });
        REQUIRE(started == kGroups);
    }
}

TEST_CASE_METHOD(NeedsStreams,
                 "A user has at most 64 streams without CAP_PERFMON, and may have more with it") {
    const OpenDevice device;
    struct Result {
        long first_64, next, stop, again;
    };
    const auto start_65 = [](auto) {
        std::vector<Meta> handles(65);
        const auto start = [&](std::size_t i) {
            perf_metagroup_stream arg = stream_of(1s, kRingPage);
            return start_stream(handles[i], arg);
        };
        Result result{};
        for (std::size_t i = 0; i < 64 && !result.first_64; ++i)
            result.first_64 = start(i);
        result.next = start(64);
        result.stop = stop_stream(handles[0]);
        result.again = start(64);
        return result;
    };
    const Result user = run_as(Identity::user, {}, start_65);
    REQUIRE(user.first_64 == 0);
    REQUIRE(user.next == -EUSERS);
    REQUIRE(user.stop == 0);
    REQUIRE(user.again == 0);
    const Result monitor = run_as(Identity::monitor, {}, start_65);
    REQUIRE(monitor.first_64 == 0);
    REQUIRE(monitor.next == 0);
}

TEST_CASE_METHOD(NeedsSets, "Sets of a user without CAP_PERFMON have at most max_set_events events",
                 "[privilege]") {
    const OpenDevice device;
    const ParanoidOrSkip paranoid(-1);
    const MaxSetEvents limit(5);
    const auto open_sets = [](std::span<const int> /*fds*/) {
        const Meta first, second;
        const Fd event(open_event(faults(), -1, 0, -1));
        SetRequest three(std::vector<int>(3, event.get()), {0});
        SetRequest two(std::vector<int>(2, event.get()), {0});
        const long fits = three.open(first);
        const long too_many = SetRequest(std::vector<int>(3, event.get()), {0}).open(second);
        const long rest = two.open(second);
        const long none_left = SetRequest(std::vector<int>{event.get()}, {0}).open(second);
        const long detached = first.detach(three.arg.first);
        const long fits_again = three.open(second);
        return std::array<long, 6>{fits, too_many, rest, none_left, detached, fits_again};
    };
    REQUIRE(run_as(Identity::user, {}, open_sets) ==
            std::array<long, 6>{0, -E2BIG, 0, -E2BIG, 0, 0});
    // All that the last process opened is gone, and root has no limit.
    REQUIRE(run_as(Identity::user, {}, open_sets)[0] == 0);
    REQUIRE(run_as(Identity::root, {}, open_sets) == std::array<long, 6>{});
}
