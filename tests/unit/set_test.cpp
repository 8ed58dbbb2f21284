// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <metagroup/delta.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>

#include "event_sources.hpp"
#include "fake_module.hpp"
#include "helpers.hpp"
#include "published_set.hpp"
#include "support/allocation_counter.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {

constexpr std::uint32_t kFollowed = PERF_METAGROUP_SET_TEMPLATES | PERF_METAGROUP_SET_FOLLOW;

MetaGroup::Options options(const char* events, EventOrigin origin = EventOrigin::set) {
    MetaGroup::Options options;
    options.groups = parse_events(events);
    options.device = FakeModule::path();
    options.origin = origin;
    return options;
}

Error set_error(FakeModule& module, int error, std::uint32_t reason) {
    module.set_errno = error;
    module.set_reason = reason;
    Device device = Device::open(FakeModule::path());
    const auto events = parse_events("{cpu-clock,page-faults}").front().events;
    return error_from([&] { device.open_set(events); });
}

}  // namespace

TEST_CASE("Sets are opened from templates, which are closed afterwards") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    const auto before = perf_descriptors().size();
    MetaGroup mg = MetaGroup::open(options("{cpu-clock,page-faults},cs"));
    CHECK(mg.origin() == EventOrigin::set);
    CHECK(mg.origin_reason() == "requested");
    CHECK(module.set_flags == std::vector<std::uint32_t>(2, kFollowed));
    CHECK(module.batches.empty());
    const CpuList online = CpuList::online();
    CHECK(mg.cpus() == online);
    REQUIRE(mg.members().size() == 2 * online.size());
    // Those of the fake module itself.
    CHECK(perf_descriptors().size() == before + 3 * online.size());
    Snapshot first;
    Snapshot second;
    mg.read(first);
    mg.read(second);
    const Delta delta(first, second);
    for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(first[i].member() == mg.members()[i].number);
        CHECK(mg.members()[i].cpu == online.cpus()[i % online.size()]);
        CHECK(first[i].nr() == mg.events(i).size());
        CHECK(delta[i].match() == Match::ok);
        CHECK(delta[i].raw(0));
    }
    CHECK(delta[0].raw(0) > 0);
}

TEST_CASE("An offline CPU is an error for a set, unless the set follows CPU hotplug") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    MetaGroup::Options wanted = options("{cpu-clock,cs}");
    wanted.cpus = CpuList({CpuList::online().cpus().front(), 4000});
    wanted.origin = EventOrigin::set;
    module.set_errno = ENODEV;
    CHECK(error_from([&] { MetaGroup::open(wanted); }).cause() == Cause::cpu_offline);
    wanted.follow = true;
    module.set_errno = 0;
    const MetaGroup mg = MetaGroup::open(wanted);
    CHECK(mg.cpus() == *wanted.cpus);
    CHECK(module.set_flags == std::vector{std::uint32_t{PERF_METAGROUP_SET_TEMPLATES}, kFollowed});
}

TEST_CASE("Sets, which occupy counters, are opened only on request") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    MetaGroup::Options wanted = options("{cpu-clock,cs}", EventOrigin::automatic);
    CHECK(MetaGroup::open(wanted).origin() == EventOrigin::groups);
    CHECK_THAT(MetaGroup::open(wanted).origin_reason(), ContainsSubstring("only on request"));
    const LiveGroup live = LiveGroup::open(wanted);
    CHECK(live.group().origin() == EventOrigin::groups);
    wanted.origin = EventOrigin::groups;
    CHECK(MetaGroup::open(wanted).origin_reason() == "requested");
    CHECK(module.set_flags.empty());
    wanted.origin = EventOrigin::automatic;
    wanted.follow = true;
    CHECK(MetaGroup::open(wanted).origin() == EventOrigin::set);
    wanted.backend = Backend::per_fd;
    CHECK(MetaGroup::open(wanted).origin() == EventOrigin::groups);
    wanted.backend = Backend::automatic;
    module.sets = false;
    CHECK_THAT(MetaGroup::open(wanted).origin_reason(), ContainsSubstring("does not support sets"));
}

