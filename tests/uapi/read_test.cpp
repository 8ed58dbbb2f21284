// SPDX-License-Identifier: MIT
// Reads in both formats. The oracle is read(2) of the leaders.
#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "fixtures.hpp"
#include "support/background.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// Counts a tracepoint in the calling thread.
class Tracepoint {
  public:
    explicit Tracepoint(const std::string& name) {
        const auto attr = tracepoint_event(name, 0);
        if (!attr) SKIP("no tracepoint " << name);
        fd_ = Fd(open_event(*attr, 0, -1, -1));
        REQUIRE(fd_);
    }
    std::uint64_t count() const {
        std::uint64_t value = 0;
        REQUIRE(::read(fd_.get(), &value, sizeof(value)) == sizeof(value));
        return value;
    }

  private:
    Fd fd_;
};

}  // namespace

TEST_CASE("Counters that were never enabled read the same bytes as their own reads") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 3, true);
    const Meta meta(groups);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Several groups on one CPU read in attach order, with different formats and sizes") {
    std::vector<EventGroup> groups;
    const auto cpus = online_cpus();
    // CPUs taken in turn, so that attach order is not the order of CPUs.
    for (int i = 0; i < 12; ++i) {
        const int cpu = cpus[static_cast<std::size_t>(i) % cpus.size()];
        groups.push_back(open_group(cpu, static_cast<std::uint64_t>(i) & 15, 1 + i % 5, true));
    }
    const Meta meta(groups);
    count_and_stop(meta);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Members that were attached one by one read like those attached together") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID, 2, true);
    const Meta meta;
    for (const auto& group : groups)
        REQUIRE(meta.attach(group) == 0);
    count_and_stop(meta);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Running events that exclude guests are read between two reads of their own") {
    auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kTimes | PERF_FORMAT_GROUP);
    attr.exclude_guest = 1;
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.push_back(group_of(cpu, {attr, attr}));
    const Meta meta(groups);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
}

TEST_CASE("Events of the msr PMU read the same bytes as their own reads") {
    auto attr = pmu_event("msr", 0, kTimes | PERF_FORMAT_GROUP);  // tsc
    if (!attr) SKIP("this machine has no msr PMU");
    attr->disabled = 1;
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.push_back(group_of(cpu, {*attr}));
    const Meta meta(groups);
    count_and_stop(meta);
    const Bytes ours = meta.read();
    REQUIRE(ours == concatenated(groups));
    REQUIRE(words(ours)[3] > 0);
}

TEST_CASE("An empty meta-group is read as nothing in RAW and as a header in FRAMED") {
    const Meta meta;
    char byte = 'x';
    REQUIRE(meta.read(&byte, 1) == 0);
    REQUIRE(byte == 'x');
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.count == 0);
    REQUIRE(framed.frames.empty());
}

TEST_CASE("A buffer that is one byte too small is refused and loses nothing") {
    const auto groups = open_everywhere(kFormat, 3, true);
    const Meta meta(groups);
    count_and_stop(meta);
    const Bytes payloads = concatenated(groups);
    for (const unsigned format : kFormats) {
        CAPTURE(format);
        REQUIRE(meta.set_format(format) == 0);
        const auto info = meta.info();
        Bytes buffer(format == PERF_METAGROUP_FORMAT_RAW ? info.raw_size : info.framed_size, 0xaa);
        REQUIRE(meta.read(buffer.data(), buffer.size() - 1) == -ENOSPC);
        REQUIRE(meta.read(buffer.data(), 0) == -ENOSPC);
        REQUIRE(meta.read(buffer.data(), buffer.size()) == static_cast<long>(buffer.size()));
        if (format == PERF_METAGROUP_FORMAT_RAW)
            REQUIRE(buffer == payloads);
        else
            REQUIRE(take_apart(buffer).payloads() == payloads);
    }
}

TEST_CASE("A read does not write behind the payloads") {
    const auto groups = open_everywhere(0, 1, true);
    const Meta meta(groups);
    const Bytes expected = concatenated(groups);
    Bytes buffer(expected.size() + 64, 0xaa);
    REQUIRE(meta.read(buffer.data(), buffer.size()) == static_cast<long>(expected.size()));
    for (std::size_t i = expected.size(); i < buffer.size(); ++i)
        REQUIRE(buffer[i] == 0xaa);
}

TEST_CASE("A framed read names every member, its CPU and how to decode its payload") {
    const auto groups = open_everywhere(kFormat, 3);
    const auto cpus = online_cpus();
    const Meta meta(groups);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.count == groups.size());
    for (unsigned i = 0; i < framed.frames.size(); ++i) {
        const perf_metagroup_record& record = framed.frames[i].record;
        REQUIRE(record.member == i);
        REQUIRE(record.cpu == static_cast<unsigned>(cpus[i]));
        REQUIRE(record.status == PERF_METAGROUP_OK);
        REQUIRE(record.read_format == kFormat);
    }
}

