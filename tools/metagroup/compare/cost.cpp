// SPDX-License-Identifier: MIT
#include "compare/cost.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/counters.hpp"
#include "measure/median.hpp"

namespace tool {
namespace {

using Clock = std::chrono::steady_clock;

template <typename Read>
double microseconds(Read&& read) {
    const auto begin = Clock::now();
    read();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class InterruptCounter {
  public:
    void start() { before_ = measure::interprocessor_interrupts(); }
    std::uint64_t stop() const { return measure::interprocessor_interrupts() - before_; }

  private:
    std::uint64_t before_ = 0;
};

// Per read, less the counts of starting and stopping the counter.
template <typename Counter, typename Read>
double count_per_read(Counter& counter, unsigned reads, Read&& read) {
    const auto count = [&](unsigned times) {
        counter.start();
        for (unsigned i = 0; i < times; ++i)
            read();
        return static_cast<double>(counter.stop());
    };
    const double nothing = count(0);
    return std::max(count(reads) - nothing, 0.0) / reads;
}

// The kernel's function by which one way interrupts CPUs and waits, by its names in this and in
// older kernels, and the number of its calls in a sweep that are for the reader's own CPU only.
struct Calls {
    std::vector<std::string> names;
    double own = 0;
};

// Counts the first of these functions that this kernel has.
measure::KernelCallCounter first_of(const std::vector<std::string>& names) {
    for (auto name = names.begin();; ++name) {
        try {
            return measure::KernelCallCounter({*name});
        } catch (const std::system_error&) {
            if (std::next(name) == names.end()) throw;
        }
    }
}

// Separate from the timing, which counting would disturb. Counts vary little, so few reads suffice.
template <typename Read>
void count(Cost& cost, std::string& unknown, const Calls& calls, unsigned sweeps, Read&& read) {
    const unsigned reads = std::min(sweeps, 200U);
    const auto try_count = [&](std::optional<double>& result, auto&& make_counter) {
        try {
            auto counter = make_counter();
            result = count_per_read(counter, reads, read);
        } catch (const std::exception& error) {
            unknown = error.what();
        }
    };
    try_count(cost.interrupts, [] { return InterruptCounter(); });
    try_count(cost.syscalls, [] { return measure::SyscallCounter(); });
    try_count(cost.mutexes, [] {
        return measure::KernelCallCounter(
            {"mutex_lock", "mutex_lock_interruptible", "mutex_lock_killable"});
    });
    try_count(cost.waits, [&] { return first_of(calls.names); });
    if (cost.waits) cost.waits = std::max(*cost.waits - calls.own, 0.0);
}

}  // namespace

Sides::Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus,
             const std::string& device)
    : groups_({&group, 1}, cpus),
      device_(metagroup::Device::open(device)),
      payloads_(groups_.all()) {
    device_.attach(groups_.leaders());
    device_.set_format(metagroup::Format::framed);
    device_.enable();
}

bool Sides::same(std::size_t member) {
    const auto payload =
        metagroup::Payload::parse(payloads_.of(member), groups_.all()[member].read_format());
    if (!payload) return false;
    for (std::size_t event = 0; event < payload->nr(); ++event) {
        if (snapshot_[member].raw(event) != payload->value(event)) return false;
    }
    return true;
}

bool Sides::agree() {
    device_.disable();
    read_module();
    read_per_fd();
    bool all = true;
    for (std::size_t member = 0; member < groups_.all().size(); ++member)
        all &= same(member);
    device_.enable();
    return all;
}

Comparison compare(Sides& sides, unsigned sweeps) {
    const auto per_fd = [&] { sides.read_per_fd(); };
    const auto module = [&] { sides.read_module(); };

    // In turns, so that disturbances affect both ways alike. The first sweeps allocate memory.
    per_fd();
    module();
    std::vector<double> per_fd_times, module_times;
    for (unsigned i = 0; i < sweeps; ++i) {
        per_fd_times.push_back(microseconds(per_fd));
        module_times.push_back(microseconds(module));
    }

    Comparison result;
    result.per_fd.microseconds = measure::median(std::move(per_fd_times));
    result.module.microseconds = measure::median(std::move(module_times));
    count(result.per_fd, result.unknown, {{"smp_call_function_single"}, 1}, sweeps, per_fd);
    const double alone = sides.cpus() == 1 ? 1 : 0;
    count(result.module, result.unknown, {{"on_each_cpu_mask", "on_each_cpu_cond_mask"}, alone},
          sweeps, module);
    return result;
}

}  // namespace tool
