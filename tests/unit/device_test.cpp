// SPDX-License-Identifier: MIT
#include "metagroup/device.hpp"

#include <type_traits>
#include <vector>

#include "fake_module.hpp"
#include "helpers.hpp"
#include "metagroup/interruption.hpp"
#include "metagroup/mapping.hpp"
#include "missing_module.hpp"
#include "support/temp_tree.hpp"

using namespace metagroup::detail;
using namespace metagroup::test;
using namespace metagroup;

TEST_CASE("A missing device names the module") {
    const auto error = error_from([] { Device::open("/nonexistent/perf_metagroup"); });
    CHECK(error.cause() == Cause::no_module);
    CHECK(error.code().value() == ENOENT);
    CHECK_THAT(error.remedy(), ContainsSubstring("modprobe perf_metagroup"));
}

TEST_CASE("A missing device is explained, with the commands that fix it") {
    TempTree tree;
    const ModulePaths paths{tree.path("sys"), tree.path("lib"), tree.path("dkms"),
                            tree.path("lockdown")};
    const auto expect = [&](const char* reason, const char* remedy) {
        const Diagnosis why = missing_module("6.1.0-2-amd64", paths);
        CHECK(why.cause == Cause::no_module);
        CHECK_THAT(why.reason, ContainsSubstring(reason));
        CHECK_THAT(why.remedy, ContainsSubstring(remedy));
    };
    expect("not available in this container", "on the host (modprobe perf_metagroup)");
    tree.file("lib/6.1.0-2-amd64/modules.dep", "kernel/x.ko:\n");
    expect("not installed", "perf-metagroup-dkms");
    tree.file("dkms/perf-metagroup/x", "");
    expect("not built for this kernel, 6.1.0-2-amd64", "linux-headers-6.1.0-2-amd64");
    tree.file("lib/6.1.0-1-amd64/modules.dep", "updates/dkms/perf_metagroup.ko.xz:\n");
    expect("installed for 6.1.0-1-amd64 only", "dkms autoinstall");
    tree.file("lib/6.1.0-2-amd64/modules.dep", "updates/perf_metagroup.ko:\n");
    CHECK(missing_module("6.1.0-2-amd64", paths).reason ==
          "the module perf_metagroup is not loaded");
    expect("not loaded", "load the module (modprobe perf_metagroup)");
    tree.file("lockdown", "none [integrity] confidentiality\n");
    expect("signed modules only", "mokutil --import");
    tree.file("sys/perf_metagroup/version", "1");
    expect("is loaded, but its device is not available", "--device /dev/perf_metagroup");
}

TEST_CASE("Another file is not accepted as the device") {
    const auto error = error_from([] { Device::open("/dev/null"); });
    CHECK(error.cause() == Cause::wrong_module);
    CHECK(error.code().value() == ENOTTY);
    CHECK_THAT(error.what(), ContainsSubstring("/dev/null is not the device"));
}

TEST_CASE("A module of another ABI is refused") {
    FakeModule module;
    module.abi = 99;
    const auto error = error_from([] { Device::open(FakeModule::path()); });
    CHECK(error.cause() == Cause::wrong_module);
    CHECK(error.code().value() == EPROTO);
    CHECK_THAT(error.what(), ContainsSubstring("ABI 99"));
}

TEST_CASE("A device takes ownership of a descriptor") {
    const FakeModule module;
    const int fd = ::open(FakeModule::path().c_str(), O_RDWR | O_CLOEXEC);
    CHECK(Device(fd).fd() == fd);
    CHECK(::fcntl(fd, F_GETFD) == -1);
}

TEST_CASE("A descriptor of another file is refused and closed") {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK(error_from([fd] { Device{fd}; }).cause() == Cause::wrong_module);
    CHECK(::fcntl(fd, F_GETFD) == -1);
}

TEST_CASE("A device is move-only") {
    STATIC_CHECK_FALSE(std::is_copy_constructible_v<Device>);
    const FakeModule module;
    Device first = Device::open(FakeModule::path());
    const Device second = std::move(first);
    CHECK(first.fd() == -1);  // NOLINT: moved from, what is tested
    CHECK(second.fd() >= 0);
}

TEST_CASE("Attached leaders can be read after their descriptors are closed") {
    FakeModule module;
    module.first_number = 41;
    Device device = device_with_member();
    device.set_format(Format::framed);
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
    CHECK(error_from([&] { device.detach(41); }).cause() == Cause::no_such_member);
}

TEST_CASE("A refused attach keeps the errno and names the descriptor") {
    FakeModule module;
    module.refuse_attach = 0;
    module.attach_errno = EBUSY;
    module.attach_reason = PERF_METAGROUP_REASON_BUSY;
    Device device = Device::open(FakeModule::path());
    const std::array fds = {77};
    const auto error = error_from([&] { device.attach(fds); });
    CHECK(error.cause() == Cause::already_attached);
    CHECK(error.code().value() == EBUSY);
    CHECK(error.operation() == "cannot attach descriptor 77 (number 1 of 1)");
    module.refuse_attach = 1;
    module.attach_errno = E2BIG;
    module.attach_reason = 0;
    const auto all = error_from([&] { device.attach(fds); });
    CHECK(all.cause() == Cause::too_many_members);
    CHECK(all.operation() == "cannot attach 1 leaders");
}

