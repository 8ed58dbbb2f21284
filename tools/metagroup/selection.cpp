// SPDX-License-Identifier: MIT
#include "selection.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "probe.hpp"

namespace tool {

void Selection::add_options(CLI::App& app) {
    CLI::Option* events =
        app.add_option("-e,--event", events_,
                       "events, as in cycles,{instructions,cache-misses}; those in braces are "
                       "counted at the same time")
            ->type_name("EVENTS");
    // Finding the default opens events: not for subcommands that nobody called.
    app.preparse_callback([events](std::size_t) { events->default_str(default_events()); });
    app.add_option("-C,--cpu", cpus_, "CPUs, as in 0-3,8")
        ->type_name("CPUS")
        ->capture_default_str();
    app.add_option("-G,--cgroup", cgroup_,
                   "count only while tasks of this cgroup run, as in system.slice/cron.service");
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
    options.cgroup = cgroup_;
    options.device = device_;
    options.mode = mode_;
    options.start_disabled = true;
    return options;
}

std::string default_events() {
    std::string events = "context-switches,cpu-migrations,page-faults";
    bool hardware = false;
    for (const char* group : {"{cycles,instructions}", "{branches,branch-misses}"}) {
        if (!can_count(group)) continue;
        events += std::string(",") + group;
        hardware = true;
    }
    if (hardware) return events;
    events.insert(0, "cpu-clock,");
    return can_count("msr/tsc/") ? events + ",msr/tsc/" : events;
}

}  // namespace tool
