// SPDX-License-Identifier: MIT
// Backend::percpu, on a fake of the kernel that it needs.
#include "fake_percpu.hpp"
#include "helpers.hpp"
#include "metagroup/metagroup.hpp"
#include "support/allocation_counter.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {

MetaGroup::Options options(const char* events) {
    MetaGroup::Options options;
    options.groups = parse_events(events);
    options.backend = Backend::percpu;
    return options;
}

Error refused(const MetaGroup::Options& wanted) {
    try {
        MetaGroup::open(wanted);
    } catch (const Error& error) {
        return error;
    }
    throw std::logic_error("it was not refused");
}

}  // namespace

TEST_CASE("An event on all CPUs has a record of each, as with the other backends") {
    need_software_events();
    FakePercpu kernel;
    MetaGroup::Options wanted = options("{cpu-clock,page-faults},cs");
    MetaGroup group = MetaGroup::open(wanted);
    CHECK(group.backend() == Backend::percpu);
    CHECK(group.backend_reason() == "requested");
    CHECK(to_string(group.backend()) == "percpu");
    wanted.backend = Backend::per_fd;
    MetaGroup other = MetaGroup::open(wanted);
    Snapshot first, second, by_fd;
    kernel.reads = 0;
    group.read(first);
    CHECK(kernel.reads == 2);  // groups
    group.read(second);
    other.read(by_fd);
    REQUIRE(first.size() == by_fd.size());
    CHECK(first.size() == 2 * CpuList::online().size());
    CHECK(group.snapshot_size() == other.snapshot_size());
    CHECK(second.sequence() == first.sequence() + 1);
    for (std::size_t i = 0; i < first.size(); ++i) {
        CAPTURE(i);
        CHECK(first[i].member() == by_fd[i].member());
        CHECK(first[i].cpu() == by_fd[i].cpu());
        CHECK(first[i].status() == Status::ok);
        CHECK(first[i].read_format() == by_fd[i].read_format());
        CHECK(first[i].payload_bytes().size() == by_fd[i].payload_bytes().size());
        CHECK(first[i].time_ns() >= first.begin_ns());
        CHECK(first[i].time_ns() <= first.end_ns());
        CHECK(first[i].raw(0) <= second[i].raw(0));
    }
    CHECK(first[0].raw(0) < second[0].raw(0));
}

TEST_CASE("A kernel without events on all CPUs is recognized") {
    need_software_events();
    SECTION("It refuses them") {
        const Error error = refused(options("cpu-clock"));
        CHECK(error.cause() == Cause::no_percpu);
        CHECK_THAT(error.what(), ContainsSubstring("no PERF_FORMAT_PERCPU") &&
                                     ContainsSubstring("choose another backend"));
    }
    // The same bit may have another meaning one day.
    FakePercpu kernel;
    SECTION("Too few records") {
        kernel.more_nr = 1;
        CHECK(refused(options("cpu-clock")).cause() == Cause::no_percpu);
    }
    SECTION("Records of another size") {
        kernel.more_size = 8;
        CHECK(refused(options("cpu-clock")).cause() == Cause::no_percpu);
    }
    SECTION("An event that counts nothing has counted") {
        kernel.counts = 1;
        CHECK(refused(options("cpu-clock")).cause() == Cause::no_percpu);
    }
    SECTION("Records in another order") {
        if (CpuList::online().size() < 2) SKIP("needs two CPUs");
        kernel.reversed = true;
        CHECK(refused(options("cpu-clock")).cause() == Cause::no_percpu);
    }
    SECTION("Missing permission says nothing about the kernel") {
        kernel.open_errno = EACCES;
        CHECK(refused(options("cpu-clock")).cause() == Cause::no_perf_permission);
    }
}

TEST_CASE("The automatic backend never takes an event on all CPUs") {
    need_software_events();
    const FakePercpu kernel;
    MetaGroup::Options wanted = options("cpu-clock");
    wanted.backend = Backend::automatic;
    wanted.device = "/nonexistent/perf_metagroup";
    CHECK(MetaGroup::open(wanted).backend() == Backend::per_fd);
}

