// SPDX-License-Identifier: MIT
// Permissions, as the table in docs/privileges.md has them. A process reads and controls through a
// meta-group no more than it could with the perf descriptors of its own, or of the process that
// passed the handle.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "identities.hpp"

using namespace metagroup::test;

namespace {

// At 3, Debian's kernel demands CAP_SYS_ADMIN for any event.
bool may_open_any(Identity identity, int level) {
    return identity == Identity::root || (identity == Identity::monitor && level < 3);
}

int any_level() {
    return GENERATE(range(-1, 4));
}

// User space only, which needs no further permission.
perf_event_attr user_clock(std::uint64_t read_format) {
    perf_event_attr attr = software_event(PERF_COUNT_SW_CPU_CLOCK, read_format);
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    return attr;
}

// A stopped group with counts on every CPU.
std::vector<EventGroup> stopped_groups() {
    auto groups = open_everywhere(kFull, 3, true);
    for (const EventGroup& group : groups)
        group.control(PERF_EVENT_IOC_ENABLE);
    burn_ms(2);
    for (const EventGroup& group : groups)
        group.control(PERF_EVENT_IOC_DISABLE);
    return groups;
}

// The payloads of a stopped meta-group, as all ways to read give them.
struct Readings {
    static constexpr std::size_t kRoom = 2048;
    std::size_t size = 0;
    bool alike = false;  // RAW, SWEEP, FRAMED and mapped agree
    std::array<unsigned char, kRoom> bytes{};

    static Readings of(const Meta& meta) {
        Readings readings;
        const Bytes raw = meta.read();
        if (raw.size() > kRoom) throw std::length_error("more payload than expected");
        readings.size = raw.size();
        std::ranges::copy(raw, readings.bytes.begin());

        const Bytes swept = meta.sweep_copy(online_cpus());
        const Mapping mapping(meta);
        readings.alike = swept == raw && read_framed(meta).payloads() == raw &&
                         mapping.framed().payloads() == raw;
        return readings;
    }
    bool operator==(const Bytes& expected) const {
        return std::ranges::equal(std::span(bytes).first(size), expected);
    }
};

}  // namespace

TEST_CASE("Only uid 0 can open the device, at any perf_event_paranoid", "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const ParanoidOrSkip paranoid(level);
    const auto errors = run_as(identity, {}, [](auto) {
        std::array<int, 3> found{O_RDWR, O_RDONLY, O_WRONLY};
        for (int& flags : found)
            flags = Fd(::open(PERF_METAGROUP_DEVICE, flags)) ? 0 : errno;
        return found;
    });
    // The owner needs no capability to open a file of his.
    const int expected = identity == Identity::root || identity == Identity::bare_root ? 0 : EACCES;
    REQUIRE(errors == std::array{expected, expected, expected});
}

TEST_CASE("Only root can make another node of the device", "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    struct stat status {};
    REQUIRE(::stat(PERF_METAGROUP_DEVICE, &status) == 0);
    const int error = run_as(identity, {}, [device = status.st_rdev](auto) {
        const char* const path = "/tmp/node";
        const int result = ::mknod(path, S_IFCHR | 0666, device) ? errno : 0;
        ::unlink(path);
        return result;
    });
    REQUIRE(error == (identity == Identity::root ? 0 : EPERM));
}

TEST_CASE("The device gives no right to open events", "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const OpenDevice device;
    const ParanoidOrSkip paranoid(level);
    struct Result {
        int open_error = 0;
        long attached = 0;
        bool same = false;
    };
    const auto result = run_as(identity, {}, [](auto) {
        const Meta meta;
        const int fd = open_event(user_clock(kTimes), -1, 0, -1);
        EventGroup group;
        if (fd < 0) return Result{errno};
        group.fds.emplace_back(fd);
        const long attached = meta.attach(group);
        return Result{0, attached, Readings::of(meta) == group.read()};
    });
    const bool allowed = may_open_any(identity, level) || level <= 0;
    REQUIRE(result.open_error == (allowed ? 0 : EACCES));
    REQUIRE(result.attached == 0);
    REQUIRE(result.same == allowed);
}

TEST_CASE("An event of the caller's own task can be opened below level 3, but never attached",
          "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const OpenDevice device;
    const ParanoidOrSkip paranoid(level);
    const long result = run_as(identity, {}, [](auto) -> long {
        const Meta meta;
        const Fd own(open_event(user_clock(0), 0, -1, -1));
        const int fd = own.get();
        return own ? meta.attach(std::span(&fd, 1)) : -errno;
    });
    REQUIRE(result == (may_open_any(identity, level) || level < 3 ? -EINVAL : -EACCES));
}

TEST_CASE("A process that received a leader can attach it and reads the payload of read(2)",
          "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const OpenDevice device;
    const auto groups = stopped_groups();
    const EventGroup& group = groups.back();
    const ParanoidOrSkip paranoid(level);
    struct Result {
        long attached = 0;
        Readings read{};
        std::array<unsigned char, Readings::kRoom> own{};  // by read(2)
        long own_size = 0;
    };
    const int leader = group.leader();
    const auto result = run_as(identity, std::span(&leader, 1), [](std::span<const int> fds) {
        const Meta meta;
        Result mine;
        mine.attached = meta.attach(fds);
        mine.read = Readings::of(meta);
        mine.own_size = ::read(fds[0], mine.own.data(), mine.own.size());
        return mine;
    });
    REQUIRE(result.attached == 0);
    REQUIRE(result.own_size == static_cast<long>(group.read().size()));
    REQUIRE(std::ranges::equal(std::span(result.own).first(group.read().size()), group.read()));
    REQUIRE(result.read == group.read());
    REQUIRE(result.read.alike);
}

