// SPDX-License-Identifier: MIT
// Reads in both formats. The oracle is read(2) of the leaders.
#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

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

TEST_CASE("Several groups on one CPU are read in attach order, with different formats and sizes") {
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

TEST_CASE("Running events that exclude guests are read between two reads of their own") {
    auto attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kTimed);
    attr.exclude_guest = 1;
    const auto [groups, meta] = attached(group_everywhere({attr, attr}));
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
}

TEST_CASE("Events of the msr PMU read the same bytes as their own reads") {
    auto attr = pmu_event("msr", 0, kTimed);  // tsc
    if (!attr) SKIP("this machine has no msr PMU");
    attr->disabled = 1;
    const auto [groups, meta] = attached(group_everywhere({*attr}));
    count_and_stop(meta);
    const Bytes ours = meta.read();
    REQUIRE(ours == concatenated(groups));
    REQUIRE(words(ours)[3] > 0);
}

TEST_CASE("An empty meta-group reads as nothing in RAW and as a header in FRAMED") {
    const Meta meta;
    char byte = 'x';
    REQUIRE(meta.read(&byte, 1) == 0);
    REQUIRE(byte == 'x');
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.count == 0);
    REQUIRE(framed.frames.empty());
}

TEST_CASE("A buffer that is one byte too small is refused and loses nothing") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 3, true));
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

TEST_CASE("A read does not write beyond the payloads") {
    const auto [groups, meta] = attached(open_everywhere(0, 1, true));
    const Bytes expected = concatenated(groups);
    Bytes buffer(expected.size() + 64, 0xaa);
    REQUIRE(meta.read(buffer.data(), buffer.size()) == static_cast<long>(expected.size()));
    for (std::size_t i = expected.size(); i < buffer.size(); ++i)
        REQUIRE(buffer[i] == 0xaa);
}

TEST_CASE("A framed read names every member, its CPU and how to decode its payload") {
    const auto groups = open_everywhere(kFull, 3);
    const auto cpus = online_cpus();
    const Meta meta(groups);
    const Framed framed = read_framed(meta);
    REQUIRE(framed.head.count == groups.size());
    for (unsigned i = 0; i < framed.frames.size(); ++i) {
        const perf_metagroup_record& record = framed.frames[i].record;
        REQUIRE(record.member == i);
        REQUIRE(record.cpu == static_cast<unsigned>(cpus[i]));
        REQUIRE(record.status == PERF_METAGROUP_OK);
        REQUIRE(record.read_format == kFull);
    }
}

TEST_CASE("Every time of a framed read lies in the sweep and the sweep in the call") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 1));
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

TEST_CASE("The layout number changes when the frames change, and only then") {
    EventGroup group = open_group(0, kFull, 1, true);
    const EventGroup other = open_group(0, kFull, 1, true);
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
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFull), 0);
    const auto grown = layout();
    REQUIRE(grown != both);
    REQUIRE(meta.detach(1) == 0);
    REQUIRE(layout() != grown);
}

TEST_CASE("A disabled member is off, with its last counts") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 2, true));
    const Framed framed = read_framed(meta);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_OFF);
        REQUIRE(framed.frames[i].payload == groups[i].read());
    }
}

TEST_CASE("Memory that cannot be written is refused in both formats and loses nothing") {
    const auto [groups, meta] = attached(open_everywhere(kFull, 1, true));
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

TEST_CASE("A read allocates nothing in the kernel, unlike a read per CPU") {
    const auto [groups, meta] = attached(open_everywhere(kTimed, 4));
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
        // Interrupts may allocate now and then.
        REQUIRE(allocations() - start < counting + 10);
    }

    // The tracepoints count.
    const auto start = allocations();
    for (const auto& group : groups)
        REQUIRE(::read(group.leader(), buffer.data(), buffer.size()) > 0);
    REQUIRE(allocations() - start >= groups.size());
}

// Members that need no interrupt: any CPU can read them, or any of their package.

namespace {

int package_of(int cpu) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/physical_package_id");
    int package = -1;
    file >> package;
    return package;
}

// The last CPU that is, or is not, in the package of the first one.
std::optional<int> other_cpu(bool same_package) {
    const auto cpus = online_cpus();
    for (std::size_t i = cpus.size() - 1; i > 0; --i)
        if ((package_of(cpus[i]) == package_of(cpus[0])) == same_package) return cpus[i];
    return {};
}

EventGroup open_package_group(int cpu) {
    perf_event_attr attr = testpmu_or_skip(kIds);
    attr.config = kTestpmuPackage;
    return group_of(cpu, {attr, attr});
}

