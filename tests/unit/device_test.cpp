// SPDX-License-Identifier: MIT
#include "metagroup/device.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <system_error>
#include <type_traits>

#include "fake_module.hpp"
#include "software_events.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Device;
using metagroup::EventGroup;
using metagroup::Format;
using metagroup::parse_events;
using metagroup::Snapshot;
using metagroup::Status;
using namespace metagroup::test;

namespace {

template <typename Action>
std::system_error error_of(Action action) {
    try {
        action();
    } catch (const std::system_error& error) {
        return error;
    }
    FAIL("no error");
    throw;
}

}  // namespace

TEST_CASE("a missing device names the module") {
    const auto error = error_of([] { Device::open("/nonexistent/perf_metagroup"); });
    CHECK(error.code().value() == ENOENT);
    CHECK_THAT(error.what(), ContainsSubstring("modprobe perf_metagroup"));
}

TEST_CASE("another file is not the device") {
    const auto error = error_of([] { Device::open("/dev/null"); });
    CHECK(error.code().value() == ENOTTY);
    CHECK_THAT(error.what(), ContainsSubstring("/dev/null is not the device"));
}

TEST_CASE("a module of another ABI is refused") {
    FakeModule module;
    module.abi = 99;
    const auto error = error_of([] { Device::open(FakeModule::path()); });
    CHECK(error.code().value() == EPROTO);
    CHECK_THAT(error.what(), ContainsSubstring("ABI 99"));
}

TEST_CASE("a device is move-only") {
    STATIC_CHECK_FALSE(std::is_copy_constructible_v<Device>);
    const FakeModule module;
    Device first = Device::open(FakeModule::path());
    const Device second = std::move(first);
    CHECK(first.fd() == -1);  // NOLINT: moved from, what is tested
    CHECK(second.fd() >= 0);
}

TEST_CASE("leaders that are attached can be read when their descriptors are closed") {
    need_software_events();
    FakeModule module;
    module.first_number = 41;
    Device device = Device::open(FakeModule::path());
    device.set_format(Format::framed);
    {
        const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
        const std::array fds = {group.leader_fd()};
        CHECK(device.attach(fds) == 41);
    }
    device.enable();
    Snapshot shot;
    device.read(shot);
    REQUIRE(shot.size() == 1);
    CHECK(shot[0].member() == 41);
    CHECK(shot[0].raw(0) > 0);
    CHECK(device.info().members == 1);
    CHECK(module.format == PERF_METAGROUP_FORMAT_FRAMED);
    device.disable();
    device.reset();
    CHECK(module.disabled == 1);
    CHECK(module.resets == 1);
    device.detach(41);
    CHECK(device.info().members == 0);
    CHECK(error_of([&] { device.detach(41); }).code().value() == ENOENT);
}

TEST_CASE("a refused attach keeps the errno and names the descriptor") {
    FakeModule module;
    module.refuse_attach = 0;
    module.attach_errno = EBUSY;
    module.attach_reason = PERF_METAGROUP_REASON_BUSY;
    Device device = Device::open(FakeModule::path());
    const std::array fds = {77};
    const auto error = error_of([&] { device.attach(fds); });
    CHECK(error.code().value() == EBUSY);
    CHECK_THAT(error.what(), ContainsSubstring("descriptor 77"));
}

TEST_CASE("a member is described with all of its identifiers") {
    need_software_events();
    const FakeModule module;
    Device device = Device::open(FakeModule::path());
    const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    device.attach(std::array{group.leader_fd()});
    const auto info = device.member(0);
    CHECK(info.member == 0);
    CHECK(info.cpu == 3);
    CHECK(info.status == Status::inactive);
    CHECK(info.read_format == 0xb);
    CHECK(info.payload == 40);
    CHECK(info.ids == std::vector<std::uint64_t>{100, 101});
    CHECK(error_of([&] { static_cast<void>(device.member(9)); }).code().value() == ENOENT);
}

TEST_CASE("a buffer that is too small is ENOSPC, a snapshot grows") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    std::array<std::byte, 8> small{};
    CHECK(error_of([&] { device.read(small); }).code().value() == ENOSPC);
    Snapshot shot;
    device.read(shot);
    CHECK(shot.sequence() == 1);
}

TEST_CASE("a group that grows between INFO and read makes the snapshot grow again") {
    need_software_events();
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    device.attach(std::array{group.leader_fd()});
    module.grow_after_info = 128;
    module.reads = 0;
    Snapshot shot;
    device.read(shot);
    CHECK(shot.size() == 1);
    CHECK(module.reads == 3);
}

TEST_CASE("a read that a signal interrupted begins again") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    module.interrupt_reads = 2;
    Snapshot shot;
    device.read(shot);
    CHECK(shot.sequence() == 1);
    module.interrupt_reads = 2;
    std::array<std::byte, 64> buffer{};
    CHECK(device.read(buffer) == 64);
}

TEST_CASE("a mode is told to the module, a refused one says why") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    device.set_mode({.quiet = true, .spare_isolated = true});
    CHECK(module.mode == (PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SPARE_ISOLATED));
    module.mode_errno = EUSERS;
    const auto crowded = error_of([&] { device.set_mode({.quiet = true}); });
    CHECK_THAT(crowded.what(), ContainsSubstring("too many quiet meta-groups"));
    module.mode_errno = ENOMEM;
    CHECK(error_of([&] { device.set_mode({.quiet = true}); }).code().value() == ENOMEM);
}

TEST_CASE("a read of some CPUs tells the module which") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    Snapshot shot;
    const std::array<std::uint64_t, 2> mask{5, 1};
    device.read(shot, mask);
    CHECK(module.swept_cpus == std::vector<std::uint64_t>{5, 1});
    CHECK(shot.sequence() == 1);
}
