// SPDX-License-Identifier: MIT
// The ioctls: the rules of their structures, and INFO, GET_MEMBER, DETACH and the commands on all
// members.
#include <catch2/catch_template_test_macros.hpp>
#include <type_traits>

#include "fixtures.hpp"
#include "layout.h"
#include "support/layers.hpp"

using namespace metagroup::test;

namespace {

// One meta-group with one member, number 0, so that every call can succeed.
struct IoctlWorld {
    EventGroup group = open_group(0, 0, 1);
    EventGroup another = open_group(0, 0, 1);
    int another_fd = another.leader();
    Meta meta;
    IoctlWorld() { REQUIRE(meta.attach(group) == 0); }
};

template <typename Struct, unsigned FirstSize, unsigned long Command>
struct Ioctl {
    using Arg = Struct;
    static constexpr unsigned first_size = FirstSize;
    static constexpr unsigned long command = Command;
};
using Info = Ioctl<perf_metagroup_info, PERF_METAGROUP_INFO_SIZE_VER1, PERF_METAGROUP_IOC_INFO>;
using Attach =
    Ioctl<perf_metagroup_attach, PERF_METAGROUP_ATTACH_SIZE_VER1, PERF_METAGROUP_IOC_ATTACH>;
using Detach =
    Ioctl<perf_metagroup_detach, PERF_METAGROUP_DETACH_SIZE_VER1, PERF_METAGROUP_IOC_DETACH>;
using SetFormat =
    Ioctl<perf_metagroup_format, PERF_METAGROUP_FORMAT_SIZE_VER1, PERF_METAGROUP_IOC_SET_FORMAT>;
using GetMember =
    Ioctl<perf_metagroup_member, PERF_METAGROUP_MEMBER_SIZE_VER1, PERF_METAGROUP_IOC_GET_MEMBER>;
using Sweep = Ioctl<perf_metagroup_sweep, PERF_METAGROUP_SWEEP_SIZE_VER1, PERF_METAGROUP_IOC_SWEEP>;
using SetMode =
    Ioctl<perf_metagroup_mode, PERF_METAGROUP_MODE_SIZE_VER1, PERF_METAGROUP_IOC_SET_MODE>;
using Stop =
    Ioctl<perf_metagroup_stream, PERF_METAGROUP_STREAM_SIZE_VER1, PERF_METAGROUP_IOC_STREAM>;

// A structure as a newer program would pass it: with a field more.
template <typename Arg>
struct Newer {
    Arg arg;
    std::uint64_t extension;
};

template <typename Call>
typename Call::Arg good(IoctlWorld& world) {
    if constexpr (std::is_same_v<Call, Stop>) const NeedsStreams layer;
    typename Call::Arg arg{};
    arg.size = sizeof(arg);
    if constexpr (std::is_same_v<Call, Attach>) {
        arg.fds = reinterpret_cast<std::uintptr_t>(&world.another_fd);
        arg.count = 1;
    }
    return arg;
}

}  // namespace

#define CALLS Info, Attach, Detach, SetFormat, GetMember, Sweep, SetMode, Stop

TEMPLATE_TEST_CASE("A structure of today's size is accepted", "", CALLS) {
    IoctlWorld world;
    auto arg = good<TestType>(world);
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == 0);
}

TEMPLATE_TEST_CASE("A newer structure is accepted if its unknown part is zero", "", CALLS) {
    IoctlWorld world;
    Newer<typename TestType::Arg> newer{good<TestType>(world), 0};
    newer.arg.size = sizeof(newer);
    REQUIRE(world.meta.ioctl(TestType::command, &newer) == 0);
    REQUIRE(newer.extension == 0);
}

