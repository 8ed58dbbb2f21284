// SPDX-License-Identifier: MIT
// Runs a program by the shell.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
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
