// SPDX-License-Identifier: MIT
// The mapped snapshot, without other threads.
#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

constexpr std::size_t kPage = 4096;

// Members until the snapshot needs more than `bytes`.
void outgrow(const Meta& meta, std::vector<EventGroup>& groups, std::size_t bytes) {
    const auto cpus = online_cpus();
    for (std::size_t i = 0; meta.info().framed_size <= bytes; ++i) {
        groups.push_back(open_group(cpus[i % cpus.size()], kFull, 1, true));
        REQUIRE(meta.attach(groups.back()) == 0);
    }
}

}  // namespace

TEST_CASE("A mapping shows after a sweep what a framed read returns") {
    std::vector<EventGroup> groups;
    for (int events = 1; events <= 8; ++events)
        groups.push_back(open_group(online_cpus().back(), kFull, events, true));
    const Meta meta(groups);
    meta.control(PERF_METAGROUP_IOC_ENABLE);
    burn_ms(2);
    meta.control(PERF_METAGROUP_IOC_DISABLE);

    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    const Framed mapped = mapping.framed();
    const Framed read = read_framed(meta);
    REQUIRE(mapped.head.size == read.head.size);
    REQUIRE(mapped.head.stride == read.head.stride);
    REQUIRE(mapped.head.sequence + 1 == read.head.sequence);
    REQUIRE(mapped.head.count == read.head.count);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        perf_metagroup_record expected = read.frames[i].record;
        expected.time = mapped.frames[i].record.time;
        REQUIRE(std::memcmp(&mapped.frames[i].record, &expected, sizeof(expected)) == 0);
        REQUIRE(mapped.frames[i].payload == read.frames[i].payload);
        REQUIRE(mapped.frames[i].payload == groups[i].read());
    }
}

TEST_CASE("A read updates a mapping as SWEEP does") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 1));
    const Mapping mapping(meta);
    const Framed read = read_framed(meta);
    const Framed mapped = mapping.framed();
    REQUIRE(mapped.head.sequence == read.head.sequence);
    for (std::size_t i = 0; i < groups.size(); ++i)
        REQUIRE(mapped.frames[i].payload == read.frames[i].payload);
}

TEST_CASE("A snapshot can be mapped before anything is attached") {
    const Meta meta;
    const Mapping mapping(meta);
    REQUIRE(mapping.framed().head.count == 0);
    REQUIRE(mapping.framed().head.size == sizeof(perf_metagroup_snapshot));
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().head.sequence == 1);

    const EventGroup group = open_group(0, kFull, 1, true);
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.sweep() == 0);
    REQUIRE_FALSE(mapping.moved());
    REQUIRE(mapping.framed().frames.at(0).payload == group.read());
}

TEST_CASE("After ATTACH and DETACH a mapping shows no frames until the next sweep") {
    const Meta meta;
    const Mapping mapping(meta);
    const EventGroup group = open_group(0, kFull, 1);
    const EventGroup other = open_group(0, kFull, 1);
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.size() == 1);
    REQUIRE(meta.attach(other) == 0);
    REQUIRE(mapping.framed().frames.empty());
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.size() == 2);
    REQUIRE(meta.detach(0) == 0);
    REQUIRE(mapping.framed().frames.empty());
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.size() == 1);
}

TEST_CASE("Every sweep is published in the other copy") {
    const Meta meta;
    const Mapping mapping(meta);
    for (int round = 0; round < 3; ++round) {
        const unsigned before = mapping.version();
        meta.sweep();
        REQUIRE(mapping.version() == before + 1);
    }
}

TEST_CASE("A sweep does not change the copy of the previous sweep") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 2));
    const Mapping mapping(meta);
    const auto bytes_of = [&](unsigned version) {
        perf_metagroup_map map;
        std::memcpy(&map, mapping.bytes(), sizeof(map));
        const unsigned char* const at = mapping.bytes() + map.offset[version % 2];
        return Bytes(at, at + meta.info().framed_size);
    };
    for (int round = 0; round < 4; ++round) {
        REQUIRE(meta.sweep() == 0);
        const unsigned version = mapping.version();
        const Bytes before = bytes_of(version);
        REQUIRE(meta.sweep() == 0);
        REQUIRE(bytes_of(version) == before);
    }
}

