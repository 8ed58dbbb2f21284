// SPDX-License-Identifier: MIT
// GET_MEMBER, DETACH and the commands on all members.
#include <catch2/catch_test_macros.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;

}  // namespace

TEST_CASE("GET_MEMBER returns CPU, status, events, read format, payload size and ids") {
    const int cpu = online_cpus().back();
    const EventGroup group = open_group(cpu, kFormat, 3);
    const Meta meta(group);
    std::array<__u64, 4> ids{7, 7, 7, 7};
    perf_metagroup_member arg{};
    arg.ids = address(ids.data());
    arg.max_ids = ids.size();
    REQUIRE(meta.member(arg) == 0);
    REQUIRE(arg.cpu == static_cast<unsigned>(cpu));
    REQUIRE(arg.status == PERF_METAGROUP_OK);
    REQUIRE(arg.events == 3);
    REQUIRE(arg.read_format == kFormat);
    REQUIRE(arg.payload == group.read().size());
    REQUIRE(ids[0] == group.id(0));
    REQUIRE(ids[1] == group.id(1));
    REQUIRE(ids[2] == group.id(2));
    REQUIRE(ids[3] == 7);
}

TEST_CASE("GET_MEMBER writes no more ids than there is room for, and none without an address") {
    const EventGroup group = open_group(0, kFormat, 3);
    const Meta meta(group);
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
    const EventGroup group = open_group(0, kFormat, 2);
    const Meta meta(group);
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

TEST_CASE("Numbers of detached members are not used again") {
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
    REQUIRE(meta.attach(open_group(0, kFormat, 40)) == 0);
    const auto large = meta.info().framed_size;
    REQUIRE(meta.detach(0) == 0);
    REQUIRE(meta.attach(open_group(0, kFormat, 1)) == 0);
    REQUIRE(meta.info().framed_size < large);
}

TEST_CASE("DISABLE stops leaders and siblings, ENABLE starts them") {
    const auto groups = open_everywhere(PERF_FORMAT_GROUP, 2);
    const Meta meta(groups);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const Bytes stopped = meta.read();
    burn_ms(3);
    REQUIRE(meta.read() == stopped);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(3);
    REQUIRE(meta.read() != stopped);
}

TEST_CASE("ENABLE reaches siblings that were opened disabled") {
    auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, 0);
    attr.disabled = 1;
    const EventGroup group = group_of(0, {attr, attr});
    const Meta meta(group);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(3);
    std::uint64_t sibling = 0;
    REQUIRE(::read(group.fds[1].get(), &sibling, sizeof(sibling)) == sizeof(sibling));
    REQUIRE(sibling > 0);
}

TEST_CASE("RESET sets the counts of leaders and siblings to zero") {
    const EventGroup group = open_group(0, 0, 2);
    const Meta meta(group);
    burn_ms(2);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(words(meta.read()).at(0) > 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    REQUIRE(words(meta.read()).at(0) == 0);
    std::uint64_t sibling = 1;
    REQUIRE(::read(group.fds[1].get(), &sibling, sizeof(sibling)) == sizeof(sibling));
    REQUIRE(sibling == 0);
}
