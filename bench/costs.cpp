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

// How much more the numbers of `counter` grow per sweep than while the rival is at rest.
CostCounter::Sample CostCounter::per_sweep(Rival& rival,
                                           const std::function<Sample()>& counter) const {
    const auto start = Clock::now();
    const Sample before = counter();
    const unsigned sweeps = repeat([&] {
        rival.wait();
        rival.sweep();
    });
    const Sample after = counter();
    const auto duration = Clock::now() - start;

    rival.finish();
    const Sample rest_before = counter();
    std::this_thread::sleep_for(duration);
    const Sample rest_after = counter();
    rival.prepare();

    Sample result;
    for (std::size_t i = 0; i < before.size(); ++i)
        result.push_back((after[i] - before[i] - (rest_after[i] - rest_before[i])) / sweeps);
    return result;
}

void CostCounter::count_calls(Rival& rival, Load load, Costs& costs) {
    // Only what the program itself does is counted: there is nothing to subtract.
    measure::SyscallCounter syscalls;
    conditions_.turn(rival, load, [&] {
        syscalls.start();
        const unsigned sweeps = repeat([&] { rival.sweep(); });
        costs["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps;
        costs["ipis"] = per_sweep(rival, [] {
            return Sample{static_cast<double>(measure::interprocessor_interrupts())};
        })[0];
    });
}

void CostCounter::count_wakeups(Rival& rival, Costs& costs) {
    const measure::WakeupCounter wakeups(cpus_.cpus().subspan(1));
    conditions_.turn(rival, Load::idle, [&] {
        costs["wakeups"] =
            per_sweep(rival, [&] { return Sample{static_cast<double>(wakeups.read())}; })[0];
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
        return Sample{static_cast<double>(own.kernel + own.user), others};
    };
    conditions_.turn(rival, load, [&] {
        const Sample insns = per_sweep(rival, counter);
        costs["monitor_insns"] = insns[0];
        if (!targets.empty())
            costs["target_insns"] = insns[1] / static_cast<double>(targets.size());
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