TEST_CASE("Exclusive and precise events, cgroups and other formats require groups") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    MetaGroup::Options wanted = options("{cpu-clock,cs}");
    wanted.origin = EventOrigin::set;
    const auto refused = [&](const char* why) {
        const Error error = error_from([&] { MetaGroup::open(wanted); });
        CHECK(error.code().value() == EOPNOTSUPP);
        CHECK_THAT(error.reason(), ContainsSubstring(why));
    };
    wanted.groups.front().events.front().attr.exclusive = 1;
    refused("exclusive");
    wanted.groups = parse_events("{cpu-clock,cs}");
    wanted.read_format = ReadFormat::total_time_enabled;
    refused("format");
    wanted.cgroup = "system.slice";
    refused("cgroup");
}

TEST_CASE("Without counters for a set that follows, groups are opened and the reason is kept") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    module.set_errno = EBUSY;
    module.set_reason = PERF_METAGROUP_REASON_NO_COUNTER;
    MetaGroup::Options wanted = options("{cpu-clock,cs}", EventOrigin::automatic);
    wanted.follow = true;
    MetaGroup mg = MetaGroup::open(wanted);
    CHECK(mg.origin() == EventOrigin::groups);
    CHECK_THAT(mg.origin_reason(), ContainsSubstring("no free counter"));
    CHECK(module.attached_fds.size() == CpuList::online().size());
    wanted.origin = EventOrigin::set;
    CHECK(error_from([&] { MetaGroup::open(wanted); }).cause() == Cause::pmu_busy);
    CHECK_THROWS_AS(mg.reopen_error(mg.members().size()), std::out_of_range);
}

TEST_CASE("A set that is opened disabled has counted nothing") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    MetaGroup::Options wanted = options("{cpu-clock,cs}");
    wanted.start_disabled = true;
    MetaGroup mg = MetaGroup::open(wanted);
    Snapshot shot;
    mg.read(shot);
    CHECK(shot[0].raw(0) == 0);
    mg.enable();
    mg.read(shot);
    CHECK(shot[0].raw(0) > 0);
}

TEST_CASE("A live group that is a set is not reopened") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    LiveGroup live = LiveGroup::open(options("cpu-clock"));
    CHECK(live.group().origin() == EventOrigin::set);
    CHECK(module.set_flags == std::vector{kFollowed});
    CHECK_FALSE(live.reopen());
    CHECK(live.reopen_error().empty());
    live.read();
    CHECK(live.delta()[0].raw(0) > 0);
}

TEST_CASE("A delta shows that events were reopened in between, and subtracts their counts") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    module.generation = 1;
    MetaGroup mg = MetaGroup::open(options("{cpu-clock,cs}"));
    Snapshot older;
    Snapshot same;
    Snapshot newer;
    mg.read(older);
    mg.read(same);
    module.generation = 2;
    mg.read(newer);
    CHECK(older[0].generation() == 1);
    CHECK(newer[0].generation() == 2);
    CHECK_FALSE(Delta(older, same)[0].reopened());
    CHECK(Delta(older, newer)[0].reopened());
    CHECK(Delta(older, newer)[0].raw(0) > 0);
}

TEST_CASE("A record of a group has no generation") {
    need_software_events();
    const FakeModule module;
    MetaGroup mg = MetaGroup::open(options("cpu-clock", EventOrigin::groups));
    Snapshot shot;
    mg.read(shot);
    CHECK(shot[0].generation() == 0);
    CHECK_FALSE(Delta(shot, shot)[0].reopened());
}

TEST_CASE("Reading sets and comparing generations does not allocate") {
    need_software_events();
    FakeModule module;
    module.sets = true;
    MetaGroup mg = MetaGroup::open(options("{cpu-clock,cs}"));
    Snapshot older;
    Snapshot newer;
    mg.read(older);
    mg.read(newer);
    const AllocationCounter allocations;
    std::size_t gaps = 0;
    for (int round = 0; round < 100; ++round) {
        older.swap(newer);
        mg.read(newer);
        for (const MemberDelta& member : Delta(older, newer))
            gaps += member.reopened() ? 1 : 0;
    }
    CHECK(allocations.count() == 0);
    CHECK(gaps == 0);
}

