// SPDX-License-Identifier: MIT
// A method brings the counters of all CPUs to one reader. methods.cpp has the table of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/measure.hpp"

namespace bench {

// The groups that the methods read.
class Subject {
  public:
    Subject(std::vector<metagroup::GroupSpec> specs, const metagroup::CpuList& cpus,
            std::chrono::nanoseconds sampling_period)
        : specs_(std::move(specs)), groups_(specs_, cpus), sampling_period_(sampling_period) {}

    const metagroup::CpuList& cpus() const { return groups_.cpus(); }
    const std::vector<metagroup::GroupSpec>& specs() const { return specs_; }
    measure::CpuGroups& groups() { return groups_; }

    // For methods that sample by a timer.
    std::chrono::nanoseconds sampling_period() const { return sampling_period_; }

    // These groups if their counts stand still while the CPU is idle, else groups of as many
    // events for which that holds. Throws std::runtime_error if this machine has no such events.
    Subject& stable_in_idle();

    // The same groups on the CPUs after the first, which is the reader's; these if there is one
    // CPU.
    Subject& without_reader();

    // The meta-group of these groups; there is one, because a group belongs to at most one. Throws
    // std::system_error if the module is not loaded.
    metagroup::Device& device();

  private:
    std::vector<metagroup::GroupSpec> specs_;
    measure::CpuGroups groups_;
    std::optional<metagroup::Device> device_;
    std::chrono::nanoseconds sampling_period_;
    std::unique_ptr<Subject> stable_in_idle_;
    std::unique_ptr<Subject> without_reader_;
};

// Constructed and called on the reader's CPU: the first of the list, which is read as well except
// where instructions are counted.
// A constructor that throws gives the reason why the method is not available.
class Method {
  public:
    Method() = default;
    Method(const Method&) = delete;
    Method& operator=(const Method&) = delete;
    virtual ~Method() = default;

    // The groups that it reads, enabled during its turn; null if it reads none.
    virtual measure::CpuGroups* groups() { return nullptr; }

    // Before and after its turn, at full speed.
    virtual void prepare() {}
    virtual void finish() {}

    // Called before each sweep and not timed; wait_sleeps() tells if the reader sleeps in it.
    virtual void wait() {}
    virtual bool wait_sleeps() const { return false; }
    // Stop and restart activity that needs no sweep.
    virtual void pause() {}
    virtual void resume() {}
    // Brings the counters of all CPUs to the reader: one sample of each, or those that there are.
    virtual void sweep() = 0;
    // Samples of each CPU that the sweeps since the last call brought, which were so many.
    virtual double samples(unsigned sweeps) { return sweeps; }
    // The counts of the last sweep, in the order of CpuGroups.
    virtual std::vector<std::uint64_t> counts() const { return {}; }
    // The same by read() of each group; none if it reads no counters.
    virtual std::vector<std::uint64_t> counts_by_read() {
        return groups() != nullptr ? groups()->counts() : std::vector<std::uint64_t>{};
    }

    // A program of its own: only instructions of the reader's CPU are counted, over idle targets.
    virtual bool is_program() const { return false; }

    // The CPUs read themselves in timer interrupts, so these count as costs.
    virtual bool uses_timers() const { return false; }

    // Number of sweeps timed as one, for sweeps shorter than the clock resolves.
    virtual unsigned batch() const { return 1; }

    // Makes a sweep that takes the time of each CPU's read: newest minus oldest. A method without
    // timestamps takes the reader's clock after each read.
    virtual std::optional<std::uint64_t> skew_ns() { return {}; }
    // Makes a sweep, too: how late the CPUs were after their deadlines, for each sample.
    virtual std::vector<std::uint64_t> lateness_ns() { return {}; }
    // At full speed: samples of each CPU per second, at most, of which none is lost.
    virtual std::optional<double> max_rate() { return {}; }
    // Numbers so far: of samples lost for any reason, and of sweeps that found a full ring.
    virtual std::optional<std::uint64_t> lost() const { return {}; }
    virtual std::optional<std::uint64_t> overruns() const { return {}; }
    // Memory beside the events, of user space and kernel.
    virtual std::optional<std::size_t> memory_bytes() const { return {}; }
};

enum class Role {
    existing,   // does without the module
    module,     // the module in one of its modes
    floor,      // no sweep with interrupts takes less
    reference,  // for scale; reads no counters
    setup,      // paid once, not per sweep
};

struct MethodInfo {
    const char* name;
    Role role;
    const char* summary;
    std::unique_ptr<Method> (*make)(Subject&);
};

std::span<const MethodInfo> all_methods();
const char* to_string(Role role);

inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// For methods whose CPUs sample themselves: lets the reader sleep from period to period.
class Periods {
  public:
    explicit Periods(std::chrono::nanoseconds period) : period_(period) {}

    std::chrono::nanoseconds period() const { return period_; }
    // The next period has ended.
    bool is_late() const { return due_ + ns() < monotonic_ns(); }
    // It begins now.
    void restart() { due_ = monotonic_ns(); }
    // Sleeps until it ends.
    void sleep() {
        due_ += ns();
        const timespec due{.tv_sec = static_cast<time_t>(due_ / 1'000'000'000),
                           .tv_nsec = static_cast<long>(due_ % 1'000'000'000)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
    }

  private:
    std::uint64_t ns() const { return static_cast<std::uint64_t>(period_.count()); }

    std::chrono::nanoseconds period_;
    std::uint64_t due_ = 0;
};

[[noreturn]] inline void fail(int error, const char* what) {
    throw std::system_error(error, std::generic_category(), what);
}

// Newest minus oldest time.
class Skew {
  public:
    void note(std::uint64_t time) {
        oldest_ = std::min(oldest_, time);
        newest_ = std::max(newest_, time);
    }
    std::uint64_t ns() const { return newest_ > oldest_ ? newest_ - oldest_ : 0; }

  private:
    std::uint64_t oldest_ = UINT64_MAX;
    std::uint64_t newest_ = 0;
};

}  // namespace bench
