// SPDX-License-Identifier: MIT
#include "metagroup/mapping.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "fake_module.hpp"
#include "software_events.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using metagroup::Device;
using metagroup::EventGroup;
using metagroup::Mapping;
using metagroup::parse_events;
using metagroup::Snapshot;
using namespace metagroup::test;

namespace {

// A device with one member.
Device with_member() {
    need_software_events();
    Device device = Device::open(FakeModule::path());
    const EventGroup group = EventGroup::open(parse_events("cpu-clock").front(), first_cpu());
    const std::array fds = {group.leader_fd()};
    device.attach(fds);
    return device;
}

}  // namespace

TEST_CASE("a mapping shows what the last sweep found") {
    const FakeModule module;
    Device device = with_member();
    Mapping mapping(device);
    const auto before = mapping.view().sequence();
    device.sweep();
    REQUIRE(mapping.view().size() == 1);
    CHECK(mapping.view().sequence() == before + 1);
    CHECK(mapping.view()[0].payload());
}

TEST_CASE("a copy of a mapping stays what it was") {
    const FakeModule module;
    Device device = with_member();
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
    Device device = with_member();
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

TEST_CASE("a copy waits until a sweep has ended") {
    const FakeModule module;
    Device device = with_member();
    Mapping mapping(device);
    auto& version = module.mapped_header().version;
    __atomic_store_n(&version, 1, __ATOMIC_RELEASE);
    std::thread sweeper([&version] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        __atomic_store_n(&version, 2, __ATOMIC_RELEASE);
    });
    Snapshot copy;
    mapping.read(copy);
    CHECK(__atomic_load_n(&version, __ATOMIC_RELAXED) == 2);
    CHECK(copy.size() == 1);
    sweeper.join();
}

TEST_CASE("a mapping can be moved") {
    const FakeModule module;
    const Device device = with_member();
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
    CHECK_THROWS_MATCHES(Mapping(device), std::system_error,
                         MessageMatches(ContainsSubstring("install a newer one")));
    module.map_errno = ENOMEM;
    CHECK_THROWS_MATCHES(Mapping(device), std::system_error,
                         MessageMatches(ContainsSubstring("cannot map the meta-group")));
}
