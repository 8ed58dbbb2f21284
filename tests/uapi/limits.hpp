// SPDX-License-Identifier: MIT
// Limits of users: what several tests need.
#pragma once

#include <sys/resource.h>

#include "fixtures.hpp"
#include "streams.hpp"

namespace metagroup::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The least time of this many sweeps at this rate: the first does not wait, and a burst of 10 ms is
// allowed.
inline constexpr unsigned kRate = 100;
inline constexpr int kTurns = 40;
inline constexpr nanoseconds kLeast =
    (kTurns - 1) * nanoseconds(seconds(1)) / kRate - milliseconds(10);
static_assert(kLeast == milliseconds(380));

// Without a limit they take much less, at one per second much longer.
inline constexpr nanoseconds kNoWait = seconds(kTurns) / 2;

// Of reads and sweeps in turn, each by the handle that `handle` returns for it.
template <typename Handle>
nanoseconds time_of_sweeps(const Handle& handle) {
    return time_of([&] {
        for (int turn = 0; turn < kTurns; ++turn) {
            const Meta& meta = handle(turn);
            std::array<char, 4096> buffer;
            if ((turn / 4 % 2 ? meta.sweep() : meta.read(buffer.data(), buffer.size())) < 0)
                throw std::runtime_error("a sweep failed");
        }
    });
}

// Sweeps interrupt each CPU.
inline Meta with_clocks(int flags = 0) {
    Meta meta(Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC | flags)));
    if (meta.attach(open_everywhere(kTimes, 1)) != 0) throw std::runtime_error("no member");
    return meta;
}

// All users may open the device and events of all CPUs.
struct OpenMachine {
    OpenDevice device;
    Paranoid anyone{-1};
};

// The first error of repeated sweeps, or 0.
template <typename Sweep>
long first_error(const Sweep& sweep) {
    long result = 0;
    for (int turn = 0; turn < kTurns && result >= 0; ++turn)
        result = sweep();
    return result;
}

struct MaxRingKb : Setting {
    explicit MaxRingKb(int kb) : Setting("/sys/module/perf_metagroup/parameters/max_ring_kb", kb) {}
};

// RLIMIT_MEMLOCK of children, too. Users may not raise it: before 5.16 they have 64 KiB.
class Memlock {
  public:
    explicit Memlock(rlim_t bytes) {
        ::getrlimit(RLIMIT_MEMLOCK, &before_);
        const rlimit limit{bytes, bytes};
        REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    }
    ~Memlock() { ::setrlimit(RLIMIT_MEMLOCK, &before_); }
    Memlock(const Memlock&) = delete;
    Memlock& operator=(const Memlock&) = delete;

  private:
    rlimit before_{};
};

inline constexpr std::size_t kRing = 64 * kRingPage;
inline constexpr std::size_t kCharged = kRing + kRingPage;

// A message passes no more descriptors.
inline constexpr std::size_t kGroups = 16;

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

inline std::vector<EventGroup> groups_for(std::size_t streams) {
    std::vector<EventGroup> groups;
    for (std::size_t i = 0; i < streams; ++i)
        groups.push_back(open_group(online_cpus().back(), kFull, 1));
    return groups;
}

// Memory that this process has pinned, in kB.
inline std::uint64_t pinned_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (std::uint64_t kb = 0; word == "VmPin:" && status >> kb) return kb;
    throw std::runtime_error("no VmPin");
}

}  // namespace metagroup::test
