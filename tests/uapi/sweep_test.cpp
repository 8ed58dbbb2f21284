// SPDX-License-Identifier: MIT
// The ioctl SWEEP: which CPUs, and whereto.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <thread>

#include "support/cpus.hpp"
#include "support/mapping.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"
#include "support/testpmu.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;

template <typename T>
__u64 address(T* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

// Two stopped groups on every CPU, not side by side.
struct Two {
    std::vector<EventGroup> groups = open_everywhere(kFormat, 2, true);
    Meta meta;
    Two() {
        for (EventGroup& group : open_everywhere(kFormat, 3, true))
            groups.push_back(std::move(group));
        REQUIRE(meta.attach(groups) == 0);
    }
    // Those on one CPU.
    std::vector<std::size_t> on(std::size_t cpu) const { return {cpu, cpu + groups.size() / 2}; }
};

}  // namespace

TEST_CASE("A sweep of some CPUs copies their frames alone") {
    const Two two;
    REQUIRE(two.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed all = take_apart(two.meta.read());
    const Framed some = take_apart(two.meta.sweep_copy({online_cpus().back()}));
    const auto chosen = two.on(online_cpus().size() - 1);
    REQUIRE(some.head.count == chosen.size());
    REQUIRE(some.head.stride == all.head.stride);
    REQUIRE(some.head.sequence == all.head.sequence + 1);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        REQUIRE(some.frames[i].record.member == chosen[i]);
        REQUIRE(some.frames[i].record.time >= some.head.begin);
        REQUIRE(some.frames[i].payload == two.groups[chosen[i]].read());
    }
}

TEST_CASE("A raw sweep of some CPUs is the reads of their leaders") {
    const Two two;
    for (std::size_t cpu = 0; cpu < online_cpus().size(); ++cpu) {
        Bytes expected;
        for (const std::size_t index : two.on(cpu)) {
            const Bytes one = two.groups[index].read();
            expected.insert(expected.end(), one.begin(), one.end());
        }
        REQUIRE(two.meta.sweep_copy({online_cpus()[cpu]}) == expected);
    }
}

TEST_CASE("A sweep of all CPUs named one by one is a read") {
    const Two two;
    REQUIRE(two.meta.sweep_copy(online_cpus()) == two.meta.read());
}

TEST_CASE("Members on the other CPUs keep their records") {
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    const Framed before = mapping.framed();
    REQUIRE(meta.sweep_on({online_cpus().back()}) == 0);
    const Framed after = mapping.framed();
    REQUIRE(after.head.count == before.head.count);
    for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
        REQUIRE(after.frames[i].record.time == before.frames[i].record.time);
        REQUIRE(after.frames[i].record.time < after.head.begin);
        REQUIRE(after.frames[i].payload == before.frames[i].payload);
    }
    REQUIRE(after.frames.back().record.time >= after.head.begin);
    REQUIRE(after.frames.back().payload != before.frames.back().payload);
}

TEST_CASE("A sweep interrupts the CPUs that it was asked for and no others") {
    const auto cpus = online_cpus();
    if (cpus.size() < 3) SKIP("needs three CPUs");
    const auto groups = open_everywhere(kFormat, 2);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const int chosen = cpus.back();
    constexpr unsigned kSweeps = 1000;
    run_on(cpus[0]);
    std::vector<std::uint64_t> calls(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i)
        calls[i] = function_calls(cpus[i]);
    for (unsigned i = 0; i < kSweeps; ++i)
        meta.sweep_on({chosen});
    for (std::size_t i = 0; i < cpus.size(); ++i)
        calls[i] = function_calls(cpus[i]) - calls[i];
    run_anywhere();
    CAPTURE(calls);
    // Calls that queue up together come as one interrupt; a few are others'.
    REQUIRE(calls.back() >= kSweeps / 2);
    REQUIRE(calls.back() <= kSweeps * 11 / 10);
    for (std::size_t i = 1; i + 1 < cpus.size(); ++i)
        REQUIRE(calls[i] < kSweeps / 10);
}

TEST_CASE("Bits beyond the CPUs of the machine mean nothing") {
    const Two two;
    std::vector<__u64> words(1024, ~0ULL);
    words[0] = 1;
    Bytes buffer(64 * 1024);
    perf_metagroup_sweep arg{};
    arg.cpus = address(words.data());
    arg.nr_words = static_cast<unsigned>(words.size());
    arg.buffer = address(buffer.data());
    arg.buffer_size = buffer.size();
    const long got = two.meta.sweep(arg);
    REQUIRE(got == static_cast<long>(two.meta.sweep_copy({0}).size()));
}

