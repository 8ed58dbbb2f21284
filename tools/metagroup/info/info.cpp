// SPDX-License-Identifier: MIT
// metagroup info: the machine, the module, and checks of what works, for bug reports.
#include "info/info.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/version.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/fact_table.hpp"
#include "common/text.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::Backend;
using metagroup::CpuList;
using metagroup::Device;
using metagroup::Error;
using metagroup::EventGroup;
using metagroup::GroupSpec;
using metagroup::MetaGroup;

void open_on_each(const GroupSpec& group, const CpuList& cpus) {
    std::vector<int> failing;
    std::optional<Error> first;
    for (const int cpu : cpus) {
        try {
            EventGroup::open(group, cpu);
        } catch (const Error& error) {
            failing.push_back(cpu);
            if (!first) first = error;
        }
    }
    if (!first) return;
    throw Error(first->cause(), first->code().value(),
                {fmt::format("cannot open event \"{}\" on CPUs {}", to_string(group),
                             CpuList(failing).to_string()),
                 first->reason(), first->remedy()});
}

void count(const MetaGroup::Options& options) {
    MetaGroup group = MetaGroup::open(options);
    group.enable();
    static_cast<void>(group.sweep());
}

// CPU 0 if there is no sysfs.
CpuList cpus_online() {
    try {
        return CpuList::online();
    } catch (const std::exception&) {
        return CpuList({0});
    }
}

// Queries INFO like a program built for a later version of the interface.
void query_as_newer_program(const Device& device) {
    struct Newer {
        perf_metagroup_info known;
        __u64 unknown;
    };
    Newer query{};
    query.known.size = sizeof(query);
    const bool answers = ::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &query) == 0;
    // The module must reject unknown fields that are set.
    query.known = {};
    query.known.size = sizeof(query);
    query.unknown = 1;
    const bool ignores = ::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &query) == 0;
    if (answers && !ignores && errno == E2BIG) return;
    throw Error(
        metagroup::Cause::wrong_module, EPROTO,
        {"INFO",
         ignores ? "the module ignores unknown fields" : "the module rejects a larger structure",
         "install the module and the program in the same version, and reload the module"});
}

// Checks what works on this machine by trying it.
class Checks {
  public:
    explicit Checks(const std::string& device);

    const Json& all() const { return all_; }
    // True if the default events can be counted on all CPUs.
    bool counting_works() const { return counting_works_; }
    // The backends that work, the one that `auto` selects, and the reason.
    const Json& backends() const { return backends_; }

  private:
    template <typename Action>
    bool check(const std::string& what, const Action& action);
    void check_backends(MetaGroup::Options options);
    void check_module(const std::string& device);

    Json all_ = Json::array();
    Json backends_{{"available", Json::array()}, {"auto", nullptr}, {"reason", ""}};
    bool counting_works_ = false;
};

template <typename Action>
bool Checks::check(const std::string& what, const Action& action) {
    std::string why;
    std::string remedy;
    try {
        action();
    } catch (const Error& error) {
        why = error.operation() + ": " + error.reason();
        remedy = error.remedy();
    } catch (const std::exception& error) {
        why = error.what();
    }
    all_.push_back({{"what", what}, {"works", why.empty()}, {"why", why}, {"remedy", remedy}});
    return why.empty();
}

Checks::Checks(const std::string& device) {
    MetaGroup::Options clock;
    clock.groups = metagroup::parse_events("cpu-clock");
    clock.cpus = cpus_online();
    clock.start_disabled = true;
    clock.device = device;
    check("a software event on each CPU", [&] { open_on_each(clock.groups.front(), *clock.cpus); });
    counting_works_ = check("the default events on all CPUs", [&] {
        MetaGroup::Options defaults = Selection().options();
        defaults.device = device;
        count(defaults);
    });
    const int cpu = *clock.cpus->begin();
    check("hardware events (cycles)",
          [&] { EventGroup::open(metagroup::parse_events("cycles").front(), cpu); });
    check("tracepoints (sched:sched_switch)",
          [&] { EventGroup::open(metagroup::parse_events("sched:sched_switch").front(), cpu); });
    check_backends(clock);
}

