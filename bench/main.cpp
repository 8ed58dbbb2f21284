// SPDX-License-Identifier: MIT
// metagroup_bench: every way to read the counters of all CPUs, over the same events on the same
// CPUs in the same run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "conditions.hpp"
#include "contestant.hpp"
#include "costs.hpp"
#include "measure/affinity.hpp"
#include "options.hpp"
#include "promise.hpp"
#include "reporter.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

// Ours come first, so that the command line can say otherwise. The time of one iteration is a
// median already: a turn is one of them.
std::vector<std::string> benchmark_arguments(const Options& options) {
    std::vector<std::string> arguments{
        "metagroup_bench", "--benchmark_repetitions=15", "--benchmark_min_time=0.000000001",
        "--benchmark_enable_random_interleaving=true", "--benchmark_display_aggregates_only=true"};
    std::ranges::copy(options.rest, std::back_inserter(arguments));
    return arguments;
}

void initialize(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments)
        pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    if (count > 1)
        throw std::invalid_argument(fmt::format("unknown option {}; see --help", pointers[1]));
}

void run_benchmarks(const Options& options, Medians& medians) {
    const auto is_given = [&](const char* option) {
        return std::ranges::any_of(options.rest,
                                   [&](const auto& one) { return one.starts_with(option); });
    };
    Reporter<benchmark::ConsoleReporter> console(medians);
    Reporter<benchmark::JSONReporter> json(medians);
    Reporter<benchmark::JSONReporter> file(medians);
    benchmark::BenchmarkReporter* display = &console;
    if (is_given("--benchmark_format=json")) display = &json;
    benchmark::RunSpecifiedBenchmarks(display, is_given("--benchmark_out=") ? &file : nullptr);
}

int run(const Options& options) {
    initialize(benchmark_arguments(options));
    measure::bind_to_cpu(options.cpus.cpus().front());
    Conditions conditions(options.cpus);
    const bool slow = conditions.slow_motion() != nullptr;
    if (slow)
        benchmark::AddCustomContext("instructions_per_second",
                                    std::to_string(conditions.slow_motion()->rate()));
    // Counting the costs takes some five times as long as one turn.
    CostCounter costs(conditions, options.cpus, 5 * options.time);

    std::deque<Subject> subjects;
    std::deque<Contestant> contestants;
    std::vector<std::string> shapes;
    for (const metagroup::GroupSpec& spec : options.specs) {
        for (const unsigned groups : options.groups) {
            // A period in which a busy CPU in slow motion still gets on with its own work.
            Subject& subject = subjects.emplace_back(
                std::vector<metagroup::GroupSpec>(groups, spec), options.cpus, slow ? 30ms : 1ms);
            shapes.push_back(fmt::format("cpus:{}/events:{}/groups:{}", options.cpus.size(),
                                         spec.events.size(), groups));
            for (const Way* way : options.ways) {
                Contestant& contestant = contestants.emplace_back(*way, subject);
                for (const Load load : options.targets) {
                    benchmark::RegisterBenchmark(
                        fmt::format("{}/{}/{}", way->name, to_string(load), shapes.back()).c_str(),
                        [&, load](benchmark::State& state) {
                            contestant.run(state, load, conditions, costs, options.time);
                        })
                        ->Unit(benchmark::kMicrosecond)
                        ->UseManualTime();
                }
            }
        }
    }

    Medians medians;
    run_benchmarks(options, medians);
    if (!options.check) return 0;
    return keeps_promise(medians, shapes, options.cpus.size()) ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
    CLI::App app;
    try {
        return bench::run(bench::parse_options(app, argc, argv));
    } catch (const CLI::Error& error) {
        return app.exit(error);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "metagroup_bench: %s\n", error.what());
        return 1;
    }
}
