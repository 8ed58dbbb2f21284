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

// Software events that every machine has. A cpu-clock that does not sample needs no timer.
constexpr auto kEvents = std::to_array<std::string_view>(
    {"cpu-clock", "task-clock", "context-switches", "page-faults", "cpu-migrations", "minor-faults",
     "major-faults", "alignment-faults"});

metagroup::GroupSpec group_of(unsigned events) {
    if (events < 1 || events > kEvents.size())
        throw std::invalid_argument(
            fmt::format("--events={}: want 1 to {}; --group-events takes any events by name",
                        events, kEvents.size()));
    std::string text;
    for (const std::string_view event : std::span(kEvents).first(events))
        text += fmt::format("{}{}", text.empty() ? "{" : ",", event);
    return metagroup::parse_events(text + "}").front();
}

metagroup::GroupSpec one_group(const std::string& text) {
    auto groups = metagroup::parse_events(text);
    if (groups.size() != 1)
        throw std::invalid_argument("--group-events: want one group: {event,event,...}");
    return groups.front();
}

const MethodInfo* method_named(const std::string& name) {
    const auto methods = all_methods();
    const auto found = std::ranges::find(methods, name, &MethodInfo::name);
    if (found == methods.end())
        throw std::invalid_argument(fmt::format("--methods: unknown method {}; see --help", name));
    return &*found;
}

std::string footer() {
    std::string text = "Methods:\n";
    for (const MethodInfo& method : all_methods())
        text += fmt::format("  {:<14}{}\n", method.name, method.summary);
    return text +
           "\nAll other options are those of Google Benchmark, for example\n"
           "  --benchmark_out=FILE           write JSON\n"
           "  --benchmark_format=json        JSON to stdout, in place of the table\n"
           "  --benchmark_repetitions=N      repetitions of each method (15)\n"
           "  --benchmark_filter=REGEX       by METHOD/TARGETS/cpus:N/events:E/groups:G\n";
}

}  // namespace

Options parse_options(CLI::App& app, int argc, char** argv) {
    app.name("metagroup_bench");
    app.description(
        "Measures methods of reading the counters of all CPUs, in interleaved repetitions.\n"
        "A method must first deliver the counts that read(2) returns. A method that is not "
        "available here is skipped with the reason.");
    std::string cpus = "all";
    std::vector<Load> targets{Load::idle, Load::busy};
    std::vector<unsigned> events{4};
    std::string group_events;
    std::vector<std::string> methods;
    double seconds = 0.03;
    Options options;
    options.groups = {1};
    app.add_option("--cpus", cpus, "CPUs to read, as in 0-3,8; the first is the reader's")
        ->capture_default_str();
    app.add_option("--targets", targets, "state of the other CPUs: idle,busy")
        ->delimiter(',')
        ->transform(CLI::Transformer(
            std::map<std::string, Load>{{"idle", Load::idle}, {"busy", Load::busy}}));
    app.add_option("--events", events, "events per group, as in 1,4,8 (4)")->delimiter(',');
    app.add_option("--group-events", group_events, "these events instead: {cycles,instructions}");
    app.add_option("--groups", options.groups, "groups per CPU, as in 1,4 (1)")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    app.add_option("--methods", methods, "methods to measure (all)")->delimiter(',');
    app.add_option("--time", seconds, "seconds of a repetition, which has at least one sweep")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.footer(footer());
    app.allow_extras();
    app.parse(argc, argv);

    options.cpus = metagroup::CpuList::parse(cpus);
    options.targets = targets;
    if (group_events.empty())
        std::ranges::transform(events, std::back_inserter(options.specs), group_of);
    else
        options.specs.push_back(one_group(group_events));
    if (methods.empty())
        for (const MethodInfo& method : all_methods())
            options.methods.push_back(&method);
    else
        std::ranges::transform(methods, std::back_inserter(options.methods), method_named);
    options.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
    options.rest = app.remaining();
    for (const std::string& option : options.rest)
        if (!option.starts_with("--benchmark_"))
            throw std::invalid_argument(fmt::format("unknown option {}; see --help", option));
    return options;
}

}  // namespace bench
