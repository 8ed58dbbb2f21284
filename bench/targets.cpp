// SPDX-License-Identifier: MIT
#include "targets.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "measure/affinity.hpp"

namespace bench {

const char* to_string(Load load) {
    return load == Load::busy ? "busy" : "idle";
}

// A hundred instructions without a jump: a block, in slow motion, that begins with the function.
[[gnu::noinline, gnu::aligned(1024)]] void toil() {
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
    order_ = quit;
    order_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void Targets::set(Load load) {
    order_ = load == Load::busy ? spin : sleep;
    order_.notify_all();
    await_spinning(load == Load::busy ? static_cast<int>(threads_.size()) : 0);
}

void Targets::await_spinning(int number) const {
    using namespace std::chrono_literals;
    while (spinning_ != number)
        std::this_thread::sleep_for(1ms);
    // Who has left the loop is not yet asleep, and its CPU not yet idle.
    if (number == 0) std::this_thread::sleep_for(1ms);
}

void Targets::work(int cpu) {
    measure::bind_to_cpu(cpu);
    for (int order = order_; order != quit; order = order_) {
        if (order == sleep) {
            order_.wait(sleep);
            continue;
        }
        ++spinning_;
        while (order_.load(std::memory_order_relaxed) == spin)
            toil();
        --spinning_;
    }
}

}  // namespace bench
