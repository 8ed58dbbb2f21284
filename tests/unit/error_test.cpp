// SPDX-License-Identifier: MIT
#include "metagroup/error.hpp"

#include <linux/perf_metagroup.h>
#include <metagroup/suggestion.hpp>

#include "diagnostics.hpp"
#include "helpers.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;
using Catch::Matchers::StartsWith;

TEST_CASE("An error has cause, errno and parts") {
    const Error error(Cause::pmu_busy, EBUSY, {"cannot open it", "another has it", "end that"});
    CHECK(error.cause() == Cause::pmu_busy);
    CHECK(error.code() == std::errc::device_or_resource_busy);
    CHECK(error.operation() == "cannot open it");
    CHECK(error.reason() == "another has it");
    CHECK(error.remedy() == "end that");
    CHECK(error.what() == std::string("cannot open it: another has it; end that"));
}

TEST_CASE("An error without a reason has the reason of its errno") {
    const Error error(Cause::other, EIO, {.failed = "cannot read it"});
    CHECK(error.reason() == std::generic_category().message(EIO));
    CHECK(error.what() == "cannot read it: " + error.reason());
}

TEST_CASE("An error that is copied as a system error keeps its text") {
    const std::system_error error = Error(Cause::other, EIO, {"a", "b", "c"});
    CHECK_THAT(error.what(), StartsWith("a: b; c"));
    CHECK(error.code().value() == EIO);
}

TEST_CASE("The parts of a temporary error are copies") {
    const std::string& reason = Error(Cause::other, EIO, {"a", "b", "c"}).reason();
    CHECK(reason == "b");
}

namespace {

Error open_error(int error, const Circumstances& circumstances = {.cpu = 3}) {
    return diagnose(Call::open_event, error, "cannot open it", circumstances);
}

std::string open_text(int error, const Circumstances& circumstances = {.cpu = 3}) {
    return open_error(error, circumstances).what();
}

}  // namespace

TEST_CASE("An error keeps the failed operation and the errno of every call") {
    const auto call = GENERATE(Call::any, Call::open_event, Call::open_device, Call::attach);
    const int error = GENERATE(EACCES, EPERM, EMFILE, ENFILE, ENOENT, ENODEV, EOPNOTSUPP, EINVAL,
                               EBUSY, ENOSPC, E2BIG, ENOSYS, EIO);
    CAPTURE(error);
    const Error diagnosed = diagnose(call, error, "cannot do it");
    CHECK(diagnosed.operation() == "cannot do it");
    CHECK(diagnosed.code().value() == error);
    CHECK_FALSE(diagnosed.reason().empty());
}

TEST_CASE("A refused permission names the sysctl with its value and the capability") {
    CHECK_THAT(open_text(EACCES, {.paranoid = 2}),
               ContainsSubstring("kernel.perf_event_paranoid is 2") &&
                   ContainsSubstring("CAP_PERFMON") &&
                   ContainsSubstring("sysctl kernel.perf_event_paranoid=0"));
    CHECK_THAT(open_text(EACCES), ContainsSubstring("paranoid is unknown"));
}

TEST_CASE("Where CAP_PERFMON is not enough, the remedy also lowers the sysctl") {
    CHECK_THAT(open_text(EPERM, {.paranoid = 2, .seccomp = true}),
               ContainsSubstring("seccomp") && ContainsSubstring("container") &&
                   !ContainsSubstring("paranoid"));
    CHECK_THAT(open_text(ENOSYS, {.seccomp = true}),
               ContainsSubstring("seccomp") && !ContainsSubstring("CONFIG_PERF_EVENTS"));
    CHECK_THAT(open_text(ENOSYS), ContainsSubstring("CONFIG_PERF_EVENTS"));
    CHECK_THAT(open_text(EACCES, {.paranoid = 2, .seccomp = true}),
               ContainsSubstring("kernel.perf_event_paranoid is 2"));
    CHECK_THAT(open_text(EACCES, {.paranoid = 2, .user_namespace = true}),
               ContainsSubstring("initial user namespace") && !ContainsSubstring("setcap"));
    CHECK_THAT(open_text(EACCES, {.paranoid = 2, .privileged = true}),
               ContainsSubstring("although the process has CAP_PERFMON") &&
                   ContainsSubstring("SELinux") && !ContainsSubstring("paranoid"));
    const auto lower = ContainsSubstring("\"sysctl kernel.perf_event_paranoid=2\"");
    CHECK_THAT(open_text(EACCES, {.paranoid = 3}), lower);
    CHECK_THAT(open_text(EACCES, {.paranoid = 2}), !lower);
}

TEST_CASE("Running out of descriptors names both limits") {
    CHECK_THAT(open_text(EMFILE, {.fd_limit = 1024, .fd_max = 4096}),
               ContainsSubstring("RLIMIT_NOFILE: 1024, hard limit 4096") &&
                   ContainsSubstring("ulimit -Hn"));
}

