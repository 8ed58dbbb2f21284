// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "measure/measure.hpp"

namespace bench {

namespace {

// The reader's CPU is idle or busy as it is between sweeps: the scheduler interrupts an idle CPU to
// balance load, and a busy one has ticks.
void pass_time(std::chrono::nanoseconds duration, bool idle) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + duration;
    if (idle) std::this_thread::sleep_until(end);
    while (Clock::now() < end) {
    }
}

// Against a background that is rare; that is frequent, as ticks are; that looks like the cost.
constexpr CostCounter::Rounds many_rounds{.number = 5, .min_sweeps = 1};
constexpr CostCounter::Rounds long_rounds{.number = 3, .min_sweeps = 2};
constexpr CostCounter::Rounds longest_rounds{.number = 3, .min_sweeps = 10};

}  // namespace

CostCounter::CostCounter(Conditions& conditions, metagroup::CpuList cpus,
                         std::chrono::nanoseconds pass)
    : conditions_(conditions),
      cpus_(std::move(cpus)),
      instructions_(InstructionCounter::open(cpus_, conditions.slow_motion())),
      pass_(pass) {}

Costs CostCounter::count(Method& method, Load load) {
    Costs costs;
    count_calls(method, load, costs);
    count_interrupts(method, load, costs);
    if (load == Load::idle) count_wakeups(method, costs);
    measure_skew(method, load, costs);
    if (const auto bytes = method.memory_bytes())
        costs["memory_bytes"] = static_cast<double>(*bytes);
    return costs;
}

unsigned CostCounter::repeat(Clock::duration time, unsigned min_steps,
                             const std::function<void()>& step) {
    constexpr unsigned max_steps = 1000;
    const auto end = Clock::now() + time;
    unsigned done = 0;
    while (done < min_steps || (done < max_steps && Clock::now() < end)) {
        step();
        ++done;
    }
    return done;
}

// The growth of `counter` per sweep: the median over rounds, so that rare work of the kernel on all
// CPUs, which falls into few of them, does not count.
CostCounter::PerSweep CostCounter::per_sweep(Method& method, Rounds rounds,
                                             const std::function<Sample()>& counter) const {
    std::vector<std::vector<double>> gross;
    std::vector<std::vector<double>> net;
    unsigned sweeps = 0;
    const auto growth = [&](const auto& body) {
        Sample before;
        Sample after;
        conditions_.at_full_speed([&] { before = counter(); });
        body();
        conditions_.at_full_speed([&] { after = counter(); });
        for (std::size_t i = 0; i < after.size(); ++i)
            after[i] = (after[i] - before[i]) / sweeps;
        return after;
    };
    for (unsigned round = 0; round < rounds.number; ++round) {
        Clock::duration duration{};
        method.wait();
        method.sweep();  // drains pending samples
        const Sample with = growth([&] {
            const auto start = Clock::now();
            sweeps = repeat(pass_ / rounds.number, rounds.min_sweeps, [&] {
                method.wait();
                method.sweep();
            });
            duration = Clock::now() - start;
            sweeps *= method.samples();
        });
        conditions_.at_full_speed([&] { method.pause(); });
        const Sample without = growth([&] { pass_time(duration, method.wait_sleeps()); });
        conditions_.at_full_speed([&] { method.resume(); });
        gross.resize(with.size());
        net.resize(with.size());
        for (std::size_t i = 0; i < with.size(); ++i) {
            gross[i].push_back(with[i]);
            net[i].push_back(with[i] - without[i]);
        }
    }
    PerSweep result;
    std::ranges::transform(gross, std::back_inserter(result.gross), measure::median<double>);
    std::ranges::transform(net, std::back_inserter(result.net), measure::median<double>);
    return result;
}

void CostCounter::count_calls(Method& method, Load load, Costs& costs) {
    // Only this program's calls are counted: there is no background.
    measure::SyscallCounter syscalls;
    conditions_.turn(method, load, [&] {
        syscalls.start();
        const unsigned sweeps = repeat(pass_, 3, [&] {
            method.wait();
            method.sweep();
        });
        costs["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps / method.samples();
    });
}

void CostCounter::count_interrupts(Method& method, Load load, Costs& costs) {
    if (auto counter = TracepointCounter::of_interrupts(cpus_.cpus()))
        costs["ipis"] = count_events(method, load, *counter);
}

void CostCounter::count_wakeups(Method& method, Costs& costs) {
    auto counter = TracepointCounter::of_wakeups(cpus_.cpus().subspan(1));
    costs["wakeups"] = count_events(method, Load::idle, counter);
}

double CostCounter::count_events(Method& method, Load load, TracepointCounter& counter) {
    double count = 0;
    conditions_.turn(method, load, [&] {
        const auto read = [&] { return Sample{static_cast<double>(counter.read())}; };
        count = per_sweep(method, many_rounds, read).net[0];
    });
    return count;
}

void CostCounter::count_instructions(Method& method, Load load, Costs& costs) {
    const int reader = cpus_.cpus().front();
    const auto targets = cpus_.cpus().subspan(1);
    const auto counter = [&] {
        const auto own = instructions_->read(reader);
        double others = 0;
        for (const int cpu : targets) {
            const auto count = instructions_->read(cpu);
            others += static_cast<double>(count.kernel);
            // The user instructions of a busy CPU are its work, not a cost.
            if (load == Load::idle) others += static_cast<double>(count.user);
            if (method.uses_timers()) others += static_cast<double>(count.tick);
        }
        return Sample{others, static_cast<double>(own.kernel), static_cast<double>(own.user)};
    };
    conditions_.turn(method, load, [&] {
        const PerSweep insns =
            per_sweep(method, method.uses_timers() ? longest_rounds : long_rounds, counter);
        if (!targets.empty())
            costs["target_insns"] = insns.net[0] / static_cast<double>(targets.size());
        // Between sweeps the reader spins in user space, which is no background of a sweep.
        costs["reader_insns"] = insns.net[1] + insns.gross[2];
    });
}

void CostCounter::measure_skew(Method& method, Load load, Costs& costs) {
    conditions_.turn(method, load, [&] {
        std::vector<std::uint64_t> skews;
        repeat(pass_, 3, [&] {
            method.wait();
            if (const auto skew = method.skew_ns()) skews.push_back(*skew);
        });
        if (!skews.empty()) costs["skew_ns"] = static_cast<double>(measure::median(skews));
    });
}

}  // namespace bench