TEST_CASE("The error of a CPU is the status of its record") {
    need_software_events();
    const auto [error, status] =
        GENERATE(std::pair(-EBUSY, Status::error), std::pair(-ENODEV, Status::revoked),
                 std::pair(-ECHILD, Status::stale), std::pair(-EIO, Status::stale));
    FakePercpu kernel;
    MetaGroup group = MetaGroup::open(options("{cpu-clock,cs}"));
    const int cpu = CpuList::online().cpus().back();
    kernel.errors[cpu] = error;
    Snapshot snapshot;
    group.read(snapshot);
    for (const MemberView member : snapshot) {
        CHECK(member.status() == (member.cpu() == cpu ? status : Status::ok));
        CHECK(member.payload().has_value() == (member.cpu() != cpu));
    }
}

TEST_CASE("A snapshot of some CPUs of an event on all has only these") {
    need_software_events();
    FakePercpu kernel;
    MetaGroup::Options wanted = options("cpu-clock");
    const int cpu = CpuList::online().cpus().back();
    wanted.cpus = CpuList({cpu});
    MetaGroup group = MetaGroup::open(wanted);
    Snapshot snapshot;
    group.read(snapshot);
    REQUIRE(snapshot.size() == 1);
    CHECK(snapshot[0].cpu() == cpu);
    kernel.reads = 0;
    group.read(snapshot, CpuList());
    CHECK(snapshot.empty());
    CHECK(kernel.reads == 0);
}

TEST_CASE("An event on all CPUs is enabled, disabled and reset on all") {
    need_software_events();
    const FakePercpu kernel;
    MetaGroup::Options wanted = options("cpu-clock");
    wanted.start_disabled = true;
    MetaGroup group = MetaGroup::open(wanted);
    Snapshot snapshot;
    const auto all = [&](auto check) {
        group.read(snapshot);
        for (const MemberView member : snapshot)
            check(member);
    };
    all([](MemberView member) {
        CHECK(member.status() == Status::off);
        CHECK(member.raw(0) == 0);
    });
    group.enable();
    all([](MemberView member) {
        CHECK(member.status() == Status::ok);
        CHECK(member.raw(0) > 0);
    });
    group.disable();
    group.reset();
    all([](MemberView member) { CHECK(member.raw(0) == 0); });
}

TEST_CASE("What an event on all CPUs cannot count is refused by name") {
    need_software_events();
    FakePercpu kernel;
    MetaGroup::Options wanted = options("cpu-clock");
    SECTION("Events of certain CPUs") {
        wanted.groups.front().events.front().per_package = true;
        CHECK(refused(wanted).cause() == Cause::unsupported_event);
        CHECK_THAT(refused(wanted).what(), ContainsSubstring("\"cpu-clock\""));
    }
    SECTION("A PMU that does not count on all CPUs") {
        kernel.open_errno = EOPNOTSUPP;
        kernel.after_opens = 1;  // after the probe
        CHECK_THAT(refused(wanted).what(), ContainsSubstring("\"cpu-clock\" on all CPUs") &&
                                               ContainsSubstring("every CPU"));
    }
    SECTION("A cgroup") {
        wanted.cgroup = "any";
        CHECK_THAT(refused(wanted).what(), ContainsSubstring("counts all tasks"));
    }
    SECTION("A CPU that is not online") {
        wanted.cpus = CpuList({4095});
        CHECK(refused(wanted).cause() == Cause::no_such_cpu);
    }
    SECTION("A mode of the module") {
        wanted.mode.quiet = true;
        CHECK(refused(wanted).cause() == Cause::needs_module);
    }
}

TEST_CASE("Large records of an event on all CPUs are read, later without allocations") {
    need_software_events();
    FakePercpu kernel;
    MetaGroup group = MetaGroup::open(options("{cpu-clock,cs}"));
    kernel.padding = 8192;
    Snapshot snapshot;
    group.read(snapshot);
    CHECK(snapshot.size() == CpuList::online().size());
    CHECK(snapshot[0].status() == Status::ok);
}