TEST_CASE("A sweep of no CPU gives a header, or nothing") {
    const Two two;
    REQUIRE(two.meta.sweep_copy({}).empty());
    REQUIRE(two.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed none = take_apart(two.meta.sweep_copy({}));
    REQUIRE(none.head.count == 0);
    REQUIRE(none.head.sequence == 2);
}

TEST_CASE("A CPU that has no members can be asked for") {
    const EventGroup group = open_group(0, kFormat, 1, true);
    const Meta meta;
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.sweep_copy({1}).empty());
    REQUIRE(meta.sweep_copy({0, 1}) == group.read());
}

TEST_CASE("SWEEP with nothing said is a sweep of all CPUs without a copy") {
    const Two two;
    const Mapping mapping(two.meta);
    REQUIRE(two.meta.sweep() == 0);
    REQUIRE(two.meta.sweep(perf_metagroup_sweep{}) == 0);
    const Framed mapped = mapping.framed();
    REQUIRE(mapped.head.sequence == 2);
    for (const Frame& frame : mapped.frames)
        REQUIRE(frame.record.time >= mapped.head.begin);
}

TEST_CASE("SWEEP refuses what makes no sense, and sweeps nothing") {
    const Two two;
    const Mapping mapping(two.meta);
    std::vector<__u64> words(1025, 1);
    Bytes buffer(64 * 1024);
    perf_metagroup_sweep many{}, no_words{}, no_address{}, no_size{}, no_buffer{}, flag{}, more{};
    many.cpus = address(words.data());
    many.nr_words = 1025;
    no_words.cpus = address(words.data());
    no_address.nr_words = 1;
    no_size.buffer = address(buffer.data());
    no_buffer.buffer_size = buffer.size();
    flag.flags = 1;
    more.reserved = 1;
    REQUIRE(two.meta.sweep(many) == -EINVAL);
    REQUIRE(two.meta.sweep(no_words) == -EINVAL);
    REQUIRE(two.meta.sweep(no_address) == -EINVAL);
    REQUIRE(two.meta.sweep(no_size) == -EINVAL);
    REQUIRE(two.meta.sweep(no_buffer) == -EINVAL);
    REQUIRE(two.meta.sweep(flag) == -EINVAL);
    REQUIRE(two.meta.sweep(more) == -EINVAL);
    REQUIRE(mapping.framed().head.sequence == 0);
}

