// SPDX-License-Identifier: MIT
#include "conditions.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "measure/measure.hpp"

namespace bench {

const char* to_string(Load load) {
    return load == Load::busy ? "busy" : "idle";
}

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

Targets::Targets(const metagroup::CpuList& cpus) {
    for (const int cpu : cpus.cpus().subspan(1))
        threads_.emplace_back([this, cpu] { work(cpu); });
}

Targets::~Targets() {
    state_ = ended;
    state_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void Targets::set(Load load) {
    using namespace std::chrono_literals;
    state_ = load == Load::busy ? spinning : sleeping;
    state_.notify_all();
    const int wanted = load == Load::busy ? static_cast<int>(threads_.size()) : 0;
    while (spinning_ != wanted)
        std::this_thread::sleep_for(1ms);
    // A thread that has left the loop still has to sleep before its CPU is idle.
    if (wanted == 0) std::this_thread::sleep_for(1ms);
}

void Targets::work(int cpu) {
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

Conditions::Conditions(const metagroup::CpuList& cpus)
    : slow_motion_(SlowMotion::find(spin)), targets_(cpus) {}

void Conditions::enable_only(measure::CpuGroups* groups) {
    if (enabled_ == groups) return;
    if (enabled_ != nullptr) enabled_->disable();
    if (groups != nullptr) groups->enable();
    enabled_ = groups;
}

// Slow motion begins before the targets spin and ends after they sleep: on a host with few CPUs,
// targets that spin at full speed would delay each other.
void Conditions::turn(Method& method, Load load, const std::function<void()>& body) {
    enable_only(method.groups());
    load_ = load;
    try {
        method.prepare();
        if (slow_motion_) slow_motion_->start();
        targets_.set(load);
        method.wait();
        method.sweep();
        body();
    } catch (...) {
        end(method);
        throw;
    }
    end(method);
}

void Conditions::at_full_speed(const std::function<void()>& body) {
    const bool fast = slow_motion_ && load_ == Load::idle;
    if (fast) slow_motion_->stop();
    body();
    if (fast) slow_motion_->start();
}

void Conditions::end(Method& method) {
    targets_.set(Load::idle);
    if (slow_motion_) slow_motion_->stop();
    method.finish();
}

}  // namespace bench
