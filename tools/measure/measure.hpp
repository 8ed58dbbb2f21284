// SPDX-License-Identifier: MIT
// Measurement of the cost of reading counters: event groups on each CPU; system calls, calls inside
// the kernel and interrupts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/payload.hpp>
#include <span>
#include <string>
#include <vector>

namespace measure {

// Binds the calling thread to a CPU. Throws std::system_error.
void bind_to_cpu(int cpu);

// Needs at least one value. Unlike a mean, it ignores the few sweeps that an interrupt hits.
template <typename Value>
Value median(std::vector<Value> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The sum of some perf events while started.
class EventCounter {
  public:
    void start();
    std::uint64_t stop();

  protected:
    EventCounter() = default;

    // Started in this order, stopped in the reverse order.
    std::vector<metagroup::detail::UniqueFd> fds_;
};

// System calls of this process, by the tracepoint raw_syscalls:sys_enter: those of the threads that
// exist when the counter is made. Calls that start and stop the counter are not included.
class SyscallCounter : public EventCounter {
  public:
    // Throws std::system_error if the tracepoint cannot be used.
    SyscallCounter();

    std::uint64_t stop();
};

// Calls of kernel functions by the calling thread, by kprobes. The system calls that start and stop
// the counter may be included.
class KernelCallCounter : public EventCounter {
  public:
    // Throws std::system_error if a function cannot be probed.
    explicit KernelCallCounter(const std::vector<std::string>& functions);
};

// Interrupts between CPUs since boot, of all CPUs together, from /proc/interrupts: function calls,
// as in broadcasts and in read() of a perf event; rescheduling, which wakes a thread elsewhere; and
// IRQ work. Throws std::runtime_error if /proc/interrupts does not list them.
std::uint64_t interprocessor_interrupts();

// The payloads of groups in one buffer.
class Payloads {
  public:
    explicit Payloads(std::span<metagroup::EventGroup> groups);

    std::span<std::byte> of(std::size_t group) {
        return std::span(buffer_).subspan(group * stride_, stride_);
    }
    std::span<std::byte> all() { return buffer_; }
    std::size_t bytes() const { return buffer_.size(); }
    // Decodes all payloads. Throws std::runtime_error if one is invalid.
    std::vector<std::uint64_t> counts() const;

  private:
    std::uint64_t read_format_;
    std::size_t stride_;
    std::vector<std::byte> buffer_;
};

// The same event groups on each of some CPUs. The order is CPU, group on that CPU, event of that
// group.
class CpuGroups {
  public:
    // Opens all of `specs` on each CPU, disabled. Throws std::system_error.
    CpuGroups(std::span<const metagroup::GroupSpec> specs, metagroup::CpuList cpus);

    const metagroup::CpuList& cpus() const { return cpus_; }
    std::span<metagroup::EventGroup> all() { return groups_; }
    std::vector<int> leaders() const;

    void enable();
    void disable();

    // One read() of each leader, on all CPUs or on the one at `index` in cpus().
    void read(Payloads& payloads) { read(0, groups_.size(), payloads); }
    void read_cpu(std::size_t index, Payloads& payloads) {
        read(index * per_cpu_, per_cpu_, payloads);
    }
    // Reads and decodes all.
    std::vector<std::uint64_t> counts();

  private:
    void read(std::size_t first, std::size_t number, Payloads& payloads);

    metagroup::CpuList cpus_;
    std::size_t per_cpu_;
    std::vector<metagroup::EventGroup> groups_;
};

}  // namespace measure
