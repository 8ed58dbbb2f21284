// SPDX-License-Identifier: MIT
#include "cpu_use.hpp"

#include <ctime>

namespace tool {

std::chrono::nanoseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

CpuUse::CpuUse() : since_(std::chrono::steady_clock::now()), used_(cpu_time()) {}

double CpuUse::take() {
    const CpuUse now;
    const std::chrono::duration<double> elapsed = now.since_ - since_;
    const std::chrono::duration<double> used = now.used_ - used_;
    *this = now;
    return used / elapsed;
}

}  // namespace tool
