// SPDX-License-Identifier: MIT
// What the command line asks for.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rivals/ways.hpp"
#include "targets.hpp"

namespace bench {

struct Options {
    metagroup::CpuList cpus;
    std::vector<Load> targets;
    std::vector<metagroup::GroupSpec> specs;  // of one group, one for each of --events
    std::vector<unsigned> groups;
    std::vector<const Way*> ways;
    std::chrono::nanoseconds time{};
    bool check = false;
    std::vector<std::string> rest;  // for Google Benchmark, and what of it concerns us:
    bool json = false;              // to stdout, in place of the table
    bool file = false;              // JSON to a file
};

// Throws CLI::Error, which `--help` is as well and `app` explains; and what parsing events and CPUs
// throws.
Options parse_options(CLI::App& app, int argc, char** argv);

}  // namespace bench
