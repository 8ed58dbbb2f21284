// SPDX-License-Identifier: MIT
#include "metagroup/mapping.hpp"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "fake_module.hpp"
#include "helpers.hpp"
#include "metagroup/delta.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"

using namespace metagroup::test;
using namespace metagroup;

namespace {
struct Mapped {
    const FakeModule module;
    Device device = device_with_member();
    Mapping mapping{device};
};
}  // namespace

TEST_CASE_METHOD(Mapped, "A mapping shows the results of the last sweep") {
    const auto before = mapping.view().sequence();
    device.sweep();
    REQUIRE(mapping.view().size() == 1);
    CHECK(mapping.view().sequence() == before + 1);
    CHECK(mapping.view()[0].payload());
}

TEST_CASE_METHOD(Mapped, "A copy of a mapping does not change") {
    Snapshot copy;
    mapping.read(copy);
    const auto sequence = copy.sequence();
    device.sweep();
    CHECK(copy.sequence() == sequence);
    CHECK(mapping.view().sequence() == sequence + 1);
}

TEST_CASE("A snapshot that has moved is mapped again") {
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

TEST_CASE_METHOD(Mapped, "A view stays valid during one sweep") {
    const auto view = mapping.view();
    const auto time = view[0].time_ns();
    device.sweep();
    CHECK(view[0].time_ns() == time);
    CHECK(mapping.view().sequence() == view.sequence() + 1);
}

namespace {

// A mapping of frames that differ in size.
struct MappedFrames {
    FakeModule module{};
    Device device = [this] {
        module.headroom = 4096;
        return device_with_member();
    }();
    Mapping mapping{device};

    std::byte* published() const {
        perf_metagroup_map& head = module.map_head();
        return reinterpret_cast<std::byte*>(&head) + head.offset[head.version % 2];
    }
    // Frames of groups of so many events each.
    void publish(std::uint32_t layout, std::initializer_list<std::size_t> events) const {
        std::vector<Frame> frames;
        for (const std::size_t nr : events)
            frames.push_back({.member = static_cast<std::uint32_t>(frames.size()),
                              .payload = payload(timed, std::vector<Event>(nr)),
                              .read_format = timed});
        Bytes bytes = framed(frames, 1000, 2000, 0, false);
        std::memcpy(&bytes[offsetof(perf_metagroup_snapshot, layout)], &layout, sizeof layout);
        std::memcpy(published(), bytes.data(), bytes.size());
    }
    // Nothing is found behind the first frame by walking.
    void break_first() const {
        auto* const header = reinterpret_cast<perf_metagroup_snapshot*>(published());
        reinterpret_cast<perf_metagroup_record*>(published() + header->size)->frame = 0;
    }
};

}  // namespace

TEST_CASE_METHOD(MappedFrames, "A mapping finds frames of different sizes without a search") {
    publish(1, {1, 20, 3, 4});
    static_cast<void>(mapping.view());
    break_first();
    const AllocationCounter allocations;
    const SnapshotView view = mapping.view();
    const std::uint32_t found = view[3].member();
    const Match match = Delta(view, view)[3].match();
    const std::size_t count = allocations.count();
    CHECK(found == 3);
    CHECK(match == Match::ok);
    CHECK(count == 0);
}

TEST_CASE_METHOD(MappedFrames, "A mapping finds frames that have moved") {
    publish(1, {1, 20, 3});
    CHECK(mapping.view()[2].member() == 2);
    publish(2, {20, 1, 3});
    CHECK(mapping.view()[1].member() == 1);
    publish(2, {20, 1, 3, 4});
    CHECK(mapping.view()[3].member() == 3);
}

TEST_CASE("A mapping can be moved") {
    const FakeModule module;
    const Device device = device_with_member();
    Mapping first(device);
    Mapping second = std::move(first);
    CHECK(second.view().size() == 1);
    first = std::move(second);
    CHECK(first.view().size() == 1);
}

TEST_CASE("A module that cannot map is reported as too old") {
    FakeModule module;
    const Device device = Device::open(FakeModule::path());
    module.map_errno = ENODEV;
    const auto old = error_from([&] { Mapping{device}; });
    CHECK(old.cause() == Cause::wrong_module);
    CHECK(old.remedy() == "install a newer one");
    module.map_errno = ENOMEM;
    const auto memory = error_from([&] { Mapping{device}; });
    CHECK(memory.cause() == Cause::no_memory);
    CHECK(memory.operation() == "cannot map the meta-group");
}
