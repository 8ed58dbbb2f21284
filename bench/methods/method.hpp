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
    // Brings the counters of all CPUs to the reader: one sample of each, or that many.
    virtual void sweep() = 0;
    virtual unsigned samples() const { return 1; }
    // The counts of the last sweep, in the order of CpuGroups.
    virtual std::vector<std::uint64_t> counts() const { return {}; }

    // The CPUs read themselves in timer interrupts, so these count as costs.
    virtual bool uses_timers() const { return false; }

    // Number of sweeps timed as one, for sweeps shorter than the clock resolves.
    virtual unsigned batch() const { return 1; }

    // Makes a sweep that takes the time of each CPU's read: newest minus oldest. A method without
    // timestamps takes the reader's clock after each read.
    virtual std::optional<std::uint64_t> skew_ns() { return {}; }
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

std::unique_ptr<Method> make_null_syscall(Subject&);
std::unique_ptr<Method> make_per_fd(Subject&);
std::unique_ptr<Method> make_migrating(Subject&);
std::unique_ptr<Method> make_threads(Subject&);
std::unique_ptr<Method> make_io_uring(Subject&);
std::unique_ptr<Method> make_sampling(Subject&);
std::unique_ptr<Method> make_bpf(Subject&);
std::unique_ptr<Method> make_raw(Subject&);
std::unique_ptr<Method> make_framed(Subject&);
std::unique_ptr<Method> make_mapped(Subject&);
std::unique_ptr<Method> make_quiet(Subject&);
std::unique_ptr<Method> make_stream(Subject&);
std::unique_ptr<Method> make_floor(Subject&);
std::unique_ptr<Method> make_attach(Subject&);

inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
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
