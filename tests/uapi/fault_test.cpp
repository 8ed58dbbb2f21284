// SPDX-License-Identifier: MIT
// Injected faults: every allocation of every call fails once, and every copy to and from the user.
#include <iostream>

#include "fixtures.hpp"
#include "support/set.hpp"

using namespace metagroup::test;

namespace {

// So many that to attach all of them makes the module enlarge what it has.
constexpr std::size_t kGroups = 40;

struct Faults {
    Faults() {
        if (!prepare_faults()) SKIP("this kernel injects no faults (CONFIG_FAULT_INJECTION)");
        groups = open_in_turn(kGroups, kFull);
    }
    std::vector<EventGroup> groups;  // stopped
};

// A meta-group of which the first `members` groups are members.
struct FaultWorld {
    FaultWorld(const std::vector<EventGroup>& all, std::size_t members)
        : groups(all), leaders(leaders_of(all)) {
        for (std::size_t i = 0; i < members; ++i)
            REQUIRE(meta.attach(all[i]) == 0);
    }

    // INFO and GET_MEMBER.
    Bytes state() const {
        Bytes bytes;
        const auto append = [&](const auto& arg) {
            const auto* first = reinterpret_cast<const unsigned char*>(&arg);
            bytes.insert(bytes.end(), first, first + sizeof(arg));
        };
        // Memory that was found before the fault may stay.
        perf_metagroup_info info = meta.info();
        info.map_size = 0;
        if (grows) info.framed_size = 0;
        append(info);
        for (unsigned number = 0; number < leaders.size(); ++number) {
            perf_metagroup_member arg{};
            arg.member = number;
            append(meta.member(arg));
            append(arg);
        }
        return bytes;
    }

    // In both formats.
    void require_reads_right() const {
        const unsigned format = meta.info().format;
        const std::size_t members = meta.info().members;
        REQUIRE(members <= groups.size());
        const Framed framed = read_framed(meta);
        REQUIRE(framed.frames.size() == members);
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
        for (std::size_t i = 0; i < members; ++i)
            REQUIRE(framed.frames[i].payload == groups[i].read());
        REQUIRE(meta.read() == framed.payloads());
        REQUIRE(meta.set_format(format) == 0);
    }

    const std::vector<EventGroup>& groups;
    std::vector<int> leaders;
    Meta meta;
    bool grows = false;  // the size of the snapshot is no part of the state
};

using Call = std::function<long(const FaultWorld&)>;

struct Counts {
    unsigned faults = 0, no_memory = 0, bad_copies = 0;
};

// A call with a fault at its first allocation or copy, its second ... until it has no more. Each
// must either succeed all the same, or fail and change nothing. `done` checks and undoes the call.
Counts fail_each(
    const char* name, const std::function<FaultWorld()>& prepare, const Call& call,
    const std::function<void(const FaultWorld&)>& done = [](const FaultWorld&) {}) {
    Counts counts;
    for (unsigned nth = 1;; ++nth) {
        CAPTURE(name, nth);
        REQUIRE(nth < 1000);
        const FaultWorld world = prepare();
        const Bytes before = world.state();
        Fault fault(nth);
        const long result = call(world);
        const bool struck = fault.struck();
        if (struck) ++counts.faults;
        if (result < 0) {
            REQUIRE(struck);
            REQUIRE((result == -ENOMEM || result == -EFAULT));
            ++(result == -ENOMEM ? counts.no_memory : counts.bad_copies);
            REQUIRE(world.state() == before);
            world.require_reads_right();
            REQUIRE(call(world) >= 0);
        }
        done(world);
        world.require_reads_right();
        if (!struck) break;
    }
    std::cout << name << ": " << counts.faults << " faults, " << counts.no_memory
              << " times ENOMEM, " << counts.bad_copies << " times EFAULT\n";
    return counts;
}

// Deadlines are rare, so that hardly one interrupts a call.
constexpr auto kLongPeriod = std::chrono::seconds(1);
constexpr std::size_t kRing = 4 * kRingPage;

FaultWorld streaming(const std::vector<EventGroup>& groups, std::size_t members,
                     perf_metagroup_stream& arg) {
    FaultWorld world(groups, members);
    arg = stream_of(kLongPeriod, kRing);
    REQUIRE(start_stream(world.meta, arg) == 0);
    return world;
}

// All groups are members; the first has then grown by so much that the snapshot has to.
FaultWorld grown(std::vector<EventGroup>& groups) {
    groups[0].fds.resize(1);
    FaultWorld world(groups, groups.size());
    world.grows = true;
    for (int i = 0; i < 200; ++i)
        groups[0].add(software_event(PERF_COUNT_SW_DUMMY, kFull), online_cpus().front());
    return world;
}

}  // namespace

