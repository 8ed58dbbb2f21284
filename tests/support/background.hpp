// SPDX-License-Identifier: MIT
// A thread that repeats something while a test goes on, and times.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace metagroup::test {

// Calls `body` again and again until it is stopped, or `body` throws. Ends with its scope, also if
// an assertion fails there.
class Background {
  public:
    template <std::invocable Body>
    explicit Background(Body body)
        : thread_([this, body = std::move(body)](const std::stop_token& stop) mutable {
              try {
                  for (; !stop.stop_requested(); ++rounds_)
                      body();
              } catch (...) {
                  error_ = std::current_exception();
              }
          }) {}

    unsigned rounds() const { return rounds_; }

    // Rethrows what `body` threw.
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

  private:
    std::atomic<unsigned> rounds_ = 0;
    std::exception_ptr error_;
    std::jthread thread_;  // the last: it uses the others
};

// CLOCK_MONOTONIC, as records have it.
inline std::uint64_t monotonic_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

template <std::invocable Body>
std::chrono::nanoseconds time_of(const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::steady_clock::now() - begin;
}

// False if the condition does not hold within 10 seconds.
template <std::predicate Condition>
bool wait_until(const Condition& condition) {
    for (int round = 0; round < 2000; ++round) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

// All of a time that serves to find rare failures if METAGROUP_LONG is set, as on one kernel of the
// tests, else an eighth of it.
inline std::chrono::steady_clock::duration long_time(std::chrono::steady_clock::duration all) {
    return std::getenv("METAGROUP_LONG") ? all : all / 8;
}

// For as long as `duration`, and longer while `enough` does not hold: virtual CPUs may stand still.
template <std::invocable Body, std::predicate Enough>
void repeat_for(std::chrono::steady_clock::duration duration, const Body& body,
                const Enough& enough) {
    const auto end = std::chrono::steady_clock::now() + duration;
    const auto limit = end + std::chrono::minutes(1);
    for (auto now = end - duration; now < end || (now < limit && !enough());
         now = std::chrono::steady_clock::now())
        body();
}

}  // namespace metagroup::test
