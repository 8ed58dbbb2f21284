// SPDX-License-Identifier: MIT
// A method brings the counters of all CPUs to one reader. methods.cpp has the table of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/measure.hpp"

namespace bench {

// The groups that the methods read.
class Subject {
  public:
    Subject(std::vector<metagroup::GroupSpec> specs, const metagroup::CpuList& cpus,
            std::chrono::nanoseconds period)
        : specs_(std::move(specs)), groups_(specs_, cpus), period_(period) {}

    const metagroup::CpuList& cpus() const { return groups_.cpus(); }
    const std::vector<metagroup::GroupSpec>& specs() const { return specs_; }
    measure::CpuGroups& groups() { return groups_; }
    // For methods that sample by a timer.
    std::chrono::nanoseconds period() const { return period_; }

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
    std::chrono::nanoseconds period_;
    std::optional<metagroup::Device> device_;
    std::unique_ptr<Subject> stable_in_idle_;
    std::unique_ptr<Subject> without_reader_;
};

enum class Kind {
    sweep,    // the reader makes the CPUs read
    timer,    // they read themselves in timer interrupts, so these count as costs
    program,  // of its own: only instructions of the reader's CPU are counted, over idle targets
};

// Constructed and called on the reader's CPU: the first of the list, which is read as well except
// where instructions are counted. A constructor that throws gives the reason why the method is not
// available.
class Method {
  public:
    Method() = default;
    Method(const Method&) = delete;
    Method& operator=(const Method&) = delete;
    virtual ~Method() = default;

    virtual Kind kind() const { return Kind::sweep; }
    // The groups that it reads, enabled during its turn; null if it reads none.
    virtual measure::CpuGroups* groups() { return nullptr; }

    // Stop and restart activity that needs no sweep.
    virtual void pause() {}
    virtual void resume() {}
    // Before and after its turn, at full speed.
    virtual void prepare() { resume(); }
    virtual void finish() { pause(); }

    // Called before each sweep and not timed. The reader sleeps in it unless it makes CPUs read.
    virtual void wait() {}
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

    // Makes a sweep that takes the time of each CPU's read: newest minus oldest.
    virtual std::optional<std::uint64_t> skew_ns() { return {}; }
    // Makes a sweep, too: how late the CPUs were after their deadlines, for each sample.
    virtual std::vector<std::uint64_t> lateness_ns() { return {}; }
    // At full speed: samples of each CPU per second, at most, of which none is lost.
    virtual std::optional<double> max_rate() { return {}; }
    // Numbers so far: `lost` samples for any reason, and `overruns`, sweeps that found a full ring.
    virtual std::map<std::string, double> losses() const { return {}; }
};

struct MethodInfo {
    const char* name;
    const char* role;
    const char* summary;
    std::unique_ptr<Method> (*make)(Subject&);
};

std::span<const MethodInfo> all_methods();

[[noreturn]] inline void fail(int error, const char* what) {
    throw std::system_error(error, std::generic_category(), what);
}

inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Lets the reader of CPUs that sample themselves sleep from period to period.
class Periods {
  public:
    explicit Periods(std::chrono::nanoseconds period)
        : ns_(static_cast<std::uint64_t>(period.count())) {}

    // The next period has ended.
    bool is_late() const { return due_ + ns_ < monotonic_ns(); }
    // Sleeps until it ends, or if it has ended, for a period.
    void sleep() {
        if (is_late()) due_ = monotonic_ns();
        due_ += ns_;
        const timespec due{.tv_sec = static_cast<time_t>(due_ / 1'000'000'000),
                           .tv_nsec = static_cast<long>(due_ % 1'000'000'000)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
    }

  private:
    std::uint64_t ns_;
    std::uint64_t due_ = 0;
};

}  // namespace bench
