// SPDX-License-Identifier: MIT
// Reads while members, siblings and CPUs change, and enter and leave idle all the time.
#include <sched.h>
#include <time.h>

#include <exception>
#include <random>
#include <ranges>

#include "fixtures.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// Copies the mapped snapshot and checks it. Maps it again when it has moved.
class Reader {
  public:
    explicit Reader(const Meta& meta) : meta_(meta), mapping_(meta) {}

    void operator()() {
        const auto copy = mapping_.copy();
        if (!copy || mapping_.moved()) {
            // More than INFO says is never mapped, but it may have grown since.
            mapping_ = Mapping(meta_);
            ++maps;
            return;
        }
        snapshots_.check(take_apart(*copy));
        ++copies;
    }

    std::atomic<unsigned> copies = 0, maps = 0;

  private:
    const Meta& meta_;
    Mapping mapping_;
    SnapshotCheck snapshots_;
};

void must(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

void burn(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// Threads that sleep and work for random times on random CPUs.
class Restless {
  public:
    explicit Restless(unsigned count) {
        for (unsigned seed = 0; seed < count; ++seed)
            threads_.emplace_back(
                [seed](const std::stop_token& stop) { sleep_and_work(stop, seed); });
    }

  private:
    static void sleep_and_work(const std::stop_token& stop, unsigned seed) {
        std::mt19937 random(seed);
        const auto cpus = online_cpus();
        while (!stop.stop_requested()) {
            try {
                run_on(cpus[random() % cpus.size()]);
            } catch (const std::exception&) {  // it has just gone offline
            }
            for (unsigned i = 0; i < 20 && !stop.stop_requested(); ++i) {
                burn(std::chrono::microseconds(random() % 200));
                ::usleep(static_cast<useconds_t>(random() % 500));
            }
        }
    }

    std::vector<std::jthread> threads_;
};

// The calling thread takes the first CPU from all others that are not real-time threads.
void become_fifo() {
    run_on(online_cpus().front());
    const sched_param priority{.sched_priority = 1};
    if (::sched_setscheduler(0, SCHED_FIFO, &priority)) std::terminate();
}

std::chrono::nanoseconds thread_cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Takes this CPU from the caller again and again, for up to 2 milliseconds: also in a system
// call, if the kernel is preemptible.
class Preemption {
  public:
    Preemption() : thread_([](const std::stop_token& stop) { preempt(stop); }) {}

  private:
    static void preempt(const std::stop_token& stop) {
        become_fifo();
        std::mt19937 random;
        while (!stop.stop_requested()) {
            ::usleep(100);
            burn(std::chrono::microseconds(random() % 2000));
        }
    }

    std::jthread thread_;
};

// Groups of core events on all CPUs, in a quiet meta-group.
struct QuietGroups {
    std::vector<EventGroup> groups;
    Meta meta;
    explicit QuietGroups(int events) : groups(open_core_everywhere(kTimed, events)), meta(groups) {
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
    Framed read() const { return take_apart(meta.read()); }
};

}  // namespace

TEST_CASE("A SCHED_FIFO reader does not wait for a sweep that it interrupts") {
    const OnFirstCpu here;
    const auto [base, meta] = attached(open_everywhere(kTimed, 2));
    Reader read(meta);
    std::atomic<std::chrono::nanoseconds> longest{};
    Background reader([&, started = false]() mutable {
        if (!std::exchange(started, true)) become_fifo();
        ::usleep(50);
        const auto begin = thread_cpu_time();
        read();
        longest = std::max(longest.load(), thread_cpu_time() - begin);
    });
    // Sweeps that wait for CPUs, and changes that wait for memory.
    repeat_for(
        long_time(4s),
        [&] {
            const EventGroup group = open_group(online_cpus().back(), kTimed, 1);
            perf_metagroup_attach out{};
            REQUIRE(meta.attach(group, &out) == 0);
            for (int i = 0; i < 20; ++i)
                REQUIRE(meta.sweep() == 0);
            REQUIRE(meta.detach(out.first) == 0);
        },
        [&] { return read.copies > 200; });
    reader.stop();
    REQUIRE(read.copies > 200);
    // One that waited would spin until real-time threads are throttled, after 950 ms.
    REQUIRE(longest.load() < 500ms);
}

TEST_CASE("No copy of a mapped snapshot is torn while members and siblings change") {
    const auto cpus = online_cpus();
    const auto [base, meta] = attached(open_everywhere(kTimed, 2));
    Reader one(meta), two(meta);
    const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kTimed);
    std::array threads{
        Background([&] { one(); }), Background([&] { two(); }),
        Background([&] { must(meta.sweep() >= 0, "SWEEP"); }),
        Background([&] { must(!meta.read().empty(), "read"); }),
        // Sometimes so many members that the snapshot moves.
        Background([&, i = std::size_t{0}]() mutable {
            const EventGroup group = open_group(cpus[i++ % cpus.size()], kTimed, 1);
            perf_metagroup_attach out{};
            must(meta.attach(group, &out) == 0, "ATTACH");
            std::this_thread::yield();
            must(meta.detach(out.first) == 0, "DETACH");
        }),
        Background([&, i = std::size_t{0}]() mutable {
            const std::size_t cpu = i % cpus.size();
            std::vector<Fd> siblings;
            for (std::size_t more = 0; more < 1 + i % 40; ++more)
                siblings.emplace_back(open_event(attr, -1, cpus[cpu], base[cpu].leader()));
            ++i;
        })};
    const auto all_did = [&] {
        return std::ranges::all_of(threads,
                                   [](const Background& thread) { return thread.rounds() > 10; }) &&
               one.copies > 50 && two.copies > 50;
    };
    repeat_for(
        long_time(6s), [] { std::this_thread::sleep_for(100ms); }, all_did);
    for (Background& thread : threads)
        thread.stop();
    CAPTURE(one.copies.load(), two.copies.load());
    REQUIRE(all_did());
}

TEST_CASE("Readers follow a snapshot that moves") {
    const auto cpus = online_cpus();
    unsigned maps = 0;
    for (int round = 0; round < 4; ++round) {
        const Meta meta;
        Reader reader(meta);
        Background reads([&] { reader(); });
        Background sweeps([&] {
            must(meta.sweep() == 0, "SWEEP");
            ::usleep(200);  // ATTACH needs the mutex, too
        });
        std::vector<EventGroup> groups;
        const Mapping first(meta);
        for (std::size_t i = 0; i < 200; ++i) {
            groups.push_back(open_group(cpus[i % cpus.size()], kTimed, 1));
            REQUIRE(meta.attach(groups.back()) == 0);
        }
        reads.stop();
        sweeps.stop();
        REQUIRE(first.moved());
        maps += reader.maps;
    }
    REQUIRE(maps > 0);
}

TEST_CASE_METHOD(NeedsQuiet, "Neither times nor counts go back while CPUs enter and leave idle") {
    const QuietGroups quiet(3);
    const Restless restless(3);
    SnapshotCheck snapshots;
    unsigned sweeps = 0;
    const auto sweep = [&] {
        snapshots.check(quiet.read());
        ++sweeps;
    };
    repeat_for(long_time(8s), sweep, [&] { return snapshots.idle() > 0 && sweeps > 100; });
    CAPTURE(sweeps);
    REQUIRE(sweeps > 100);
    REQUIRE(snapshots.idle() > 0);
}

TEST_CASE_METHOD(NeedsQuiet,
                 "A quiet sweep never shows more than a later read of the member's own") {
    const QuietGroups quiet(1);
    const Restless restless(3);
    std::vector<std::uint64_t> before(quiet.groups.size());
    unsigned round = 0, idle = 0, busy = 0;
    const auto compare = [&] {
        // The read wakes the CPU: leave some alone.
        const Framed framed = quiet.read();
        for (std::size_t i = round++ % 3; i < quiet.groups.size(); i += 3) {
            const auto ours = words(framed.frames[i].payload);
            const auto own = words(quiet.groups[i].read());
            REQUIRE(ours.size() == own.size());
            for (std::size_t word = 0; word < own.size(); ++word)
                REQUIRE(ours[word] <= own[word]);
            if (framed.frames[i].record.status == PERF_METAGROUP_OK) {
                REQUIRE(ours.back() >= before[i]);
                ++busy;
            }
            idle += framed.frames[i].record.status == PERF_METAGROUP_IDLE;
            before[i] = own.back();
        }
    };
    repeat_for(long_time(8s), compare, [&] { return idle > 0 && busy > 0; });
    CAPTURE(round);
    REQUIRE(idle > 0);
    REQUIRE(busy > 0);
}

TEST_CASE_METHOD(NeedsQuiet, "A reset of members is not lost if their CPUs become idle at once") {
    const QuietGroups quiet(2);
    const OnFirstCpu here;
    const auto cpus = online_cpus();
    const TestpmuUpdateTime slow(1000);
    const Preemption preemption;
    unsigned resets = 0, lost = 0, idle = 0;
    std::chrono::nanoseconds passed = std::chrono::milliseconds(10);
    const auto reset = [&] {
        // So that a count gets larger than the time until it is read.
        std::jthread([&] {
            run_on(cpus[resets % cpus.size()]);
            burn(4 * passed);
        }).join();
        for (const Frame& frame : quiet.read().frames)
            idle += frame.record.status == PERF_METAGROUP_IDLE;
        const auto start = std::chrono::steady_clock::now();
        REQUIRE(quiet.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
        const Framed framed = quiet.read();
        passed = std::chrono::steady_clock::now() - start;
        // No event counts more than the time since.
        for (const Frame& frame : framed.frames)
            for (const std::uint64_t count : words(frame.payload) | std::views::drop(3))
                lost += count > static_cast<std::uint64_t>(passed.count());
        ++resets;
    };
    repeat_for(long_time(8s), reset, [&] { return idle > 0; });
    CAPTURE(resets);
    REQUIRE(idle > 0);
    REQUIRE(lost == 0);
}

TEST_CASE_METHOD(
    NeedsQuiet,
    "Quiet sweeps continue during CPU hotplug, attach, detach and close of other groups") {
    const QuietGroups quiet(2);
    const auto cpus = online_cpus();
    const auto attr = core_or_skip(kTimed);
    const auto attach_new = [&](const Meta& meta, int cpu) -> std::optional<unsigned> {
        const Fd fd(open_event(attr, -1, cpu, -1));
        if (!fd) return {};  // its CPU is offline
        const int number = fd.get();
        perf_metagroup_attach out{};
        if (meta.attach(std::span(&number, 1), &out)) throw std::runtime_error("ATTACH");
        return out.first;
    };
    Background plug([&] {
        set_online(cpus.back(), false);
        set_online(cpus.back(), true);
    });
    Background change([&, i = std::size_t{0}]() mutable {
        const auto member = attach_new(quiet.meta, cpus[i++ % cpus.size()]);
        ::usleep(500);
        if (member && quiet.meta.detach(*member)) throw std::runtime_error("DETACH");
    });
    Background close([&, i = 0]() mutable {
        const Meta other;
        for (const int cpu : cpus)
            attach_new(other, cpu);
        if (other.set_mode(PERF_METAGROUP_MODE_QUIET)) throw std::runtime_error("SET_MODE");
        ::usleep(1000);
        other.sweep();
        if (i++ % 2 && other.set_mode(0)) throw std::runtime_error("SET_MODE");
    });
    const std::array threads{&plug, &change, &close};
    const auto all_did = [&] {
        return std::ranges::all_of(threads, [](auto* thread) { return thread->rounds() >= 3; });
    };
    {
        const Restless restless(2);
        SnapshotCheck snapshots;
        // Two slow CPUs are hardly ever idle beside all this.
        repeat_for(
            long_time(8s), [&] { snapshots.check(quiet.read()); },
            [&] { return all_did() && snapshots.idle() > 0; });
        REQUIRE(snapshots.idle() > 0);
    }
    for (Background* thread : threads)
        thread->stop();
    REQUIRE(all_did());
    REQUIRE(is_online(cpus.back()));
}
