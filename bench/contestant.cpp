// SPDX-License-Identifier: MIT
#include "contestant.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <vector>

#include "measure/median.hpp"
#include "verify.hpp"

namespace bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double median_sweep(Rival& rival, std::chrono::nanoseconds time) {
    std::vector<double> seconds;
    const auto end = SteadyClock::now() + time;
    do {
        rival.wait();
        const auto begin = SteadyClock::now();
        for (unsigned i = 0; i < rival.batch(); ++i)
            rival.sweep();
        const std::chrono::duration<double> took = SteadyClock::now() - begin;
        seconds.push_back(took.count() / rival.batch());
    } while (SteadyClock::now() < end);
    return measure::median(std::move(seconds));
}

// By what fraction of the time the host fell behind, on the CPU where it did so most.
class Lateness {
  public:
    Lateness(const SlowMotion& slow_motion, const metagroup::CpuList& cpus)
        : slow_motion_(slow_motion), cpus_(cpus), begin_(read()), start_(SteadyClock::now()) {}

    double fraction() const {
        const std::vector<std::uint64_t> end = read();
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < end.size(); ++i)
            most = std::max(most, end[i] - begin_[i]);
        const std::chrono::duration<double, std::nano> elapsed = SteadyClock::now() - start_;
        return static_cast<double>(most) / elapsed.count();
    }

  private:
    std::vector<std::uint64_t> read() const {
        std::vector<std::uint64_t> late;
        for (const int cpu : cpus_)
            late.push_back(slow_motion_.late_ns(cpu));
        return late;
    }

    const SlowMotion& slow_motion_;
    const metagroup::CpuList& cpus_;
    std::vector<std::uint64_t> begin_;
    SteadyClock::time_point start_;
};

}  // namespace

Rival& Contestant::rival() {
    if (!rival_) rival_ = way_.make(subject_);
    return *rival_;
}

void Contestant::run(benchmark::State& state, Load load, Conditions& conditions,
                     CostCounter& counter, std::chrono::nanoseconds time) {
    try {
        if (defect_.empty()) measure(state, load, conditions, counter, time);
    } catch (const std::exception& error) {
        defect_ = error.what();
    }
    if (!defect_.empty()) state.SkipWithError(defect_.c_str());
}

// The host may have been busy for a moment only.
void Contestant::measure_on_time(benchmark::State& state, const SlowMotion& slow_motion,
                                 std::chrono::nanoseconds time) {
    constexpr int most_tries = 4;
    constexpr double on_time = 0.02;
    double least = std::numeric_limits<double>::infinity();
    double best = 0;
    for (int tries = 0; tries < most_tries && least > on_time; ++tries) {
        const Lateness lateness(slow_motion, subject_.cpus());
        const double seconds = median_sweep(rival(), time);
        const double late = lateness.fraction();
        if (late < least) {
            least = late;
            best = seconds;
        }
    }
    state.SetIterationTime(best);
    state.counters["late"] = least;
}

void Contestant::measure(benchmark::State& state, Load load, Conditions& conditions,
                         CostCounter& counter, std::chrono::nanoseconds time) {
    const bool first = !costs_.contains(load);
    conditions.turn(rival(), load, [&] {
        if (first) verify_counts(rival(), load);
        for ([[maybe_unused]] auto _ : state) {
            if (conditions.slow_motion() != nullptr)
                measure_on_time(state, *conditions.slow_motion(), time);
            else
                state.SetIterationTime(median_sweep(rival(), time));
        }
    });
    if (first) costs_[load] = counter.count(rival(), load);
    for (const auto& [name, value] : costs_[load])
        state.counters[name] = value;
}

}  // namespace bench
