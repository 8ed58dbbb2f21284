// SPDX-License-Identifier: MIT
// Waiting for deadlines and signals, and the command that this process runs.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tool {

// Undoes what the parent process has set: scripts start background processes with SIGINT ignored,
// other parents ignore SIGCHLD or SIGPIPE, or leave signals blocked. SIGHUP stays ignored, for
// nohup(1).
void restore_signals();

// Blocks signals, so that they are taken by waiting and none is lost between two waits.
class Signals {
  public:
    using Clock = std::chrono::steady_clock;

    // Signals that are ignored stay ignored.
    explicit Signals(std::initializer_list<int> signals);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Sleeps until the deadline or a signal. \return the signal, or 0.
    int wait_until(Clock::time_point deadline) const;

    const sigset_t& all() const { return signals_; }

  private:
    sigset_t signals_{};
    sigset_t before_{};
};

// The time to the deadline, for system calls; zero if it is over.
timespec time_left(Signals::Clock::time_point deadline);

// Waits for signals, and for descriptors beside them.
class Inputs {
  public:
    // A descriptor has one of its events, or has failed.
    static constexpr int kReady = -1;

    Inputs(const Signals& signals, std::vector<pollfd> others);

    // Sleeps until the deadline, a signal or a descriptor. \return the signal, kReady, or 0.
    int wait_until(Signals::Clock::time_point deadline);

  private:
    metagroup::detail::UniqueFd signals_;
    std::vector<pollfd> files_;  // signals_ last
};

// Deadlines at a fixed distance. A deadline that passes before wait() is called is counted as
// missed; the later ones do not shift.
class Ticker {
  public:
    using Clock = Signals::Clock;

    Ticker(std::chrono::nanoseconds interval, Clock::time_point start)
        : interval_(interval), next_(start + interval) {}

    // The next deadline that is not over.
    Clock::time_point next() {
        const auto behind = Clock::now() - next_;
        if (behind > Clock::duration::zero()) {
            const auto over = static_cast<std::uint64_t>(behind / interval_) + 1;
            missed_ += over;
            next_ += over * interval_;
        }
        return next_;
    }

    // Sleeps until next(), or until the waiter wakes for something else.
    // \return what the waiter returned, 0 at the deadline.
    template <typename Waiter>
    int wait(Waiter&& waiter) {
        if (const int woken_by = waiter.wait_until(next())) return woken_by;
        lateness_ = Clock::now() - next_;
        next_ += interval_;
        return 0;
    }

    // Starts again now; keeps the number of missed deadlines.
    void restart(std::chrono::nanoseconds interval) {
        interval_ = interval;
        next_ = Clock::now() + interval;
    }

    // From the last deadline to the return of its wait.
    std::chrono::nanoseconds lateness() const { return lateness_; }
    std::uint64_t missed() const { return missed_; }

  private:
    std::chrono::nanoseconds interval_;
    Clock::time_point next_;
    std::chrono::nanoseconds lateness_{};
    std::uint64_t missed_ = 0;
};

// The command cannot be run.
class CommandError : public std::system_error {
  public:
    CommandError(int error, const std::string& command);

    // As in env(1): 127 if there is no such command, 126 if it cannot be executed.
    int exit_status() const { return code().value() == ENOENT ? 127 : 126; }
};

// The command that is counted while it runs. The destructor ends it.
class Child {
  public:
    // `signals` must include SIGCHLD, and outlive this.
    // \throws CommandError that names the command.
    Child(std::vector<std::string> command, const Signals& signals);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // The exit status as a shell has it, once the command has ended. Does not wait.
    std::optional<int> status();
    // Sends SIGTERM unless the command has ended. Does not wait.
    void terminate();
    // Waits for the end. Kills the command if it does not end soon, or if another signal arrives.
    int wait();

  private:
    std::optional<int> reap(int options);

    const Signals& signals_;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

}  // namespace tool
