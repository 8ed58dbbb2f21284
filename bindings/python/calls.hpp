// SPDX-License-Identifier: MIT
// Library calls from Python threads.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <metagroup/interruption.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace metagroup::python {

namespace py = pybind11;

// Takes the interpreter's lock. While Python exits, it ends threads that want the lock by unwinding
// their stacks, which terminates the process if a destructor is among the callers. Such a thread
// stays here instead, until the process has ended.
template <class Take>
auto take_lock(const Take& take) noexcept {
    try {
        return take();
    } catch (...) {
        for (;;)
            ::pause();
    }
}

// Other threads run Python while this object exists.
class OthersRun {
  public:
    OthersRun() : state_(PyEval_SaveThread()) {}
    OthersRun(const OthersRun&) = delete;
    OthersRun& operator=(const OthersRun&) = delete;
    ~OthersRun() {
        take_lock([&] { PyEval_RestoreThread(state_); });
    }

  private:
    PyThreadState* state_;
};

// Runs the signal handlers; the caller does not hold the interpreter's lock. Throws what they
// raise, such as KeyboardInterrupt.
inline void check_signals() {
    class Lock {
      public:
        Lock() : state_(take_lock([] { return PyGILState_Ensure(); })) {}
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock() { PyGILState_Release(state_); }

      private:
        PyGILState_STATE state_;
    };
    const Lock lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Serves threads in order of arrival: a thread that reads in a loop does not starve others.
class Queue {
  public:
    void lock() {
        // The thread would wait for itself.
        if (!calls().insert(this).second)
            throw std::runtime_error("a signal handler uses the object of the call it interrupted");
        std::unique_lock lock(mutex_);
        const std::uint64_t mine = next_++;
        while (!changed_.wait_for(lock, kLook, [&] { return served_ == mine; })) {
            lock.unlock();
            try {
                check_signals();
            } catch (...) {
                leave(mine);
                throw;
            }
            lock.lock();
        }
    }
    void unlock() {
        calls().erase(this);
        const std::scoped_lock lock(mutex_);
        serve_next();
    }

  private:
    static constexpr auto kLook = std::chrono::milliseconds(50);

    // Those that this thread has locked or waits for.
    static std::set<const Queue*>& calls() {
        thread_local std::set<const Queue*> queues;
        return queues;
    }
    void leave(std::uint64_t number) {
        calls().erase(this);
        const std::scoped_lock lock(mutex_);
        left_.insert(number);
        if (served_ == number) serve_next();
    }
    void serve_next() {
        do
            ++served_;
        while (left_.erase(served_) > 0);
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0;
    std::uint64_t served_ = 0;
    std::set<std::uint64_t> left_;  // before they were served
};

// Library calls run without the interpreter's lock, and signals interrupt them.
class Unlocked {
    OthersRun others_run_;
    Interruption interruption_{&check_signals};
};

// Shares a library object, which one thread at a time may use, between Python threads: they wait
// for each other, and any of them may close it.
template <class Object>
class Shared {
  public:
    explicit Shared(const char* closed) : closed_(closed) {}

    void open(Object object) { object_.emplace(std::move(object)); }

    // `call` must not touch Python objects.
    template <class Call>
    auto use(const Call& call) {
        Queue& queue = this->queue();
        const Unlocked unlocked;
        const std::scoped_lock lock(queue);
        if (!object_) throw std::invalid_argument(closed_);
        return call(*object_);
    }

    void close() {
        Queue& queue = this->queue();
        const OthersRun others_run;
        const std::scoped_lock lock(queue);
        object_.reset();
    }

  private:
    // The caller holds the interpreter's lock.
    Queue& queue() {
        if (process_ != ::getpid()) {
            // The threads in the queue are not in this child process. It may be locked: keep it.
            static_cast<void>(queue_.release());
            queue_ = std::make_unique<Queue>();
            process_ = ::getpid();
        }
        return *queue_;
    }

    const char* closed_;
    std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
    pid_t process_ = ::getpid();
    std::optional<Object> object_;
};

}  // namespace metagroup::python