TEST_CASE("A refused set names event, CPU, reason and remedy") {
    FakeModule module;
    module.set_failed = 1;
    const Error busy = set_error(module, EBUSY, PERF_METAGROUP_REASON_NO_COUNTER);
    CHECK(busy.operation() == "cannot open event \"page-faults\" in a set on CPU 1");
    CHECK(busy.cause() == Cause::pmu_busy);
    CHECK_THAT(busy.remedy(), ContainsSubstring("multiplexed"));
    const Error unknown = set_error(module, ENOENT, PERF_METAGROUP_REASON_REFUSED);
    CHECK(unknown.cause() == Cause::unsupported_event);
    CHECK_THAT(unknown.reason(), ContainsSubstring("no PMU supports"));
    const Error denied = set_error(module, EACCES, PERF_METAGROUP_REASON_PERMISSION);
    CHECK(denied.cause() == Cause::no_set_permission);
    CHECK_THAT(denied.reason(), ContainsSubstring("CAP_SYS_ADMIN"));
    CHECK_THAT(set_error(module, EPERM, PERF_METAGROUP_REASON_PERMISSION).reason(),
               ContainsSubstring("locked down"));
    CHECK(set_error(module, EINVAL, PERF_METAGROUP_REASON_OTHER_CPU).cause() ==
          Cause::unsupported_event);
    CHECK(set_error(module, E2BIG, 0).cause() == Cause::too_many_members);
    module.set_failed = 2;
    CHECK(set_error(module, ENODEV, 0).operation() == "cannot open a set of 2 events on CPU 1");
    Device device = Device::open(FakeModule::path());
    module.set_failed = 0;
    module.set_errno = EACCES;
    module.set_reason = PERF_METAGROUP_REASON_PERMISSION;
    const Error other = error_from([&] { device.open_set(std::array{9}); });
    CHECK_THAT(other.operation(), ContainsSubstring("descriptor 9"));
    CHECK_THAT(other.reason(), ContainsSubstring("more privileged"));
}

TEST_CASE("Sets are controlled on some CPUs or all") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    CHECK(device.control(Operation::stop, CpuList({1, 64})).skew_ns == 7);
    CHECK(module.operation.op == PERF_METAGROUP_STOP);
    CHECK(module.operation.nr_words == 2);
    device.control(Operation::reset);
    CHECK(module.operation.op == PERF_METAGROUP_RESET);
    CHECK(module.operation.cpus == 0);
}

TEST_CASE("A published set is joined with its CPUs and the names of its events") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options wanted;
    wanted.device = FakeModule::path();
    wanted.set = "fake";
    MetaGroup mg = MetaGroup::open(wanted);
    CHECK(mg.origin() == EventOrigin::name);
    CHECK(mg.cpus() == CpuList({0, 2}));
    REQUIRE(mg.members().size() == 3);
    CHECK(mg.members()[1].cpu == 2);
    REQUIRE(mg.groups().size() == 2);
    CHECK(to_string(mg.groups()[0]) == "{cpu-clock,page-faults}");
    CHECK(to_string(mg.groups()[1]) == "cpu-clock");
    CHECK(mg.members()[1].group == 0);
    CHECK(mg.members()[2].group == 1);
    Snapshot shot;
    mg.read(shot);
    CHECK(shot[1].nr() == 2);
    wanted.backend = Backend::per_fd;
    CHECK(error_from([&] { MetaGroup::open(wanted); }).cause() == Cause::needs_module);
}

TEST_CASE("Events that a set has twice on a CPU are two groups") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options wanted;
    wanted.device = FakeModule::path();
    wanted.set = "twice";
    const MetaGroup mg = MetaGroup::open(wanted);
    REQUIRE(mg.groups().size() == 2);
    REQUIRE(mg.members().size() == 2);
    CHECK(mg.members()[0].group == 0);
    CHECK(mg.members()[1].group == 1);
}

TEST_CASE("Options that a published set determines are refused by name") {
    need_software_events();
    const FakeModule module;
    MetaGroup::Options joined;
    joined.device = FakeModule::path();
    joined.set = "fake";
    const auto refuses = [](const MetaGroup::Options& options, const char* name) {
        CHECK_THROWS_MATCHES(MetaGroup::open(options), std::invalid_argument,
                             MessageMatches(ContainsSubstring(name)));
    };
    MetaGroup::Options wanted = joined;
    wanted.groups = parse_events("cpu-clock");
    refuses(wanted, "\"groups\"");
    wanted = joined;
    wanted.cpus = CpuList({0});
    refuses(wanted, "\"cpus\"");
    wanted = joined;
    wanted.cgroup = "system.slice";
    refuses(wanted, "\"cgroup\"");
    wanted = joined;
    wanted.read_format |= ReadFormat::id;
    refuses(wanted, "\"read_format\"");
    wanted = joined;
    wanted.origin = EventOrigin::groups;
    refuses(wanted, "\"origin\"");
}

