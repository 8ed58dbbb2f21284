// SPDX-License-Identifier: MIT
// The ioctl SWEEP: its mask and its buffer.
#include <limits>

#include "fixtures.hpp"
#include "support/real_time.hpp"

using namespace metagroup::test;

namespace {

// Two stopped groups on every CPU, not side by side.
struct Two {
    std::vector<EventGroup> groups = open_everywhere(kFull, 2, true);
    Meta meta;
    Two() {
        for (EventGroup& group : open_everywhere(kFull, 3, true))
            groups.push_back(std::move(group));
        REQUIRE(meta.attach(groups) == 0);
    }
    // Those on one CPU.
    std::vector<std::size_t> on(std::size_t cpu) const { return {cpu, cpu + groups.size() / 2}; }
};

}  // namespace

TEST_CASE("A sweep of some CPUs copies only their frames") {
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

TEST_CASE("A raw sweep of some CPUs returns what reads of their leaders return") {
    const Two two;
    for (std::size_t cpu = 0; cpu < online_cpus().size(); ++cpu) {
        Bytes expected;
        for (const std::size_t index : two.on(cpu))
            expected = concatenated({expected, two.groups[index].read()});
        REQUIRE(two.meta.sweep_copy({online_cpus()[cpu]}) == expected);
    }
}

TEST_CASE("A sweep of all CPUs one by one is equivalent to a read") {
    const Two two;
    REQUIRE(two.meta.sweep_copy(online_cpus()) == two.meta.read());
}

TEST_CASE("A sweep of some CPUs interrupts no others") {
    const auto cpus = online_cpus();
    if (cpus.size() < 3) SKIP("needs three CPUs");
    const auto [groups, meta] = attached(open_everywhere(kFull, 2));
    const int chosen = cpus.back();
    const OnFirstCpu here;
    std::vector<std::uint64_t> calls(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i)
        calls[i] = function_calls(cpus[i]);
    for (unsigned i = 0; i < kSweeps; ++i)
        meta.sweep_on({chosen});
    for (std::size_t i = 0; i < cpus.size(); ++i)
        calls[i] = function_calls(cpus[i]) - calls[i];
    CAPTURE(calls);
    // Calls that are queued together are one interrupt; a few have other causes.
    REQUIRE(calls.back() >= kSweeps / 2);
    REQUIRE(calls.back() <= kSweeps * 11 / 10);
    for (std::size_t i = 1; i + 1 < cpus.size(); ++i)
        REQUIRE(calls[i] < kSweeps / 10);
}

TEST_CASE("Bits beyond the machine's CPUs are ignored") {
    const Two two;
    std::vector<__u64> words(1024, ~0ULL);
    words[0] = 1;
    Bytes buffer(64 * 1024);
    const long got = two.meta.sweep(sweep_of(words, buffer));
    REQUIRE(got == static_cast<long>(two.meta.sweep_copy({0}).size()));
}

TEST_CASE("A sweep of no CPU returns a header in FRAMED and nothing in RAW") {
    const Two two;
    REQUIRE(two.meta.sweep_copy({}).empty());
    REQUIRE(two.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed none = take_apart(two.meta.sweep_copy({}));
    REQUIRE(none.head.count == 0);
    REQUIRE(none.head.sequence == 2);
}

TEST_CASE("A sweep of a CPU without members returns none") {
    const auto [group, meta] = attached(open_group(0, kFull, 1, true));
    REQUIRE(meta.sweep_copy({1}).empty());
    REQUIRE(meta.sweep_copy({0, 1}) == group.read());
}

TEST_CASE("SWEEP without arguments sweeps all CPUs and copies nothing") {
    const Two two;
    const Mapping mapping(two.meta);
    REQUIRE(two.meta.sweep() == 0);
    REQUIRE(two.meta.sweep(perf_metagroup_sweep{}) == 0);
    const Framed mapped = mapping.framed();
    REQUIRE(mapped.head.sequence == 2);
    for (const Frame& frame : mapped.frames)
        REQUIRE(frame.record.time >= mapped.head.begin);
}

TEST_CASE("SWEEP with invalid arguments is refused and sweeps nothing") {
    const Two two;
    const Mapping mapping(two.meta);
    std::vector<__u64> words(1025, 1);
    Bytes buffer(64 * 1024);
    const auto sweep = [&](__u64 cpus, __u32 nr_words, __u64 to, __u64 size, __u32 flags,
                           __u32 reserved) {
        return two.meta.sweep({.size = 0,
                               .flags = flags,
                               .cpus = cpus,
                               .nr_words = nr_words,
                               .reserved = reserved,
                               .buffer = to,
                               .buffer_size = size});
    };
    REQUIRE(sweep(address(words.data()), 1025, 0, 0, 0, 0) == -EINVAL);
    REQUIRE(sweep(address(words.data()), 0, 0, 0, 0, 0) == -EINVAL);
    REQUIRE(sweep(0, 1, 0, 0, 0, 0) == -EINVAL);
    REQUIRE(sweep(0, 0, address(buffer.data()), 0, 0, 0) == -EINVAL);
    REQUIRE(sweep(0, 0, 0, buffer.size(), 0, 0) == -EINVAL);
    REQUIRE(sweep(0, 0, 0, 0, 1, 0) == -EINVAL);
    REQUIRE(sweep(0, 0, 0, 0, 0, 1) == -EINVAL);
    REQUIRE(mapping.framed().head.sequence == 0);
}

TEST_CASE("A mask or a buffer with an invalid address fails the sweep and loses nothing") {
    const Two two;
    __u64 word = 1;
    Bytes buffer(64 * 1024);
    for (const unsigned format : kFormats) {
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
        // A mask at the end of mapped memory.
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

TEST_CASE("A buffer of exactly the size of a sweep is large enough, but one byte less is not") {
    const Two two;
    for (const unsigned format : kFormats) {
        CAPTURE(format);
        REQUIRE(two.meta.set_format(format) == 0);
        Bytes buffer(two.meta.sweep_copy({0}).size());
        const auto words = cpu_words({0});
        perf_metagroup_sweep arg = sweep_of(words, buffer);
        --arg.buffer_size;
        REQUIRE(two.meta.sweep(arg) == -ENOSPC);
        arg.buffer_size = buffer.size();
        REQUIRE(two.meta.sweep(arg) == static_cast<long>(buffer.size()));
        arg.buffer_size = std::numeric_limits<__u64>::max();
        REQUIRE(two.meta.sweep(arg) == static_cast<long>(buffer.size()));
    }
}

TEST_CASE("The error of a member does not fail a sweep of other CPUs") {
    const auto attr = testpmu_or_skip(kFull);
    const EventGroup bad = group_of(0, {attr});
    const EventGroup fine = open_group(1, kFull, 1, true);
    const Meta meta(bad, fine);
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

TEST_CASE("A sweep of a moved member's old CPU finds the member's new CPU") {
    const auto attr = testpmu_or_skip(kFull);
    const auto [group, meta] = attached(group_of(0, {attr}));
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    testpmu_move(0, 1);
    // It is a member of CPU 1 from now on.
    REQUIRE(take_apart(meta.sweep_copy({0})).head.count == 0);
    const Framed there = take_apart(meta.sweep_copy({1}));
    testpmu_move(1, 0);
    REQUIRE(there.head.count == 1);
    REQUIRE(there.frames[0].record.cpu == 1);
    REQUIRE(there.frames[0].record.status == PERF_METAGROUP_OK);
}

TEST_CASE(
    "A sweep of some CPUs keeps the records of others if groups grow at two of its attempts") {
    if (online_cpus().size() < 3) SKIP("needs three CPUs");
    EventGroup moving = group_of(0, {testpmu_or_skip(kFull)});
    EventGroup growing = open_group(0, kFull, 1, true);
    const EventGroup kept = open_group(2, kFull, 1, true);
    const Meta meta(moving, growing, kept);
    REQUIRE(meta.sweep() == 0);

    for (EventGroup* group : {&moving, &growing})
        while (group->fds.size() < 100)
            group->add(software_event(PERF_COUNT_SW_DUMMY, kFull), 0);
    testpmu_move(0, 1);
    // The first attempt finds that one has grown and that the other one is on CPU 1, the second one
    // that the other one has grown as well.
    REQUIRE(meta.sweep_on({0, 1}) == 0);
    const Framed framed = Mapping(meta).framed();
    REQUIRE(framed.frames[0].payload.size() == moving.read().size());
    REQUIRE(framed.frames[1].payload == growing.read());
    REQUIRE(framed.frames[2].record.status == PERF_METAGROUP_OFF);
    REQUIRE(framed.frames[2].payload == kept.read());
}

TEST_CASE("A group that has grown is read completely by a sweep of its CPU") {
    EventGroup group = open_group(1, kFull, 1, true);
    const EventGroup other = open_group(0, kFull, 1, true);
    const Meta meta(group, other);
    while (group.fds.size() < 100)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFull), 1);
    REQUIRE(meta.sweep_copy({0}) == other.read());
    REQUIRE(meta.sweep_copy({1}) == group.read());
}

TEST_CASE("Sweeps of one meta-group with different masks do not disturb each other") {
    const auto groups = open_everywhere(PERF_FORMAT_GROUP, 2);
    const auto cpus = online_cpus();
    const Meta meta(groups);
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
    { const std::jthread one(sweeper, 0), two(sweeper, 1), three(sweeper, cpus.size() - 1); }
    REQUIRE(bad == 0);
}

TEST_CASE("A sweep into a buffer is refused on a write-only handle") {
    const Meta write_only{Fd(::open(PERF_METAGROUP_DEVICE, O_WRONLY | O_CLOEXEC))};
    std::array<unsigned char, 4096> buffer{};
    REQUIRE(write_only.sweep(perf_metagroup_sweep{}) == 0);
    REQUIRE(write_only.sweep(sweep_of({}, buffer)) == -EBADF);
}

TEST_CASE("A task of higher priority runs while a sweep waits for a CPU") {
    const auto attr = core_or_skip(kFull);
    if (!is_preemptible_kernel())
        SKIP("this kernel lets no task interrupt another one in the kernel");
    const OnFirstCpu here;
    const auto [group, meta] = attached(group_of(online_cpus().back(), {attr}));
    REQUIRE(meta.sweep() == 0);
    std::atomic<unsigned> wakeups = 0;
    const Background urgent([&] {
        const sched_param priority{.sched_priority = 1};
        if (wakeups == 0 && ::sched_setscheduler(0, SCHED_FIFO, &priority)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++wakeups;
    });
    REQUIRE(wait_until([&] { return wakeups > 0; }));
    unsigned during = 0;
    {
        const TestpmuUpdateTime slow(200'000);
        const unsigned before = wakeups;
        REQUIRE(meta.sweep() == 0);
        during = wakeups - before;
    }
    REQUIRE(during >= 5);
}
