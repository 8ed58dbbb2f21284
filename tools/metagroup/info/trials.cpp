// SPDX-License-Identifier: MIT
#include "info/trials.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "selection.hpp"

namespace tool {
namespace {

using metagroup::Backend;
using metagroup::CpuList;
using metagroup::Device;
using metagroup::Error;
using metagroup::EventGroup;
using metagroup::GroupSpec;
using metagroup::MetaGroup;

constexpr const char* kMatching =
    "install a module and a program of the same version, and load the module again";

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
    Error::Parts parts = first->parts();
    parts.failed = fmt::format("cannot open event \"{}\" on CPUs {}", to_string(group),
                               CpuList(failing).to_string());
    throw Error(first->code().value(), std::move(parts));
}

void count(const MetaGroup::Options& options) {
    MetaGroup group = MetaGroup::open(options);
    group.enable();
    static_cast<void>(group.sweep());
}

// Without sysfs nobody knows; one there is.
CpuList cpus_online() {
    try {
        return CpuList::online();
    } catch (const std::exception&) {
        return CpuList({0});
    }
}

// As a program would ask that was built with a later version of the interface.
void ask_as_newer_program(const Device& device) {
    struct Newer {
        perf_metagroup_info known;
        __u64 unknown;
    };
    Newer question{};
    question.known.size = sizeof(question);
    if (::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &question) != 0)
        throw std::system_error(errno, std::generic_category(), "INFO");
    // What it does not know it must not ignore.
    question.known = {};
    question.known.size = sizeof(question);
    question.unknown = 1;
    if (::ioctl(device.fd(), PERF_METAGROUP_IOC_INFO, &question) == 0 || errno != E2BIG)
        throw std::runtime_error("the module ignores what it does not know");
}

}  // namespace

template <typename Action>
bool Trials::attempt(const std::string& what, const std::string& remedy, const Action& action) {
    Trial trial{.what = what};
    try {
        action();
    } catch (const Error& error) {
        const Error::Parts& parts = error.parts();
        const std::string why = parts.why.empty() ? error.code().message() : parts.why;
        trial = {what, false, parts.failed + ": " + why, parts.remedy};
        // Perf itself refuses with EACCES.
        if (filtered_ && error.code().value() == EPERM) {
            trial.why += "; or the filter of system calls (seccomp) refuses it";
            trial.remedy =
                "let the filter allow perf_event_open(2), as with docker's --cap-add "
                "PERFMON; else " +
                trial.remedy;
        }
    } catch (const std::exception& error) {
        trial = {what, false, error.what(), remedy};
    }
    all_.push_back(trial);
    return trial.works;
}

Trials::Trials(const std::string& device, bool filtered) : filtered_(filtered) {
    MetaGroup::Options clock;
    clock.groups = metagroup::parse_events("cpu-clock");
    clock.cpus = cpus_online();
    clock.start_disabled = true;
    clock.device = device;
    attempt("a software event on each CPU", "",
            [&] { open_on_each(clock.groups.front(), clock.cpus); });
    const std::string sysfs = "mount sysfs (mount -t sysfs nodev /sys)";
    counting_works_ = attempt("the default events on all CPUs", sysfs, [&] {
        MetaGroup::Options defaults = Selection().options();
        defaults.device = device;
        count(defaults);
    });
    const int cpu = *clock.cpus.begin();
    attempt("hardware events (cycles)", "",
            [&] { EventGroup::open(metagroup::parse_events("cycles").front(), cpu); });
    const std::string tracefs =
        "mount tracefs (mount -t tracefs nodev /sys/kernel/tracing), and "
        "be root or of the group that it is mounted for (gid=)";
    attempt("tracepoints (sched:sched_switch)", tracefs,
            [&] { EventGroup::open(metagroup::parse_events("sched:sched_switch").front(), cpu); });
    try_backends(clock);
}

void Trials::try_backends(MetaGroup::Options options) {
    options.backend = Backend::per_fd;
    if (attempt("reading one CPU after the other", "", [&] { count(options); }))
        available_.emplace_back(to_string(Backend::per_fd));
    options.backend = Backend::module;
    if (attempt("reading all CPUs at once, by the module", kMatching, [&] { count(options); })) {
        available_.emplace_back(to_string(Backend::module));
        try_module(options.device);
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

void Trials::try_module(const std::string& device) {
    Device opened = Device::open(device);
    attempt("leaving CPUs asleep (--quiet-cpus)", kMatching,
            [&] { opened.set_mode({.quiet = true}); });
    attempt("leaving isolated CPUs alone (--spare-isolated)", kMatching,
            [&] { opened.set_mode({.spare_isolated = true}); });
    attempt("programs newer than the module", kMatching, [&] { ask_as_newer_program(opened); });
}

Json Trials::backends() const {
    return {{"available", available_},
            {"auto", automatic_.empty() ? Json(nullptr) : Json(automatic_)},
            {"because", reason_}};
}

}  // namespace tool
