// SPDX-License-Identifier: MIT
// A way to bring the counters of all CPUs to one monitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "measure/cpu_groups.hpp"

namespace bench {

// Made on the monitor's CPU, the first of the list, which is read as well; all calls come from
// there. A constructor that throws says why this way cannot be had here.
class Rival {
  public:
    Rival() = default;
    Rival(const Rival&) = delete;
    Rival& operator=(const Rival&) = delete;
    virtual ~Rival() = default;

    // What it reads, which therefore counts while it has its turn. Null: it reads nothing.
    virtual measure::CpuGroups* groups() { return nullptr; }

    // Around its turn, at full speed.
    virtual void prepare() {}
    virtual void finish() {}

    // What must come before each sweep and is no part of its time; whether the monitor sleeps
    // meanwhile.
    virtual void wait() {}
    virtual bool wait_sleeps() const { return false; }
    // Stops and goes on with what it does without sweeps.
    virtual void pause() {}
    virtual void resume() {}
    // Brings the counters of all CPUs to the monitor.
    virtual void sweep() = 0;
    // What the last sweep brought, in the order of CpuGroups.
    virtual std::vector<std::uint64_t> counts() const { return {}; }

    // CPUs work for it in their timers' interrupts. Else what they do there is the kernel's own.
    virtual bool uses_timers() const { return false; }

    // Sweeps to be timed as one, where one is too short for the clock.
    virtual unsigned batch() const { return 1; }
    // A sweep may leave CPUs asleep, and their counts as they were when they fell asleep.
    virtual bool lets_sleep() const { return false; }

    // Makes a sweep that notes when it read each CPU: newest minus oldest time. Where the way
    // itself does not tell it is the monitor's clock after each read.
    virtual std::optional<std::uint64_t> skew_ns() { return {}; }
    // What it holds beside the events themselves, in user space and in the kernel.
    virtual std::optional<std::size_t> memory_bytes() const { return {}; }
};

}  // namespace bench
