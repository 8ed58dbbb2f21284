// SPDX-License-Identifier: MIT
// metagroup compare: what the module brings on this machine, now.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "compare/cost.hpp"
#include "compare/report.hpp"
#include "compare/sides.hpp"
#include "measure/affinity.hpp"
#include "output.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::CpuList;

// Where there is no hardware PMU these still come from every CPU in the same way.
std::string default_group() {
    const std::filesystem::path devices = "/sys/bus/event_source/devices";
    if (std::filesystem::exists(devices / "cpu"))
        return "{cycles,instructions,context-switches,page-faults}";
    if (std::filesystem::exists(devices / "msr/events/tsc"))
        return "{cpu-clock,msr/tsc/,context-switches,page-faults}";
    return "{cpu-clock,task-clock,context-switches,page-faults}";
}

struct CompareOptions {
    std::string events = default_group();
    std::string cpus = "online";
    std::string device = PERF_METAGROUP_DEVICE;
    unsigned sweeps = 2000;
    bool json = false;
    std::string file;
};

// 1, 2, 4 ... of the CPUs, and all of them.
std::vector<CpuList> selections(const CpuList& cpus) {
    std::vector<CpuList> lists;
    for (std::size_t number = 1;; number *= 2) {
        const std::size_t size = std::min(number, cpus.size());
        lists.emplace_back(
            std::vector<int>(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(size)));
        if (size == cpus.size()) return lists;
    }
}

int run(const CompareOptions& options) {
    const auto groups = metagroup::parse_events(options.events);
    if (groups.size() != 1)
        throw std::invalid_argument(
            "compare reads one group per CPU: put the events in braces, "
            "as in -e '{cycles,instructions}'");
    const CpuList cpus = CpuList::parse(options.cpus);
    const int reader = cpus.cpus().front();
    measure::bind_to_cpu(reader);

    Output output(options.file);
    const Experiment experiment{options.events, options.sweeps, reader};
    std::unique_ptr<CompareReport> report;
    bool all_same = true;
    for (const CpuList& some : selections(cpus)) {
        Sides sides(groups.front(), some, options.device);
        if (!report)
            report = options.json ? make_compare_json(output, experiment)
                                  : make_compare_table(output, experiment);
        const Comparison comparison = compare(sides, options.sweeps);
        const bool same = sides.agree();
        report->row(some.size(), comparison, same);
        all_same &= same;
    }
    report->end(all_same);
    return all_same ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
    CLI::App* compare = app.add_subcommand(
        "compare", "what a sweep costs with the module and without it, on this machine, now");
    const auto options = std::make_shared<CompareOptions>();
    compare->add_option("-e,--event", options->events, "one group of events, in braces")
        ->type_name("EVENTS")
        ->capture_default_str();
    compare
        ->add_option("-C,--cpu", options->cpus,
                     "CPUs, as in 0-3,8; compared on 1, 2, 4 ... and all of them")
        ->type_name("CPUS")
        ->capture_default_str();
    compare->add_option("--device", options->device, "the module's device")
        ->type_name("FILE")
        ->capture_default_str();
    compare->add_option("-n,--sweeps", options->sweeps, "sweeps to measure, of each way")
        ->check(CLI::Range(1U, 10'000'000U))
        ->capture_default_str();
    compare->add_flag("-j,--json", options->json, "a line of JSON for each number of CPUs");
    compare->add_option("-o,--output", options->file, "write to a file")->type_name("FILE");
    compare->callback([options, &status] { status = run(*options); });
}

}  // namespace tool
