// SPDX-License-Identifier: MIT
#include "tracepoint.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "error.hpp"
#include "support/temp_tree.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using metagroup::detail::SpecError;
using metagroup::detail::SystemPaths;
using metagroup::detail::tracepoint_id;
using metagroup::detail::tracepoint_names;

namespace {

struct FakeTracefs {
    FakeTracefs() {
        tree.file("tracing/events/sched/sched_switch/id", "314")
            .file("tracing/events/sched/sched_waking/id", "315")
            .file("tracing/events/sched/enable", "0")
            .file("tracing/events/sched/filter", "none")
            .file("tracing/events/irq/irq_handler_entry/id", "77")
            .file("tracing/events/odd/odd/id", "12x");
        paths.tracefs = {tree.path("absent"), tree.path("tracing")};
    }
    metagroup::test::TempTree tree;
    SystemPaths paths;
};

}  // namespace

TEST_CASE("a tracepoint's number is looked up wherever tracefs is") {
    const FakeTracefs fake;
    CHECK(tracepoint_id("sched", "sched_switch", 0, fake.paths) == 314);
    CHECK(tracepoint_id("irq", "irq_handler_entry", 0, fake.paths) == 77);
}

TEST_CASE("an unknown tracepoint suggests near ones") {
    const FakeTracefs fake;
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_swich", 0, fake.paths), SpecError,
                         MessageMatches(ContainsSubstring("did you mean \"sched:sched_switch\"")));
    CHECK_THROWS_AS(tracepoint_id("..", "x", 0, fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", "", 0, fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("sched", std::string(300, 't'), 0, fake.paths), SpecError);
    CHECK_THROWS_AS(tracepoint_id("odd", "odd", 0, fake.paths), SpecError);
}

TEST_CASE("without tracefs the error says how to mount it") {
    SystemPaths paths;
    paths.tracefs = {"/nonexistent"};
    CHECK_THROWS_MATCHES(tracepoint_id("sched", "sched_switch", 0, paths), SpecError,
                         MessageMatches(ContainsSubstring("mount -t tracefs")));
    CHECK(tracepoint_names(paths).empty());
}

TEST_CASE("the list of tracepoints leaves control files out") {
    const FakeTracefs fake;
    CHECK(tracepoint_names(fake.paths) == std::vector<std::string>{"irq:irq_handler_entry",
                                                                   "odd:odd", "sched:sched_switch",
                                                                   "sched:sched_waking"});
}
