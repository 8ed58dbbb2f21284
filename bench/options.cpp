// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

// Every machine has these and counts them with the same code. A counting cpu-clock needs no timer.
constexpr auto kEvents = std::to_array<std::string_view>(
    {"cpu-clock", "task-clock", "context-switches", "page-faults", "cpu-migrations", "minor-faults",
     "major-faults", "alignment-faults"});

metagroup::GroupSpec group_of(unsigned events) {
    if (events < 1 || events > kEvents.size())
        throw std::invalid_argument(
            fmt::format("--events={}: 1 to {} are possible; for others, "
                        "name them by --group-events",
                        events, kEvents.size()));
    std::string text;
    for (const std::string_view event : std::span(kEvents).first(events))
        text += fmt::format("{}{}", text.empty() ? "{" : ",", event);
    return metagroup::parse_events(text + "}").front();
}

metagroup::GroupSpec one_group(const std::string& text) {
    auto groups = metagroup::parse_events(text);
    if (groups.size() != 1)
        throw std::invalid_argument("--group-events: give one group: {event,event,...}");
    return groups.front();
}

const Way* way_named(const std::string& name) {
    const auto ways = all_ways();
    const auto way = std::ranges::find(ways, name, &Way::name);
    if (way == ways.end())
        throw std::invalid_argument(fmt::format("--ways: there is no way {}; see --help", name));
    return &*way;
}

std::string explain_ways() {
    std::string text = "Ways:\n";
    for (const Way& way : all_ways())
        text += fmt::format("  {:<14}{}\n", way.name, way.summary);
    return text +
           "\nAll others are options of Google Benchmark, for example\n"
           "  --benchmark_out=FILE           write JSON\n"
           "  --benchmark_format=json        JSON to stdout, in place of the table\n"
           "  --benchmark_repetitions=N      turns of each way (15)\n"
           "  --benchmark_filter=REGEX       by WAY/TARGETS/cpus:N/events:E/groups:G\n";
}

}  // namespace

Options parse_options(CLI::App& app, int argc, char** argv) {
    app.name("metagroup_bench");
    app.description(
        "Reads the counters of all CPUs in many ways, in turns, and tells what a sweep takes.\n"
        "Every way must first deliver the counts that read(2) gives; one that cannot be had here "
        "is skipped with the reason.");
    std::string cpus = "all";
    std::vector<Load> targets{Load::idle, Load::busy};
    std::vector<unsigned> events{4};
    std::string group_events;
    std::vector<std::string> ways;
    double seconds = 0.03;
    Options options;
    options.groups = {1};
    app.add_option("--cpus", cpus, "CPUs to read, as in 0-3,8; the first is the monitor's")
        ->capture_default_str();
    app.add_option("--targets", targets, "what the other CPUs do: idle,busy")
        ->delimiter(',')
        ->transform(CLI::Transformer(
            std::map<std::string, Load>{{"idle", Load::idle}, {"busy", Load::busy}}));
    app.add_option("--events", events, "events per group, as in 1,4,8 (4)")->delimiter(',');
    app.add_option("--group-events", group_events, "these events instead: {cycles,instructions}");
    app.add_option("--groups", options.groups, "groups per CPU, as in 1,4 (1)")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    app.add_option("--ways", ways, "ways to read (all)")->delimiter(',');
    app.add_option("--time", seconds, "seconds of a turn, but at least one sweep")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--check", options.check,
                 "fail if raw and framed miss what the project promises, measured by per_fd");
    app.footer(explain_ways());
    app.allow_extras();
    app.parse(argc, argv);

    options.cpus = metagroup::CpuList::parse(cpus);
    options.targets = targets;
    if (group_events.empty())
        std::ranges::transform(events, std::back_inserter(options.specs), group_of);
    else
        options.specs.push_back(one_group(group_events));
    if (ways.empty())
        for (const Way& way : all_ways())
            options.ways.push_back(&way);
    else
        std::ranges::transform(ways, std::back_inserter(options.ways), way_named);
    options.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
    options.rest = app.remaining();
    for (const std::string& option : options.rest) {
        if (!option.starts_with("--benchmark_"))
            throw std::invalid_argument(fmt::format("unknown option {}; see --help", option));
        options.json |= option == "--benchmark_format=json";
        options.file |= option.starts_with("--benchmark_out=");
    }
    return options;
}

}  // namespace bench
