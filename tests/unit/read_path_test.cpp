// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>

#include "fake_module.hpp"
#include "software_events.hpp"
#include "support/allocation_counter.hpp"

using metagroup::Backend;
using metagroup::Delta;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using namespace metagroup::test;

TEST_CASE("reading and decoding do not allocate once the snapshot is large enough") {
    need_software_events();
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup::Options options;
    options.groups = metagroup::parse_events("{cpu-clock,page-faults},cs");
    options.backend = backend;
    options.device = FakeModule::path();
    MetaGroup mg = MetaGroup::open(options);
    Snapshot older;
    Snapshot newer;
    const metagroup::CpuList cpus = metagroup::CpuList::online();
    mg.read(older);
    mg.read(newer, cpus);
    double sum = 0;
    std::size_t counted = 0;
    const AllocationCounter allocations;
    for (int round = 0; round < 100; ++round) {
        older.swap(newer);
        mg.read(newer, cpus);
        const Delta delta(older, newer);
        for (std::size_t i = 0; i < delta.size(); ++i) {
            const auto member = delta[i];
            for (std::size_t event = 0; event < member.newer().nr(); ++event) {
                sum += member.scaled(event).value_or(0);
                ++counted;
            }
        }
        sum += static_cast<double>(newer.skew_ns());
    }
    CHECK(allocations.count() == 0);
    CHECK(counted == std::size_t{300} * cpus.size());
    CHECK(sum > 0);
}

TEST_CASE("the allocation counter counts") {
    const AllocationCounter allocations;
    const Snapshot shot = [] {
        Snapshot grown;
        grown.prepare(1000);
        return grown;
    }();
    CHECK(allocations.count() > 0);
    CHECK(shot.capacity() >= 1000);
}
