// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>
#include <time.h>

#include <cerrno>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;

std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

TEST_CASE("A framed read names every member, its CPU and how to decode its payload") {
    const auto groups = open_everywhere(kFormat, 3);
    const auto cpus = online_cpus();
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
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
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    meta.control(PERF_METAGROUP_IOC_ENABLE);
    burn_ms(2);
    meta.control(PERF_METAGROUP_IOC_DISABLE);

    const Bytes raw = meta.read();
    Bytes payloads;
    for (const Frame& frame : read_framed(meta).frames)
        payloads.insert(payloads.end(), frame.payload.begin(), frame.payload.end());
    REQUIRE(payloads == raw);
}

TEST_CASE("Every time of a framed read lies in the sweep and the sweep in the call") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
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
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const auto first = read_framed(meta).head.sequence;
    REQUIRE(read_framed(meta).head.sequence == first + 1);
}

TEST_CASE("Frames start on cache lines") {
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.size % 64 == 0);
    REQUIRE(framed.head.stride % 64 == 0);
}

TEST_CASE("An empty meta-group reads as a header alone") {
    const Meta meta;
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.count == 0);
    REQUIRE(framed.frames.empty());
}

TEST_CASE("A framed read into too small a buffer is refused and loses nothing") {
    const auto groups = open_everywhere(kFormat, 1);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    Bytes buffer(meta.info().framed_size);
    REQUIRE(meta.read(buffer.data(), buffer.size() - 1) == -ENOSPC);
    REQUIRE(meta.read(buffer.data(), buffer.size()) == static_cast<long>(buffer.size()));
}

TEST_CASE("A disabled member is off, with its last counts") {
    const auto groups = open_everywhere(kFormat, 2, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Framed framed = read_framed(meta);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_OFF);
        REQUIRE(framed.frames[i].payload == groups[i].read());
    }
}

TEST_CASE("Memory that cannot be written is refused in both formats and loses nothing") {
    const auto groups = open_everywhere(kFormat, 1, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    void* const page = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    for (const unsigned format :
         std::initializer_list<unsigned>{PERF_METAGROUP_FORMAT_RAW, PERF_METAGROUP_FORMAT_FRAMED}) {
        CAPTURE(format);
        REQUIRE(meta.set_format(format) == 0);
        REQUIRE(meta.read(nullptr, 8192) == -EFAULT);
        REQUIRE(meta.read(page, 8192) == -EFAULT);
        REQUIRE(meta.read(reinterpret_cast<void*>(~0UL << 12), 4096) == -EFAULT);
    }
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.read() == concatenated(groups));

    // A buffer whose second half is not there.
    REQUIRE(::mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    REQUIRE(::munmap(static_cast<char*>(page) + 4096, 4096) == 0);
    REQUIRE(meta.read(static_cast<char*>(page) + 4096 - 4, 4096) == -EFAULT);
    ::munmap(page, 4096);
}

TEST_CASE("The format belongs to the handle and is told by INFO") {
    const Meta meta;
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_RAW);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_FRAMED);
    REQUIRE(Meta().info().format == PERF_METAGROUP_FORMAT_RAW);
    REQUIRE(meta.set_format(2) == -EINVAL);
    REQUIRE(meta.info().format == PERF_METAGROUP_FORMAT_FRAMED);
}
