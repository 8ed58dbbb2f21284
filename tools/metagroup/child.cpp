// SPDX-License-Identifier: MIT
#include "child.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tool {

Child::Child(std::vector<std::string> command, const Signals& signals) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &signals.before());
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error =
        ::posix_spawnp(&pid_, arguments[0], nullptr, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), "cannot run " + command.front());
}

std::optional<int> Child::reap(int options) {
    if (status_) return status_;
    int status = 0;
    pid_t got = 0;
    do {
        got = ::waitpid(pid_, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
    if (got == 0) return std::nullopt;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
}

std::optional<int> Child::status() {
    return reap(WNOHANG);
}

int Child::wait() {
    return *reap(0);
}

}  // namespace tool
