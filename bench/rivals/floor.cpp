// SPDX-License-Identifier: MIT
// A broadcast to the same CPUs that does nothing there: no sweep can be faster. It needs
// floor/metagroup_floor.ko.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <system_error>

#include "floor/metagroup_floor.h"
#include "rivals/ways.hpp"

namespace bench {
namespace {

class Floor : public Rival {
  public:
    explicit Floor(const metagroup::CpuList& cpus)
        : fd_(::open(METAGROUP_FLOOR_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (!fd_)
            throw std::system_error(errno, std::generic_category(),
                                    "cannot open " METAGROUP_FLOOR_DEVICE
                                    " (is metagroup_floor.ko loaded?)");
        const std::string text = cpus.to_string();
        if (::write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw std::system_error(errno, std::generic_category(), "CPUs of the broadcast");
    }

    void sweep() override {
        if (::ioctl(fd_.get(), METAGROUP_FLOOR_IOC_BROADCAST) != 0)
            throw std::system_error(errno, std::generic_category(), "an empty broadcast");
    }

  private:
    metagroup::detail::UniqueFd fd_;
};

}  // namespace

std::unique_ptr<Rival> make_floor(Subject& subject) {
    return std::make_unique<Floor>(subject.cpus());
}

}  // namespace bench
