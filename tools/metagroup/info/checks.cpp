// SPDX-License-Identifier: MIT
#include "info/checks.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/selection.hpp"

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

// Without sysfs, CPU 0.
CpuList cpus_online() {
    try {
        return CpuList::online();
    } catch (const std::exception&) {
        return CpuList({0});
    }
}

// Queries INFO like a program that was built for a later version of the interface.
void query_as_newer_program(const Device& device) {
    struct Newer {
        perf_metagroup_info known;
        __u64 unknown;
    };
    Newer query{};
    query.known.size = sizeof(query);
    const bool answers = ::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &query) == 0;
    // Unknown fields that are set must be refused.
    query.known = {};
    query.known.size = sizeof(query);
    query.unknown = 1;
    const bool ignores = ::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &query) == 0;
    if (answers && !ignores && errno == E2BIG) return;
    throw Error(
        metagroup::Cause::wrong_module, EPROTO,
        {"INFO",
         ignores ? "the module ignores unknown fields" : "the module refuses a larger structure",
         "install a module and a program of the same version, and load the module again"});
}

}  // namespace

template <typename Action>
bool Checks::check(const std::string& what, const Action& action) {
    Check check{.what = what};
    try {
        action();
    } catch (const Error& error) {
        check = {what, false, error.failed() + ": " + error.reason(), error.remedy()};
        // perf itself refuses with EACCES.
        if (filtered_ && error.code().value() == EPERM) {
            check.why += "; or the filter of system calls (seccomp) refuses it";
            check.remedy =
                "let the filter allow perf_event_open(2), as with docker's --cap-add "
                "PERFMON; else " +
                check.remedy;
        }
    } catch (const std::exception& error) {
        check = {what, false, error.what(), ""};
    }
    all_.push_back(check);
    return check.works;
}

Checks::Checks(const std::string& device, bool filtered) : filtered_(filtered) {
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
    if (check("reading one CPU after the other", [&] { count(options); }))
        available_.emplace_back(to_string(Backend::per_fd));
    options.backend = Backend::module;
    if (check("reading all CPUs at once, by the module", [&] { count(options); })) {
        available_.emplace_back(to_string(Backend::module));
        check_module(options.device);
    }
    options.backend = Backend::automatic;
    try {
        const MetaGroup group = MetaGroup::open(options);
        automatic_ = to_string(group.backend());
        reason_ = group.backend_reason();
    } catch (const std::exception& error) {
        reason_ = error.what();
    }
}

void Checks::check_module(const std::string& device) {
    Device opened = Device::open(device);
    check("not waking idle CPUs (--quiet-cpus)", [&] { opened.set_mode({.quiet = true}); });
    check("not interrupting isolated CPUs (--skip-isolated)",
          [&] { opened.set_mode({.skip_isolated = true}); });
    check("programs newer than the module", [&] { query_as_newer_program(opened); });
}

Json Checks::backends() const {
    return {{"available", available_},
            {"auto", automatic_.empty() ? Json(nullptr) : Json(automatic_)},
            {"reason", reason_}};
}

}  // namespace tool
