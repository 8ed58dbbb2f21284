// SPDX-License-Identifier: MIT
// metagroup_bench: measures all methods on the same events and CPUs in one run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_spec.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "case.hpp"
#include "costs.hpp"
#include "machine.hpp"
#include "measure/measure.hpp"

namespace bench {
namespace {

struct Options {
    std::string cpus = "all";
    std::string targets = "idle";
    unsigned events = 4;
    std::string group_events;
    unsigned groups = 1;
    std::vector<std::string> methods;
    double seconds = 0.03;
};

// Software events that every machine has. A cpu-clock that does not sample needs no timer.
constexpr auto kEvents = std::to_array<std::string_view>(
    {"cpu-clock", "task-clock", "context-switches", "page-faults", "cpu-migrations", "minor-faults",
     "major-faults", "alignment-faults"});

metagroup::GroupSpec group_of(const Options& options) {
    const auto groups = metagroup::parse_events(
        options.group_events.empty()
            ? fmt::format("{{{}}}", fmt::join(std::span(kEvents).first(options.events), ","))
            : options.group_events);
    if (groups.size() != 1)
        throw std::invalid_argument("--group-events: want one group: {event,event,...}");
    return groups.front();
}

// In slow motion long enough for the work of a busy CPU and for the reader to drain all rings
// before the next samples arrive.
std::chrono::nanoseconds sampling_period(const Machine& machine, std::size_t groups) {
    using namespace std::chrono_literals;
    if (machine.slow_motion() == nullptr) return 1ms;
    constexpr std::size_t rings_at_once = 32;
    const std::size_t rings = machine.cpus().size() * groups;
    const std::size_t instructions = 60'000 * ((rings - 1) / rings_at_once + 1);
    return instructions * std::chrono::nanoseconds(1s) / machine.slow_motion()->rate();
}

// Goes into the results, for the report: the kernel, and the table of methods.
void describe(const Machine& machine) {
    utsname system{};
    ::uname(&system);
    benchmark::AddCustomContext("kernel", system.release);
    if (const SlowMotion* slow_motion = machine.slow_motion())
        benchmark::AddCustomContext("instructions_per_second", std::to_string(slow_motion->rate()));
    std::string methods;
    for (const MethodInfo& method : all_methods())
        methods += fmt::format("{}\t{}\t{}\n", method.name, method.role, method.summary);
    benchmark::AddCustomContext("methods", methods);
}

void run(const Options& options) {
    // Every event of every CPU is a file. Without the privilege EventGroup does what it can.
    const rlimit files{1 << 20, 1 << 20};  // the default of fs.nr_open
    ::setrlimit(RLIMIT_NOFILE, &files);
    Machine machine(metagroup::CpuList::parse(options.cpus), options.targets == "busy");
    measure::bind_to_cpu(machine.cpus().cpus().front());
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(options.seconds));
    // Costs are counted once only, so for longer than one repetition.
    const CostCounter counter(machine, 2 * time);
    const metagroup::GroupSpec group = group_of(options);
    Subject subject(std::vector(options.groups, group), machine.cpus(),
                    sampling_period(machine, options.groups));
    std::deque<Case> cases;
    for (const MethodInfo& method : all_methods()) {
        if (!options.methods.empty() && !std::ranges::count(options.methods, method.name)) continue;
        Case& one = cases.emplace_back(method, subject);
        const auto name =
            fmt::format("{}/{}/cpus:{}/events:{}/groups:{}", method.name, options.targets,
                        machine.cpus().size(), group.events.size(), options.groups);
        // One iteration, since its time is a median already.
        benchmark::RegisterBenchmark(
            name.c_str(), [&](benchmark::State& state) { one.run(state, machine, counter, time); })
            ->Unit(benchmark::kMicrosecond)
            ->UseManualTime()
            ->Iterations(1);
    }
    describe(machine);
    benchmark::RunSpecifiedBenchmarks();
}

// The defaults come first, so that the command line overrides them.
void initialize_benchmark(const std::vector<std::string>& options) {
    // Static, because Google Benchmark keeps a pointer to the program's name.
    static std::vector<std::string> arguments{"metagroup_bench", "--benchmark_repetitions=15",
                                              "--benchmark_enable_random_interleaving=true",
                                              "--benchmark_display_aggregates_only=true"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::vector<char*> pointers;
    pointers.reserve(arguments.size());
    for (std::string& argument : arguments)
        pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    if (count > 1)
        throw std::invalid_argument(fmt::format("unknown option {}; see --help", pointers[1]));
}

void add_options(CLI::App& app, Options& options) {
    app.add_option("--cpus", options.cpus, "CPUs to read, such as 0-3,8; the first is the reader's")
        ->capture_default_str();
    app.add_option("--targets", options.targets, "state of the other CPUs: idle or busy")
        ->capture_default_str()
        ->check(CLI::IsMember({"idle", "busy"}));
    app.add_option("--events", options.events, "events per group, up to 8")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kEvents.size()));
    app.add_option("--group-events", options.group_events,
                   "use these events instead, such as {cycles,instructions}");
    app.add_option("--groups", options.groups, "groups per CPU")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    std::vector<std::string> names;
    std::string footer = "Methods:\n";
    for (const MethodInfo& method : all_methods()) {
        names.emplace_back(method.name);
        footer += fmt::format("  {:<15}{}\n", method.name, method.summary);
    }
    app.add_option("--methods", options.methods, "methods to measure (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(names).description(""));
    app.add_option("--time", options.seconds, "seconds per repetition, at least one sweep")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.footer(footer +
               "\nAll other options are those of Google Benchmark, for example\n"
               "  --benchmark_out=FILE           write JSON\n"
               "  --benchmark_format=json        JSON to stdout, instead of the table\n"
               "  --benchmark_repetitions=N      repetitions of each method (15)\n");
    app.allow_extras();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
    CLI::App app(
        "Measures methods of reading the counters of all CPUs, in interleaved repetitions.\n"
        "A method must first return the same counts as read(2). A method that is not "
        "available here is skipped with the reason.",
        "metagroup_bench");
    bench::Options options;
    bench::add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    bench::initialize_benchmark(app.remaining());
    bench::run(options);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_bench: %s\n", error.what());
    return 1;
}
