// SPDX-License-Identifier: MIT
// Runs programs: by the shell, or on a pseudo-terminal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <metagroup/detail/unique_fd.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct Outcome {
    int status;
    std::string text;  // both streams
};

// The status of metagroup's own failures, as in env(1).
constexpr int kFailure = 125;

enum class Who { self, nobody };

// Anything but `self` needs root.
Outcome run_program(const std::string& command, Who who = Who::self);

// Runs a program while seccomp refuses perf_event_open(2), as in containers.
Outcome run_without_perf(const std::string& command);

std::vector<std::string> split(const std::string& text, char separator);

std::vector<nlohmann::json> json_lines(const std::string& text);

struct TerminalSize {
    unsigned short rows = 24, columns = 80;
};

// A program on a pseudo-terminal.
class Pty {
  public:
    using Variables = std::initializer_list<std::pair<const char*, const char*>>;

    // Runs the command; TERM is xterm and the locale C.UTF-8 if the variables say nothing else.
    explicit Pty(std::vector<std::string> command, Variables variables = {},
                 TerminalSize size = {});
    // Kills the program if it still runs.
    ~Pty();
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;

    // Waits until the program has written the text since the last successful call; control
    // sequences are removed. \return false after a time limit. `all` gets everything written.
    bool shows(std::string_view text, std::string* all = nullptr);
    // True if the program ever wrote these bytes.
    bool wrote(std::string_view bytes) {
        while (master_ && read_for(std::chrono::milliseconds(0))) {
        }
        return all_.find(bytes) != std::string::npos;
    }
    // Everything written since shows() succeeded, for messages.
    std::string screen() const;

    void type(std::string_view keys);
    void signal(int number) const;
    // Closes the terminal.
    void hang_up();

    // The exit status as a shell has it; nothing if it does not end.
    std::optional<int> end();

  private:
    bool read_for(std::chrono::milliseconds time);

    metagroup::detail::UniqueFd master_;
    metagroup::detail::UniqueFd slave_;  // what the program wrote last can be read after its end
    pid_t child_ = -1;
    std::string all_;
    std::size_t seen_ = 0;
};
