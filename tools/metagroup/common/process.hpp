// SPDX-License-Identifier: MIT
// Waits for deadlines and signals, and runs a command.
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

// Resets inherited signal state: scripts start background processes with SIGINT ignored, other
// parents ignore SIGCHLD or SIGPIPE or leave signals blocked. SIGHUP stays ignored, for nohup(1).
void restore_signals();

// Blocks signals, so that they are received only while waiting and none is lost in between.
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

// The time to the deadline, for system calls; zero if it has passed.
timespec time_left(Signals::Clock::time_point deadline);

// Waits for signals and descriptors.
class Inputs {
  public:
    // Returned if a descriptor is ready or has failed.
    static constexpr int kReady = -1;

    Inputs(const Signals& signals, std::vector<pollfd> others);

    // Sleeps until the deadline, a signal or a descriptor. \return the signal, kReady, or 0.
    int wait_until(Signals::Clock::time_point deadline);

  private:
    metagroup::detail::UniqueFd signals_;
    std::vector<pollfd> files_;  // signals_ last
};

// Deadlines at fixed intervals. A deadline that passes before wait() is called counts as missed;
// later ones do not shift.
class Ticker {
  public:
    using Clock = Signals::Clock;

    Ticker(std::chrono::nanoseconds interval, Clock::time_point start)
        : interval_(interval), next_(start + interval) {}

    // The next deadline that has not passed.
    Clock::time_point next() {
        const auto behind = Clock::now() - next_;
        if (behind > Clock::duration::zero()) {
            const auto over = static_cast<std::uint64_t>(behind / interval_) + 1;
            missed_ += over;
            next_ += over * interval_;
        }
        return next_;
    }

    // Sleeps until next(), or until the waiter returns for another reason. \return the waiter's
    // result, 0 at the deadline.
    template <typename Waiter>
    int wait(Waiter&& waiter) {
        if (const int woken_by = waiter.wait_until(next())) return woken_by;
        lateness_ = Clock::now() - next_;
        next_ += interval_;
        return 0;
    }

    // Restarts from now; keeps the number of missed deadlines.
    void restart(std::chrono::nanoseconds interval) {
        interval_ = interval;
        next_ = Clock::now() + interval;
    }

    // The time from the last deadline to the return of its wait.
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

    // As in env(1): 127 if the command does not exist, 126 if it cannot be executed.
    int exit_status() const { return code().value() == ENOENT ? 127 : 126; }
};

// The command during which events are counted. The destructor terminates it.
class Child {
  public:
    // `signals` must include SIGCHLD and outlive this. \throws CommandError naming the command.
    Child(std::vector<std::string> command, const Signals& signals);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // The exit status, encoded as in the shell, once the command has ended. Does not wait.
    std::optional<int> status();
    // Sends SIGTERM unless the command has ended. Does not wait.
    void terminate();
    // Waits for the command to end. Kills it if it does not end soon, or if another signal arrives.
    int wait();

  private:
    std::optional<int> reap(int options);

    const Signals& signals_;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

}  // namespace tool
