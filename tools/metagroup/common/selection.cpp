// SPDX-License-Identifier: MIT
#include "common/selection.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>

#include "common/command_line.hpp"

namespace tool {

void Selection::add_options(CLI::App& app) {
    CLI::Option* events =
        app.add_option("-e,--event", events_,
                       "events, as in cycles,{instructions,cache-misses}; events in braces are "
                       "counted at the same time")
            ->check(not_empty())
            ->type_name("EVENTS");
    // Finding the default opens events, so only for the subcommand that was called.
    app.preparse_callback([events](std::size_t) { events->default_str(default_events()); });
    app.add_option("-C,--cpu", cpus_, "CPUs, as in 0-3,8")
        ->type_name("CPUS")
        ->capture_default_str();
    app.add_option("-G,--cgroup", cgroup_,
                   "count only while tasks of this cgroup run, as in system.slice/cron.service")
        ->check(not_empty());
    app.add_option("--backend", backend_, "module, perfd (one read() per CPU) or auto")
        ->check(CLI::IsMember({"auto", "module", "perfd"}))
        ->capture_default_str();
    app.add_option("--device", device_, "the module's device")
        ->check(not_empty())
        ->type_name("FILE")
        ->capture_default_str();
    app.add_flag("--quiet-cpus", mode_.quiet,
                 "do not wake idle CPUs; their counts are those of their last idle entry");
    app.add_flag("--skip-isolated", mode_.skip_isolated,
                 "do not interrupt the CPUs of nohz_full= and isolcpus=");
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

bool can_count(const std::string& group) {
    using metagroup::CpuList;
    try {
        const metagroup::GroupSpec spec = metagroup::parse_events(group).front();
        const CpuList cpus = spec.events.front().cpus.value_or(CpuList::online());
        metagroup::EventGroup::open(spec, cpus.empty() ? 0 : *cpus.begin());
        return true;
    } catch (const metagroup::Error& error) {
        using metagroup::Cause;
        switch (error.cause()) {
            case Cause::syntax:
            case Cause::unknown_event:
            case Cause::unknown_pmu:
            case Cause::unsupported_event:
            case Cause::unsupported_group:
                return false;
            default:
                return true;
        }
    }
}

}  // namespace tool
