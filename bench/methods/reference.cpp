// SPDX-License-Identifier: MIT
// References for comparison: the cheapest system call, and an empty
// broadcast to the same CPUs, which no sweep with interrupts can beat (floor/metagroup_floor.ko).
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <system_error>

#include "floor/metagroup_floor.h"
#include "methods/method.hpp"

namespace bench {
namespace {

// Takes the same time on any number of CPUs if slow motion is even.
class NullSyscall : public Method {
  public:
    void sweep() override { ::syscall(SYS_getppid); }
    unsigned batch() const override { return 64; }
};

class Floor : public Method {
  public:
    explicit Floor(const metagroup::CpuList& cpus)
        : fd_(::open(METAGROUP_FLOOR_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (!fd_)
            throw std::system_error(errno, std::generic_category(),
                                    "cannot open " METAGROUP_FLOOR_DEVICE
                                    " (is metagroup_floor.ko loaded?)");
        const std::string text = cpus.to_string();
        if (::write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw std::system_error(errno, std::generic_category(),
                                    "cannot set the CPUs of " METAGROUP_FLOOR_DEVICE);
    }

    void sweep() override {
        if (::ioctl(fd_.get(), METAGROUP_FLOOR_IOC_BROADCAST) != 0)
            throw std::system_error(errno, std::generic_category(), "empty broadcast");
    }

  private:
    metagroup::detail::UniqueFd fd_;
};

}  // namespace

std::unique_ptr<Method> make_null_syscall(Subject&) {
    return std::make_unique<NullSyscall>();
}

std::unique_ptr<Method> make_floor(Subject& subject) {
    return std::make_unique<Floor>(subject.cpus());
}

}  // namespace bench