std::vector<EventGroup> open_both(int cpu) {
    std::vector<EventGroup> groups;
    groups.push_back(open_software(cpu, kIds));
    groups.push_back(open_tracepoints(cpu, kIds));
    return groups;
}

}  // namespace

TEST_CASE("Groups of software events and tracepoints do not interrupt a busy CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    const auto [groups, meta] = attached(open_both(cpu));
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);

    // A clock needs its CPU.
    const EventGroup clock = open_group(cpu, kIds, 1);
    REQUIRE(meta.attach(clock) == 0);
    require_interrupted(meta, cpu);
    REQUIRE(meta.detach(2) == 0);
    require_not_interrupted(meta, cpu);
}

TEST_CASE("A group of software events to which a clock is added interrupts its CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    EventGroup& group = groups.emplace_back(open_software(cpu, kIds));
    const Meta meta(group);
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, kIds), cpu);
    require_interrupted(meta, cpu);
    require_between_own_reads(meta, groups);
    group.fds.pop_back();
    require_not_interrupted(meta, cpu);
}

TEST_CASE("Software events that are read from another CPU are between two reads of their own") {
    const int cpu = online_cpus().back();
    const auto [groups, meta] = attached(open_both(cpu));
    Background worker([&] {
        run_on(cpu);
        touch_new_memory(1);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    const auto start = words(meta.read());
    const auto all_have_counted = [&] {
        const auto now = words(meta.read());
        // A payload has the number of its two events, then count and id of each.
        for (std::size_t i = 0; i < now.size(); i += 5)
            if (now[i + 1] == start[i + 1] || now[i + 3] == start[i + 3]) return false;
        return true;
    };
    repeat_for(
        std::chrono::milliseconds(200), [&] { require_between_own_reads(meta, groups); },
        all_have_counted);
    worker.stop();
    CAPTURE(start, words(meta.read()));
    REQUIRE(all_have_counted());
}

TEST_CASE("Stopped software events read the same bytes as their own read") {
    const int cpu = online_cpus().back();
    const auto [group, meta] = attached(open_software(cpu, kIds | kTimes));
    for (int round = 0; round < 20; ++round) {
        group.control(PERF_EVENT_IOC_ENABLE);
        burn_ms(1);
        meta.read();
        group.control(PERF_EVENT_IOC_DISABLE);
        REQUIRE(meta.read() == group.read());
    }
}

TEST_CASE("Events of a package do not interrupt a CPU of that package") {
    const OnFirstCpu here;
    const auto cpu = other_cpu(true);
    if (!cpu) SKIP("no other CPU is in the package of the first one");
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(*cpu));
    const Meta meta(groups);
    const BusyCpu busy(*cpu);
    require_not_interrupted(meta, *cpu);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
    REQUIRE(read_framed(meta).frames.at(0).record.status == PERF_METAGROUP_OK);

    // The number of events and count and id of each: the leader's count continues.
    const auto count = [&] { return words(read_framed(meta).frames.at(0).payload).at(1); };
    const std::uint64_t first = count();
    burn_ms(1);
    REQUIRE(count() > first);
}

TEST_CASE("Events of a PMU with a scope do not interrupt a CPU of that scope") {
    const OnFirstCpu here;
    const auto attr = testpmu_scope_event(kIds);
    if (!attr) SKIP("PMUs have no scope before Linux 6.12, or metagroup_testpmu is not loaded");
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    groups.push_back(group_of(cpu, {*attr, *attr}));
    const Meta meta(groups);
    const BusyCpu busy(cpu);
    require_not_interrupted(meta, cpu);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
}

TEST_CASE("Events of a package interrupt a CPU of another package") {
    const OnFirstCpu here;
    const auto cpu = other_cpu(false);
    if (!cpu) SKIP("all CPUs are in one package");
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(*cpu));
    const Meta meta(groups);
    const BusyCpu busy(*cpu);
    require_interrupted(meta, *cpu);
    require_between_own_reads(meta, groups);
    REQUIRE(read_framed(meta).frames.at(0).record.status == PERF_METAGROUP_OK);
}

TEST_CASE("A group with one event that only its CPU can read interrupts that CPU") {
    const OnFirstCpu here;
    const int cpu = online_cpus().back();
    std::vector<EventGroup> groups;
    groups.push_back(open_package_group(cpu));
    groups[0].add(testpmu_or_skip(kIds), cpu);
    const Meta meta(groups);
    const BusyCpu busy(cpu);
    require_interrupted(meta, cpu);
    require_between_own_reads(meta, groups);
}
