// SPDX-License-Identifier: MIT
// metagroup info: the machine, the module, and checks of what works; for bug reports.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/output.hpp"
#include "info/checks.hpp"
#include "info/facts.hpp"
#include "info/page.hpp"
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
                // Before the checks, which raise the limits.
                {"limits", limit_facts()},
                {"module", module_facts(system, options.device)},
                {"pmus", pmu_facts(system)}};
    const Checks checks(options.device, report["privileges"]["seccomp"] == "filter");
    report["backends"] = checks.backends();
    report["checks"] = Json::array();
    for (const Check& check : checks.all()) {
        report["checks"].push_back({{"what", check.what},
                                    {"works", check.works},
                                    {"why", check.why},
                                    {"remedy", check.remedy}});
    }
    const auto replace = Json::error_handler_t::replace;
    Output("").write(options.json ? report.dump(-1, ' ', false, replace) + '\n' : as_page(report));
    return options.check && !checks.counting_works() ? 1 : 0;
}

}  // namespace

void add_info(CLI::App& app, int& status) {
    CLI::App* info_app = app.add_subcommand("info", "describe the machine and check what works");
    const auto options = std::make_shared<InfoOptions>();
    info_app->add_option("--device", options->device, "the module's device")
        ->type_name("FILE")
        ->capture_default_str();
    info_app->add_flag("--check", options->check,
                       "exit with 1 if the default events cannot be counted on all CPUs");
    info_app->add_flag("-j,--json", options->json, "one JSON object");
    info_app->footer(
        "Meant for bug reports. Each check tries something: it counts events for a moment, or "
        "opens\n"
        "the device. Nothing on the machine is changed, and a missing part is no failure.");
    info_app->callback([options, &status] { status = info(*options); });
}

}  // namespace tool
