// SPDX-License-Identifier: MIT
#include "compare/cost.hpp"

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "measure/interrupts.hpp"
#include "measure/median.hpp"
#include "measure/syscalls.hpp"

namespace tool {
namespace {

using Clock = std::chrono::steady_clock;

template <typename Read>
double microseconds(Read&& read) {
    const auto begin = Clock::now();
    read();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

template <typename Repeat>
double count_syscalls(Repeat&& repeat) {
    measure::SyscallCounter syscalls;
    syscalls.start();
    repeat();
    return static_cast<double>(syscalls.stop());
}

template <typename Repeat>
double count_interrupts(Repeat&& repeat) {
    const auto before = measure::interprocessor_interrupts();
    repeat();
    return static_cast<double>(measure::interprocessor_interrupts() - before);
}

// Counted apart from the timing, which it would disturb.
template <typename Read>
void count(Cost& cost, std::string& unknown, unsigned sweeps, Read&& read) {
    const auto repeat = [&] {
        for (unsigned i = 0; i < sweeps; ++i)
            read();
    };
    try {
        cost.interrupts = count_interrupts(repeat) / sweeps;
        cost.syscalls = count_syscalls(repeat) / sweeps;
    } catch (const std::exception& error) {
        unknown = error.what();
    }
}

}  // namespace

Comparison compare(Sides& sides, unsigned sweeps) {
    const auto per_fd = [&] { sides.read_per_fd(); };
    const auto module = [&] { sides.read_module(); };

    // In turns, so that what disturbs the machine disturbs both alike. The first sweeps take
    // memory, the others do not.
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
    count(result.per_fd, result.unknown, sweeps, per_fd);
    count(result.module, result.unknown, sweeps, module);
    return result;
}

}  // namespace tool
