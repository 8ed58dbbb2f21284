// SPDX-License-Identifier: MIT
// A method on one subject as Google Benchmark runs it: in repetitions, interleaved with others.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costs.hpp"
#include "machine.hpp"
#include "measure/measure.hpp"
#include "methods/method.hpp"
#include "verify.hpp"

namespace bench {

class Case {
  public:
    Case(const MethodInfo& info, Subject& subject) : info_(info), subject_(subject) {}

    // One repetition: its time is the median of the sweeps made in `time`. The first repetition
    // also verifies the counts and counts the costs. After a failure all further repetitions are
    // skipped.
    void run(benchmark::State& state, Machine& machine, const CostCounter& counter,
             std::chrono::nanoseconds time) {
        try {
            if (failure_.empty()) measure(state, machine, counter, time);
        } catch (const std::exception& error) {
            failure_ = error.what();
        }
        if (!failure_.empty()) state.SkipWithError(failure_.c_str());
    }

  private:
    void measure(benchmark::State& state, Machine& machine, const CostCounter& counter,
                 std::chrono::nanoseconds time) {
        const bool first = !costs_;
        if (!method_) method_ = info_.make(subject_);
        if (method_->kind() == Kind::program) {
            // In slow motion the timers of busy CPUs are late by milliseconds.
            if (machine.busy()) return state.SkipWithError("is measured over idle CPUs only");
            for ([[maybe_unused]] auto _ : state)
                state.SetIterationTime(0);
            costs_.emplace();
        } else {
            machine.turn(*method_, [&] { measure_sweeps(state, machine, time); });
            if (first) counter.count(*method_, costs_.emplace());
        }
        if (first && counter.counts_instructions()) {
            if (!without_reader_) without_reader_ = info_.make(subject_.without_reader());
            counter.count_instructions(*without_reader_, *costs_);
        }
        for (const auto& [name, value] : *costs_)
            state.counters[name] = value;
    }

    // In slow motion it tries again while the host was late, and reports the best try.
    void measure_sweeps(benchmark::State& state, const Machine& machine,
                        std::chrono::nanoseconds time) {
        constexpr int max_tries = 4;
        constexpr double on_time = 0.02;
        if (!costs_) verify_counts(*method_);
        const auto losses = method_->losses();
        const SlowMotion* slow_motion = machine.slow_motion();
        double seconds = 0;
        double least_late = std::numeric_limits<double>::infinity();
        for ([[maybe_unused]] auto _ : state) {
            if (slow_motion == nullptr) seconds = median_sweep(time);
            for (int i = 0; slow_motion != nullptr && i < max_tries && least_late > on_time; ++i) {
                const Lateness lateness(*slow_motion, machine.cpus());
                const double median = median_sweep(time);
                const double late = lateness.fraction();
                if (late >= least_late) continue;
                least_late = late;
                seconds = median;
            }
            state.SetIterationTime(seconds);
        }
        for (const auto& [name, number] : method_->losses())
            state.counters[name] = number - losses.at(name);
        if (slow_motion == nullptr) return;
        state.counters["late"] = least_late;
        // Timers are late as the host is, and samples are lost for that reason.
        state.counters.erase("lost");
    }

    double median_sweep(std::chrono::nanoseconds time) {
        using Clock = std::chrono::steady_clock;
        std::vector<double> seconds;
        method_->samples(1);
        const auto end = Clock::now() + time;
        do {
            method_->wait();
            const auto begin = Clock::now();
            method_->sweep();
            const std::chrono::duration<double> took = Clock::now() - begin;
            const double samples = method_->samples(1);
            if (samples != 0) seconds.push_back(took.count() / samples);
        } while (Clock::now() < end || seconds.empty());
        return measure::median(std::move(seconds));
    }

    const MethodInfo& info_;
    Subject& subject_;
    std::unique_ptr<Method> method_;
    std::unique_ptr<Method> without_reader_;  // kept: the machine refers to groups enabled last
    std::string failure_;
    std::optional<Costs> costs_;
};

}  // namespace bench