TEST_CASE("An invalid event is diagnosed by its group, cgroup and filters") {
    Circumstances at{.group = "{cycles,instructions}"};
    CHECK_THAT(open_text(EINVAL, at), ContainsSubstring("fields"));
    at.filtered = true;
    CHECK_THAT(open_text(EINVAL, at), ContainsSubstring("without modifiers"));
    at.cgroup = true;
    CHECK_THAT(open_text(EINVAL, at), ContainsSubstring("without a cgroup"));
    at.index = 1;
    CHECK(open_error(EINVAL, at).cause() == Cause::unsupported_group);
    CHECK_THAT(open_text(EINVAL, at), ContainsSubstring("{cycles,instructions}") &&
                                          ContainsSubstring("make the group smaller"));
}

TEST_CASE("An unsupported event is an error of the machine") {
    const int error = GENERATE(ENOENT, ENODEV, EOPNOTSUPP);
    CHECK_THAT(open_text(error), ContainsSubstring("this machine cannot count it"));
}

TEST_CASE("A missing or offline CPU is the cause of any error") {
    Circumstances at{.cpu = 3, .online = "0-1"};
    CHECK(open_error(EINVAL, at).cause() == Cause::cpu_offline);
    CHECK(open_error(EINVAL, at).reason() == "CPU 3 is not online (online: 0-1)");
    at.possible = false;
    CHECK(open_error(EINVAL, at).cause() == Cause::no_such_cpu);
    CHECK(open_error(EINVAL, at).reason() == "this machine has no CPU 3 (online: 0-1)");
}

TEST_CASE("Operation, reason and remedy are separate parts") {
    const Error error = open_error(EBUSY);
    CHECK(error.operation() == "cannot open it");
    CHECK(error.reason() == "another event has exclusive use of the PMU");
    CHECK(error.remedy() == "stop the program that holds it");
    CHECK(error.code().value() == EBUSY);
}

TEST_CASE("Every failed open has a cause, and a remedy if the cause is known") {
    struct Case {
        int error;
        Cause cause;
    };
    const auto given = GENERATE(values<Case>({{EACCES, Cause::no_perf_permission},
                                              {EPERM, Cause::no_perf_permission},
                                              {EMFILE, Cause::too_many_files},
                                              {ENFILE, Cause::too_many_files},
                                              {ENOMEM, Cause::no_memory},
                                              {ENOENT, Cause::unsupported_event},
                                              {ENODEV, Cause::unsupported_event},
                                              {EOPNOTSUPP, Cause::unsupported_event},
                                              {EINVAL, Cause::unsupported_event},
                                              {E2BIG, Cause::unsupported_event},
                                              {ENOSYS, Cause::unsupported_event},
                                              {EBUSY, Cause::pmu_busy},
                                              {ENOSPC, Cause::pmu_busy},
                                              {EIO, Cause::other}}));
    CAPTURE(given.error);
    const Error error = open_error(given.error);
    CHECK(error.cause() == given.cause);
    CHECK(error.code().value() == given.error);
    CHECK_FALSE(error.reason().empty());
    CHECK(error.remedy().empty() == (given.cause == Cause::other));
}

TEST_CASE("A failed call of the device or of a file has its cause and text") {
    struct Case {
        Call call;
        int error;
        Cause cause;
        const char* text;
    };
    const auto given = GENERATE(values<Case>({
        {Call::open_device, ENOENT, Cause::no_module, "modprobe perf_metagroup"},
        {Call::open_device, ENXIO, Cause::no_module, "modprobe perf_metagroup"},
        {Call::open_device, EACCES, Cause::no_device_permission, "no permission"},
        {Call::open_device, EPERM, Cause::no_device_permission, "--device"},
        {Call::open_device, ENOTTY, Cause::wrong_module, "/dev/x is not the device"},
        {Call::open_device, EMFILE, Cause::too_many_files, "ulimit -n"},
        {Call::open_device, EIO, Cause::other, "cannot do it"},
        {Call::use_device, ENOTTY, Cause::wrong_module, "too old"},
        {Call::use_member, ENOTTY, Cause::wrong_module, "too old"},
        {Call::use_member, ENOENT, Cause::no_such_member, "no member with this number"},
        {Call::set_mode, ENOTTY, Cause::wrong_module, "too old"},
        {Call::set_mode, EINVAL, Cause::wrong_module, "built without quiet mode"},
        {Call::set_mode, EUSERS, Cause::too_many_quiet, "too many meta-groups are quiet"},
        {Call::read_device, ENOSPC, Cause::buffer_too_small, "only 8 bytes"},
        {Call::start_stream, ENOTTY, Cause::wrong_module, "built without streams"},
        {Call::open_set, ENOTTY, Cause::wrong_module, "built without sets"},
        {Call::join, ENOTTY, Cause::wrong_module, "SET=y"},
        {Call::publish, ENOTTY, Cause::wrong_module, "built without sets"},
        {Call::unpublish, ENOTTY, Cause::wrong_module, "built without sets"},
        {Call::start_stream, EBUSY, Cause::stream_running, "stop it first"},
        {Call::start_stream, EUSERS, Cause::too_many_streams, "too many streams"},
        {Call::start_stream, ENOSPC, Cause::buffer_too_small, "a ring of 8 bytes"},
        {Call::start_stream, EPERM, Cause::no_perf_permission, "max_ring_kb"},
        {Call::map_ring, EPERM, Cause::no_perf_permission, "perf_event_mlock_kb"},
        {Call::map_device, ENODEV, Cause::wrong_module, "cannot map"},
        {Call::choose_mode, EOPNOTSUPP, Cause::needs_module, "require the module"},
        {Call::find_cgroups, ENOENT, Cause::no_cgroup, "mount -t cgroup2"},
        {Call::open_cgroup, ENOTDIR, Cause::no_cgroup, "no such directory"},
        {Call::read_sysfs, ENOENT, Cause::no_sysfs, "mount -t sysfs"},
        {Call::read_tracefs, EPERM, Cause::no_trace_permission, "remount"},
        {Call::any, ENOTTY, Cause::other, "cannot do it"},
    }));
    CAPTURE(given.error);
    const Error error =
        diagnose(given.call, given.error, "cannot do it", {.path = "/dev/x", .bytes = 8});
    CHECK(error.cause() == given.cause);
    CHECK_THAT(error.what(), ContainsSubstring(given.text));
}

