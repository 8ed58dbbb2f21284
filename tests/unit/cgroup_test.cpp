// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "error_from.hpp"
#include "support/temp_tree.hpp"
#include "system.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Cause;
using metagroup::detail::cgroup_root;
using metagroup::detail::open_cgroup;
using metagroup::test::error_from;
using metagroup::test::TempTree;

namespace {

constexpr const char* kUnified = "none /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";

}  // namespace

TEST_CASE("Cgroups are those of version 2") {
    TempTree tree;
    tree.file("mounts", std::string("proc /proc proc rw 0 0\n") + kUnified);
    CHECK(cgroup_root(tree.path("mounts")) == "/sys/fs/cgroup/unified");
}

TEST_CASE("Where version 1 has the controller perf_event, cgroups are those of it") {
    TempTree tree;
    tree.file("mounts", std::string(kUnified) +
                            "none /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
                            "none /sys/fs/cgroup/perf cgroup rw,perf_event 0 0");
    CHECK(cgroup_root(tree.path("mounts")) == "/sys/fs/cgroup/perf");
}

TEST_CASE("A blank in the path of the cgroups is no end of it") {
    TempTree tree;
    tree.file("mounts", "none /my\\040groups cgroup2 rw 0 0");
    CHECK(cgroup_root(tree.path("mounts")) == "/my groups");
}

TEST_CASE("Without cgroups the error says how to mount them") {
    TempTree tree;
    tree.file("mounts", "proc /proc proc rw 0 0");
    const auto error = error_from([&] { cgroup_root(tree.path("mounts")); });
    CHECK(error.cause() == Cause::no_cgroup);
    CHECK_THAT(error.remedy(), ContainsSubstring("mount -t cgroup2"));
}

TEST_CASE("A cgroup is found by its path, with the root or without") {
    TempTree tree;
    tree.file("system.slice/cron.service/cgroup.procs", "1");
    CHECK(open_cgroup("system.slice/cron.service", tree.path()));
    CHECK(open_cgroup("/system.slice", tree.path()));
    CHECK(open_cgroup(tree.path("system.slice"), tree.path()));
}

TEST_CASE("A cgroup that is not there is named, with where cgroups are") {
    TempTree tree;
    const auto error = error_from([&] { open_cgroup("system.slcie", tree.path()); });
    CHECK(error.cause() == Cause::no_cgroup);
    CHECK_THAT(error.failed(), ContainsSubstring("system.slcie") && ContainsSubstring(tree.path()));
}

TEST_CASE("A path that leads out of the cgroups is no cgroup") {
    TempTree tree;
    tree.file("cgroups/busy/cgroup.procs", "1");
    const std::string root = tree.path("cgroups");
    CHECK(open_cgroup("busy/../busy", root));
    for (const std::string& name : {std::string(".."), std::string("../.."), root + "/../.."}) {
        CAPTURE(name);
        const auto error = error_from([&] { open_cgroup(name, root); });
        CHECK(error.cause() == Cause::no_cgroup);
        CHECK_THAT(error.failed(), ContainsSubstring("cgroup \"" + name + '"'));
    }
}