TEST_CASE("Invalid names of sets are refused with the reason") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    const Error missing = error_from([&] { device.join("fakes"); });
    CHECK(missing.operation() == "cannot join set \"fakes\"");
    CHECK(missing.cause() == Cause::no_such_set);
    CHECK_THAT(missing.remedy(), ContainsSubstring("metagroup set list"));
    CHECK(error_from([&] { device.unpublish("fakes"); }).cause() == Cause::no_such_set);
    CHECK(error_from([&] { device.join("secret"); }).cause() == Cause::no_set_permission);
    for (const std::string& name : {std::string(64, 'a'), std::string("a\0b", 3)})
        CHECK(error_from([&] { device.join(name); }).cause() == Cause::bad_set_name);
    module.publish_errno = EEXIST;
    CHECK(error_from([&] { device.publish("fake"); }).cause() == Cause::set_exists);
    module.publish_errno = EPERM;
    CHECK(error_from([&] { device.publish("fake"); }).cause() == Cause::no_set_permission);
    module.publish_errno = 0;
    device.publish(std::string(63, 'a'), 0444);
    CHECK(module.published.name == std::string(63, 'a'));
    CHECK(module.published.mode == 0444);
    CHECK(module.published.gid == PERF_METAGROUP_NO_GID);
    device.unpublish("fake");
}

TEST_CASE("Only a meta-group of the module can be published") {
    need_software_events();
    MetaGroup::Options wanted = options("cpu-clock");
    wanted.backend = Backend::per_fd;
    CHECK(error_from([&] { MetaGroup::open(wanted).publish("a"); }).cause() == Cause::needs_module);
}

TEST_CASE("Published sets are described from sysfs") {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("metagroup-sets-" + std::to_string(getpid()));
    std::filesystem::create_directories(root / "web");
    const auto write = [&](const char* file, const char* text) {
        std::ofstream(root / "web" / file) << text << '\n';
    };
    write("id", "12");
    write("state", "offline");
    write("uid", "0");
    write("gid", "998");
    write("mode", "0440");
    write("cpus", "0-3,8");
    write("events", "4");
    write("users", "2");
    write("sweeps", "12345678901");
    detail::SystemPaths paths;
    paths.sets = root;
    const auto sets = detail::published_sets(paths);
    REQUIRE(sets.size() == 1);
    CHECK(sets[0].name == "web");
    CHECK(sets[0].id == 12);
    CHECK(sets[0].state == "offline");
    CHECK(sets[0].gid == 998);
    CHECK(sets[0].mode == 0440);
    CHECK(sets[0].cpus == CpuList({0, 1, 2, 3, 8}));
    CHECK(sets[0].events == 4);
    CHECK(sets[0].users == 2);
    CHECK(sets[0].sweeps == 12345678901);
    CHECK_FALSE(detail::published_set("web2", paths));
    CHECK_FALSE(detail::published_set("../sets", paths));
    std::filesystem::remove_all(root);
    CHECK(detail::published_sets(paths).empty());
}

TEST_CASE("The description of an event is a name that parses to the same event") {
    for (const char* name : {"cpu-clock", "page-faults:u", "cycles:k", "cycles:uk",
                             "L1-dcache-load-misses", "cs:G", "instructions:I"}) {
        CAPTURE(name);
        const EventSpec event = parse_events(name).front().events.front();
        const EventSpec described = describe_event(event.attr);
        const EventSpec again = parse_events(described.name).front().events.front();
        CHECK(std::memcmp(&again.attr, &event.attr, sizeof(event.attr)) == 0);
    }
    CHECK(describe_event(parse_events("cs:u").front().events.front().attr).name ==
          "context-switches:u");
    perf_event_attr unknown{};
    unknown.type = 4000;
    unknown.config = 1;
    CHECK(describe_event(unknown).name == "type=4000/config=0x1/");
}
