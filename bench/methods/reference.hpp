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
#include <utility>

#include "floor/metagroup_floor.h"
#include "methods/method.hpp"

namespace bench {

// Takes the same time on any number of CPUs if slow motion is even.
class NullSyscall : public Method {
  public:
    explicit NullSyscall(const Subject&) {}

    void sweep() override { ::syscall(SYS_getppid); }
    unsigned batch() const override { return 64; }
};

// The CPUs of a Subject as those of metagroup_floor.ko.
class FloorDevice {
  public:
    explicit FloorDevice(const metagroup::CpuList& cpus)
        : fd_(::open(METAGROUP_FLOOR_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (!fd_)
            fail(errno, "cannot open " METAGROUP_FLOOR_DEVICE " (is metagroup_floor.ko loaded?)");
        const std::string text = cpus.to_string();
        if (::write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            fail(errno, "cannot set the CPUs of " METAGROUP_FLOOR_DEVICE);
    }

    int fd() const { return fd_.get(); }

  private:
    metagroup::detail::UniqueFd fd_;
};

class Floor : public Method {
  public:
    explicit Floor(const Subject& subject) : device_(subject.cpus()) {}

    void sweep() override {
        if (::ioctl(device_.fd(), METAGROUP_FLOOR_IOC_BROADCAST) != 0)
            fail(errno, "empty broadcast");
    }

  private:
    FloorDevice device_;
};

// The least that a CPU pays that samples itself: the interrupt of the timer, and over idle CPUs the
// way out of idle and back. A sweep does nothing.
class TimerFloor : public Method {
  public:
    explicit TimerFloor(const Subject& subject)
        : cpus_(subject.cpus().size()),
          device_(subject.cpus()),
          periods_(subject.sampling_period()) {}

    void prepare() override { resume(); }
    void finish() override { pause(); }
    void pause() override { set(std::chrono::nanoseconds(0)); }
    void resume() override { set(periods_.period()); }
    bool wait_sleeps() const override { return true; }
    bool uses_timers() const override { return true; }
    void wait() override {
        if (periods_.is_late()) periods_.restart();
        periods_.sleep();
    }
    void sweep() override {}
    double samples(unsigned) override {
        constexpr int mask = 0x7fffffff;
        const int now = ::ioctl(device_.fd(), METAGROUP_FLOOR_IOC_EXPIRIES);
        return static_cast<double>((now - std::exchange(expiries_, now)) & mask) /
               static_cast<double>(cpus_);
    }

  private:
    void set(std::chrono::nanoseconds period) {
        if (::ioctl(device_.fd(), METAGROUP_FLOOR_IOC_TIMERS, period.count()) != 0)
            fail(errno, "empty timers");
    }

    std::size_t cpus_;
    FloorDevice device_;
    Periods periods_;
    int expiries_ = 0;
};

}  // namespace bench
