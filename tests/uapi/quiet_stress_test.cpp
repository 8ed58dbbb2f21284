// SPDX-License-Identifier: MIT
// Quiet sweeps while CPUs fall asleep and wake all the time.
#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;
constexpr auto kDuration = std::chrono::seconds(8);

struct Words {
    std::uint64_t events = 0, enabled = 0, running = 0, count = 0;
};

Words words_of(const Bytes& payload) {
    Words words;
    REQUIRE(payload.size() >= sizeof(words));
    std::memcpy(&words, payload.data(), sizeof(words));
    return words;
}

// Threads that sleep and work for random times on random CPUs.
class Restless {
  public:
    explicit Restless(unsigned count) {
        for (unsigned seed = 0; seed < count; ++seed)
            threads_.emplace_back([this, seed] { live(seed); });
    }
    ~Restless() {
        stop_ = true;
        for (std::thread& thread : threads_)
            thread.join();
    }
    Restless(const Restless&) = delete;
    Restless& operator=(const Restless&) = delete;

  private:
    void live(unsigned seed) {
        std::mt19937 random(seed);
        const auto cpus = online_cpus();
        while (!stop_) {
            try {
                run_on(cpus[random() % cpus.size()]);
            } catch (const std::exception&) {  // it has just gone offline
            }
            for (unsigned i = 0; i < 20 && !stop_; ++i) {
                const auto end =
                    std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 200);
                while (std::chrono::steady_clock::now() < end) {
                }
                ::usleep(static_cast<useconds_t>(random() % 500));
            }
        }
    }

    std::atomic<bool> stop_ = false;
    std::vector<std::thread> threads_;
};

// What holds of each member from one sweep to the next.
class Witness {
  public:
    void look(const Framed& framed) {
        for (const Frame& frame : framed.frames) {
            const auto& record = frame.record;
            if (last_.size() <= record.member) last_.resize(record.member + 1);
            Frame& last = last_[record.member];
            REQUIRE(record.time <= framed.head.end);
            if (record.status == PERF_METAGROUP_OK) REQUIRE(record.time >= framed.head.begin);
            if (record.status == PERF_METAGROUP_IDLE) ++idle;
            if (frame.payload.empty()) continue;
            if (!last.payload.empty()) {
                const Words before = words_of(last.payload), now = words_of(frame.payload);
                CAPTURE(record.member, record.status, last.record.status, record.cpu);
                REQUIRE(record.time >= last.record.time);
                REQUIRE(now.count >= before.count);
                REQUIRE(now.enabled >= before.enabled);
                REQUIRE(now.running >= before.running);
            }
            last = frame;
        }
    }
    unsigned idle = 0;  // records of CPUs that slept

  private:
    std::vector<Frame> last_;
};

}  // namespace

TEST_CASE("Neither times nor counts go back while CPUs fall asleep and wake") {
    const auto groups = open_everywhere(kFormat, 3);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    const Restless restless(3);
    Witness witness;
    unsigned sweeps = 0;
    const auto end = std::chrono::steady_clock::now() + kDuration;
    for (; std::chrono::steady_clock::now() < end; ++sweeps)
        witness.look(take_apart(meta.read()));
    CAPTURE(sweeps, witness.idle);
    REQUIRE(sweeps > 100);
    REQUIRE(witness.idle > 0);
}

TEST_CASE("A quiet sweep never tells more than a later read of the member's own") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    const Restless restless(3);
    std::vector<Words> before(groups.size());
    const auto end = std::chrono::steady_clock::now() + kDuration;
    for (unsigned round = 0; std::chrono::steady_clock::now() < end; ++round) {
        // The read wakes the CPU: leave some alone.
        const Framed framed = take_apart(meta.read());
        for (std::size_t i = round % 3; i < groups.size(); i += 3) {
            const Words ours = words_of(framed.frames[i].payload);
            const Words own = words_of(groups[i].read());
            REQUIRE(ours.count <= own.count);
            REQUIRE(ours.enabled <= own.enabled);
            REQUIRE(ours.running <= own.running);
            if (framed.frames[i].record.status == PERF_METAGROUP_OK)
                REQUIRE(ours.count >= before[i].count);
            before[i] = own;
        }
    }
}

TEST_CASE("A reset of members of CPUs that fall asleep at once is not lost") {
    const auto groups = open_everywhere(kFormat, 8);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    run_on(online_cpus().front());
    using Clock = std::chrono::steady_clock;
    unsigned resets = 0, lost = 0;
    for (const auto end = Clock::now() + kDuration; Clock::now() < end; ++resets) {
        ::usleep(5000);  // so that counts get larger than what the rest of this takes
        const auto start = Clock::now();
        REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
        const Framed framed = take_apart(meta.read());
        const auto passed = std::chrono::nanoseconds(Clock::now() - start).count();
        // The leader is a cpu-clock: it counts the time since.
        for (const Frame& frame : framed.frames)
            lost += words_of(frame.payload).count > static_cast<std::uint64_t>(passed);
    }
    run_anywhere();
    CAPTURE(resets);
    REQUIRE(lost == 0);
}

TEST_CASE("Quiet sweeps go on while CPUs are plugged, members change and other groups close") {
    const int last = online_cpus().back();
    const auto cpus = online_cpus();
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);

    std::atomic<bool> stop = false;
    std::atomic<unsigned> bad = 0, plugs = 0, changes = 0, others = 0;
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        for (; !stop; ++plugs) {
            set_online(last, false);
            set_online(last, true);
        }
    });
    threads.emplace_back([&] {
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
        for (; !stop; ++changes) {
            const Fd fd(open_event(attr, -1, cpus[changes % cpus.size()], -1));
            if (!fd) continue;  // its CPU is offline
            const int number = fd.get();
            perf_metagroup_attach out{};
            bad += meta.attach(std::span(&number, 1), &out) != 0;
            ::usleep(500);
            bad += meta.detach(out.first) != 0;
        }
    });
    threads.emplace_back([&] {
        const auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
        for (; !stop; ++others) {
            const Meta other;
            std::vector<Fd> fds;
            for (const int cpu : cpus) {
                fds.emplace_back(open_event(attr, -1, cpu, -1));
                const int number = fds.back().get();
                if (fds.back()) bad += other.attach(std::span(&number, 1)) != 0;
            }
            bad += other.set_mode(PERF_METAGROUP_MODE_QUIET) != 0;
            ::usleep(1000);
            other.sweep();
            if (others % 2) bad += other.set_mode(0) != 0;
        }
    });
    {
        const Restless restless(2);
        Witness witness;
        using Clock = std::chrono::steady_clock;
        const auto end = Clock::now() + kDuration;
        // Two slow CPUs are hardly ever idle beside all this.
        const auto patience = end + std::chrono::seconds(60);
        try {
            while (Clock::now() < end || plugs < 3 ||
                   (witness.idle == 0 && Clock::now() < patience))
                witness.look(take_apart(meta.read()));
        } catch (...) {  // a failed assertion: the threads must end first
            ++bad;
        }
        CAPTURE(witness.idle);
        CHECK(witness.idle > 0);
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    CAPTURE(plugs.load(), changes.load(), others.load());
    REQUIRE(bad == 0);
    REQUIRE(changes > 3);
    REQUIRE(others > 3);
    REQUIRE(is_online(last));
}