TEST_CASE_METHOD(Faults, "Open without memory fails, and the next one succeeds", "[fault]") {
    Fd fd;
    const auto counts = fail_each(
        "open", [&] { return FaultWorld(groups, 1); },
        [&](const FaultWorld&) -> long {
            fd = Fd(::open(PERF_METAGROUP_DEVICE, O_RDWR | O_CLOEXEC));
            return fd ? 0 : -errno;
        },
        [&](const FaultWorld&) { fd.reset(); });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "Attach without memory attaches nothing", "[fault]") {
    const auto counts = fail_each(
        "attach", [&] { return FaultWorld(groups, 1); },
        [&](const FaultWorld& world) {
            return world.meta.attach(std::span(world.leaders).subspan(1));
        },
        [&](const FaultWorld& world) { REQUIRE(world.meta.info().members == kGroups); });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "DETACH either succeeds or fails and changes nothing", "[fault]") {
    fail_each(
        "detach", [&] { return FaultWorld(groups, 3); },
        [](const FaultWorld& world) { return world.meta.detach(2); },
        [](const FaultWorld& world) { REQUIRE(world.meta.info().members == 2); });
}

TEST_CASE_METHOD(Faults, "A change of the format that fails changes nothing", "[fault]") {
    fail_each(
        "format", [&] { return FaultWorld(groups, 2); },
        [](const FaultWorld& world) { return world.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED); },
        [](const FaultWorld& world) {
            REQUIRE(world.meta.info().format == PERF_METAGROUP_FORMAT_FRAMED);
        });
}

TEST_CASE_METHOD(Faults, "A change of the mode without memory changes nothing", "[fault]") {
    const NeedsQuiet layer;
    constexpr unsigned long kMode = PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED;
    const auto counts = fail_each(
        "mode", [&] { return FaultWorld(groups, 2); },
        [](const FaultWorld& world) { return world.meta.set_mode(kMode); },
        [](const FaultWorld& world) { REQUIRE(world.meta.info().mode == kMode); });
    REQUIRE(counts.faults > 0);
}

TEST_CASE_METHOD(Faults, "GET_MEMBER without memory fails, and the next one succeeds", "[fault]") {
    std::array<__u64, 4> ids{};
    const auto counts = fail_each(
        "member", [&] { return FaultWorld(groups, 2); },
        [&](const FaultWorld& world) {
            perf_metagroup_member arg{};
            arg.member = 1;
            arg.max_ids = ids.size();
            arg.ids = reinterpret_cast<std::uintptr_t>(ids.data());
            return world.meta.member(arg);
        },
        [&](const FaultWorld&) { REQUIRE(ids[0] == groups[1].id(0)); });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "A mapping without memory fails, and the next one shows the snapshot",
                 "[fault]") {
    void* at = MAP_FAILED;
    std::size_t size = 0;
    const auto counts = fail_each(
        "mmap",
        [&] {
            FaultWorld world(groups, kGroups);
            size = world.meta.info().map_size;
            REQUIRE(world.meta.sweep() == 0);
            return world;
        },
        [&](const FaultWorld& world) -> long {
            at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, world.meta.fd(), 0);
            return at == MAP_FAILED ? -errno : 0;
        },
        [&](const FaultWorld&) {
            const auto* const bytes = static_cast<const unsigned char*>(at);
            perf_metagroup_map map;
            perf_metagroup_snapshot head;
            std::memcpy(&map, bytes, sizeof(map));
            std::memcpy(&head, bytes + map.offset[map.version % 2], sizeof(head));
            REQUIRE(head.count == kGroups);
            REQUIRE(::munmap(at, size) == 0);
        });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "OPEN_SET without memory opens nothing, and the next one opens the set",
                 "[fault]") {
    const NeedsSets layer;
    SetRequest request(
        {software_event(PERF_COUNT_SW_CPU_CLOCK, 0), software_event(PERF_COUNT_SW_PAGE_FAULTS, 0)});
    request.arg.flags = GENERATE(0U, PERF_METAGROUP_SET_FOLLOW);
    const auto counts = fail_each(
        "set", [&] { return FaultWorld(groups, 2); },
        [&](const FaultWorld& world) {
            const long got = request.open(world.meta);
            // An event is the cause on some CPU, or memory that belongs to none.
            const bool none = request.arg.failed == 2;
            REQUIRE(none == (request.arg.failed_cpu == PERF_METAGROUP_NO_CPU));
            return got;
        },
        [&](const FaultWorld& world) {
            REQUIRE(request.arg.count == online_cpus().size());
            for (unsigned i = 0; i < request.arg.count; ++i)
                REQUIRE(world.meta.detach(request.arg.first + i) == 0);
        });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "A stream without memory does not start, and the next one does",
                 "[fault]") {
    const NeedsStreams layer;
    perf_metagroup_stream arg{};
    const auto counts = fail_each(
        "stream", [&] { return FaultWorld(groups, kGroups); },
        [&](const FaultWorld& world) {
            arg = stream_of(kLongPeriod, kRing);
            return start_stream(world.meta, arg);
        },
        [&](const FaultWorld& world) {
            for (const int cpu : online_cpus())
                REQUIRE(try_to_map_ring(world.meta, arg, cpu) == 0);
            REQUIRE(stop_stream(world.meta) == 0);
        });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "A ring is mapped only when there is memory", "[fault]") {
    const NeedsStreams layer;
    perf_metagroup_stream arg{};
    void* at = MAP_FAILED;
    const auto counts = fail_each(
        "mmap of a ring", [&] { return streaming(groups, kGroups, arg); },
        [&](const FaultWorld& world) -> long {
            at = ::mmap(nullptr, arg.map_stride, PROT_READ | PROT_WRITE, MAP_SHARED,
                        world.meta.fd(), static_cast<off_t>(arg.map_offset));
            return at == MAP_FAILED ? -errno : 0;
        },
        [&](const FaultWorld&) {
            REQUIRE(static_cast<const perf_event_mmap_page*>(at)->data_size == kRing);
            REQUIRE(::munmap(at, arg.map_stride) == 0);
        });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "ATTACH during a stream without memory attaches nothing", "[fault]") {
    const NeedsStreams layer;
    perf_metagroup_stream arg{};
    const auto counts = fail_each(
        "attach, streaming", [&] { return streaming(groups, 1, arg); },
        [&](const FaultWorld& world) {
            return world.meta.attach(std::span(world.leaders).subspan(1));
        },
        [&](const FaultWorld& world) {
            REQUIRE(world.meta.info().members == kGroups);
            for (const int cpu : online_cpus())
                REQUIRE(try_to_map_ring(world.meta, arg, cpu) == 0);
        });
    REQUIRE(counts.no_memory > 0);
}

