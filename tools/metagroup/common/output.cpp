// SPDX-License-Identifier: MIT
#include "common/output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace tool {

Output::Output(const std::string& path) : name_(path.empty() ? "standard output" : path) {
    if (path.empty()) return;
    file_ = metagroup::detail::UniqueFd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write " + name_);
}

void Output::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t done = ::write(fd(), text.data(), text.size());
        if (done >= 0)
            text.remove_prefix(static_cast<std::size_t>(done));
        else if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "cannot write " + name_);
    }
}

std::size_t Output::width() const {
    constexpr std::size_t usual = 80;
    winsize size{};
    return ::ioctl(fd(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void occupy_closed_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        // open() takes the lowest free number, which is this one. The wrong direction lets uses of
        // the stream fail.
        if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void finish_printing() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write standard output");
}

}  // namespace tool
