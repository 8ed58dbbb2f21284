// SPDX-License-Identifier: MIT
// The rules of the structures: sizes, flags, reserved fields, addresses.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <type_traits>

#include "layout.h"
#include "support/meta.hpp"

using namespace metagroup::test;

namespace {

// One meta-group with one member, number 0, so that every call can succeed.
struct World {
    EventGroup group = open_group(0, 0, 1);
    EventGroup another = open_group(0, 0, 1);
    int another_fd = another.leader();
    Meta meta;
    World() { REQUIRE(meta.attach(group) == 0); }
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
typename Call::Arg good(World& world) {
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
    World world;
    auto arg = good<TestType>(world);
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == 0);
}

TEMPLATE_TEST_CASE("A newer structure is accepted if its unknown part is zero", "", CALLS) {
    World world;
    Newer<typename TestType::Arg> newer{good<TestType>(world), 0};
    newer.arg.size = sizeof(newer);
    REQUIRE(world.meta.ioctl(TestType::command, &newer) == 0);
    REQUIRE(newer.extension == 0);
}

TEMPLATE_TEST_CASE("A newer structure is refused if its unknown part is not zero", "", CALLS) {
    World world;
    Newer<typename TestType::Arg> newer{good<TestType>(world), 1};
    newer.arg.size = sizeof(newer);
    REQUIRE(world.meta.ioctl(TestType::command, &newer) == -E2BIG);
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("A structure smaller than the first version is refused", "", CALLS) {
    World world;
    for (const unsigned less : {1U, 8U, TestType::first_size}) {
        auto arg = good<TestType>(world);
        arg.size = TestType::first_size - less;
        REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    }
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("An absurdly large structure is refused", "", CALLS) {
    World world;
    auto arg = good<TestType>(world);
    arg.size = ~0U;
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == -E2BIG);
}

TEMPLATE_TEST_CASE("Every unknown flag is refused", "", CALLS) {
    World world;
    for (int bit = 0; bit < 32; ++bit) {
        auto arg = good<TestType>(world);
        arg.flags = 1U << bit;
        REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    }
    REQUIRE(world.meta.info().members == 1);
}

TEMPLATE_TEST_CASE("A structure that is not in memory is refused", "", CALLS) {
    World world;
    // SWEEP accepts a null pointer.
    if (TestType::command != PERF_METAGROUP_IOC_SWEEP)
        REQUIRE(world.meta.ioctl(TestType::command, nullptr) == -EFAULT);
    REQUIRE(world.meta.ioctl(TestType::command, reinterpret_cast<void*>(~0UL << 12)) == -EFAULT);
}

TEMPLATE_TEST_CASE("A reserved field that is set is refused", "", Detach, SetFormat, Sweep,
                   SetMode) {
    World world;
    auto arg = good<TestType>(world);
    arg.reserved = 1;
    REQUIRE(world.meta.ioctl(TestType::command, &arg) == -EINVAL);
    REQUIRE(world.meta.info().members == 1);
}

TEST_CASE("Unknown commands are refused") {
    const Meta meta;
    for (const unsigned long command : {_IO(0xBD, 11), _IO(0xBD, 255), _IO(0x24, 0)})
        REQUIRE(meta.ioctl(command, nullptr) == -ENOTTY);
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
    REQUIRE(info.features ==
            (PERF_METAGROUP_FEATURE_FRAMED | PERF_METAGROUP_FEATURE_SWEEP |
             PERF_METAGROUP_FEATURE_MAP | PERF_METAGROUP_FEATURE_QUIET |
             PERF_METAGROUP_FEATURE_SKIP_ISOLATED | PERF_METAGROUP_FEATURE_STREAM));
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
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 3);
    const Meta meta(groups);
    const auto info = meta.info();
    REQUIRE(meta.read().size() == info.raw_size);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.read().size() == info.framed_size);
}
