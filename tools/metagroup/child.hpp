// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "signals.hpp"

namespace tool {

// The program that is counted while it runs.
class Child {
  public:
    // \throws std::system_error that names the program.
    Child(std::vector<std::string> command, const Signals& signals);

    // Its exit status as a shell has it, once it has ended. Does not wait.
    std::optional<int> status();
    // Waits for its end.
    int wait();

  private:
    std::optional<int> reap(int options);

    pid_t pid_ = -1;
    std::optional<int> status_;
};

}  // namespace tool
