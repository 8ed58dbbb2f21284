// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/fd.hpp"

struct TerminalSize {
    unsigned short rows = 24, columns = 80;
};

// A program on a terminal of its own, as a person uses it.
class Pty {
  public:
    using Variables = std::initializer_list<std::pair<const char*, const char*>>;

    // Runs the command; TERM is xterm and the locale C.UTF-8 if the variables say nothing else.
    explicit Pty(std::vector<std::string> command, Variables variables = {},
                 TerminalSize size = {});
    // Kills what still runs.
    ~Pty();
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;

    // Whether this was written since the last call that said yes, without what moves the cursor
    // or changes colours. Waits for it. What was written until then, if wanted.
    bool shows(std::string_view text, std::string* all = nullptr);
    // Whether the program wrote this at any time, as it came.
    bool wrote(std::string_view bytes) const { return all_.find(bytes) != std::string::npos; }
    // Everything that was written since shows() said yes, for messages.
    std::string screen() const;

    void type(std::string_view keys);
    void signal(int number) const;
    // Pulls the plug.
    void hang_up();

    // The exit status as a shell has it; nothing if it does not end.
    std::optional<int> end();
    // Whether it is stopped, soon.
    bool stops();

    // Whether the program changes the terminal's modes, soon.
    bool taken();
    // Whether the terminal's modes are those from before the program.
    bool restored() const;

  private:
    bool read_for(std::chrono::milliseconds time);

    metagroup::test::Fd master_;
    metagroup::test::Fd slave_;  // so that modes can be asked for when the program is gone
    termios before_{};
    pid_t child_ = -1;
    std::string all_;
    std::size_t seen_ = 0;
};
