// SPDX-License-Identifier: MIT
#include "contestant.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "median.hpp"
#include "verify.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double median_sweep(Rival& rival, std::chrono::nanoseconds time) {
    std::vector<double> seconds;
    const auto end = Clock::now() + time;
    do {
        rival.wait();
        const auto begin = Clock::now();
        for (unsigned i = 0; i < rival.batch(); ++i)
            rival.sweep();
        const std::chrono::duration<double> took = Clock::now() - begin;
        seconds.push_back(took.count() / rival.batch());
    } while (Clock::now() < end);
    return median(std::move(seconds));
}

// By what fraction of the time the host fell behind, on the CPU where it did so most.
class Lateness {
  public:
    Lateness(const measure::SlowMotion& slow_motion, const metagroup::CpuList& cpus)
        : slow_motion_(slow_motion), cpus_(cpus), begin_(read()), start_(Clock::now()) {}

    double fraction() const {
        const std::vector<std::uint64_t> end = read();
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < end.size(); ++i)
            most = std::max(most, end[i] - begin_[i]);
        const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start_;
        return static_cast<double>(most) / elapsed.count();
    }

  private:
    std::vector<std::uint64_t> read() const {
        std::vector<std::uint64_t> late;
        for (const int cpu : cpus_)
            late.push_back(slow_motion_.late_ns(cpu));
        return late;
    }

    const measure::SlowMotion& slow_motion_;
    const metagroup::CpuList& cpus_;
    std::vector<std::uint64_t> begin_;
    Clock::time_point start_;
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

void Contestant::measure(benchmark::State& state, Load load, Conditions& conditions,
                         CostCounter& counter, std::chrono::nanoseconds time) {
    const bool first = !costs_.contains(load);
    conditions.turn(rival(), load, [&] {
        if (first) verify_counts(rival(), load);
        for ([[maybe_unused]] auto _ : state) {
            std::optional<Lateness> lateness;
            if (conditions.slow_motion() != nullptr)
                lateness.emplace(*conditions.slow_motion(), subject_.cpus());
            state.SetIterationTime(median_sweep(rival(), time));
            if (lateness) state.counters["late"] = lateness->fraction();
        }
    });
    if (first) costs_[load] = counter.count(rival(), load);
    for (const auto& [name, value] : costs_[load])
        state.counters[name] = value;
}

}  // namespace bench
