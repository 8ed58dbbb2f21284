// SPDX-License-Identifier: MIT
#include "signals.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tool {

Signals::Signals(std::initializer_list<int> signals) {
    ::sigemptyset(&signals_);
    for (const int signal : signals)
        ::sigaddset(&signals_, signal);
    if (::sigprocmask(SIG_BLOCK, &signals_, &before_) != 0)
        throw std::system_error(errno, std::generic_category(), "sigprocmask");
}

Signals::~Signals() {
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::wait_until(Clock::time_point deadline) const {
    for (;;) {
        const timespec timeout = time_left(deadline);
        const int signal = ::sigtimedwait(&signals_, nullptr, &timeout);
        if (signal > 0) return signal;
        if (errno == EAGAIN) return 0;
        if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "sigtimedwait");
    }
}

timespec time_left(Signals::Clock::time_point deadline) {
    using std::chrono::nanoseconds;
    using std::chrono::seconds;
    const nanoseconds left =
        std::max(nanoseconds(0), nanoseconds(deadline - Signals::Clock::now()));
    const auto whole = std::chrono::duration_cast<seconds>(left);
    return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

}  // namespace tool
