// SPDX-License-Identifier: MIT
#include "selection.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

namespace tool {

void Selection::add_options(CLI::App& app) {
    app.add_option("-e,--event", events_,
                   "events, as in cycles,{instructions,cache-misses}; those in braces are counted "
                   "at the same time")
        ->type_name("EVENTS")
        ->default_str(default_events());
    app.add_option("-C,--cpu", cpus_, "CPUs, as in 0-3,8")
        ->type_name("CPUS")
        ->capture_default_str();
    app.add_option("--backend", backend_, "module, perfd (a read() per CPU), or auto")
        ->check(CLI::IsMember({"auto", "module", "perfd"}))
        ->capture_default_str();
    app.add_option("--device", device_, "the module's device")
        ->type_name("FILE")
        ->capture_default_str();
    app.add_flag("--quiet-cpus", mode_.quiet,
                 "do not wake CPUs that sleep; their counts are of when they fell asleep");
    app.add_flag("--spare-isolated", mode_.spare_isolated,
                 "do not interrupt CPUs of nohz_full= and isolcpus=");
}

metagroup::MetaGroup::Options Selection::options() const {
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events_.empty() ? default_events() : events_);
    options.cpus = metagroup::CpuList::parse(cpus_);
    using metagroup::Backend;
    static const std::map<std::string, Backend> backends{
        {"auto", Backend::automatic}, {"module", Backend::module}, {"perfd", Backend::per_fd}};
    options.backend = backends.at(backend_);
    options.device = device_;
    options.mode = mode_;
    options.start_disabled = true;
    return options;
}

std::string default_events() {
    const std::filesystem::path devices = "/sys/bus/event_source/devices";
    for (const char* core_pmu : {"cpu", "cpu_core", "armv8_pmuv3"}) {
        if (std::filesystem::exists(devices / core_pmu))
            return "context-switches,cpu-migrations,page-faults,"
                   "{cycles,instructions},{branches,branch-misses}";
    }
    if (std::filesystem::exists(devices / "msr/events/tsc"))
        return "cpu-clock,context-switches,cpu-migrations,page-faults,msr/tsc/";
    return "cpu-clock,context-switches,cpu-migrations,page-faults";
}

}  // namespace tool