TEST_CASE_METHOD(Faults, "A read that fails loses nothing, in both formats, of all CPUs or some",
                 "[fault]") {
    Bytes buffer(64 * 1024);
    std::array<__u64, 1> cpus{1};
    for (const unsigned format : kFormats) {
        const auto prepare = [&] {
            FaultWorld world(groups, kGroups);
            REQUIRE(world.meta.set_format(format) == 0);
            return world;
        };
        const bool framed = format == PERF_METAGROUP_FORMAT_FRAMED;
        fail_each(framed ? "read, framed" : "read, raw", prepare, [&](const FaultWorld& world) {
            return world.meta.read(buffer.data(), buffer.size());
        });
        fail_each(
            framed ? "sweep with mask, framed" : "sweep with mask, raw", prepare,
            [&](const FaultWorld& world) { return world.meta.sweep(sweep_of(cpus, buffer)); });
    }
}

TEST_CASE_METHOD(Faults, "A read after a group has grown is correct despite any fault", "[fault]") {
    Bytes buffer(64 * 1024);
    // More than is needed is allocated first, so that one fault does not fail the read.
    const auto counts = fail_each(
        "growth", [&] { return grown(groups); },
        [&](const FaultWorld& world) { return world.meta.read(buffer.data(), buffer.size()); });
    REQUIRE(counts.faults > 0);
    REQUIRE(counts.no_memory == 0);
}

TEST_CASE_METHOD(Faults,
                 "A group that has grown is stale without pages, and a later read is correct",
                 "[fault]") {
    Bytes buffer(64 * 1024);
    const FaultWorld world = grown(groups);
    for (const unsigned format : kFormats) {
        REQUIRE(world.meta.set_format(format) == 0);
        const Bytes before = world.state();
        NoPages no_pages;
        const long result = world.meta.read(buffer.data(), buffer.size());
        no_pages.end();
        REQUIRE(world.state() == before);
        if (format == PERF_METAGROUP_FORMAT_RAW) {
            REQUIRE(result == -ENOMEM);
        } else {
            REQUIRE(result > 0);
            buffer.resize(static_cast<std::size_t>(result));
            const Framed framed = take_apart(buffer);
            REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_STALE);
            for (std::size_t i = 1; i < groups.size(); ++i)
                REQUIRE(framed.frames[i].payload == groups[i].read());
        }
    }
    // Growth is tried once per second.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    world.require_reads_right();
}
