// SPDX-License-Identifier: MIT
// metagroup info: what there is on this machine, and what works; for reports of defects.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "info/facts.hpp"
#include "info/page.hpp"
#include "info/trials.hpp"
#include "output.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

struct InfoOptions {
    std::string device = PERF_METAGROUP_DEVICE;
    bool check = false;
    bool json = false;
};

int info(const InfoOptions& options) {
    const System system;
    Json report{{"program", {{"version", METAGROUP_VERSION}, {"abi", PERF_METAGROUP_ABI}}},
                {"kernel", kernel_facts(system)},
                {"cpus", cpu_facts(system)},
                {"privileges", privilege_facts(system)},
                // Before the limit is raised by what is tried.
                {"limits", limit_facts()},
                {"module", module_facts(system, options.device)},
                {"pmus", pmu_facts(system)}};
    const Trials trials(options.device, report["privileges"]["seccomp"] == "filter");
    report["backends"] = trials.backends();
    report["trials"] = Json::array();
    for (const Trial& trial : trials.all()) {
        report["trials"].push_back({{"what", trial.what},
                                    {"works", trial.works},
                                    {"why", trial.why},
                                    {"remedy", trial.remedy}});
    }
    const auto replace = Json::error_handler_t::replace;
    Output("").write(options.json ? report.dump(-1, ' ', false, replace) + '\n' : as_page(report));
    return options.check && !trials.counting_works() ? 1 : 0;
}

}  // namespace

void add_info(CLI::App& app, int& status) {
    CLI::App* info_app =
        app.add_subcommand("info", "what there is on this machine, what works, and why not");
    const auto options = std::make_shared<InfoOptions>();
    info_app->add_option("--device", options->device, "the module's device")
        ->type_name("FILE")
        ->capture_default_str();
    info_app->add_flag("--check", options->check,
                       "exit with 1 if the default events cannot be counted on all CPUs");
    info_app->add_flag("-j,--json", options->json, "one JSON object");
    info_app->footer(
        "Made to be pasted into a report of a defect. Whatever can be tried is tried: events "
        "count\n"
        "for a moment and are closed again, the device is opened. It changes nothing that stays,\n"
        "and never fails because something is absent.");
    info_app->callback([options, &status] { status = info(*options); });
}

}  // namespace tool
