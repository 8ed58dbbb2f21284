// SPDX-License-Identifier: MIT
// The rings of a stream are where their CPUs are.
#include <catch2/catch_test_macros.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "fixtures.hpp"
#include "support/stream.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

int node_of_cpu(int cpu) {
    for (const int node : listed_cpus("/sys/devices/system/node/online"))
        for (const int one :
             listed_cpus("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist"))
            if (one == cpu) return node;
    return -1;
}

// The nodes of mapped memory, or errors as -errno. Reads it first: pages are mapped when they are
// accessed.
std::set<int> nodes_of(std::byte* memory, std::size_t size) {
    std::set<int> nodes;
    for (std::size_t offset = 0; offset < size; offset += kRingPage) {
        void* page = memory + offset;
        static_cast<void>(*static_cast<volatile std::byte*>(page));
        int node = -1;
        REQUIRE(::syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) == 0);
        nodes.insert(node);
    }
    return nodes;
}

}  // namespace

TEST_CASE_METHOD(NeedsStreams, "All pages of a ring are on the node of its CPU") {
    if (listed_cpus("/sys/devices/system/node/online").size() < 2) SKIP("there is only one node");
    const auto groups = open_everywhere(PERF_FORMAT_GROUP, 2);
    const Meta meta(groups);
    // On one CPU: memory is from its node by default.
    run_on(online_cpus().front());
    RunningStream stream(meta, 10ms, 16 * kRingPage);
    run_anywhere();
    std::set<int> used;
    for (const auto& [cpu, ring] : stream.rings()) {
        CAPTURE(cpu);
        auto* const memory = reinterpret_cast<std::byte*>(&ring.page());
        const int node = node_of_cpu(cpu);
        REQUIRE(nodes_of(memory, kRingPage + stream.arg().ring_size) == std::set<int>{node});
        used.insert(node);
    }
    REQUIRE(used.size() > 1);
}