void Checks::check_backends(MetaGroup::Options options) {
    options.backend = Backend::per_fd;
    if (check("reading one CPU at a time", [&] { count(options); }))
        backends_["available"].push_back(to_string(Backend::per_fd));
    options.backend = Backend::module;
    if (check("reading all CPUs at once, with the module", [&] { count(options); })) {
        backends_["available"].push_back(to_string(Backend::module));
        check_module(options.device);
    }
    options.backend = Backend::percpu;
    if (check("reading all CPUs at once, by an event on all CPUs (experimental)",
              [&] { count(options); }))
        backends_["available"].push_back(to_string(Backend::percpu));
    options.backend = Backend::automatic;
    try {
        const MetaGroup group = MetaGroup::open(options);
        backends_["auto"] = to_string(group.backend());
        backends_["reason"] = group.backend_reason();
    } catch (const std::exception& error) {
        backends_["reason"] = error.what();
    }
}

void Checks::check_module(const std::string& device) {
    Device opened = Device::open(device);
    check("not waking idle CPUs (--quiet-cpus)", [&] { opened.set_mode({.quiet = true}); });
    check("not interrupting isolated CPUs (--skip-isolated)",
          [&] { opened.set_mode({.skip_isolated = true}); });
    check("programs newer than the module", [&] { query_as_newer_program(opened); });
}

std::string checks(const Json& all) {
    constexpr Columns columns{.indent = 2, .text = 10, .width = kReportWidth};
    std::string text;
    for (const Json& check : all) {
        const bool works = check.at("works");
        std::string what = check.at("what");
        if (!works) {
            what += ": " + check.at("why").get<std::string>();
            const std::string remedy = check.at("remedy");
            if (!remedy.empty()) what += "; remedy: " + remedy;
        }
        text += entry(works ? "works:" : "fails:", what, columns);
    }
    return text;
}

struct InfoOptions {
    std::string device = PERF_METAGROUP_DEVICE;
    bool check = false;
    bool json = false;
};

int info(const InfoOptions& options) {
    Json report{{"program", {{"version", METAGROUP_VERSION_STRING}, {"abi", PERF_METAGROUP_ABI}}},
                {"kernel", kernel_facts()},
                {"cpus", cpu_facts()},
                {"privileges", privilege_facts()},
                // Before the checks, which raise the limits.
                {"limits", limit_facts()},
                {"module", module_facts(options.device)},
                {"sets", set_facts()},
                {"pmus", pmu_facts()}};
    const Checks checks(options.device);
    report["backends"] = checks.backends();
    report["checks"] = checks.all();
    const auto replace = Json::error_handler_t::replace;
    Output("").write(options.json ? report.dump(-1, ' ', false, replace) + '\n' : as_page(report));
    return options.check && !checks.counting_works() ? 1 : 0;
}

}  // namespace

std::string as_page(const Json& report) {
    std::string text;
    for (const auto& [name, section] : report.items()) {
        if (!text.empty()) text += '\n';
        text += words(name) + '\n';
        if (name == "checks")
            text += checks(section);
        else if (section.is_object())
            text += text_of(section);
        else
            text += section.empty() ? "  none\n" : table_of(section);
    }
    return text;
}

void add_info(CLI::App& app, int& status) {
    CLI::App* info_app = app.add_subcommand("info", "describe the machine and check what works");
    const auto options = std::make_shared<InfoOptions>();
    add_device(*info_app, options->device);
    info_app->add_flag("--check", options->check,
                       "exit with status 1 if the default events cannot be counted on all CPUs");
    info_app->add_flag("-j,--json", options->json, "print one JSON object");
    info_app->footer(
        "For bug reports. The checks briefly count events and open the device. They change "
        "nothing\n"
        "on the machine, and missing features are not errors.");
    info_app->callback([options, &status] { status = info(*options); });
}

}  // namespace tool
