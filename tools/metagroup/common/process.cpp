// SPDX-License-Identifier: MIT
#include "common/process.hpp"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

namespace tool {
namespace {

// Time from SIGTERM to SIGKILL.
constexpr std::chrono::seconds kGrace(2);

rlimit descriptor_limit() noexcept {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
}

// The library raises the soft limit when it opens many events; the command gets the original limit.
const rlimit kFirstLimit = descriptor_limit();

class LimitOfCommands {
  public:
    LimitOfCommands() { ::setrlimit(RLIMIT_NOFILE, &kFirstLimit); }
    ~LimitOfCommands() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    LimitOfCommands(const LimitOfCommands&) = delete;
    LimitOfCommands& operator=(const LimitOfCommands&) = delete;

  private:
    rlimit before_ = descriptor_limit();
};

// \return an errno, or 0.
int spawn(pid_t& pid, std::vector<std::string>& command) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const LimitOfCommands limit;
    const int error =
        ::posix_spawnp(&pid, arguments[0], nullptr, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    return error;
}

}  // namespace

void restore_signals() {
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD})
        std::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Signals::Signals(std::initializer_list<int> signals) {
    ::sigemptyset(&signals_);
    for (const int signal : signals) {
        struct sigaction now {};
        ::sigaction(signal, nullptr, &now);
        if (now.sa_handler != SIG_IGN) ::sigaddset(&signals_, signal);
    }
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

Inputs::Inputs(const Signals& signals, std::vector<pollfd> others)
    : signals_(::signalfd(-1, &signals.all(), SFD_CLOEXEC | SFD_NONBLOCK)),
      files_(std::move(others)) {
    if (!signals_) throw std::system_error(errno, std::generic_category(), "signalfd");
    files_.push_back({.fd = signals_.get(), .events = POLLIN, .revents = 0});
}

int Inputs::wait_until(Signals::Clock::time_point deadline) {
    for (;;) {
        const timespec timeout = time_left(deadline);
        // A due tick takes precedence over descriptors.
        if (timeout.tv_sec == 0 && timeout.tv_nsec == 0) return 0;
        const int ready = ::ppoll(files_.data(), files_.size(), &timeout, nullptr);
        if (ready == 0) return 0;
        if (ready < 0) {
            if (errno == EINTR) continue;
            throw std::system_error(errno, std::generic_category(), "ppoll");
        }
        signalfd_siginfo signal{};
        if (files_.back().revents != 0 &&
            ::read(signals_.get(), &signal, sizeof signal) == sizeof signal)
            return static_cast<int>(signal.ssi_signo);
        return kReady;
    }
}

CommandError::CommandError(int error, const std::string& command)
    : std::system_error(error, std::generic_category(), "cannot run " + command) {}

Child::Child(std::vector<std::string> command, const Signals& signals) : signals_(signals) {
    int error = spawn(pid_, command);
    if (error == ENOEXEC) {  // a script without "#!": run it with a shell, like execvp(3)
        std::vector<std::string> by_shell{"/bin/sh", "-c", "exec \"$@\"", "sh"};
        by_shell.insert(by_shell.end(), command.begin(), command.end());
        error = spawn(pid_, by_shell);
    }
    if (error == EAGAIN || error == ENOMEM)
        throw std::system_error(error, std::generic_category(), "cannot start a process");
    if (error != 0) throw CommandError(error, command.front());
}

Child::~Child() {
    try {
        terminate();
        wait();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "metagroup: %s\n", error.what());
    }
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

void Child::terminate() {
    if (status()) return;
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT);  // a stopped process does not handle other signals
}

int Child::wait() {
    const auto deadline = Signals::Clock::now() + kGrace;
    while (!status()) {
        if (signals_.wait_until(deadline) == SIGCHLD) continue;
        ::kill(pid_, SIGKILL);
        reap(0);
    }
    return *status_;
}

}  // namespace tool
