// SPDX-License-Identifier: MIT
// One pinned thread per CPU read()s that CPU's groups, all at the same time and without an
// interrupt for each read(). The reader wakes the threads with one system call, reads its own CPU,
// and waits for the last. The threads have normal priority, so on busy CPUs they wait for the
// scheduler.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <thread>

#include "measure/measure.hpp"
#include "methods/method.hpp"

namespace bench {

// std::atomic's wait() yields some times before it sleeps, which costs more than it saves here.
class Futex {
  public:
    std::atomic<int> value = 0;

    void wait_while(int old) {
        while (value == old)
            ::syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
    }
    void wake(int waiters) {
        ::syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
    }
};
static_assert(sizeof(std::atomic<int>) == sizeof(int));

class Threads : public Method {
  public:
    explicit Threads(Subject& subject)
        : groups_(subject.groups()), payloads_(groups_.all()), times_(groups_.cpus().size()) {
        for (std::size_t i = 1; i < times_.size(); ++i)
            threads_.emplace_back([this, i] { work(i); });
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads() override {
        quit_ = true;
        wake_all();
        for (std::thread& thread : threads_)
            thread.join();
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void sweep() override {
        left_ = static_cast<int>(threads_.size());
        done_.value = threads_.empty();
        wake_all();
        read(0);
        done_.wait_while(0);
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::uint64_t> skew_ns() override {
        timing_ = true;
        sweep();
        timing_ = false;
        Skew skew;
        for (const std::uint64_t time : times_)
            skew.note(time);
        return skew.ns();
    }
    // Each thread has a kernel stack of 16 KiB and touches about 3 pages of its own stack.
    std::optional<std::size_t> memory_bytes() const override {
        constexpr std::size_t stacks = std::size_t{16 + 3 * 4} << 10;
        return payloads_.bytes() + threads_.size() * stacks;
    }

  private:
    void wake_all() {
        ++sweep_.value;
        sweep_.wake(INT_MAX);
    }
    void read(std::size_t cpu) {
        groups_.read_cpu(cpu, payloads_);
        if (timing_) times_[cpu] = monotonic_ns();
    }
    void work(std::size_t cpu) {
        measure::bind_to_cpu(groups_.cpus().cpus()[cpu]);
        for (int last = 0;; ++last) {
            sweep_.wait_while(last);
            if (quit_) return;
            read(cpu);
            if (--left_ > 0) continue;
            done_.value = 1;
            done_.wake(1);
        }
    }

    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
    std::vector<std::uint64_t> times_;
    Futex sweep_;  // number of sweeps begun
    Futex done_;   // 1 once the last thread has read
    std::atomic<int> left_ = 0;
    std::atomic<bool> timing_ = false;
    std::atomic<bool> quit_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace bench
