// SPDX-License-Identifier: MIT
#include <array>
#include <metagroup/delta.hpp>
#include <metagroup/device.hpp>
#include <span>
#include <stdexcept>

#include "fake_module.hpp"
#include "helpers.hpp"

using namespace metagroup::test;
using namespace metagroup;

TEST_CASE("The events of a member are replaced, and its payload has the new events") {
    need_software_events();
    FakeModule module;
    module.first_number = 5;
    Device device = Device::open(FakeModule::path());
    device.set_format(Format::framed);
    const auto events = parse_events("{cpu-clock,page-faults}").front().events;
    device.open_set(std::span(events).first(1), {.cpus = CpuList({first_cpu()})});
    Snapshot older;
    Snapshot newer;
    device.read(older);
    device.set_events(5, events);
    CHECK(module.replaced.flags == 0);
    device.read(newer);
    CHECK(newer[0].nr() == 2);
    CHECK(Delta(older, newer)[0].match() == Match::changed);
    const EventGroup one = EventGroup::open(GroupSpec{{events[0]}}, first_cpu());
    device.set_events(5, std::array{one.leader_fd()});
    CHECK(module.replaced.flags == PERF_METAGROUP_SET_TEMPLATES);
    CHECK(module.replaced.stride == 0);
    device.read(newer);
    CHECK(newer[0].nr() == 1);
}

TEST_CASE("Events that cannot replace those of a member are named with the reason") {
    need_software_events();
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    const auto events = parse_events("{cpu-clock,page-faults}").front().events;
    CHECK_THROWS_AS(device.set_events(0, std::span<const EventSpec>()), std::invalid_argument);
    const Error missing = error_from([&] { device.set_events(0, events); });
    CHECK(missing.cause() == Cause::no_such_member);
    CHECK(missing.operation() == "cannot replace the events of member 0");
    device.open_set(events, {.cpus = CpuList({first_cpu()})});
    const auto refused = [&](int error, std::uint32_t reason, std::uint32_t failed = 1) {
        module.set_errno = error;
        module.set_reason = reason;
        module.set_failed = failed;
        return error_from([&] { device.set_events(0, events); });
    };
    const Error busy = refused(EBUSY, PERF_METAGROUP_REASON_NO_COUNTER);
    CHECK(busy.operation() == "cannot open event \"page-faults\" for member 0");
    CHECK(busy.cause() == Cause::pmu_busy);
    CHECK(refused(ENOENT, PERF_METAGROUP_REASON_REFUSED).cause() == Cause::unsupported_event);
    CHECK(refused(EACCES, PERF_METAGROUP_REASON_PERMISSION).cause() == Cause::no_set_permission);
    CHECK(refused(ENODEV, 0, 2).cause() == Cause::cpu_offline);
    CHECK(refused(E2BIG, 0, 2).cause() == Cause::too_many_members);
    CHECK_THAT(refused(EINVAL, 0, 2).reason(), ContainsSubstring("event group"));
}