TEST_CASE("A sweep of some CPUs keeps the latest records of others") {
    const auto groups = open_everywhere(kFull, 2);
    const auto cpus = online_cpus();
    const Meta meta(groups);
    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    for (int round = 0; round < 4; ++round) {
        const Framed all = mapping.framed();
        REQUIRE(meta.sweep_on({cpus[static_cast<std::size_t>(round) % 2]}) == 0);
        const Framed some = mapping.framed();
        REQUIRE(some.head.count == groups.size());
        for (std::size_t i = 0; i < groups.size(); ++i) {
            CAPTURE(round, i);
            REQUIRE(some.frames[i].payload.size() == all.frames[i].payload.size());
            if (i == static_cast<std::size_t>(round) % 2) {
                REQUIRE(some.frames[i].record.time >= some.head.begin);
                REQUIRE(some.frames[i].payload != all.frames[i].payload);
            } else {
                REQUIRE(some.frames[i].record.time == all.frames[i].record.time);
                REQUIRE(some.frames[i].record.time < some.head.begin);
                REQUIRE(some.frames[i].payload == all.frames[i].payload);
            }
        }
    }
}

TEST_CASE("Pages of a mapping that were dropped are mapped again") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 2, true));
    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.size() == groups.size());
    void* const at = const_cast<unsigned char*>(mapping.bytes());
    REQUIRE(::madvise(at, mapping.size(), MADV_DONTNEED) == 0);
    REQUIRE(mapping.framed().frames.back().payload == groups.back().read());
}

TEST_CASE("A mapping cannot be written, now or later") {
    const Meta meta;
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ | PROT_WRITE, MAP_SHARED) == -EPERM);
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE) == -EPERM);
    for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
        CAPTURE(flags);
        const Mapping mapping(meta, kPage, flags);
        void* const at = const_cast<unsigned char*>(mapping.bytes());
        REQUIRE(error_of(::mprotect(at, kPage, PROT_READ | PROT_WRITE)) == EACCES);

        // Nor as a debugger writes, which copies private pages.
        const Fd memory(::open("/proc/self/mem", O_RDWR));
        REQUIRE(memory);
        REQUIRE(::pwrite(memory.get(), "x", 1,
                         static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at))) == -1);
    }
}

TEST_CASE("A mapping starts at the beginning of a snapshot, and cannot exceed its size") {
    const Meta meta;
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ, MAP_SHARED) == 0);
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ, MAP_SHARED, kPage) == -EINVAL);
    REQUIRE(try_to_map(meta.fd(), 2 * meta.info().max_snapshot, PROT_READ, MAP_SHARED) == -EINVAL);

    std::vector<EventGroup> groups;
    outgrow(meta, groups, 3 * kPage);
    REQUIRE(try_to_map(meta.fd(), meta.info().map_size, PROT_READ, MAP_SHARED) == 0);
    REQUIRE(try_to_map(meta.fd(), meta.info().map_size + kPage, PROT_READ, MAP_SHARED) == -EINVAL);
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ, MAP_SHARED) == 0);
    REQUIRE(try_to_map(meta.fd(), kPage, PROT_READ, MAP_SHARED, kPage) == -EINVAL);
}

TEST_CASE("A mapping cannot be enlarged") {
    const Meta meta;
    std::vector<EventGroup> groups;
    outgrow(meta, groups, 3 * kPage);
    Mapping mapping(meta, kPage);
    void* const at = const_cast<unsigned char*>(mapping.bytes());
    REQUIRE(::mremap(at, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED);
    REQUIRE(errno == EFAULT);
}

TEST_CASE("A private mapping shows every sweep") {
    const auto [group, meta] = attached(open_group(0, kFull, 1, true));
    const Mapping mapping(meta, 0, MAP_PRIVATE);
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.at(0).payload == group.read());
    REQUIRE(meta.sweep() == 0);
    REQUIRE(mapping.framed().head.sequence == 2);
}

TEST_CASE("A handle must be open for reading to be mapped") {
    const Fd writing(::open(PERF_METAGROUP_DEVICE, O_WRONLY));
    REQUIRE(try_to_map(writing.get(), kPage, PROT_READ, MAP_SHARED) == -EACCES);
    const Fd reading(::open(PERF_METAGROUP_DEVICE, O_RDONLY));
    REQUIRE(try_to_map(reading.get(), kPage, PROT_READ, MAP_SHARED) == 0);
}

