// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <initializer_list>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    // Waits until the program is stopped. \return false after a time limit.
    bool stops();

    // Waits until the program changes the terminal's modes. \return false after a time limit.
    bool taken();
    // True if the terminal's modes are those from before the program.
    bool restored() const;

  private:
    bool read_for(std::chrono::milliseconds time);

    metagroup::detail::UniqueFd master_;
    metagroup::detail::UniqueFd slave_;  // keeps the modes readable after the program has ended
    termios before_{};
    pid_t child_ = -1;
    std::string all_;
    std::size_t seen_ = 0;
};
