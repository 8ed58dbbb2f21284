// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <thread>
#include <utility>

#include "measure/interrupts.hpp"
#include "measure/syscalls.hpp"
#include "measure/wakeups.hpp"
#include "median.hpp"

namespace bench {

using Clock = std::chrono::steady_clock;

namespace {

// With its CPU as idle or as busy as between sweeps: to an idle one the scheduler sends interrupts
// to have it find work, and a busy one has its ticks.
void rest(Clock::duration duration, bool asleep) {
    const auto end = Clock::now() + duration;
    if (asleep) std::this_thread::sleep_until(end);
    while (Clock::now() < end) {
    }
}

}  // namespace

CostCounter::CostCounter(Conditions& conditions, metagroup::CpuList cpus,
                         std::chrono::nanoseconds pass)
    : conditions_(conditions),
      cpus_(std::move(cpus)),
      instructions_(measure::InstructionCounter::open(cpus_, conditions.slow_motion())),
      pass_(pass) {}

Costs CostCounter::count(Rival& rival, Load load) {
    Costs costs;
    count_calls(rival, load, costs);
    if (load == Load::idle) count_wakeups(rival, costs);
    if (instructions_) count_instructions(rival, load, costs);
    take_skew(rival, load, costs);
    if (const auto bytes = rival.memory_bytes())
        costs["memory_bytes"] = static_cast<double>(*bytes);
    return costs;
}

unsigned CostCounter::repeat(const std::function<void()>& step) const {
    constexpr unsigned least = 3;
    constexpr unsigned most = 1000;
    const auto end = Clock::now() + pass_;
    unsigned done = 0;
    while (done < least || (done < most && Clock::now() < end)) {
        step();
        ++done;
    }
    return done;
}

// By how much the numbers of `counter` grow in the time of a sweep, with sweeps and while the rival
// is at rest.
CostCounter::Growth CostCounter::per_sweep(Rival& rival,
                                           const std::function<Sample()>& counter) const {
    Growth growth;
    unsigned sweeps = 0;
    const auto grow = [&](Sample& sample, const auto& body) {
        const Sample before = counter();
        body();
        const Sample after = counter();
        for (std::size_t i = 0; i < before.size(); ++i)
            sample.push_back((after[i] - before[i]) / sweeps);
    };
    const auto start = Clock::now();
    grow(growth.sweeping, [&] {
        sweeps = repeat([&] {
            rival.wait();
            rival.sweep();
        });
    });
    const auto duration = Clock::now() - start;
    rival.pause();
    grow(growth.resting, [&] { rest(duration, rival.wait_sleeps()); });
    rival.resume();
    return growth;
}

void CostCounter::count_calls(Rival& rival, Load load, Costs& costs) {
    // Only what the program itself does is counted: there is nothing to subtract.
    measure::SyscallCounter syscalls;
    conditions_.turn(rival, load, [&] {
        syscalls.start();
        const unsigned sweeps = repeat([&] {
            rival.wait();
            rival.sweep();
        });
        costs["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps;
        const Growth ipis = per_sweep(rival, [] {
            return Sample{static_cast<double>(measure::interprocessor_interrupts())};
        });
        costs["ipis"] = ipis.net(0);
    });
}

void CostCounter::count_wakeups(Rival& rival, Costs& costs) {
    const measure::WakeupCounter wakeups(cpus_.cpus().subspan(1));
    conditions_.turn(rival, Load::idle, [&] {
        costs["wakeups"] =
            per_sweep(rival, [&] { return Sample{static_cast<double>(wakeups.read())}; }).net(0);
    });
}

void CostCounter::count_instructions(Rival& rival, Load load, Costs& costs) {
    const int monitor = cpus_.cpus().front();
    const auto targets = cpus_.cpus().subspan(1);
    const auto counter = [&] {
        const auto own = instructions_->read(monitor);
        double others = 0;
        for (const int cpu : targets) {
            const auto count = instructions_->read(cpu);
            // Of a busy CPU its program's are no cost.
            others += static_cast<double>(count.kernel + (load == Load::busy ? 0 : count.user));
        }
        return Sample{others, static_cast<double>(own.kernel), static_cast<double>(own.user)};
    };
    conditions_.turn(rival, load, [&] {
        const Growth insns = per_sweep(rival, counter);
        if (!targets.empty())
            costs["target_insns"] = insns.net(0) / static_cast<double>(targets.size());
        // What the monitor itself does at rest is to spin, which is none of the background.
        costs["monitor_insns"] = insns.net(1) + insns.sweeping[2];
    });
}

void CostCounter::take_skew(Rival& rival, Load load, Costs& costs) {
    conditions_.turn(rival, load, [&] {
        std::vector<std::uint64_t> skews;
        repeat([&] {
            rival.wait();
            if (const auto skew = rival.skew_ns()) skews.push_back(*skew);
        });
        if (!skews.empty()) costs["skew_ns"] = static_cast<double>(median(skews));
    });
}

}  // namespace bench