TEMPLATE_TEST_CASE("A newer structure is refused if its unknown part is not zero", "", CALLS) {
    IoctlWorld world;
    Newer<typename TestType::Arg> newer{good<TestType>(world), 1};
    newer.arg.size = sizeof(newer);
    REQUIRE(world.meta.ioctl(TestType::command, &newer) == -E2BIG);
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("A structure smaller than the first version is refused", "", CALLS) {
    IoctlWorld world;
    for (const unsigned less : {1U, 8U, TestType::first_size}) {
        auto arg = good<TestType>(world);
        arg.size = TestType::first_size - less;
        REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    }
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("An absurdly large structure is refused", "", CALLS) {
    IoctlWorld world;
    auto arg = good<TestType>(world);
    arg.size = ~0U;
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == -E2BIG);
}

TEMPLATE_TEST_CASE("Every unknown flag is refused", "", CALLS) {
    IoctlWorld world;
    for (int bit = 0; bit < 32; ++bit) {
        auto arg = good<TestType>(world);
        arg.flags = 1U << bit;
        REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    }
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("A structure at an invalid address is refused", "", CALLS) {
    IoctlWorld world;
    good<TestType>(world);  // skips what the module is built without
    // SWEEP accepts a null pointer.
    if (TestType::command != PERF_METAGROUP_IOC_SWEEP)
        REQUIRE(world.meta.ioctl(TestType::command, nullptr) == -EFAULT);
    REQUIRE(world.meta.ioctl(TestType::command, reinterpret_cast<void*>(~0UL << 12)) == -EFAULT);
}

TEMPLATE_TEST_CASE("A nonzero reserved field is refused", "", Detach, SetFormat, Sweep, SetMode) {
    IoctlWorld world;
    auto arg = good<TestType>(world);
    arg.reserved = 1;
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    REQUIRE(world.meta.info().members == 1);
}

TEST_CASE("Unknown commands are refused") {
    const Meta meta;
    for (const unsigned long command : {_IO(0xBD, 18), _IO(0xBD, 255), _IO(0x24, 0)})
        REQUIRE(meta.ioctl(command, nullptr) == -ENOTTY);
}

TEST_CASE("Commands of layers that are left out are refused") {
    const Meta meta;
    for (const unsigned long command :
         {PERF_METAGROUP_IOC_STREAM, PERF_METAGROUP_IOC_OPEN_SET, PERF_METAGROUP_IOC_CONTROL,
          PERF_METAGROUP_IOC_SET_EVENTS, PERF_METAGROUP_IOC_GET_EVENTS, PERF_METAGROUP_IOC_PUBLISH,
          PERF_METAGROUP_IOC_JOIN, PERF_METAGROUP_IOC_UNPUBLISH}) {
        REQUIRE(::ioctl(meta.fd(), command, nullptr) == -1);
        REQUIRE(errno == (is_left_out(layer_of(command)) ? ENOTTY : EFAULT));
    }
    perf_metagroup_mode quiet{};
    quiet.size = sizeof(quiet);
    quiet.mode = PERF_METAGROUP_MODE_QUIET;
    const int set = ::ioctl(meta.fd(), PERF_METAGROUP_IOC_SET_MODE, &quiet);
    REQUIRE(set == (is_left_out("quiet") ? -1 : 0));
    REQUIRE((set == 0 || errno == EINVAL));
}

TEST_CASE("The commands on all members take no argument") {
    const Meta meta;
    int something = 0;
    for (const unsigned long command :
         {PERF_METAGROUP_IOC_ENABLE, PERF_METAGROUP_IOC_DISABLE, PERF_METAGROUP_IOC_RESET}) {
        REQUIRE(meta.ioctl(command, &something) == -EINVAL);
        REQUIRE(meta.control(command) == 0);
    }
}

TEST_CASE("INFO shows the version, the features and the limits") {
    const perf_metagroup_info info = Meta().info();
    REQUIRE(info.abi == PERF_METAGROUP_ABI);
    REQUIRE(info.features == expected_features());
    REQUIRE(info.max_members >= 1024);
    REQUIRE(info.max_per_cpu >= 64);
    REQUIRE(info.max_snapshot >= 1024 * 1024);
    REQUIRE(info.members == 0);
    REQUIRE(info.cpus == 0);
    REQUIRE(info.raw_size == 0);
    REQUIRE(info.framed_size == sizeof(perf_metagroup_snapshot));
    REQUIRE(info.flags == 0);
}

TEST_CASE("INFO shows the sizes that reads need") {
    const auto [groups, meta] = attached(open_everywhere(kTimed, 3));
    const auto info = meta.info();
    REQUIRE(meta.read().size() == info.raw_size);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.read().size() == info.framed_size);
}

TEST_CASE("GET_MEMBER returns CPU, status, events, read format, payload size and ids") {
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_group(cpu, kFull, 3));
    std::array<__u64, 4> ids{7, 7, 7, 7};
    perf_metagroup_member arg{};
    arg.ids = address(ids.data());
    arg.max_ids = ids.size();
    REQUIRE(meta.member(arg) == 0);
    REQUIRE(arg.cpu == static_cast<unsigned>(cpu));
    REQUIRE(arg.status == PERF_METAGROUP_OK);
    REQUIRE(arg.events == 3);
    REQUIRE(arg.read_format == kFull);
    REQUIRE(arg.payload == group.read().size());
    REQUIRE(ids[0] == group.id(0));
    REQUIRE(ids[1] == group.id(1));
    REQUIRE(ids[2] == group.id(2));
    REQUIRE(ids[3] == 7);
}