TEST_CASE("The payloads of a framed read are the bytes of a raw read") {
    std::vector<EventGroup> groups;
    for (int events = 1; events <= 8; ++events)
        groups.push_back(open_group(online_cpus().back(), kFormat, events, true));
    const Meta meta(groups);
    count_and_stop(meta);
    const Bytes raw = meta.read();
    REQUIRE(read_framed(meta).payloads() == raw);
}

TEST_CASE("Every time of a framed read lies in the sweep and the sweep in the call") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta(groups);
    for (int round = 0; round < 100; ++round) {
        const std::uint64_t before = monotonic_ns();
        const Framed framed = read_framed(meta);
        const std::uint64_t after = monotonic_ns();
        REQUIRE(before <= framed.head.begin);
        REQUIRE(framed.head.end <= after);
        for (const Frame& frame : framed.frames) {
            REQUIRE(framed.head.begin <= frame.record.time);
            REQUIRE(frame.record.time <= framed.head.end);
        }
    }
}

TEST_CASE("The sequence counts the sweeps of the meta-group") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta(groups);
    const auto first = read_framed(meta).head.sequence;
    REQUIRE(read_framed(meta).head.sequence == first + 1);
}

TEST_CASE("The layout number changes when the frames change, and only then") {
    EventGroup group = open_group(0, kFormat, 1, true);
    const EventGroup other = open_group(0, kFormat, 1, true);
    const Meta meta(group);
    const auto layout = [&] {
        const auto first = read_framed(meta).head.layout;
        REQUIRE(read_framed(meta).head.layout == first);
        REQUIRE(read_framed(meta).head.layout == first);
        return first;
    };
    const auto alone = layout();
    REQUIRE(meta.attach(other) == 0);
    const auto both = layout();
    REQUIRE(both != alone);
    while (group.fds.size() < 100)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    const auto grown = layout();
    REQUIRE(grown != both);
    REQUIRE(meta.detach(1) == 0);
    REQUIRE(layout() != grown);
}

TEST_CASE("Frames start on cache lines") {
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta(groups);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.size % 64 == 0);
    REQUIRE(framed.head.stride % 64 == 0);
}

TEST_CASE("A disabled member is off, with its last counts") {
    const auto groups = open_everywhere(kFormat, 2, true);
    const Meta meta(groups);
    const Framed framed = read_framed(meta);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_OFF);
        REQUIRE(framed.frames[i].payload == groups[i].read());
    }
}

TEST_CASE("Memory that cannot be written is refused in both formats and loses nothing") {
    const auto groups = open_everywhere(kFormat, 1, true);
    const Meta meta(groups);
    void* const page = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    for (const unsigned format : kFormats) {
        CAPTURE(format);
        REQUIRE(meta.set_format(format) == 0);
        REQUIRE(meta.read(nullptr, 8192) == -EFAULT);
        REQUIRE(meta.read(page, 8192) == -EFAULT);
        REQUIRE(meta.read(reinterpret_cast<void*>(~0UL << 12), 4096) == -EFAULT);
    }
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.read() == concatenated(groups));

    // A buffer whose second half is not mapped.
    REQUIRE(::mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    REQUIRE(::munmap(static_cast<char*>(page) + 4096, 4096) == 0);
    REQUIRE(meta.read(static_cast<char*>(page) + 4096 - 4, 4096) == -EFAULT);
    ::munmap(page, 4096);
}

TEST_CASE("The format belongs to the handle, and INFO shows it") {
    const Meta meta;
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_RAW);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_FRAMED);
    REQUIRE(Meta().info().format == PERF_METAGROUP_FORMAT_RAW);
    REQUIRE(meta.set_format(2) == -EINVAL);
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_FRAMED);
}

TEST_CASE("A read allocates nothing in the kernel, which a read per CPU does") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 4);
    const Meta meta(groups);
    std::array<char, 64 * 1024> buffer;
    const Tracepoint slab("kmem/kmalloc"), cache("kmem/kmem_cache_alloc"),
        page("kmem/mm_page_alloc");
    const auto allocations = [&] { return slab.count() + cache.count() + page.count(); };

    for (const unsigned format : kFormats) {
        REQUIRE(meta.set_format(format) == 0);
        REQUIRE(meta.read(buffer.data(), buffer.size()) > 0);
        const auto before = allocations();
        const auto counting = allocations() - before;  // what counting itself allocates
        const auto start = allocations();
        for (int round = 0; round < 100; ++round)
            meta.read(buffer.data(), buffer.size());
        REQUIRE(allocations() - start <= counting);
    }

    // The tracepoints count.
    const auto start = allocations();
    for (const auto& group : groups)
        REQUIRE(::read(group.leader(), buffer.data(), buffer.size()) > 0);
    REQUIRE(allocations() - start >= groups.size());
}
