// SPDX-License-Identifier: MIT
// CPUs that a real-time thread never leaves.
#pragma once

#include <sched.h>
#include <sys/utsname.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "cpus.hpp"
#include "settings.hpp"

namespace metagroup::test {

// There timers and work in interrupts are done by threads, which a real-time thread holds up.
inline bool is_real_time_kernel() {
    utsname system{};
    ::uname(&system);
    return std::string_view(system.version).find("PREEMPT_RT") != std::string_view::npos;
}

// A task of higher priority interrupts others in the kernel as well. Debian's kernels without
// PREEMPT_RT decide it when they boot (preempt=full).
inline bool is_preemptible_kernel() {
    std::string models;
    std::getline(std::ifstream("/sys/kernel/debug/sched/preempt"), models);
    return is_real_time_kernel() || models.find("(full)") != std::string::npos ||
           models.find("(lazy)") != std::string::npos;
}

// A CPU executes a real-time thread, which calls `first` before it spins, until the end of this or
// for 20 seconds.
class RealTimeCpu {
  public:
    explicit RealTimeCpu(int cpu, std::function<void()> first = nullptr)
        : cpu_(cpu), first_(std::move(first)) {
        while (!runs_)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

  private:
    void spin(const std::stop_token& stop) {
        run_on(cpu_);
        const sched_param priority{.sched_priority = 1};
        if (::sched_setscheduler(0, SCHED_FIFO, &priority)) std::terminate();
        if (first_) first_();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        runs_ = true;
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
        }
    }

    int cpu_;
    std::function<void()> first_;
    // Else the kernel leaves others a part of each second.
    Setting not_throttled_{"/proc/sys/kernel/sched_rt_runtime_us", -1};
    std::atomic<bool> runs_ = false;
    std::jthread thread_{[this](const std::stop_token& stop) { spin(stop); }};
};

}  // namespace metagroup::test
