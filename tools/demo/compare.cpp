// SPDX-License-Identifier: MIT
#include "demo/compare.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "measure/interrupts.hpp"
#include "measure/syscalls.hpp"

namespace demo {
namespace {

using Clock = std::chrono::steady_clock;

template <typename Read>
double microseconds(Read&& read) {
    const auto begin = Clock::now();
    read();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Counted apart from the timing, which it would disturb.
template <typename Read>
void count(Cost& cost, unsigned sweeps, Read&& read) {
    measure::SyscallCounter syscalls;
    const auto interrupts = measure::interprocessor_interrupts();
    syscalls.start();
    for (unsigned i = 0; i < sweeps; ++i)
        read();
    cost.syscalls = static_cast<double>(syscalls.stop()) / sweeps;
    cost.interrupts =
        static_cast<double>(measure::interprocessor_interrupts() - interrupts) / sweeps;
}

}  // namespace

Comparison compare(Sides& sides, unsigned sweeps) {
    const auto per_fd = [&] { sides.read_per_fd(); };
    const auto module = [&] { sides.read_module(); };

    // In turns, so that what disturbs the machine disturbs both alike.
    std::vector<double> per_fd_times, module_times;
    for (unsigned i = 0; i < sweeps; ++i) {
        per_fd_times.push_back(microseconds(per_fd));
        module_times.push_back(microseconds(module));
    }

    Comparison result{};
    result.per_fd.microseconds = median(per_fd_times);
    result.module.microseconds = median(module_times);
    count(result.per_fd, sweeps, per_fd);
    count(result.module, sweeps, module);
    return result;
}

}  // namespace demo
