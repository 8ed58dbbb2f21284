// SPDX-License-Identifier: MIT
#include "metagroup/mapping.hpp"

#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "fake_module.hpp"
#include "helpers.hpp"

using metagroup::Cause;
using metagroup::Device;
using metagroup::Mapping;
using metagroup::Snapshot;
using namespace metagroup::test;

TEST_CASE("a mapping shows what the last sweep found") {
    const FakeModule module;
    Device device = device_with_member();
    Mapping mapping(device);
    const auto before = mapping.view().sequence();
    device.sweep();
    REQUIRE(mapping.view().size() == 1);
    CHECK(mapping.view().sequence() == before + 1);
    CHECK(mapping.view()[0].payload());
}

TEST_CASE("a copy of a mapping stays what it was") {
    const FakeModule module;
    Device device = device_with_member();
    Mapping mapping(device);
    Snapshot copy;
    mapping.read(copy);
    const auto sequence = copy.sequence();
    device.sweep();
    CHECK(copy.sequence() == sequence);
    CHECK(mapping.view().sequence() == sequence + 1);
}

TEST_CASE("a snapshot that has moved is mapped anew") {
    FakeModule module;
    Device device = device_with_member();
    Mapping viewed(device);
    module.headroom = 4096;
    device.sweep();
    CHECK(viewed.view().size() == 1);

    module.headroom = 8192;
    device.sweep();
    Snapshot copy;
    viewed.read(copy);
    CHECK(copy.size() == 1);
}

TEST_CASE("a view stays what it was through one sweep") {
    const FakeModule module;
    Device device = device_with_member();
    Mapping mapping(device);
    const auto view = mapping.view();
    const auto time = view[0].time_ns();
    device.sweep();
    CHECK(view[0].time_ns() == time);
    CHECK(mapping.view().sequence() == view.sequence() + 1);
}

TEST_CASE("a mapping can be moved") {
    const FakeModule module;
    const Device device = device_with_member();
    Mapping first(device);
    Mapping second = std::move(first);
    CHECK(second.view().size() == 1);
    first = std::move(second);
    CHECK(first.view().size() == 1);
}

TEST_CASE("a module that cannot map says that it is too old") {
    FakeModule module;
    const Device device = Device::open(FakeModule::path());
    module.map_errno = ENODEV;
    const auto old = error_from([&] { Mapping{device}; });
    CHECK(old.cause() == Cause::wrong_module);
    CHECK(old.remedy() == "install a newer one");
    module.map_errno = ENOMEM;
    const auto memory = error_from([&] { Mapping{device}; });
    CHECK(memory.cause() == Cause::no_memory);
    CHECK(memory.failed() == "cannot map the meta-group");
}
