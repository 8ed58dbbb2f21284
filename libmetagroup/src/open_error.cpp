// SPDX-License-Identifier: MIT
#include "open_error.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace metagroup::detail {
namespace {

std::string permission(const OpenFailure& failure) {
    const std::string paranoid =
        failure.paranoid ? fmt::format("{}", *failure.paranoid) : std::string("unknown");
    // Debian's own 3 refuses everybody without CAP_SYS_ADMIN.
    constexpr int most = 2;
    const char* const lower =
        failure.paranoid > most ? " and \"sysctl kernel.perf_event_paranoid=2\"" : "";
    return fmt::format(
        "not permitted: kernel.perf_event_paranoid is {}; give the process CAP_PERFMON (setcap "
        "cap_perfmon+ep PROGRAM{}, or run it as root), or allow it for all users with \"sysctl "
        "kernel.perf_event_paranoid=0\" (-1 for tracepoints)",
        paranoid, lower);
}

std::string invalid(const OpenFailure& failure) {
    if (failure.index > 0) {
        return fmt::format(
            "the kernel refuses it in the group {}: the group has more events than the PMU has "
            "counters, or events of different PMUs; make the group smaller, or separate groups",
            failure.group);
    }
    if (failure.cgroup) {
        return "the kernel refuses it for a cgroup: only events of the CPUs' own are counted by "
               "cgroup, by kernels with CONFIG_CGROUP_PERF; try it without a cgroup";
    }
    if (failure.filtered) {
        return "the kernel refuses these settings: its PMU may be unable to filter, try it without "
               "modifiers";
    }
    return "the kernel refuses these settings: check the event's fields, and that its PMU counts "
           "for whole CPUs";
}

std::string cause(const OpenFailure& failure) {
    if (failure.online) {
        return fmt::format("CPU {} is not online (online: {}): leave it out, or bring it online",
                           failure.cpu, *failure.online);
    }
    switch (failure.error) {
        case EACCES:
        case EPERM:
            return permission(failure);
        case EMFILE:
            return fmt::format(
                "the process has no file descriptor left (limit RLIMIT_NOFILE: {}, hard limit {}): "
                "raise the hard limit (ulimit -Hn, LimitNOFILE=), or open fewer CPUs or events",
                failure.fd_limit, failure.fd_max);
        case ENFILE:
            return "the system has no file descriptor left: raise \"sysctl fs.file-max\"";
        case ENOENT:
            return "this machine cannot count it: no PMU here knows the event (virtual machines "
                   "often have no hardware counters); see \"perf list\" for what there is";
        case ENODEV:
            return "this machine cannot count it: the CPU lacks the feature, or the PMU does not "
                   "count on this CPU";
        case EOPNOTSUPP:
            return "this machine cannot count it that way: the PMU lacks what was asked for "
                   "(precise counting, interrupts); try it without modifiers";
        case EINVAL:
            return invalid(failure);
        case EBUSY:
            return "another event has the PMU for itself: end the program that holds it";
        case ENOSPC:
            return "all slots for such events are taken: end other users, or open fewer";
        case E2BIG:
            return "this kernel is older than the event's settings";
        case ENOSYS:
            return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
        default:
            return "perf_event_open(2) failed";
    }
}

}  // namespace

std::string explain(const OpenFailure& failure) {
    return fmt::format("cannot open event \"{}\" on CPU {}: {}", failure.event, failure.cpu,
                       cause(failure));
}

std::string explain_device(int error, const std::string& path) {
    switch (error) {
        case ENOENT:
        case ENXIO:
        case ENODEV:
            return fmt::format("no {}: load the module perf_metagroup (modprobe perf_metagroup)",
                               path);
        case EACCES:
        case EPERM:
            return fmt::format(
                "no permission for {}: run as root, or let a udev rule give your group access",
                path);
        case EMFILE:
            return fmt::format(
                "cannot open {}: the process has no file descriptor left (ulimit -n)", path);
        case ENOTTY:
            return fmt::format("{} is not the device of the module perf_metagroup", path);
        default:
            return fmt::format("cannot open {}", path);
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
        return fmt::format("cannot attach descriptor {} (number {} of {}): {}", fds[attach.failed],
                           attach.failed + 1, attach.count, why);
    }
    switch (error) {
        case E2BIG:
            return fmt::format(
                "cannot attach {} leaders: the meta-group would exceed the module's limits; use "
                "fewer groups or CPUs, or several meta-groups",
                attach.count);
        case ENOSPC:
            return "cannot attach: the numbers of members are used up; open a new meta-group";
        case EINVAL:
            return attach.count == 0 ? std::string("cannot attach: no descriptor was given")
                                     : fmt::format("cannot attach {} leaders", attach.count);
        default:
            return fmt::format("cannot attach {} leaders", attach.count);
    }
}

}  // namespace metagroup::detail
