// SPDX-License-Identifier: MIT
// The command line of metagroup_bench.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_spec.hpp>
#include <string>
#include <vector>

#include "methods/method.hpp"
#include "targets.hpp"

namespace bench {

struct Options {
    metagroup::CpuList cpus;
    std::vector<Load> targets;
    std::vector<metagroup::GroupSpec> specs;  // a group for each number in --events
    std::vector<unsigned> groups;
    std::vector<const MethodInfo*> methods;
    std::chrono::nanoseconds time{};
    std::vector<std::string> rest;  // options of Google Benchmark
};

// Throws CLI::Error, also for --help, for app.exit(); and the errors of parsing events and CPUs.
Options parse_options(CLI::App& app, int argc, char** argv);

}  // namespace bench
