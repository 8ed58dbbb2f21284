// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "measure/median.hpp"
#include "measure/syscalls.hpp"
#include "measure/tracepoint_counter.hpp"

namespace bench {

namespace {

// With its CPU as idle or as busy as between sweeps: to an idle one the scheduler sends interrupts
// to have it find work, and a busy one has its ticks.
void rest(std::chrono::nanoseconds duration, bool asleep) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + duration;
    if (asleep) std::this_thread::sleep_until(end);
    while (Clock::now() < end) {
    }
}

// For what seldom happens by itself, and for what, as ticks do, often does.
constexpr CostCounter::Turns many_turns{.number = 5, .sweeps = 1};
constexpr CostCounter::Turns long_turns{.number = 3, .sweeps = 2};
// For what cannot be told from the kernel's own ticks.
constexpr CostCounter::Turns longest_turns{.number = 3, .sweeps = 10};

}  // namespace

CostCounter::CostCounter(Conditions& conditions, metagroup::CpuList cpus,
                         std::chrono::nanoseconds pass)
    : conditions_(conditions),
      cpus_(std::move(cpus)),
      instructions_(InstructionCounter::open(cpus_, conditions.slow_motion())),
      pass_(pass) {}

Costs CostCounter::count(Rival& rival, Load load) {
    Costs costs;
    count_calls(rival, load, costs);
    count_interrupts(rival, load, costs);
    if (load == Load::idle) count_wakeups(rival, costs);
    if (instructions_) count_instructions(rival, load, costs);
    take_skew(rival, load, costs);
    if (const auto bytes = rival.memory_bytes())
        costs["memory_bytes"] = static_cast<double>(*bytes);
    return costs;
}

unsigned CostCounter::repeat(Clock::duration time, unsigned least,
                             const std::function<void()>& step) {
    constexpr unsigned most = 1000;
    const auto end = Clock::now() + time;
    unsigned done = 0;
    while (done < least || (done < most && Clock::now() < end)) {
        step();
        ++done;
    }
    return done;
}

// By how much the numbers of `counter` grow in the time of a sweep, with sweeps and while the rival
// is at rest, by turns: what the kernel does on all CPUs once in a while is in few of them.
CostCounter::Growth CostCounter::per_sweep(Rival& rival, Turns turns,
                                           const std::function<Sample()>& counter) const {
    std::vector<std::vector<double>> sweeping;
    std::vector<std::vector<double>> net;
    unsigned sweeps = 0;
    const auto grow = [&](const auto& body) {
        Sample before;
        Sample after;
        conditions_.at_full_speed([&] { before = counter(); });
        body();
        conditions_.at_full_speed([&] { after = counter(); });
        for (std::size_t i = 0; i < after.size(); ++i)
            after[i] = (after[i] - before[i]) / sweeps;
        return after;
    };
    for (unsigned turn = 0; turn < turns.number; ++turn) {
        Clock::duration duration{};
        rival.wait();
        rival.sweep();  // has what has piled up
        const Sample with = grow([&] {
            const auto start = Clock::now();
            sweeps = repeat(pass_ / turns.number, turns.sweeps, [&] {
                rival.wait();
                rival.sweep();
            });
            duration = Clock::now() - start;
        });
        conditions_.at_full_speed([&] { rival.pause(); });
        const Sample without = grow([&] { rest(duration, rival.wait_sleeps()); });
        conditions_.at_full_speed([&] { rival.resume(); });
        sweeping.resize(with.size());
        net.resize(with.size());
        for (std::size_t i = 0; i < with.size(); ++i) {
            sweeping[i].push_back(with[i]);
            net[i].push_back(with[i] - without[i]);
        }
    }
    Growth growth;
    std::ranges::transform(sweeping, std::back_inserter(growth.sweeping), measure::median<double>);
    std::ranges::transform(net, std::back_inserter(growth.net), measure::median<double>);
    return growth;
}

void CostCounter::count_calls(Rival& rival, Load load, Costs& costs) {
    // Only what the program itself does is counted: there is nothing to subtract.
    measure::SyscallCounter syscalls;
    conditions_.turn(rival, load, [&] {
        syscalls.start();
        const unsigned sweeps = repeat(pass_, 3, [&] {
            rival.wait();
            rival.sweep();
        });
        costs["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps;
    });
}

void CostCounter::count_interrupts(Rival& rival, Load load, Costs& costs) {
    if (auto counter = measure::TracepointCounter::of_interrupts(cpus_.cpus()))
        costs["ipis"] = count_passages(rival, load, *counter);
}

void CostCounter::count_wakeups(Rival& rival, Costs& costs) {
    auto counter = measure::TracepointCounter::of_wakeups(cpus_.cpus().subspan(1));
    costs["wakeups"] = count_passages(rival, Load::idle, counter);
}

double CostCounter::count_passages(Rival& rival, Load load, measure::TracepointCounter& counter) {
    double count = 0;
    conditions_.turn(rival, load, [&] {
        const auto read = [&] { return Sample{static_cast<double>(counter.read())}; };
        count = per_sweep(rival, many_turns, read).net[0];
    });
    return count;
}

void CostCounter::count_instructions(Rival& rival, Load load, Costs& costs) {
    const int monitor = cpus_.cpus().front();
    const auto targets = cpus_.cpus().subspan(1);
    const auto counter = [&] {
        const auto own = instructions_->read(monitor);
        double others = 0;
        for (const int cpu : targets) {
            const auto count = instructions_->read(cpu);
            others += static_cast<double>(count.kernel);
            // Of a busy CPU its program's are no cost.
            if (load == Load::idle) others += static_cast<double>(count.user);
            if (rival.uses_timers()) others += static_cast<double>(count.tick);
        }
        return Sample{others, static_cast<double>(own.kernel), static_cast<double>(own.user)};
    };
    conditions_.turn(rival, load, [&] {
        const Growth insns =
            per_sweep(rival, rival.uses_timers() ? longest_turns : long_turns, counter);
        if (!targets.empty())
            costs["target_insns"] = insns.net[0] / static_cast<double>(targets.size());
        // What the monitor itself does at rest is to spin, which is none of the background.
        costs["monitor_insns"] = insns.net[1] + insns.sweeping[2];
    });
}

void CostCounter::take_skew(Rival& rival, Load load, Costs& costs) {
    conditions_.turn(rival, load, [&] {
        std::vector<std::uint64_t> skews;
        repeat(pass_, 3, [&] {
            rival.wait();
            if (const auto skew = rival.skew_ns()) skews.push_back(*skew);
        });
        if (!skews.empty()) costs["skew_ns"] = static_cast<double>(measure::median(skews));
    });
}

}  // namespace bench
