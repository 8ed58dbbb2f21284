// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

namespace bench {

// The loop of a busy CPU. A hundred instructions without a jump, so that the emulator translates
// them as one block, which begins at the address of the function.
[[gnu::noinline, gnu::aligned(1024)]] static void spin() {
    std::uint64_t value = 0;
#pragma GCC unroll 50
    for (int i = 0; i < 50; ++i) {
        value += 3;
        benchmark::DoNotOptimize(value);
    }
}

Machine::Machine(metagroup::CpuList cpus, bool busy)
    : cpus_(std::move(cpus)), busy_(busy), slow_motion_(SlowMotion::find(spin)) {
    for (const int cpu : cpus_.cpus().subspan(1))
        threads_.emplace_back([this, cpu] { work(cpu); });
}

Machine::~Machine() {
    set(ended);
    for (std::thread& thread : threads_)
        thread.join();
}

void Machine::work(int cpu) {
    measure::bind_to_cpu(cpu);
    for (int state = state_; state != ended; state = state_) {
        if (state == sleeping) {
            state_.wait(sleeping);
            continue;
        }
        ++spinning_;
        while (state_.load(std::memory_order_relaxed) == spinning)
            spin();
        --spinning_;
    }
}

void Machine::set(State state) {
    using namespace std::chrono_literals;
    state_ = state;
    state_.notify_all();
    while (spinning_ != (state == spinning ? threads_.size() : 0))
        std::this_thread::sleep_for(1ms);
    // A thread that has left the loop still has to sleep before its CPU is idle.
    if (state == sleeping) std::this_thread::sleep_for(1ms);
}

// Slow motion begins before the targets spin and ends after they sleep: on a host with few CPUs,
// targets that spin at full speed would delay each other.
void Machine::turn(Method& method, const std::function<void()>& body) {
    if (enabled_ != method.groups()) {
        if (enabled_ != nullptr) enabled_->disable();
        enabled_ = method.groups();
        if (enabled_ != nullptr) enabled_->enable();
    }
    const auto end = [&] {
        set(sleeping);
        if (slow_motion_) slow_motion_->stop();
        method.finish();
    };
    try {
        method.prepare();
        if (slow_motion_) slow_motion_->start();
        set(busy_ ? spinning : sleeping);
        method.wait();
        method.sweep();
        body();
    } catch (...) {
        end();
        throw;
    }
    end();
}

void Machine::at_full_speed(const std::function<void()>& body) {
    const bool fast = slow_motion_ && !busy_;
    if (fast) slow_motion_->stop();
    body();
    if (fast) slow_motion_->start();
}

}  // namespace bench
