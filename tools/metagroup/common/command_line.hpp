// SPDX-License-Identifier: MIT
// Options that subcommands share, and the words that a command line may have.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/aggregation.hpp"

namespace tool {

// An option that takes a number from 1 on.
CLI::Option* add_count(CLI::App& app, const std::string& name, std::optional<std::uint32_t>& count,
                       const std::string& help);

// An option that takes a time, as in 100us or 2s; a number without unit is multiplied by `bare`. A
// time shorter than `least` is refused.
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::nanoseconds>& duration,
                          std::chrono::nanoseconds bare, std::chrono::nanoseconds least,
                          const std::string& help);

// -A, --per-core, --per-socket and --per-node, of which one may be given.
void add_aggregation(CLI::App& app, AggrMode& mode);

// For options whose absence means something else: an empty value is mostly an unset variable of a
// script.
CLI::Validator not_empty();

// Includes option groups, which have no name.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

// Includes the options of option groups.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

// After a parse error: the message that names the unknown word and similar ones. Empty if all words
// are known.
std::string describe_unknown_word(const CLI::App& app);

}  // namespace tool
