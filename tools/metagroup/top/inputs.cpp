// SPDX-License-Identifier: MIT
#include "top/inputs.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace tool {

Inputs::Inputs(const Signals& signals)
    : signals_(::signalfd(-1, &signals.all(), SFD_CLOEXEC | SFD_NONBLOCK)) {
    if (!signals_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

int Inputs::wait_until(Signals::Clock::time_point deadline) const {
    std::array<pollfd, 2> files{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
    for (;;) {
        const timespec timeout = time_left(deadline);
        // A tick that is due comes before keys, however fast they come.
        if (timeout.tv_sec == 0 && timeout.tv_nsec == 0) return 0;
        const int ready = ::ppoll(files.data(), files.size(), &timeout, nullptr);
        if (ready == 0) return 0;
        if (ready < 0) {
            if (errno == EINTR) continue;
            throw std::system_error(errno, std::generic_category(), "ppoll");
        }
        signalfd_siginfo signal{};
        if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal)
            return static_cast<int>(signal.ssi_signo);
        return kKeyboard;
    }
}

}  // namespace tool