TEST_CASE("A process that received only a sibling cannot attach it", "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const OpenDevice device;
    const EventGroup group = open_group(0, kFull, 2);
    const int sibling = group.fds[1].get();
    const long attached = run_as(identity, std::span(&sibling, 1),
                                 [](std::span<const int> fds) { return Meta().attach(fds); });
    REQUIRE(attached == -EINVAL);
}

TEST_CASE("A handle that was received reads what its members' descriptors would", "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const auto [groups, meta] = attached(stopped_groups());
    const ParanoidOrSkip paranoid(level);
    const int handle = meta.fd();
    const auto read = run_as(identity, std::span(&handle, 1), [](std::span<const int> fds) {
        return Readings::of(Meta{Fd(::dup(fds[0]))});
    });
    REQUIRE(read == concatenated(groups));
    REQUIRE(read.alike);
}

TEST_CASE("A handle that was received controls what its members' descriptors would",
          "[privilege]") {
    const Identity identity = any_identity();
    const int level = any_level();
    CAPTURE(name(identity), level);
    const auto [groups, meta] = attached(stopped_groups());
    const Bytes before = concatenated(groups);
    const ParanoidOrSkip paranoid(level);
    struct Result {
        std::array<long, 3> by_handle, by_leader;
    };
    const std::array both{meta.fd(), groups[0].leader()};
    const auto result = run_as(identity, both, [](std::span<const int> fds) {
        const Meta handle{Fd(::dup(fds[0]))};
        Result mine{
            {PERF_METAGROUP_IOC_RESET, PERF_METAGROUP_IOC_ENABLE, PERF_METAGROUP_IOC_DISABLE},
            {PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE}};
        for (long& command : mine.by_handle)
            command = handle.control(static_cast<unsigned long>(command));
        for (long& command : mine.by_leader)
            command = ::ioctl(fds[1], static_cast<unsigned long>(command), PERF_IOC_FLAG_GROUP);
        return mine;
    });
    REQUIRE(result.by_leader == std::array<long, 3>{});
    REQUIRE(result.by_handle == result.by_leader);
    // Reset, run and stopped by that process.
    REQUIRE(concatenated(groups) != before);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A handle that was received can detach members", "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const auto [groups, meta] = attached(stopped_groups());
    const int handle = meta.fd();
    const long detached = run_as(identity, std::span(&handle, 1), [](std::span<const int> fds) {
        return Meta{Fd(::dup(fds[0]))}.detach(0);
    });
    REQUIRE(detached == 0);
    REQUIRE(meta.info().members == groups.size() - 1);
}

TEST_CASE("fdinfo of a handle has the permissions of other files in fdinfo", "[privilege]") {
    const Identity identity = any_identity();
    CAPTURE(name(identity));
    const Meta meta;
    const std::string directory = "/proc/" + std::to_string(::getpid()) + "/fdinfo/";
    const auto listed = run_as(identity, {}, [&](auto) {
        const auto opens = [&](int fd) {
            return bool(Fd(::open((directory + std::to_string(fd)).c_str(), O_RDONLY)));
        };
        return std::array{opens(meta.fd()), opens(STDIN_FILENO)};
    });
    REQUIRE(listed[0] == listed[1]);
    // Before Linux 5.14 it is enough to be the process's user; since then one must be able to trace
    // it.
    if (identity != Identity::bare_root) REQUIRE(listed[0] == (identity == Identity::root));
}

TEST_CASE("Counts of a detached member are not shown to later readers", "[privilege]") {
    // The others' payloads are shorter: what lies behind them was the first one's.
    std::vector<EventGroup> groups;
    for (const int events : {8, 1, 1})
        groups.push_back(open_group(0, kFull, events, true));
    const Meta meta(groups);
    const Mapping mapping(meta);
    const int sweeps = GENERATE(1, 2, 3);
    for (int sweep = 0; sweep < sweeps; ++sweep)
        REQUIRE(meta.sweep() == 0);
    std::vector<std::uint64_t> ids;
    for (std::size_t event = 0; event < groups[0].fds.size(); ++event)
        ids.push_back(groups[0].id(event));
    REQUIRE(meta.detach(0) == 0);

    // The identifiers of the first one's events are in both copies where it was.
    perf_metagroup_map head{};
    std::memcpy(&head, mapping.bytes(), sizeof(head));
    for (const auto copy : head.offset) {
        const unsigned char* const end = mapping.bytes() + copy + head.offset[1] - head.offset[0];
        const auto frames =
            words(Bytes(mapping.bytes() + copy + sizeof(perf_metagroup_snapshot), end));
        for (const auto id : ids)
            REQUIRE(std::ranges::count(frames, id) == 0);
    }
}