TEST_CASE("GET_MEMBER writes no more ids than fit, and none without an address") {
    const auto [group, meta] = attached(open_group(0, kFull, 3));
    std::array<__u64, 2> ids{7, 7};
    perf_metagroup_member arg{};
    arg.max_ids = 8;
    REQUIRE(meta.member(arg) == 0);
    REQUIRE(arg.events == 3);
    arg.ids = address(ids.data());
    arg.max_ids = 1;
    REQUIRE(meta.member(arg) == 0);
    REQUIRE(arg.events == 3);
    REQUIRE(ids[0] == group.id(0));
    REQUIRE(ids[1] == 7);

    arg.max_ids = ~0U;
    for (const __u64 invalid : {__u64{8}, ~0ULL << 12}) {
        arg.ids = invalid;
        REQUIRE(meta.member(arg) == -EFAULT);
    }
}

TEST_CASE("GET_MEMBER shows that a member is disabled or enabled") {
    const auto [group, meta] = attached(open_group(0, kFull, 2));
    group.control(PERF_EVENT_IOC_DISABLE);
    REQUIRE(meta.member(0).status == PERF_METAGROUP_OFF);
    group.control(PERF_EVENT_IOC_ENABLE);
    REQUIRE(meta.member(0).status == PERF_METAGROUP_OK);
}

TEST_CASE("GET_MEMBER and DETACH of unknown members fail") {
    const Meta meta;
    perf_metagroup_member arg{};
    REQUIRE(meta.member(arg) == -ENOENT);
    REQUIRE(meta.detach(0) == -ENOENT);
    REQUIRE(meta.attach(open_group(0, 0, 1)) == 0);
    arg.member = 1;
    REQUIRE(meta.member(arg) == -ENOENT);
    REQUIRE(meta.detach(1) == -ENOENT);
    REQUIRE(meta.detach(~0U) == -ENOENT);
    REQUIRE(meta.info().members == 1);
}

TEST_CASE("The other members keep their numbers and order after DETACH") {
    const auto cpus = online_cpus();
    std::vector<EventGroup> groups;
    for (std::size_t i = 0; i < 5; ++i)
        groups.push_back(open_group(cpus[i % cpus.size()], PERF_FORMAT_GROUP, 1 + int(i), true));
    const Meta meta(groups);
    REQUIRE(meta.detach(3) == 0);
    REQUIRE(meta.detach(0) == 0);
    groups.erase(groups.begin() + 3);
    groups.erase(groups.begin());
    REQUIRE(meta.read() == concatenated(groups));
    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames[0].record.member == 1);
    REQUIRE(framed.frames[1].record.member == 2);
    REQUIRE(framed.frames[2].record.member == 4);
}

TEST_CASE("Numbers of detached members are not reused") {
    const EventGroup group = open_group(0, 0, 1);
    const Meta meta;
    perf_metagroup_attach out{};
    for (unsigned round = 0; round < 10; ++round) {
        REQUIRE(meta.attach(group, &out) == 0);
        REQUIRE(out.first == round);
        REQUIRE(meta.detach(round) == 0);
    }
    REQUIRE(meta.info().cpus == 0);
}

TEST_CASE("The snapshot is smaller after a large member is detached") {
    const Meta meta;
    REQUIRE(meta.attach(open_group(0, kFull, 40)) == 0);
    const auto large = meta.info().framed_size;
    REQUIRE(meta.detach(0) == 0);
    REQUIRE(meta.attach(open_group(0, kFull, 1)) == 0);
    REQUIRE(meta.info().framed_size < large);
}

TEST_CASE("ENABLE reaches siblings that were opened disabled") {
    auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
    attr.disabled = 1;
    const auto [group, meta] = attached(group_of(0, {attr, attr}));
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(3);
    std::uint64_t sibling = 0;
    REQUIRE(::read(group.fds[1].get(), &sibling, sizeof(sibling)) == sizeof(sibling));
    REQUIRE(sibling > 0);
}
