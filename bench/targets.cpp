// SPDX-License-Identifier: MIT
#include "targets.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "measure/measure.hpp"

namespace bench {

const char* to_string(Load load) {
    return load == Load::busy ? "busy" : "idle";
}

// A hundred instructions without a jump, so that the emulator translates them as one block, which
// begins at the address of the function.
[[gnu::noinline, gnu::aligned(1024)]] void spin() {
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

}  // namespace bench