TEST_CASE("A mask or a buffer that is not memory fails the sweep and loses nothing") {
    const Two two;
    __u64 word = 1;
    Bytes buffer(64 * 1024);
    for (const unsigned format :
         std::initializer_list<unsigned>{PERF_METAGROUP_FORMAT_RAW, PERF_METAGROUP_FORMAT_FRAMED}) {
        CAPTURE(format);
        REQUIRE(two.meta.set_format(format) == 0);
        perf_metagroup_sweep arg{};
        arg.nr_words = 1;
        for (const __u64 bad : {__u64{8}, ~0ULL << 12, ~0ULL}) {
            arg.cpus = bad;
            REQUIRE(two.meta.sweep(arg) == -EFAULT);
        }
        arg.cpus = address(&word);
        arg.buffer_size = buffer.size();
        for (const __u64 bad : {__u64{8}, ~0ULL << 12, ~0ULL}) {
            arg.buffer = bad;
            REQUIRE(two.meta.sweep(arg) == -EFAULT);
        }
        // A mask that ends where memory does.
        void* const page =
            ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(::munmap(static_cast<char*>(page) + 4096, 4096) == 0);
        arg.cpus = address(static_cast<char*>(page) + 4096 - 8);
        arg.buffer = address(buffer.data());
        arg.nr_words = 2;
        REQUIRE(two.meta.sweep(arg) == -EFAULT);
        arg.nr_words = 1;
        REQUIRE(two.meta.sweep(arg) >= 0);
        ::munmap(page, 4096);
    }
    REQUIRE(two.meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(two.meta.read() == concatenated(two.groups));
}

TEST_CASE("A buffer that the chosen CPUs fill to the last byte is large enough, one less is not") {
    const Two two;
    for (const unsigned format :
         std::initializer_list<unsigned>{PERF_METAGROUP_FORMAT_RAW, PERF_METAGROUP_FORMAT_FRAMED}) {
        CAPTURE(format);
        REQUIRE(two.meta.set_format(format) == 0);
        Bytes buffer(two.meta.sweep_copy({0}).size());
        __u64 word = 1;
        perf_metagroup_sweep arg{};
        arg.cpus = address(&word);
        arg.nr_words = 1;
        arg.buffer = address(buffer.data());
        arg.buffer_size = buffer.size() - 1;
        REQUIRE(two.meta.sweep(arg) == -ENOSPC);
        arg.buffer_size = buffer.size();
        REQUIRE(two.meta.sweep(arg) == static_cast<long>(buffer.size()));
        arg.buffer_size = std::numeric_limits<__u64>::max();
        REQUIRE(two.meta.sweep(arg) == static_cast<long>(buffer.size()));
    }
}

TEST_CASE("The error of a member elsewhere is no error of a sweep of other CPUs") {
    const auto attr = testpmu_event(kFormat);
    if (!attr) SKIP("the module metagroup_testpmu is not loaded");
    EventGroup bad;
    bad.add(*attr, 0);
    const EventGroup fine = open_group(1, kFormat, 1, true);
    const Meta meta;
    REQUIRE(meta.attach(bad) == 0);
    REQUIRE(meta.attach(fine) == 0);
    Bytes buffer(4096);
    testpmu_set_read_error(EIO);
    const long both = meta.read(buffer.data(), buffer.size());
    const long own = meta.sweep_on({1});
    const Bytes other = meta.sweep_copy({1});
    testpmu_set_read_error(0);
    REQUIRE(both == -EIO);
    REQUIRE(own == 0);
    REQUIRE(other == fine.read());
    REQUIRE(meta.sweep_copy({0}).size() == bad.read().size());
}

TEST_CASE("A member that its PMU has moved is read by a sweep of the CPU where it is known") {
    const auto attr = testpmu_event(kFormat);
    if (!attr) SKIP("the module metagroup_testpmu is not loaded");
    EventGroup group;
    group.add(*attr, 0);
    const Meta meta;
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    testpmu_move(0, 1);
    // It is found to have left, and is CPU 1's from now on.
    REQUIRE(take_apart(meta.sweep_copy({0})).head.count == 0);
    const Framed there = take_apart(meta.sweep_copy({1}));
    testpmu_move(1, 0);
    REQUIRE(there.head.count == 1);
    REQUIRE(there.frames[0].record.cpu == 1);
    REQUIRE(there.frames[0].record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A group that has grown is read whole by a sweep of its CPU") {
    EventGroup group = open_group(1, kFormat, 1, true);
    const EventGroup other = open_group(0, kFormat, 1, true);
    const Meta meta;
    REQUIRE(meta.attach(group) == 0);
    REQUIRE(meta.attach(other) == 0);
    while (group.fds.size() < 100)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 1);
    REQUIRE(meta.sweep_copy({0}) == other.read());
    REQUIRE(meta.sweep_copy({1}) == group.read());
}

TEST_CASE("Sweeps of one meta-group with different masks do not disturb each other") {
    const auto groups = open_everywhere(PERF_FORMAT_GROUP, 2);
    const auto cpus = online_cpus();
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    std::atomic<int> bad = 0;
    const auto sweeper = [&](std::size_t index) {
        for (int round = 0; round < 300; ++round) {
            const Framed one = take_apart(meta.sweep_copy({cpus[index]}));
            bad += one.head.count != 1 || one.frames[0].record.member != index ||
                   one.frames[0].record.time < one.head.begin ||
                   one.head.end < one.frames[0].record.time;
        }
    };
    std::thread one(sweeper, 0), two(sweeper, 1), three(sweeper, cpus.size() - 1);
    one.join();
    two.join();
    three.join();
    REQUIRE(bad == 0);
}

TEST_CASE("A sweep into a buffer is refused where reads are") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 1);
    const Fd write_only(::open(PERF_METAGROUP_DEVICE, O_WRONLY | O_CLOEXEC));
    REQUIRE(write_only);
    std::array<unsigned char, 4096> buffer{};
    perf_metagroup_sweep arg{};
    arg.size = sizeof(arg);
    REQUIRE(::ioctl(write_only.get(), PERF_METAGROUP_IOC_SWEEP, &arg) == 0);
    arg.buffer = reinterpret_cast<std::uintptr_t>(buffer.data());
    arg.buffer_size = buffer.size();
    REQUIRE(::ioctl(write_only.get(), PERF_METAGROUP_IOC_SWEEP, &arg) == -1);
    REQUIRE(errno == EBADF);
}
