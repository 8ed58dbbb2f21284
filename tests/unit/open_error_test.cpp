// SPDX-License-Identifier: MIT
#include "open_error.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>

using Catch::Matchers::ContainsSubstring;
using metagroup::detail::explain;
using metagroup::detail::explain_attach;
using metagroup::detail::explain_device;
using metagroup::detail::OpenFailure;

namespace {

OpenFailure failure(int error) {
    OpenFailure circumstances;
    circumstances.error = error;
    circumstances.event = "cycles";
    circumstances.group = "{cycles,instructions}";
    circumstances.cpu = 3;
    return circumstances;
}

std::string text(const OpenFailure& failure) {
    return to_string(explain(failure));
}

std::string device_text(int error, const char* path) {
    return to_string(explain_device(error, path));
}

}  // namespace

TEST_CASE("every failed open names event and CPU") {
    const int error = GENERATE(EACCES, EPERM, EMFILE, ENFILE, ENOENT, ENODEV, EOPNOTSUPP, EINVAL,
                               EBUSY, ENOSPC, E2BIG, ENOSYS, EIO);
    CAPTURE(error);
    CHECK_THAT(text(failure(error)), ContainsSubstring("event \"cycles\" on CPU 3: "));
}

TEST_CASE("a refused permission names the sysctl with its value and the capability") {
    OpenFailure denied = failure(EACCES);
    denied.paranoid = 2;
    CHECK_THAT(text(denied), ContainsSubstring("kernel.perf_event_paranoid is 2") &&
                                 ContainsSubstring("CAP_PERFMON") &&
                                 ContainsSubstring("sysctl kernel.perf_event_paranoid=0"));
    denied.paranoid.reset();
    CHECK_THAT(text(denied), ContainsSubstring("unknown"));
}

TEST_CASE("where CAP_PERFMON is not enough the remedy lowers the sysctl, too") {
    OpenFailure denied = failure(EACCES);
    denied.paranoid = 3;
    CHECK_THAT(text(denied), ContainsSubstring("\"sysctl kernel.perf_event_paranoid=2\""));
    denied.paranoid = 2;
    CHECK_THAT(text(denied), !ContainsSubstring("sysctl kernel.perf_event_paranoid=2"));
}

TEST_CASE("running out of descriptors names both limits") {
    OpenFailure full = failure(EMFILE);
    full.fd_limit = 1024;
    full.fd_max = 4096;
    CHECK_THAT(text(full), ContainsSubstring("1024") && ContainsSubstring("4096") &&
                               ContainsSubstring("ulimit -Hn"));
}

TEST_CASE("an offline CPU is told before anything else") {
    OpenFailure offline = failure(EINVAL);
    offline.online = "0-1";
    CHECK_THAT(text(offline), ContainsSubstring("CPU 3 is not online (online: 0-1)"));
}

TEST_CASE("an invalid event is told apart by what it is") {
    OpenFailure invalid = failure(EINVAL);
    CHECK_THAT(text(invalid), ContainsSubstring("fields"));
    invalid.filtered = true;
    CHECK_THAT(text(invalid), ContainsSubstring("without modifiers"));
    invalid.index = 1;
    CHECK_THAT(text(invalid), ContainsSubstring("{cycles,instructions}") &&
                                  ContainsSubstring("make the group smaller"));
}

TEST_CASE("an event that the machine lacks is told as such") {
    const int error = GENERATE(ENOENT, ENODEV, EOPNOTSUPP);
    CHECK_THAT(text(failure(error)), ContainsSubstring("this machine cannot count it"));
}

TEST_CASE("a device that cannot be opened says what to do") {
    CHECK_THAT(device_text(ENOENT, "/dev/x"),
               ContainsSubstring("no /dev/x") && ContainsSubstring("modprobe perf_metagroup"));
    CHECK_THAT(device_text(EACCES, "/dev/x"), ContainsSubstring("no permission"));
    CHECK_THAT(device_text(ENOTTY, "/dev/x"), ContainsSubstring("not the device"));
    CHECK_THAT(device_text(EMFILE, "/dev/x"), ContainsSubstring("ulimit -n"));
    CHECK_THAT(device_text(EIO, "/dev/x"), ContainsSubstring("cannot open /dev/x"));
}

TEST_CASE("a refused attach names the descriptor and what is wrong with it") {
    struct Case {
        std::uint32_t reason;
        const char* text;
    };
    const auto given = GENERATE(values<Case>({{PERF_METAGROUP_REASON_BAD_FD, "open for reading"},
                                              {PERF_METAGROUP_REASON_NOT_PERF, "not a perf event"},
                                              {PERF_METAGROUP_REASON_SIBLING, "sibling"},
                                              {PERF_METAGROUP_REASON_TASK, "pid -1"},
                                              {PERF_METAGROUP_REASON_BUSY, "member already"},
                                              {77, "no reason"}}));
    const std::array<int, 3> fds = {10, 11, 12};
    perf_metagroup_attach attach{};
    attach.count = 3;
    attach.failed = 1;
    attach.reason = given.reason;
    CHECK_THAT(explain_attach(EINVAL, attach, fds.data()),
               ContainsSubstring("descriptor 11 (number 2 of 3)") && ContainsSubstring(given.text));
}

TEST_CASE("a refused attach without a culprit names the limit") {
    perf_metagroup_attach attach{};
    attach.count = 5;
    attach.failed = 5;
    CHECK_THAT(explain_attach(E2BIG, attach, nullptr), ContainsSubstring("limits"));
    CHECK_THAT(explain_attach(ENOSPC, attach, nullptr), ContainsSubstring("used up"));
    CHECK_THAT(explain_attach(ENOMEM, attach, nullptr), ContainsSubstring("5 leaders"));
    attach.count = attach.failed = 0;
    CHECK_THAT(explain_attach(EINVAL, attach, nullptr), ContainsSubstring("no descriptor"));
}

TEST_CASE("what failed, why and the remedy are told apart") {
    const metagroup::Error error(EINVAL, explain(failure(EBUSY)));
    CHECK(error.parts().failed == "cannot open event \"cycles\" on CPU 3");
    CHECK(error.parts().why == "another event has the PMU for itself");
    CHECK(error.parts().remedy == "end the program that holds it");
    CHECK(error.code().value() == EINVAL);
    CHECK_THAT(error.what(), ContainsSubstring("on CPU 3: another event has the PMU for itself; "
                                               "end the program that holds it: "));
}

TEST_CASE("parts of an error that are empty leave no punctuation") {
    CHECK(to_string(metagroup::Error::Parts{"a", {}, {}}) == "a");
    CHECK(to_string(metagroup::Error::Parts{"a", "b", {}}) == "a: b");
    CHECK(to_string(metagroup::Error::Parts{"a", {}, "c"}) == "a; c");
}