TEST_CASE("A mapping that the snapshot has outgrown is marked MOVED and does not change") {
    const Meta meta;
    std::vector<EventGroup> groups;
    groups.push_back(open_group(0, kFull, 4, true));
    REQUIRE(meta.attach(groups[0]) == 0);
    const Mapping old(meta, kPage);
    REQUIRE(meta.sweep() == 0);
    const auto sequence = old.framed().head.sequence;
    REQUIRE_FALSE(old.moved());

    outgrow(meta, groups, 8 * kPage);
    REQUIRE(old.moved());
    const Bytes frozen(old.bytes(), old.bytes() + old.size());

    const Mapping fresh(meta);
    REQUIRE(meta.sweep() == 0);
    REQUIRE_FALSE(fresh.moved());
    REQUIRE(fresh.framed().head.count == groups.size());
    REQUIRE(fresh.framed().head.sequence == sequence + 1);
    for (std::size_t i = 0; i < groups.size(); ++i)
        REQUIRE(fresh.framed().frames[i].payload == groups[i].read());
    REQUIRE(std::equal(frozen.begin(), frozen.end(), old.bytes()));
}

TEST_CASE("A group that grows in a sweep moves the snapshot, and nothing is lost") {
    auto [group, meta] = attached(open_group(online_cpus().back(), kFull, 1, true));
    const Mapping old(meta, kPage);
    while (group.fds.size() < 600)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFull), online_cpus().back());
    REQUIRE(meta.sweep() == 0);
    REQUIRE(old.moved());
    const Mapping fresh(meta);
    REQUIRE_FALSE(fresh.moved());
    REQUIRE(fresh.framed().frames.at(0).payload == group.read());
}

TEST_CASE("A mapping shows members that are attached after all were detached") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 2, true));
    const Mapping mapping(meta);
    for (unsigned member = 0; member < groups.size(); ++member)
        REQUIRE(meta.detach(member) == 0);
    REQUIRE(mapping.framed().head.count == 0);
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.sweep() == 0);
    const Framed mapped = mapping.framed();
    REQUIRE(mapped.head.count == groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(mapped.frames[i].record.member == groups.size() + i);
        REQUIRE(mapped.frames[i].payload == groups[i].read());
    }
}

TEST_CASE("A mapping outlives the descriptor, and members are released when both are gone") {
    const auto groups = open_everywhere(kFull, 2, true);
    Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    meta.close();
    REQUIRE(mapping.framed().frames.back().payload == groups.back().read());
    mapping.unmap();
    REQUIRE(Meta().attach(groups) == 0);
}

TEST_CASE("A part of a mapping can be unmapped") {
    const Meta meta;
    std::vector<EventGroup> groups;
    outgrow(meta, groups, 3 * kPage);
    const Mapping mapping(meta);
    void* const second = const_cast<unsigned char*>(mapping.bytes()) + kPage;
    REQUIRE(::munmap(second, kPage) == 0);
    REQUIRE(meta.sweep() == 0);
    REQUIRE_FALSE(mapping.moved());
    const Mapping whole(meta);
    REQUIRE(std::equal(mapping.bytes() + 2 * kPage, mapping.bytes() + 3 * kPage,
                       whole.bytes() + 2 * kPage));
}

TEST_CASE("A forked child sees the sweeps of its parent") {
    const auto [group, meta] = attached(open_group(0, kFull, 1));
    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        while (mapping.framed().head.sequence < 50)
            ::usleep(100);
        ::_exit(0);
    }
    for (int sweep = 1; sweep < 50; ++sweep)
        REQUIRE(meta.sweep() == 0);
    REQUIRE(exit_status(child) == 0);
}

TEST_CASE("A mapping of another process shows its sweeps") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 1, true));
    const int status = in_child([&] {
        const Mapping mapping(meta);
        if (meta.sweep()) return 1;
        const Framed mapped = mapping.framed();
        for (std::size_t i = 0; i < groups.size(); ++i)
            if (mapped.frames.at(i).payload != groups[i].read()) return 2;
        return 0;
    });
    REQUIRE(status == 0);
}