TEST_CASE("A refused attach has the reason of the module") {
    struct Case {
        std::uint32_t reason;
        Cause cause;
        const char* text;
    };
    const auto given = GENERATE(
        values<Case>({{PERF_METAGROUP_REASON_BAD_FD, Cause::bad_descriptor, "open for reading"},
                      {PERF_METAGROUP_REASON_NOT_PERF, Cause::bad_descriptor, "not a perf event"},
                      {PERF_METAGROUP_REASON_SIBLING, Cause::bad_descriptor, "sibling"},
                      {PERF_METAGROUP_REASON_TASK, Cause::bad_descriptor, "pid -1"},
                      {PERF_METAGROUP_REASON_BUSY, Cause::already_attached, "already a member"},
                      {77, Cause::other, "Invalid argument"}}));
    const Error error = diagnose(Call::attach, EINVAL, "cannot attach", {.reason = given.reason});
    CHECK(error.cause() == given.cause);
    CHECK_THAT(error.what(), ContainsSubstring(given.text));
}

TEST_CASE("A refused attach without a reason has the reason of its errno") {
    const auto attach = [](int error, const Circumstances& circumstances = {}) {
        return diagnose(Call::attach, error, "cannot attach", circumstances);
    };
    CHECK(attach(E2BIG).cause() == Cause::too_many_members);
    CHECK_THAT(attach(E2BIG).reason(), ContainsSubstring("limits"));
    CHECK(attach(E2BIG, {.limit = 7}).reason() == "a meta-group can have at most 7 members");
    CHECK(attach(ENOSPC).cause() == Cause::too_many_members);
    CHECK_THAT(attach(ENOSPC).reason(), ContainsSubstring("used up"));
    CHECK(attach(ENOMEM).cause() == Cause::no_memory);
}

TEST_CASE("The edit distance counts insertions, deletions, replacements and swaps") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("cycles", "cycles") == 0);
    CHECK(edit_distance("cycle", "cycles") == 1);
    CHECK(edit_distance("cyclees", "cycles") == 1);
    CHECK(edit_distance("cyclas", "cycles") == 1);
    CHECK(edit_distance("cycels", "cycles") == 1);
    CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("Similarity ignores case") {
    CHECK(edit_distance("CYCLES", "cycles") == 0);
}

TEST_CASE("The most similar names come first, and dissimilar names are left out") {
    const std::vector<std::string> names = {"instructions", "ref-cycles", "bicycles", "cycles"};
    CHECK(similar_words("cycels", names) == std::vector<std::string>{"cycles"});
    CHECK(similar_words("zzzzzz", names).empty());
}

TEST_CASE("No more than three names are suggested") {
    const std::vector<std::string> names = {"a1", "a2", "a3", "a4", "a5"};
    CHECK(similar_words("a0", names).size() == 3);
}

TEST_CASE("Names that differ only in case are suggested once, the first one") {
    const std::vector<std::string> names = {"cycles", "CYCLES"};
    CHECK(similar_words("cycels", names) == std::vector<std::string>{"cycles"});
}

TEST_CASE("The beginning of a name suggests it") {
    const std::vector<std::string> names = {"context-switches"};
    CHECK(similar_words("context", names) == names);
}

TEST_CASE("A suggestion is a question, or nothing") {
    const std::vector<std::string> names = {"ab", "ac"};
    CHECK(did_you_mean("ad", names, {}) == "did you mean \"ab\" or \"ac\"?");
    CHECK(did_you_mean("something", names, "see there") == "see there");
}

TEST_CASE("A NUL does not end the text of an error") {
    using namespace std::string_literals;
    const Error error(Cause::other, EINVAL, {.failed = "a\0b"s, .reason = "c\0"s, .remedy = "d"});
    CHECK(error.what() == "a?b: c?; d"s);
}
