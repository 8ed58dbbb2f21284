// SPDX-License-Identifier: MIT
// Methods that read each group by read(2), without the module.
#pragma once

#include <fcntl.h>
#include <liburing.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <thread>

#include "methods/method.hpp"

namespace bench {

inline std::uint64_t spread_of(const std::vector<std::uint64_t>& times) {
    const auto [oldest, newest] = std::ranges::minmax(times);
    return newest - oldest;
}

// Reads each group into the reader's memory. For the skew it takes the clock after each CPU.
class GroupReader : public Method {
  public:
    explicit GroupReader(measure::CpuGroups& groups)
        : groups_(groups), payloads_(groups.all()), times_(groups.cpus().size()) {}
    // Groups of its own.
    explicit GroupReader(measure::CpuGroups&& groups)
        : own_(std::move(groups)),
          groups_(*own_),
          payloads_(groups_.all()),
          times_(groups_.cpus().size()) {}

    measure::CpuGroups* groups() override { return &groups_; }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::uint64_t> skew_ns() override {
        timing_ = true;
        sweep();
        timing_ = false;
        return spread_of(times_);
    }

  protected:
    void read_cpu(std::size_t index) {
        groups_.read_cpu(index, payloads_);
        note_time(index);
    }
    void note_time(std::size_t index) {
        if (timing_) times_[index] = monotonic_ns();
    }

  private:
    std::optional<measure::CpuGroups> own_;

  protected:
    measure::CpuGroups& groups_;
    measure::Payloads payloads_;
    std::vector<std::uint64_t> times_;  // by CPU
    std::atomic<bool> timing_ = false;
};

// By one thread: from its own CPU, with an interrupt for each read().
class PerFd : public GroupReader {
  public:
    explicit PerFd(Subject& subject) : GroupReader(subject.groups()) {}

    void sweep() override {
        if (!timing_) return groups_.read(payloads_);
        for (std::size_t i = 0; i < times_.size(); ++i)
            read_cpu(i);
    }
};

// By moving to each CPU first, which stops that CPU and switches threads in place of the interrupt.
class Migrating : public PerFd {
  public:
    using PerFd::PerFd;

    // Begins and ends on the reader's CPU.
    void sweep() override {
        const auto cpus = groups_.cpus().cpus();
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            if (cpus[i] != home_) measure::bind_to_cpu(cpus[i]);
            read_cpu(i);
        }
        if (cpus.back() != home_) measure::bind_to_cpu(home_);
    }

  private:
    int home_ = ::sched_getcpu();
};

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

// One pinned thread per CPU read()s that CPU's groups, all at the same time and without an
// interrupt for each read(). The reader wakes the threads with one system call, reads its own CPU,
// and waits for the last. The threads have normal priority, so on busy CPUs they wait for the
// scheduler.
class Threads : public GroupReader {
  public:
    explicit Threads(Subject& subject) : GroupReader(subject.groups()) {
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

    void sweep() override {
        left_ = static_cast<int>(threads_.size());
        done_.value = threads_.empty();
        wake_all();
        read_cpu(0);
        done_.wait_while(0);
    }

  private:
    void wake_all() {
        ++sweep_.value;
        sweep_.wake(INT_MAX);
    }
    void work(std::size_t index) {
        measure::bind_to_cpu(groups_.cpus().cpus()[index]);
        for (int last = 0;; ++last) {
            sweep_.wait_while(last);
            if (quit_) return;
            read_cpu(index);
            if (--left_ > 0) continue;
            done_.value = 1;
            done_.wake(1);
        }
    }

    Futex sweep_;  // number of sweeps begun
    Futex done_;   // 1 once the last thread has read
    std::atomic<int> left_ = 0;
    std::atomic<bool> quit_ = false;
    std::vector<std::thread> threads_;
};

// A read of each leader by one io_uring_enter(2): one system call for the same reads, one after the
// other. The files are registered. A perf file has a plain .read only, which io_uring hands to its
// worker threads unless the file is O_NONBLOCK, a flag that perf ignores. O_NONBLOCK reads run
// inside the call, which is much faster, so the files are made so.
class IoUring : public GroupReader {
  public:
    explicit IoUring(Subject& subject) : GroupReader(subject.groups()) {
        const std::vector<int> leaders = groups_.leaders();
        for (const int fd : leaders) {
            if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
                fail(errno, "making a perf event O_NONBLOCK");
        }
        count_ = static_cast<unsigned>(leaders.size());
        if (const int error = ::io_uring_queue_init(count_, &ring_, 0); error < 0)
            fail(-error, "io_uring_setup (see /proc/sys/kernel/io_uring_disabled)");
        close_.reset(&ring_);
        if (const int error = ::io_uring_register_files(&ring_, leaders.data(), count_); error < 0)
            fail(-error, "registering perf events with io_uring");
    }

    void sweep() override {
        for (unsigned i = 0; i < count_; ++i) {
            io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
            const auto payload = payloads_.of(i);
            ::io_uring_prep_read(sqe, static_cast<int>(i), payload.data(),
                                 static_cast<unsigned>(payload.size()), 0);
            sqe->flags |= IOSQE_FIXED_FILE;
        }
        if (const int error = ::io_uring_submit_and_wait(&ring_, count_); error < 0)
            fail(-error, "io_uring_enter");
        for (unsigned i = 0; i < count_; ++i) {
            io_uring_cqe* cqe = nullptr;
            if (const int error = ::io_uring_peek_cqe(&ring_, &cqe); error < 0)
                fail(-error, "a completion of io_uring");
            if (cqe->res < 0) fail(-cqe->res, "reading a perf event by io_uring");
            ::io_uring_cqe_seen(&ring_, cqe);
        }
    }
    // No clock is read between the reads.
    std::optional<std::uint64_t> skew_ns() override { return {}; }

  private:
    struct Close {
        void operator()(io_uring* ring) const { ::io_uring_queue_exit(ring); }
    };

    unsigned count_ = 0;
    io_uring ring_{};
    std::unique_ptr<io_uring, Close> close_;
};

}  // namespace bench
