// SPDX-License-Identifier: MIT
// Options that subcommands share: what to count, and how values are written. The words that a
// command line may have.
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

// The events, CPUs and backend to count with, or the published set.
class Selection {
  public:
    void add_options(CLI::App& app);
    // Those of a set: events, CPUs and the device.
    void add_set_options(CLI::App& app);

    // Empty: all tasks.
    const std::string& cgroup() const { return cgroup_; }

    // Counts `first` before the events of -e, and without -e instead of the default events.
    // \throws std::invalid_argument that names option and remedy.
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

// The events that are counted without -e: hardware events where there is a PMU for them.
std::string default_events();

// True unless this machine does not know the events, or cannot count the first group of them.
bool can_count(const std::string& events);

// An option that takes a number from 1 on.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint32_t>& count,
                       const std::string& help);

// An option that takes a time, as in 100us or 2s; a number without unit is multiplied by `bare`. A
// time shorter than `least` is refused.
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::nanoseconds>& duration,
                          std::chrono::nanoseconds bare, std::chrono::nanoseconds least,
                          const std::string& help);

// An option --device.
void add_device(CLI::App& app, std::string& device);

// -A and --per-core to --per-node, of which one may be given.
void add_aggregation(CLI::App& app, AggrMode& mode);

// For options whose absence means something else: an empty value is mostly an unset variable of a
// script.
CLI::Validator not_empty();

// Includes option groups, which have no name.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

// Includes the options of option groups.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

// Puts "--" before a command, so that words behind it are its own, as in perf stat ls -a.
std::vector<std::string> separate_command(const CLI::App& app, std::vector<std::string> words);

// The message of a parse error: it names an unknown word and similar ones.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tool
