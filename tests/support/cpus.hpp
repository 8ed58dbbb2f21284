// SPDX-License-Identifier: MIT
// CPUs: which are online, taking one offline, running on one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace metagroup::test {

// The CPUs that a file of sysfs lists, such as 0,2-3; none if there is no such file.
std::vector<int> listed_cpus(const std::string& path);

std::vector<int> online_cpus();
bool is_online(int cpu);

// False if the kernel refuses (no such file, busy).
bool set_online(int cpu, bool online);

// A CPU that is offline while this lives.
class OfflineCpu {
  public:
    explicit OfflineCpu(int cpu);
    ~OfflineCpu();
    OfflineCpu(const OfflineCpu&) = delete;
    OfflineCpu& operator=(const OfflineCpu&) = delete;

    int cpu() const { return cpu_; }
    void back();

  private:
    int cpu_;
};

// Bind the calling thread to a CPU.
void run_on(int cpu);
void run_anywhere();

// Keep the CPU busy.
void burn_ms(int milliseconds);

// Causes so many page faults, one for each page.
void touch_new_memory(std::size_t pages);

// A CPU that is not idle while this lives.
class BusyCpu {
  public:
    explicit BusyCpu(int cpu);
    ~BusyCpu();
    BusyCpu(const BusyCpu&) = delete;
    BusyCpu& operator=(const BusyCpu&) = delete;

  private:
    std::atomic<bool> started_ = false, stop_ = false;
    std::thread thread_;
};

// All CPUs that are online, likewise: the timer of an idle one may hardly expire in a virtual
// machine.
class BusyCpus {
  public:
    BusyCpus() {
        for (const int cpu : online_cpus())
            cpus_.emplace_back(cpu);
    }

  private:
    std::deque<BusyCpu> cpus_;
};

// Function call interrupts that this CPU has received so far.
std::uint64_t function_calls(int cpu);

}  // namespace metagroup::test
