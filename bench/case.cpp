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
    const auto end = SteadyClock::now() + time;
    do {
        method.wait();
        const auto begin = SteadyClock::now();
        for (unsigned i = 0; i < method.batch(); ++i)
            method.sweep();
        const std::chrono::duration<double> took = SteadyClock::now() - begin;
        seconds.push_back(took.count() / method.batch() / method.samples());
    } while (SteadyClock::now() < end);
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

void Case::measure(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
                   std::chrono::nanoseconds time) {
    const bool first = !costs_.contains(load);
    conditions.turn(method(), load, [&] {
        if (first) verify_counts(method());
        for ([[maybe_unused]] auto _ : state) {
            if (conditions.slow_motion() != nullptr)
                measure_slow(state, *conditions.slow_motion(), time);
            else
                state.SetIterationTime(median_sweep(method(), time));
        }
    });
    if (first) {
        costs_[load] = costs.count(method(), load);
        if (costs.counts_instructions()) {
            if (!without_reader_) without_reader_ = info_.make(subject_.without_reader());
            costs.count_instructions(*without_reader_, load, costs_[load]);
        }
    }
    for (const auto& [name, value] : costs_[load])
        state.counters[name] = value;
}

}  // namespace bench
