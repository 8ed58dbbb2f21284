// SPDX-License-Identifier: MIT
// Runs a program as a person would, by the shell.
#pragma once

#include <string>
#include <vector>

struct Outcome {
    int status;
    std::string text;  // both streams
};

enum class Who { self, nobody };

// Anything but `self` needs root.
Outcome run_program(const std::string& command, Who who = Who::self);

std::vector<std::string> split(const std::string& text, char separator);
