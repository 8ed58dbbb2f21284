// SPDX-License-Identifier: MIT
#include "case.hpp"

#include <exception>
#include <limits>
#include <vector>

#include "measure/measure.hpp"
#include "verify.hpp"

namespace bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double median_sweep(Method& method, std::chrono::nanoseconds time) {
    std::vector<double> seconds;
    method.samples(1);
    const auto end = SteadyClock::now() + time;
    do {
        method.wait();
        const auto begin = SteadyClock::now();
        for (unsigned i = 0; i < method.batch(); ++i)
            method.sweep();
        const std::chrono::duration<double> took = SteadyClock::now() - begin;
        const double samples = method.samples(method.batch());
        if (samples != 0) seconds.push_back(took.count() / samples);
    } while (SteadyClock::now() < end || seconds.empty());
    return measure::median(std::move(seconds));
}

}  // namespace

Method& Case::method() {
    if (!method_) method_ = info_.make(subject_);
    return *method_;
}

void Case::run(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
               std::chrono::nanoseconds time) {
    try {
        if (failure_.empty()) measure(state, load, conditions, costs, time);
    } catch (const std::exception& error) {
        failure_ = error.what();
    }
    if (!failure_.empty()) state.SkipWithError(failure_.c_str());
}

// Tries again while the host was late, and reports the best try.
void Case::measure_slow(benchmark::State& state, const SlowMotion& slow_motion,
                        std::chrono::nanoseconds time) {
    constexpr int max_tries = 4;
    constexpr double on_time = 0.02;
    double least_late = std::numeric_limits<double>::infinity();
    double seconds = 0;
    for (int tries = 0; tries < max_tries && least_late > on_time; ++tries) {
        const Lateness lateness(slow_motion, subject_.cpus());
        const double median = median_sweep(method(), time);
        const double late = lateness.fraction();
        if (late < least_late) {
            least_late = late;
            seconds = median;
        }
    }
    state.SetIterationTime(seconds);
    state.counters["late"] = least_late;
}

void Case::measure_sweeps(benchmark::State& state, Load load, Conditions& conditions,
                          std::chrono::nanoseconds time) {
    conditions.turn(method(), load, [&] {
        if (!costs_.contains(load)) verify_counts(method());
        const auto lost = method().lost();
        const auto overruns = method().overruns();
        for ([[maybe_unused]] auto _ : state) {
            if (conditions.slow_motion() != nullptr)
                measure_slow(state, *conditions.slow_motion(), time);
            else
                state.SetIterationTime(median_sweep(method(), time));
        }
        // In slow motion timers are late as the host is, and samples are lost for that reason.
        if (lost && conditions.slow_motion() == nullptr)
            state.counters["lost"] = static_cast<double>(*method().lost() - *lost);
        if (overruns)
            state.counters["overruns"] = static_cast<double>(*method().overruns() - *overruns);
    });
}

void Case::measure(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
                   std::chrono::nanoseconds time) {
    const bool first = !costs_.contains(load);
    if (method().is_program()) {
        // In slow motion the timers of busy CPUs are late by milliseconds.
        if (load == Load::busy) return state.SkipWithError("is measured over idle CPUs only");
        for ([[maybe_unused]] auto _ : state)
            state.SetIterationTime(0);
        costs_[load];
    } else {
        measure_sweeps(state, load, conditions, time);
        if (first) costs_[load] = costs.count(method(), load);
    }
    if (first && costs.counts_instructions()) {
        if (!without_reader_) without_reader_ = info_.make(subject_.without_reader());
        costs.count_instructions(*without_reader_, load, costs_[load]);
    }
    for (const auto& [name, value] : costs_[load])
        state.counters[name] = value;
}

}  // namespace bench
