// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>

#include "event_sources.hpp"
#include "support/fake_system.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using metagroup::Cause;
using metagroup::Error;
using metagroup::detail::SpecError;
using metagroup::detail::SystemPaths;
using metagroup::detail::tracepoint_id;
using metagroup::detail::tracepoint_names;

namespace {

struct FakeTracefs : metagroup::test::FakeSystem {
    FakeTracefs()
        : FakeSystem({{"tracing/events/sched/sched_waking/id", "315"},
                      {"tracing/events/sched/filter", "none"},
                      {"tracing/events/irq/irq_handler_entry/id", "77"},
                      {"tracing/events/odd/odd/id", "12x"}}) {}
};

}  // namespace

TEST_CASE("a tracepoint's number is looked up wherever tracefs is") {
    const FakeTracefs fake;
    CHECK(tracepoint_id("sched", "sched_switch", fake.paths) == 314);
    CHECK(tracepoint_id("irq", "irq_handler_entry", fake.paths) == 77);
}

TEST_CASE("an unknown tracepoint suggests similar ones") {
    const FakeTracefs fake;
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_swich", fake.paths), SpecError,
                         MessageMatches(ContainsSubstring("did you mean \"sched:sched_switch\"")));
    CHECK_THROWS_AS(tracepoint_id("..", "x", fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", "", fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", std::string(300, 't'), fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("odd", "odd", fake.paths), SpecError);
}

TEST_CASE("a tracepoint that only root may read has a cause of its own") {
    const FakeTracefs fake;
    const std::string id = fake.tree.path("tracing/events/irq/irq_handler_entry/id");
    REQUIRE(chmod(id.c_str(), 0) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        try {
            tracepoint_id("irq", "irq_handler_entry", fake.paths);
        } catch (const Error& error) {
            const bool right = error.cause() == Cause::no_trace_permission &&
                               error.code().value() == EACCES && !error.remedy().empty();
            _exit(right ? 0 : 1);
        }
        _exit(3);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("without tracefs the remedy mounts it") {
    SystemPaths paths;
    paths.tracefs = {"/nonexistent"};
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_switch", paths), SpecError,
                         MessageMatches(ContainsSubstring("mount -t tracefs")));
    CHECK(tracepoint_names(paths).empty());
}

TEST_CASE("the list of tracepoints leaves control files out") {
    const FakeTracefs fake;
    CHECK(tracepoint_names(fake.paths) == std::vector<std::string>{"irq:irq_handler_entry",
                                                                   "odd:odd", "sched:sched_switch",
                                                                   "sched:sched_waking"});
}