TEST_CASE("A member is described with all of its identifiers") {
    const FakeModule module;
    Device device = device_with_member();
    const auto info = device.member(0);
    CHECK(info.member == 0);
    CHECK(info.cpu == 3);
    CHECK(info.status == Status::inactive);
    CHECK(info.read_format == 0xb);
    CHECK(info.payload == 40);
    CHECK(info.ids == std::vector<std::uint64_t>{100, 101});
    const auto error = error_from([&] { static_cast<void>(device.member(9)); });
    CHECK(error.cause() == Cause::no_such_member);
    CHECK(error.code().value() == ENOENT);
}

TEST_CASE("A buffer that is too small fails with ENOSPC, but a snapshot grows") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    std::array<std::byte, 8> small{};
    const auto error = error_from([&] { device.read(small); });
    CHECK(error.cause() == Cause::buffer_too_small);
    CHECK(error.code().value() == ENOSPC);
    Snapshot shot;
    device.read(shot);
    CHECK(shot.sequence() == 1);
}

TEST_CASE("A group that grows between INFO and read makes the snapshot grow again") {
    FakeModule module;
    Device device = device_with_member();
    module.grow_after_info = 128;
    module.reads = 0;
    Snapshot shot;
    device.read(shot);
    CHECK(shot.size() == 1);
    CHECK(module.reads == 3);
}

TEST_CASE("A read that a signal interrupted is restarted") {
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

TEST_CASE("A call that a signal interrupted is restarted") {
    need_software_events();
    FakeModule module;
    module.interrupt_calls = 1;
    Device device = Device::open(FakeModule::path());
    const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    const auto interrupted = [&](auto action) {
        module.interrupt_calls = 2;
        CHECK_NOTHROW(action());
        CHECK(module.interrupt_calls == 0);
    };
    interrupted([&] { device.attach(std::array{group.leader_fd()}); });
    interrupted([&] { static_cast<void>(device.info()); });
    interrupted([&] { device.set_format(Format::framed); });
    interrupted([&] { device.set_mode({.quiet = true}); });
    interrupted([&] { static_cast<void>(device.member(0)); });
    interrupted([&] { device.enable(); });
    interrupted([&] { device.disable(); });
    interrupted([&] { device.reset(); });
    interrupted([&] { Mapping{device}; });
    interrupted([&] { device.detach(0); });
}

TEST_CASE("A mode is set, and a refused mode has a reason") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    device.set_mode({.quiet = true, .skip_isolated = true});
    CHECK(module.mode == (PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED));
    module.mode_errno = EUSERS;
    const auto crowded = error_from([&] { device.set_mode({.quiet = true}); });
    CHECK(crowded.cause() == Cause::too_many_quiet);
    CHECK_THAT(crowded.reason(), ContainsSubstring("too many meta-groups are quiet"));
    module.mode_errno = ENOMEM;
    const auto memory = error_from([&] { device.set_mode({.quiet = true}); });
    CHECK(memory.cause() == Cause::no_memory);
    CHECK(memory.code().value() == ENOMEM);
    module.mode_errno = ENOTTY;
    const auto old = error_from([&] { device.set_mode({.quiet = true}); });
    CHECK(old.cause() == Cause::wrong_module);
    CHECK_FALSE(old.remedy().empty());
}

TEST_CASE("A read of some CPUs passes their mask") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    Snapshot shot;
    device.read(shot, CpuList({0, 2, 64}));
    CHECK(module.swept_cpus == std::vector<std::uint64_t>{5, 1});
    CHECK(shot.sequence() == 1);
}

TEST_CASE("A read of no CPU passes an empty mask, which is not all CPUs") {
    FakeModule module;
    Device device = Device::open(FakeModule::path());
    Snapshot shot;
    const CpuList some({0, 2});
    device.read(shot, some.intersect(CpuList({1})));
    CHECK(module.swept_cpus == std::vector<std::uint64_t>{0});
}

namespace {
UniqueFd open_null() {
    return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}
bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) != -1;
}
}  // namespace

TEST_CASE("A descriptor is closed when its owner is destroyed") {
    int number = -1;
    {
        const UniqueFd fd = open_null();
        number = fd.get();
        REQUIRE(is_open(number));
    }
    CHECK_FALSE(is_open(number));
}

TEST_CASE("A moved descriptor has one owner") {
    STATIC_CHECK_FALSE(std::is_copy_constructible_v<UniqueFd>);
    UniqueFd first = open_null();
    const int number = first.get();
    UniqueFd second = std::move(first);
    CHECK(first.get() == -1);  // NOLINT: moved from, what is tested
    CHECK(second.get() == number);
    UniqueFd third = open_null();
    const int replaced = third.get();
    third = std::move(second);
    CHECK(third.get() == number);
    CHECK_FALSE(is_open(replaced));
}

TEST_CASE("A caller may let a signal interrupt its call") {
    struct Interrupted {};
    FakeModule module;
    Device device = device_with_member();
    device.set_format(Format::framed);
    Snapshot shot;
    module.interrupt_reads = 1;
    {
        const Interruption ends([] { throw Interrupted{}; });
        CHECK_THROWS_AS(device.read(shot), Interrupted);
    }
    module.interrupt_reads = 1;
    device.read(shot);
    CHECK(shot.size() == 1);
}
