// SPDX-License-Identifier: MIT
#include "diagnostics.hpp"

#include <linux/perf_metagroup.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <metagroup/error.hpp>
#include <utility>

#include "format.hpp"

namespace metagroup {

struct Error::Texts {
    Texts(Parts given, int error) : parts(std::move(given)) {
        // what() ends at a NUL.
        for (std::string* part : {&parts.failed, &parts.reason, &parts.remedy})
            std::ranges::replace(*part, '\0', '?');
        if (parts.reason.empty()) parts.reason = std::generic_category().message(error);
        what = parts.failed + ": " + parts.reason;
        if (!parts.remedy.empty()) what += "; " + parts.remedy;
    }
    Parts parts;
    std::string what;
};

Error::Error(Cause cause, int error, Parts parts)
    : Error(cause, error, std::make_shared<const Texts>(std::move(parts), error)) {}

// std::system_error gets the text as well, since a sliced copy must keep it.
Error::Error(Cause cause, int error, std::shared_ptr<const Texts> texts)
    : std::system_error(error, std::generic_category(), texts->what),
      cause_(cause),
      texts_(std::move(texts)) {}

const char* Error::what() const noexcept {
    return texts_->what.c_str();
}
const std::string& Error::operation() const& noexcept {
    return texts_->parts.failed;
}
const std::string& Error::reason() const& noexcept {
    return texts_->parts.reason;
}
const std::string& Error::remedy() const& noexcept {
    return texts_->parts.remedy;
}

namespace detail {
namespace {

using enum Call;
using enum Cause;
using Condition = bool (*)(const Circumstances&);

constexpr auto always = [](const Circumstances&) { return true; };
constexpr auto cpu_missing = [](const Circumstances& c) { return !c.possible; };
constexpr auto on_all_cpus = [](const Circumstances& c) { return c.cpu < 0; };
constexpr auto cpu_not_online = [](const Circumstances& c) { return c.online.has_value(); };
// Level 3, a Debian patch, requires CAP_SYS_ADMIN.
constexpr auto beyond_perfmon = [](const Circumstances& c) { return c.paranoid > 2; };
constexpr auto by_seccomp = [](const Circumstances& c) { return c.seccomp; };
constexpr auto by_namespace = [](const Circumstances& c) { return c.user_namespace; };
constexpr auto by_policy = [](const Circumstances& c) { return c.privileged; };
constexpr auto is_list = [](const Circumstances& c) { return c.path.find(',') != c.path.npos; };
constexpr auto is_sibling = [](const Circumstances& c) { return c.index > 0; };
constexpr auto for_cgroup = [](const Circumstances& c) { return c.cgroup; };
constexpr auto is_filtered = [](const Circumstances& c) { return c.filtered; };
constexpr auto of_templates = [](const Circumstances& c) { return c.templates; };
constexpr auto limit_known = [](const Circumstances& c) { return c.limit > 0; };
template <std::uint32_t reason, Condition also = always>
constexpr auto refused_as = [](const Circumstances& c) { return c.reason == reason && also(c); };

constexpr auto list = "see \"metagroup list\" for the available events";
constexpr auto perf_fd = "pass a descriptor from perf_event_open(2)";
constexpr auto without_sets = "the loaded module was built without sets, or is too old";
constexpr auto with_sets = "rebuild it with SET=y, or install a newer one";
constexpr auto bad_name = "invalid set name";
constexpr auto name_rule =
    "use up to 63 letters, digits, '_', '-' and '.', starting with a letter or digit";
constexpr auto load = "load the module (modprobe perf_metagroup)";

/// Matches a call (`any`: all), errnos (empty: all) and a condition. `{name}` in a text is replaced
/// by that circumstance.
struct Rule {
    using Errors = std::array<int, 3>;
    constexpr Rule(Call c, Errors e, Cause why, const char* text, const char* advice,
                   Condition when = always)
        : call(c), errors(e), cause(why), reason(text), remedy(advice), applies(when) {}
    Call call;
    Errors errors;
    Cause cause;
    const char* reason;
    const char* remedy;
    Condition applies;
};

// The first rule that matches is used.
constexpr std::array rules = {
    Rule(open_event, {}, no_such_cpu, "this machine has no CPU {cpu} (online: {online})",
         "leave it out", cpu_missing),
    Rule(open_event, {}, cpu_offline, "CPU {cpu} is not online (online: {online})",
         "leave it out, or bring it online", cpu_not_online),
    Rule(open_event, {EOPNOTSUPP}, unsupported_event,
         "it cannot be counted on every CPU by one event, or it is a hardware event and its group "
         "is led by a software event",
         "choose another backend, or let the hardware event lead", on_all_cpus),
    // perf itself returns EACCES.
    Rule(open_event, {EPERM, ENOSYS}, no_perf_permission,
         "not permitted: a seccomp filter, as containers have, blocks perf_event_open(2)",
         "run it outside the container, or allow the call (--cap-add PERFMON, or --security-opt "
         "seccomp=PROFILE)",
         by_seccomp),
    Rule(open_event, {EACCES, EPERM}, no_perf_permission,
         "not permitted: kernel.perf_event_paranoid is {paranoid}, and privileges in this user "
         "namespace do not count",
         "run it with privileges in the initial user namespace, or allow it for all users there "
         "with \"sysctl kernel.perf_event_paranoid=0\" (-1 for tracepoints)",
         by_namespace),
    Rule(open_event, {EACCES, EPERM}, no_perf_permission,
         "not permitted, although the process has CAP_PERFMON: a security module such as SELinux, "
         "or a seccomp filter, denies perf_event_open(2)",
         "allow perf_event_open in its policy, or run the program outside the container",
         by_policy),
    Rule(open_event, {EACCES, EPERM}, no_perf_permission,
         "not permitted: kernel.perf_event_paranoid is {paranoid}",
         "give the process CAP_PERFMON (setcap cap_perfmon+ep PROGRAM and \"sysctl "
         "kernel.perf_event_paranoid=2\", or run it as root), or allow it for all users with "
         "\"sysctl kernel.perf_event_paranoid=0\" (-1 for tracepoints)",
         beyond_perfmon),
    Rule(
        open_event, {EACCES, EPERM}, no_perf_permission,
        "not permitted: kernel.perf_event_paranoid is {paranoid}",
        "give the process CAP_PERFMON (setcap cap_perfmon+ep PROGRAM, or run it as root), or allow "
        "it for all users with \"sysctl kernel.perf_event_paranoid=0\" (-1 for tracepoints)"),
    Rule(open_event, {EMFILE}, too_many_files,
         "the process is out of file descriptors (RLIMIT_NOFILE: {fd_limit}, hard limit {fd_max})",
         "raise the hard limit (ulimit -Hn, LimitNOFILE=), or use fewer CPUs or events"),
    Rule(open_event, {ENOENT}, unsupported_event,
         "this machine cannot count it: no PMU supports the event (virtual machines often have "
         "no hardware counters)",
         list),
    Rule(open_event, {ENODEV}, unsupported_event,
         "this machine cannot count it: the CPU lacks the feature, or the PMU does not count on "
         "this CPU",
         list),
    Rule(open_event, {EOPNOTSUPP}, unsupported_event,
         "this machine cannot count it with these settings: the PMU lacks precise counting or "
         "interrupts",
         "try it without modifiers"),
    Rule(open_event, {EINVAL}, unsupported_group,
         "the kernel refuses it in group {group}: the group has more events than the PMU has "
         "counters, or events of different PMUs",
         "make the group smaller, or split it", is_sibling),
    Rule(open_event, {EINVAL}, unsupported_event,
         "the kernel refuses it for a cgroup: only events of the CPUs themselves can be counted by "
         "cgroup, and only with CONFIG_CGROUP_PERF",
         "try it without a cgroup", for_cgroup),
    Rule(open_event, {EINVAL}, unsupported_event,
         "the kernel refuses these settings: the PMU may not support filtering",
         "try it without modifiers", is_filtered),
    Rule(open_event, {EINVAL}, unsupported_event, "the kernel refuses these settings",
         "check the event's fields, and whether its PMU can count for whole CPUs"),
    Rule(open_event, {EBUSY}, pmu_busy, "another event has exclusive use of the PMU",
         "stop the program that holds it"),
    Rule(open_event, {ENOSPC}, pmu_busy, "all slots for such events are in use",
         "stop other users, or open fewer"),
    Rule(open_event, {E2BIG}, unsupported_event, "this kernel is too old for the event's settings",
         "use a newer kernel, or another event"),
    Rule(open_event, {ENOSYS}, unsupported_event,
         "this kernel has no perf events (CONFIG_PERF_EVENTS)", "use a kernel that has them"),

    Rule(
        open_device, {ENOENT, ENXIO, ENODEV}, no_module,
        "the module perf_metagroup is not loaded, or its device is not available in this container",
        load),
    Rule(open_device, {EPERM}, no_device_permission,
         "the cgroup device controller, as used by containers, does not allow it",
         "pass the device to the container (--device /dev/perf_metagroup)"),
    Rule(open_device, {EACCES}, no_device_permission, "no permission",
         "join the group perf_metagroup (usermod -aG perf_metagroup USER), or run as root"),
    Rule(open_device, {ENOTTY}, wrong_module,
         "{path} is not the device of the module perf_metagroup", "open " PERF_METAGROUP_DEVICE),
    Rule(use_device, {}, bad_descriptor, "it is not open for reading", perf_fd,
         refused_as<PERF_METAGROUP_REASON_BAD_FD>),
    Rule(use_device, {}, bad_descriptor, "it is not a perf event", perf_fd,
         refused_as<PERF_METAGROUP_REASON_NOT_PERF>),
    Rule(attach, {}, bad_descriptor, "it is a sibling", "attach the leader of its group",
         refused_as<PERF_METAGROUP_REASON_SIBLING>),
    Rule(use_device, {}, bad_descriptor, "it is bound to a task or to no CPU",
         "open it with pid -1 and a CPU", refused_as<PERF_METAGROUP_REASON_TASK>),
    Rule(
        attach, {}, already_attached, "its group is already a member of this or another meta-group",
        "detach it there, or open the group a second time", refused_as<PERF_METAGROUP_REASON_BUSY>),
    Rule(attach, {E2BIG}, too_many_members, "a meta-group can have at most {limit} members",
         "use fewer groups or CPUs", limit_known),
    Rule(attach, {E2BIG}, too_many_members, "the meta-group would exceed the module's limits",
         "use fewer groups or CPUs, or several meta-groups"),
    Rule(attach, {ENOSPC}, too_many_members,
         "all member numbers are used up, or the rings of its running stream are too small",
         "open a new meta-group, or restart the stream with larger rings"),
    Rule(use_member, {ENOENT}, no_such_member, "the meta-group has no member with this number",
         "use the numbers that ATTACH returned"),
    Rule(use_member, {EINVAL}, other,
         "it is an event group, whose events were not opened by the module",
         "use the numbers that OPEN_SET or JOIN returned"),
    Rule(set_mode, {EUSERS}, too_many_quiet, "too many meta-groups are quiet already",
         "close one, or do not use quiet mode"),
    Rule(set_mode, {EINVAL}, wrong_module, "the loaded module was built without quiet mode",
         "rebuild it with QUIET=y, or do not use quiet mode"),
    Rule(read_device, {ENOSPC}, buffer_too_small, "the buffer has only {bytes} bytes",
         "see info() for the required size"),
    Rule(start_stream, {ENOTTY}, wrong_module,
         "the loaded module was built without streams, or is too old",
         "rebuild it with STREAM=y, or install a newer one"),
    Rule(start_stream, {EBUSY}, stream_running, "a stream of this meta-group is already running",
         "stop it first"),
    Rule(start_stream, {EUSERS}, too_many_streams, "too many streams are running already",
         "stop one"),
    Rule(start_stream, {EPERM}, no_perf_permission,
         "rings of {bytes} bytes per CPU exceed the memory that this user may lock (module "
         "parameter max_ring_kb, and RLIMIT_MEMLOCK)",
         "make them smaller, raise one of the limits (ulimit -l), or run it as root"),
    Rule(start_stream, {ENOSPC}, buffer_too_small,
         "a ring of {bytes} bytes cannot hold the samples of one deadline", "make it larger"),
    Rule(open_set, {}, no_set_permission,
         "it was opened by a more privileged process, or by another user",
         "open it in this process", refused_as<PERF_METAGROUP_REASON_PERMISSION, of_templates>),
    Rule(open_set, {EPERM}, no_set_permission, "the kernel is locked down",
         "pass descriptors from perf_event_open(2)", refused_as<PERF_METAGROUP_REASON_PERMISSION>),
    Rule(open_set, {}, no_set_permission, "this requires CAP_SYS_ADMIN",
         "pass descriptors from perf_event_open(2), or run as root",
         refused_as<PERF_METAGROUP_REASON_PERMISSION>),
    Rule(open_set, {}, unsupported_event, "it is a sampling event, or its settings are invalid",
         "count it in an event group", refused_as<PERF_METAGROUP_REASON_ATTR>),
    Rule(open_set, {}, pmu_busy, "the PMU has no free counter: a set needs one for each event",
         "use fewer events, stop other users, or use event groups, which can be multiplexed",
         refused_as<PERF_METAGROUP_REASON_NO_COUNTER>),
    Rule(open_set, {}, unsupported_event, "its PMU counts it on another CPU",
         "open it on the CPUs that the PMU names (cpumask)",
         refused_as<PERF_METAGROUP_REASON_OTHER_CPU>),
    Rule(open_set, {ENODEV}, cpu_offline, "the CPU is offline, or all of them are",
         "leave it out, or bring it online"),
    Rule(open_set, {E2BIG}, too_many_members,
         "this exceeds the limit of the meta-group, or of the user (max_set_events)",
         "use fewer events or CPUs"),
    Rule(open_set, {ENOTTY}, wrong_module, without_sets, with_sets),
    Rule(join, {ENOTTY}, wrong_module, without_sets, with_sets),
    Rule(publish, {ENOTTY}, wrong_module, without_sets, with_sets),
    Rule(unpublish, {ENOTTY}, wrong_module, without_sets, with_sets),
    Rule(join, {ENOENT}, no_such_set, "no such set", "{similar}"),
    Rule(unpublish, {ENOENT}, no_such_set, "no such set", "{similar}"),
    Rule(join, {EACCES}, no_set_permission, "its mode does not allow it",
         "join its group (usermod -aG GROUP USER); \"metagroup set show\" names it"),
    Rule(unpublish, {EACCES}, no_set_permission, "it belongs to another user",
         "run as its owner or root"),
    Rule(publish, {EPERM}, no_set_permission,
         "this requires CAP_PERFMON, and a group that the user belongs to",
         "run as root, or choose another group"),
    Rule(publish, {EEXIST}, set_exists, "a set with this name already exists",
         "remove it, or choose another name"),
    Rule(publish, {ENOSPC}, too_many_sets, "too many sets are published already",
         "remove one, or raise the module parameter max_names"),
    Rule(join, {EINVAL}, bad_set_name, bad_name, name_rule),
    Rule(unpublish, {EINVAL}, bad_set_name, bad_name, name_rule),
    Rule(publish, {EINVAL}, bad_set_name, "invalid set name or mode, or the meta-group has no sets",
         name_rule),
    Rule(map_ring, {EPERM}, no_perf_permission,
         "a ring of {bytes} bytes exceeds the memory that this user may lock",
         "make it smaller, raise \"sysctl kernel.perf_event_mlock_kb\", or run it as root"),
    Rule(map_device, {ENODEV}, wrong_module,
         "the loaded module perf_metagroup cannot map snapshots", "install a newer one"),
    Rule(use_device, {ENOTTY}, wrong_module,
         "the file is not the device of the module perf_metagroup, or the module is too old",
         "open " PERF_METAGROUP_DEVICE ", or install a newer module"),
    Rule(choose_mode, {}, needs_module, "quiet mode and skipping isolated CPUs require the module",
         "load the module (modprobe perf_metagroup), and choose another backend"),
    Rule(choose_set, {}, needs_module, "sets require the module",
         "load the module (modprobe perf_metagroup), and choose another backend"),

    Rule(choose_cgroup, {}, unsupported_event, "an event on all CPUs counts all tasks",
         "choose another backend"),

    Rule(find_cgroups, {ENOENT}, no_cgroup, "no cgroups are mounted",
         "mount -t cgroup2 none /sys/fs/cgroup"),
    Rule(open_cgroup, {EXDEV}, no_cgroup, "it is outside the cgroup file system",
         "name one below that directory; systemd-cgls lists them"),
    Rule(open_cgroup, {ENOENT, ENOTDIR}, no_cgroup,
         "it is a list, but all events are counted for one cgroup",
         "name one, and run once for each", is_list),
    Rule(open_cgroup, {ENOENT, ENOTDIR}, no_cgroup, "no such directory",
         "systemd-cgls lists the cgroups"),
    Rule(read_sysfs, {ENOENT}, no_sysfs, "sysfs is not mounted on /sys",
         "mount sysfs (mount -t sysfs nodev /sys)"),
    Rule(read_tracefs, {EACCES, EPERM}, no_trace_permission, "only root can access tracefs",
         "run as root, or remount tracefs for your group (mount -o remount,gid=GROUP,mode=750)"),

    Rule(any, {EMFILE}, too_many_files, "the process is out of file descriptors",
         "raise the limit (ulimit -n)"),
    Rule(any, {ENFILE}, too_many_files, "the system is out of file descriptors",
         "raise \"sysctl fs.file-max\""),
    Rule(any, {ENOMEM}, no_memory, "the kernel is out of memory", "use fewer events or CPUs"),
};

bool matches(const Rule& rule, Call call, int error, const Circumstances& circumstances) {
    const bool on_device = call >= use_device && call <= map_device;
    return (rule.call == call || rule.call == any || (rule.call == use_device && on_device)) &&
           (rule.errors[0] == 0 || std::ranges::count(rule.errors, error) > 0) &&
           rule.applies(circumstances);
}

std::string filled_in(const char* text, const Circumstances& c) {
    const std::string paranoid = c.paranoid ? std::to_string(*c.paranoid) : "unknown";
    return detail::format(
        fmt::runtime(text), fmt::arg("cpu", c.cpu), fmt::arg("group", c.group),
        fmt::arg("paranoid", paranoid), fmt::arg("online", c.online.value_or("unknown")),
        fmt::arg("fd_limit", c.fd_limit), fmt::arg("fd_max", c.fd_max), fmt::arg("path", c.path),
        fmt::arg("limit", c.limit), fmt::arg("bytes", c.bytes), fmt::arg("similar", c.similar));
}

}  // namespace

Error diagnose(Call call, int error, std::string failed, const Circumstances& circumstances) {
    const auto* const rule = std::ranges::find_if(
        rules, [&](const Rule& r) { return matches(r, call, error, circumstances); });
    if (rule == rules.end()) return {other, error, {.failed = std::move(failed)}};
    return {rule->cause,
            error,
            {std::move(failed), filled_in(rule->reason, circumstances),
             filled_in(rule->remedy, circumstances)}};
}

void throw_error(Call call, int error, std::string failed, const Circumstances& circumstances) {
    throw diagnose(call, error, std::move(failed), circumstances);
}

SpecError::SpecError(std::size_t offset, Diagnosis diagnosis)
    : std::runtime_error(diagnosis.reason + "; " + diagnosis.remedy),
      offset_(offset),
      diagnosis_(std::move(diagnosis)) {}

void throw_parse_error(std::string_view kind, std::string_view text, std::size_t offset,
                       const Diagnosis& diagnosis) {
    Error::Parts parts{detail::format("{} \"{}\", column {}", kind, text, offset + 1),
                       diagnosis.reason, diagnosis.remedy};
    const bool absent =
        diagnosis.cause == Cause::unknown_event || diagnosis.cause == Cause::unknown_pmu;
    throw Error(diagnosis.cause, absent ? ENOENT : EINVAL, std::move(parts));
}

}  // namespace detail
}  // namespace metagroup
