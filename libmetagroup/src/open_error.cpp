// SPDX-License-Identifier: MIT
#include "open_error.hpp"

#include <cerrno>
#include <utility>

#include "formatted.hpp"

namespace metagroup::detail {
namespace {

// The why and the remedy; what failed is filled in by who knows.
Error::Parts because(std::string why, std::string remedy) {
    return {{}, std::move(why), std::move(remedy)};
}

Error::Parts permission(const OpenFailure& failure) {
    const std::string paranoid =
        failure.paranoid ? formatted("{}", *failure.paranoid) : std::string("unknown");
    // Debian's own 3 refuses everybody without CAP_SYS_ADMIN.
    constexpr int most = 2;
    const char* const lower =
        failure.paranoid > most ? " and \"sysctl kernel.perf_event_paranoid=2\"" : "";
    return because(
        formatted("not permitted: kernel.perf_event_paranoid is {}", paranoid),
        formatted("give the process CAP_PERFMON (setcap cap_perfmon+ep PROGRAM{}, or run it as "
                  "root), or allow it for all users with \"sysctl "
                  "kernel.perf_event_paranoid=0\" (-1 for tracepoints)",
                  lower));
}

Error::Parts invalid(const OpenFailure& failure) {
    if (failure.index > 0) {
        return because(
            formatted("the kernel refuses it in the group {}: the group has more events than "
                      "the PMU has counters, or events of different PMUs",
                      failure.group),
            "make the group smaller, or separate groups");
    }
    if (failure.cgroup) {
        return because(
            "the kernel refuses it for a cgroup: only events of the CPUs' own are "
            "counted by cgroup, by kernels with CONFIG_CGROUP_PERF",
            "try it without a cgroup");
    }
    if (failure.filtered) {
        return because("the kernel refuses these settings: its PMU may be unable to filter",
                       "try it without modifiers");
    }
    return because("the kernel refuses these settings",
                   "check the event's fields, and that its PMU counts for whole CPUs");
}

Error::Parts cause(const OpenFailure& failure) {
    if (failure.online) {
        return because(formatted("CPU {} is not online (online: {})", failure.cpu, *failure.online),
                       "leave it out, or bring it online");
    }
    switch (failure.error) {
        case EACCES:
        case EPERM:
            return permission(failure);
        case EMFILE:
            return because(formatted("the process has no file descriptor left (limit "
                                     "RLIMIT_NOFILE: {}, hard limit {})",
                                     failure.fd_limit, failure.fd_max),
                           "raise the hard limit (ulimit -Hn, LimitNOFILE=), or open fewer CPUs or "
                           "events");
        case ENFILE:
            return because("the system has no file descriptor left",
                           "raise \"sysctl fs.file-max\"");
        case ENOENT:
            return because(
                "this machine cannot count it: no PMU here knows the event (virtual "
                "machines often have no hardware counters)",
                "see \"metagroup list\" for what there is");
        case ENODEV:
            return because(
                "this machine cannot count it: the CPU lacks the feature, or the PMU "
                "does not count on this CPU",
                "see \"metagroup list\" for what there is");
        case EOPNOTSUPP:
            return because(
                "this machine cannot count it that way: the PMU lacks what was asked "
                "for (precise counting, interrupts)",
                "try it without modifiers");
        case EINVAL:
            return invalid(failure);
        case EBUSY:
            return because("another event has the PMU for itself", "end the program that holds it");
        case ENOSPC:
            return because("all slots for such events are taken", "end other users, or open fewer");
        case E2BIG:
            return because("this kernel is older than the event's settings", {});
        case ENOSYS:
            return because("this kernel has no perf events (CONFIG_PERF_EVENTS)", {});
        default:
            return because("perf_event_open(2) failed", {});
    }
}

}  // namespace

Error::Parts explain(const OpenFailure& failure) {
    Error::Parts parts = cause(failure);
    parts.failed = formatted("cannot open event \"{}\" on CPU {}", failure.event, failure.cpu);
    return parts;
}

Error::Parts explain_device(int error, const std::string& path) {
    switch (error) {
        case ENOENT:
        case ENXIO:
        case ENODEV:
            return {formatted("no {}", path),
                    "the module perf_metagroup is not loaded, or its device is kept from this "
                    "container",
                    "load the module (modprobe perf_metagroup)"};
        case EACCES:
        case EPERM:
            return {formatted("cannot open {}", path), "no permission",
                    "run as root, or let a udev rule give your group access"};
        case EMFILE:
            return {formatted("cannot open {}", path), "the process has no file descriptor left",
                    "raise the limit (ulimit -n)"};
        case ENOTTY:
            return {formatted("{} is not the device of the module perf_metagroup", path),
                    {},
                    formatted("open {}", PERF_METAGROUP_DEVICE)};
        default:
            return {formatted("cannot open {}", path), {}, {}};
    }
}

std::string explain_attach(int error, const perf_metagroup_attach& attach, const int* fds) {
    if (attach.failed < attach.count && attach.reason != PERF_METAGROUP_REASON_NONE) {
        const char* why = "the kernel gives no reason that this version knows";
        switch (attach.reason) {
            case PERF_METAGROUP_REASON_BAD_FD:
                why = "it is not open for reading";
                break;
            case PERF_METAGROUP_REASON_NOT_PERF:
                why = "it is not a perf event";
                break;
            case PERF_METAGROUP_REASON_SIBLING:
                why = "it is a sibling: attach the leader of its group";
                break;
            case PERF_METAGROUP_REASON_TASK:
                why = "it is bound to a task or to no CPU: open it with pid -1 and a CPU";
                break;
            case PERF_METAGROUP_REASON_BUSY:
                why = "its group is a member already, of this or another meta-group";
                break;
            default:
                break;
        }
        return formatted("cannot attach descriptor {} (number {} of {}): {}", fds[attach.failed],
                         attach.failed + 1, attach.count, why);
    }
    switch (error) {
        case E2BIG:
            return formatted(
                "cannot attach {} leaders: the meta-group would exceed the module's limits; use "
                "fewer groups or CPUs, or several meta-groups",
                attach.count);
        case ENOSPC:
            return "cannot attach: the numbers of members are used up; open a new meta-group";
        case EINVAL:
            return attach.count == 0 ? std::string("cannot attach: no descriptor was given")
                                     : formatted("cannot attach {} leaders", attach.count);
        default:
            return formatted("cannot attach {} leaders", attach.count);
    }
}

}  // namespace metagroup::detail
