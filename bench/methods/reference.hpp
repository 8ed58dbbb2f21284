// SPDX-License-Identifier: MIT
// References for comparison: the cheapest system call, and what no method can beat that interrupts
// CPUs: an empty broadcast to the same CPUs, or empty timers on them (floor/metagroup_floor.ko).
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/detail/unique_fd.hpp>
#include <string>

#include "floor/metagroup_floor.h"
#include "methods/method.hpp"

namespace bench {

// Takes the same time on any number of CPUs if slow motion is even. A sweep has many, since one is
// shorter than the clock resolves.
class NullSyscall : public Method {
  public:
    explicit NullSyscall(const Subject&) {}

    void sweep() override {
        for (int i = 0; i < kBatch; ++i)
            ::syscall(SYS_getppid);
    }
    double samples(unsigned sweeps) override { return kBatch * sweeps; }

  private:
    static constexpr int kBatch = 64;
};

class Floor : public Method {
  public:
    explicit Floor(const Subject& subject)
        : cpus_(subject.cpus()), fd_(::open(METAGROUP_FLOOR_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (!fd_)
            fail(errno, "cannot open " METAGROUP_FLOOR_DEVICE " (is metagroup_floor.ko loaded?)");
    }

    void prepare() override {
        const std::string cpus = cpus_.to_string();
        if (::write(fd_.get(), cpus.data(), cpus.size()) != static_cast<ssize_t>(cpus.size()))
            fail(errno, "cannot set the CPUs of " METAGROUP_FLOOR_DEVICE);
        resume();
    }
    void sweep() override { control(METAGROUP_FLOOR_IOC_BROADCAST); }

  protected:
    int control(unsigned long request, long argument = 0) const {
        const int result = ::ioctl(fd_.get(), request, argument);
        if (result < 0) fail(errno, METAGROUP_FLOOR_DEVICE);
        return result;
    }

    metagroup::CpuList cpus_;

  private:
    metagroup::detail::UniqueFd fd_;
};

// The least that a CPU pays that samples itself: the interrupt of the timer, and over idle CPUs the
// way out of idle and back. A sweep does nothing.
class TimerFloor : public Floor {
  public:
    explicit TimerFloor(const Subject& subject)
        : Floor(subject), period_(subject.period()), periods_(period_) {}

    Kind kind() const override { return Kind::timer; }
    void pause() override { control(METAGROUP_FLOOR_IOC_TIMERS, 0); }
    void resume() override { control(METAGROUP_FLOOR_IOC_TIMERS, period_.count()); }
    void wait() override { periods_.sleep(); }
    void sweep() override {}
    double samples(unsigned) override {
        constexpr int mask = 0x7fffffff;
        const int now = control(METAGROUP_FLOOR_IOC_EXPIRIES);
        return static_cast<double>((now - std::exchange(expiries_, now)) & mask) /
               static_cast<double>(cpus_.size());
    }

  private:
    std::chrono::nanoseconds period_;
    Periods periods_;
    int expiries_ = 0;
};

}  // namespace bench
