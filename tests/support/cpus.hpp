// SPDX-License-Identifier: MIT
// CPUs: which are online, taking one offline, running on one.
#pragma once

#include <vector>

namespace metagroup::test {

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

}  // namespace metagroup::test
