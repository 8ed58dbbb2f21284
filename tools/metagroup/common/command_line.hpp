// SPDX-License-Identifier: MIT
// Options shared by subcommands: what to count, and the syntax of values.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/counts.hpp"

namespace tool {

// The events, CPUs and backend, or the published set.
class Selection {
  public:
    void add_options(CLI::App& app);
    // Only the options for a set: events, CPUs and the device.
    void add_set_options(CLI::App& app);

    // Empty for all tasks.
    const std::string& cgroup() const { return cgroup_; }

    // Counts `first` before the events of -e, or without -e instead of the default events. \throws
    // std::invalid_argument naming option and remedy.
    metagroup::MetaGroup::Options options(std::vector<metagroup::GroupSpec> first = {}) const;

  private:
    std::vector<std::string> events_;
    std::string cpus_ = "online";
    std::string cgroup_;
    std::string backend_ = "auto";
    std::string origin_ = "auto";
    std::string set_;
    std::string device_ = PERF_METAGROUP_DEVICE;
    metagroup::Mode mode_;
};

// The events that are counted without -e: hardware events if a PMU supports them.
std::string default_events();

// False if this machine does not know the events or cannot count their first group.
bool can_count(const std::string& events);

// An option that takes a positive number.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint32_t>& count,
                       const std::string& help);

// An option that takes a time such as 100us or 2s; a number without a unit is multiplied by `bare`.
// Rejects times shorter than `least`.
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::nanoseconds>& duration,
                          std::chrono::nanoseconds bare, std::chrono::nanoseconds least,
                          const std::string& help);

// Adds --device.
void add_device(CLI::App& app, std::string& device);

// Adds -A and --per-core to --per-node, at most one of which may be given.
void add_aggregation(CLI::App& app, AggrMode& mode);

// Adds the command to run and its arguments, which follow all options.
CLI::Option* add_command(CLI::App& app, std::vector<std::string>& command, const std::string& help);

// For options whose absence has another meaning: an empty value is usually an unset variable in a
// script.
CLI::Validator not_empty();

// Includes option groups, which have no name.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

// Includes the options of option groups.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

// Puts "--" before a command, so that the words after it belong to it, as in perf stat ls -a, and
// marks these words for add_command().
std::vector<std::string> separate_command(const CLI::App& app, std::vector<std::string> words);

// The message for a parse error: names an unknown word and similar ones.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tool
