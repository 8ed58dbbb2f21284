// SPDX-License-Identifier: MIT
#include "metagroup/topology.hpp"

#include <catch2/catch_test_macros.hpp>

#include "metagroup/cpu_list.hpp"
#include "support/temp_tree.hpp"

using metagroup::CpuPlace;
using metagroup::read_topology;
using metagroup::test::TempTree;

TEST_CASE("each CPU has its core, die, socket and node") {
    TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "0")
        .file("cpu/cpu0/topology/die_id", "1")
        .file("cpu/cpu0/topology/core_id", "2")
        .file("cpu/cpu10/topology/physical_package_id", "3")
        .file("cpu/cpu10/topology/die_id", "4")
        .file("cpu/cpu10/topology/core_id", "5")
        .file("node/node6/cpulist", "10")
        .file("node/node7/cpulist", "0-3")
        .file("node/node8/cpulist", "");
    const auto places = read_topology(tree.path());
    REQUIRE(places.size() == 11);
    CHECK(places[0] == CpuPlace{.socket = 0, .die = 1, .core = 2, .node = 7});
    CHECK(places[10] == CpuPlace{.socket = 3, .die = 4, .core = 5, .node = 6});
}

TEST_CASE("files of a CPU that are missing leave its place unknown") {
    TempTree tree;
    tree.file("cpu/cpu0/topology/physical_package_id", "-1")
        .file("cpu/cpu0/topology/core_id", "1")
        .file("cpu/cpu1/online", "0")
        .file("cpu/cpufreq/policy0", "")
        .file("node/online", "0");
    const auto places = read_topology(tree.path());
    REQUIRE(places.size() == 2);
    CHECK(places[0] == CpuPlace{.socket = -1, .die = -1, .core = 1, .node = -1});
    CHECK(places[1] == CpuPlace{});
    CHECK(read_topology(tree.path() + "/none").empty());
}

TEST_CASE("every CPU of this machine that is online has a core") {
    const auto places = read_topology();
    for (const int cpu : metagroup::CpuList::online())
        CHECK(places.at(static_cast<std::size_t>(cpu)).core >= 0);
}
