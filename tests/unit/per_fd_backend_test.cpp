// SPDX-License-Identifier: MIT
// Backend::per_fd recognizes by the payload that CPU hotplug has dissolved a group.
#include <catch2/catch_test_macros.hpp>
#include <metagroup/metagroup.hpp>
#include <thread>

#include "software_events.hpp"
#include "stopped_groups.hpp"

using metagroup::Backend;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::Status;
using namespace metagroup::test;

namespace {

MetaGroup::Options on_one_cpu(const char* events) {
    MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.cpus = metagroup::CpuList({first_cpu()});
    options.backend = Backend::per_fd;
    return options;
}

Status status(MetaGroup& mg) {
    Snapshot shot;
    mg.read(shot);
    return shot[0].status();
}

}  // namespace

TEST_CASE("a group that stands still was dissolved, also if its CPU is online") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(on_one_cpu("cpu-clock"));
    stop_clocks();
    CHECK(status(mg) == Status::ok);
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::offline);
    mg.enable();
    CHECK(status(mg) == Status::offline);
}

TEST_CASE("a group of a cgroup that does not run stands still, but has its siblings") {
    need_software_events();
    MetaGroup::Options options = on_one_cpu("{cpu-clock,page-faults}");
    options.cgroup.assign(1, '/');  // gcc 12 warns of "/"
    MetaGroup mg = [&] {
        try {
            return MetaGroup::open(options);
        } catch (const metagroup::Error& error) {
            SKIP(error.what());
            throw;
        }
    }();
    stop_clocks();
    CHECK(status(mg) == Status::ok);
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::ok);
    remove_event(perf_descriptors().back());
    CHECK(status(mg) == Status::offline);
}

TEST_CASE("a group that has lost a sibling counts for as long as its clock advances") {
    need_software_events();
    MetaGroup mg = MetaGroup::open(on_one_cpu("{cpu-clock,page-faults}"));
    CHECK(status(mg) == Status::ok);
    remove_event(perf_descriptors().back());
    std::this_thread::sleep_for(kLongStop);
    CHECK(status(mg) == Status::ok);
}
