// SPDX-License-Identifier: MIT
// Who may do what: docs/privileges.md is the table. The rule is that nobody reads or controls
// through a meta-group what he could not with the perf descriptors that he, or who gave him the
// handle, has.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "support/cpus.hpp"
#include "support/identity.hpp"
#include "support/mapping.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// kernel.perf_event_paranoid while this lives. 3 is Debian's own.
class Paranoid {
  public:
    explicit Paranoid(int level) {
        std::ifstream(kPath) >> before_;
        write(level);
        int now = before_;
        std::ifstream(kPath) >> now;
        if (now != level) SKIP("perf_event_paranoid cannot be " << level);
    }
    ~Paranoid() { write(before_); }
    Paranoid(const Paranoid&) = delete;
    Paranoid& operator=(const Paranoid&) = delete;

  private:
    static constexpr const char* kPath = "/proc/sys/kernel/perf_event_paranoid";
    static void write(int level) { std::ofstream(kPath) << level << std::flush; }
    int before_ = 2;
};

// The device is everybody's while this lives, as a udev rule may make it.
class OpenDevice {
  public:
    OpenDevice() { REQUIRE(::chmod(PERF_METAGROUP_DEVICE, 0666) == 0); }
    ~OpenDevice() { ::chmod(PERF_METAGROUP_DEVICE, 0600); }
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;
};

Who anybody() {
    static std::map<Who, int> refusals;
    const Who who = GENERATE(from_range(kEverybody));
    const auto known = refusals.find(who);
    const int error = known != refusals.end() ? known->second : refusals[who] = refusal(who);
    if (error) SKIP("no " << name(who) << " here: errno " << error);
    return who;
}

// At 3, Debian's kernel wants CAP_SYS_ADMIN for any event.
bool may_open_any(Who who, int level) {
    return who == Who::root || (who == Who::monitor && level < 3);
}

int any_level() {
    return GENERATE(range(-1, 4));
}

// What this process may count of others is no question here: user space only.
perf_event_attr user_clock(std::uint64_t read_format) {
    perf_event_attr attr = software_event(PERF_COUNT_SW_CPU_CLOCK, read_format);
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    return attr;
}

// A group on every CPU that has counted and stands still.
std::vector<EventGroup> stopped_groups() {
    auto groups = open_everywhere(kFormat, 3, true);
    for (const EventGroup& group : groups)
        group.control(PERF_EVENT_IOC_ENABLE);
    burn_ms(2);
    for (const EventGroup& group : groups)
        group.control(PERF_EVENT_IOC_DISABLE);
    return groups;
}

// The payloads that all ways to read a meta-group give, for one that stands still.
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
        readings.alike =
            swept == raw && payloads(read_framed(meta)) == raw && payloads(mapping.framed()) == raw;
        return readings;
    }
    bool operator==(const Bytes& expected) const {
        return std::ranges::equal(std::span(bytes).first(size), expected);
    }

  private:
    static Bytes payloads(const Framed& framed) {
        Bytes all;
        for (const Frame& frame : framed.frames)
            all.insert(all.end(), frame.payload.begin(), frame.payload.end());
        return all;
    }
};

}  // namespace

TEST_CASE("The device is for uid 0 alone, whatever perf_event_paranoid says", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const Paranoid paranoid(level);
    const auto errors = ask(who, {}, [](auto) {
        std::array<int, 3> found{O_RDWR, O_RDONLY, O_WRONLY};
        for (int& flags : found)
            flags = Fd(::open(PERF_METAGROUP_DEVICE, flags)) ? 0 : errno;
        return found;
    });
    // The owner needs no capability to open a file of his.
    const int expected = who == Who::root || who == Who::bare_root ? 0 : EACCES;
    REQUIRE(errors == std::array{expected, expected, expected});
}

TEST_CASE("Nobody but root makes another node of the device", "[privilege]") {
    const Who who = anybody();
    CAPTURE(name(who));
    struct stat status {};
    REQUIRE(::stat(PERF_METAGROUP_DEVICE, &status) == 0);
    const int error = ask(who, {}, [device = status.st_rdev](auto) {
        const char* const path = "/tmp/node";
        const int result = ::mknod(path, S_IFCHR | 0666, device) ? errno : 0;
        ::unlink(path);
        return result;
    });
    REQUIRE(error == (who == Who::root ? 0 : EPERM));
}

TEST_CASE("The device gives no right to open events", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const OpenDevice device;
    const Paranoid paranoid(level);
    struct Answer {
        int open_error = 0;
        long attached = 0;
        bool same = false;
    };
    const auto answer = ask(who, {}, [](auto) {
        const Meta meta;
        const int fd = open_event(user_clock(kTimes), -1, 0, -1);
        EventGroup group;
        if (fd < 0) return Answer{errno};
        group.fds.emplace_back(fd);
        const long attached = meta.attach(group);
        return Answer{0, attached, Readings::of(meta) == group.read()};
    });
    const bool allowed = may_open_any(who, level) || level <= 0;
    REQUIRE(answer.open_error == (allowed ? 0 : EACCES));
    REQUIRE(answer.attached == 0);
    REQUIRE(answer.same == allowed);
}

TEST_CASE("An event of one's own task can be opened below 3, and never attached", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const OpenDevice device;
    const Paranoid paranoid(level);
    const long result = ask(who, {}, [](auto) -> long {
        const Meta meta;
        const Fd own(open_event(user_clock(0), 0, -1, -1));
        const int fd = own.get();
        return own ? meta.attach(std::span(&fd, 1)) : -errno;
    });
    REQUIRE(result == (may_open_any(who, level) || level < 3 ? -EINVAL : -EACCES));
}

TEST_CASE("Whoever was given a leader attaches it and reads what read(2) gives", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const OpenDevice device;
    const auto groups = stopped_groups();
    const EventGroup& group = groups.back();
    const Paranoid paranoid(level);
    struct Answer {
        long attached = 0;
        Readings read{};
        std::array<unsigned char, Readings::kRoom> own{};  // by read(2)
        long own_size = 0;
    };
    const int leader = group.leader();
    const auto answer = ask(who, std::span(&leader, 1), [](std::span<const int> given) {
        const Meta meta;
        Answer mine;
        mine.attached = meta.attach(given);
        mine.read = Readings::of(meta);
        mine.own_size = ::read(given[0], mine.own.data(), mine.own.size());
        return mine;
    });
    REQUIRE(answer.attached == 0);
    REQUIRE(answer.own_size == static_cast<long>(group.read().size()));
    REQUIRE(std::ranges::equal(std::span(answer.own).first(group.read().size()), group.read()));
    REQUIRE(answer.read == group.read());
    REQUIRE(answer.read.alike);
}

TEST_CASE("Whoever was given a sibling alone attaches nothing", "[privilege]") {
    const Who who = anybody();
    CAPTURE(name(who));
    const OpenDevice device;
    const EventGroup group = open_group(0, kFormat, 2);
    const int sibling = group.fds[1].get();
    const long attached = ask(who, std::span(&sibling, 1),
                              [](std::span<const int> given) { return Meta().attach(given); });
    REQUIRE(attached == -EINVAL);
}

TEST_CASE("A handle that was given reads what its members' descriptors would", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const auto groups = stopped_groups();
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Paranoid paranoid(level);
    const int handle = meta.fd();
    const auto read = ask(who, std::span(&handle, 1), [](std::span<const int> given) {
        return Readings::of(Meta{Fd(::dup(given[0]))});
    });
    REQUIRE(read == concatenated(groups));
    REQUIRE(read.alike);
}

TEST_CASE("A handle that was given controls what its members' descriptors would", "[privilege]") {
    const Who who = anybody();
    const int level = any_level();
    CAPTURE(name(who), level);
    const auto groups = stopped_groups();
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Bytes before = concatenated(groups);
    const Paranoid paranoid(level);
    struct Answer {
        std::array<long, 3> by_handle, by_leader;
    };
    const std::array fds{meta.fd(), groups[0].leader()};
    const auto answer = ask(who, fds, [](std::span<const int> given) {
        const Meta handle{Fd(::dup(given[0]))};
        Answer mine{
            {PERF_METAGROUP_IOC_RESET, PERF_METAGROUP_IOC_ENABLE, PERF_METAGROUP_IOC_DISABLE},
            {PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE}};
        for (long& command : mine.by_handle)
            command = handle.control(static_cast<unsigned long>(command));
        for (long& command : mine.by_leader)
            command = ::ioctl(given[1], static_cast<unsigned long>(command), PERF_IOC_FLAG_GROUP);
        return mine;
    });
    REQUIRE(answer.by_leader == std::array<long, 3>{});
    REQUIRE(answer.by_handle == answer.by_leader);
    // Reset, run and stopped by that process.
    REQUIRE(concatenated(groups) != before);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A handle that was given can be told to let members go", "[privilege]") {
    const Who who = anybody();
    CAPTURE(name(who));
    const auto groups = stopped_groups();
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const int handle = meta.fd();
    const long detached = ask(who, std::span(&handle, 1), [](std::span<const int> given) {
        return Meta{Fd(::dup(given[0]))}.detach(0);
    });
    REQUIRE(detached == 0);
    REQUIRE(meta.info().members == groups.size() - 1);
}

TEST_CASE("The members of a handle are listed for who may see its process's files", "[privilege]") {
    const Who who = anybody();
    CAPTURE(name(who));
    const Meta meta;
    const std::string directory = "/proc/" + std::to_string(::getpid()) + "/fdinfo/";
    const auto listed = ask(who, {}, [&](auto) {
        const auto opens = [&](int fd) {
            return bool(Fd(::open((directory + std::to_string(fd)).c_str(), O_RDONLY)));
        };
        return std::array{opens(meta.fd()), opens(STDIN_FILENO)};
    });
    REQUIRE(listed[0] == listed[1]);
    // Before Linux 5.14 it is enough to be the process's user; since then one must be able to trace
    // it.
    if (who != Who::bare_root) REQUIRE(listed[0] == (who == Who::root));
}

TEST_CASE("What a member counted that was let go is not shown to later readers", "[privilege]") {
    // The others' payloads are shorter: what lies behind them was the first one's.
    std::vector<EventGroup> groups;
    for (const int events : {8, 1, 1})
        groups.push_back(open_group(0, kFormat, events, true));
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Mapping mapping(meta);
    REQUIRE(meta.sweep() == 0);
    REQUIRE(meta.detach(0) == 0);
    REQUIRE(meta.sweep() == 0);

    const Framed read = mapping.framed();
    const std::size_t used = read.head.size + std::size_t{read.head.stride} * read.head.count;
    const unsigned char* const end = mapping.bytes() + mapping.size();
    const auto zero = [](unsigned char byte) { return byte == 0; };
    for (std::size_t i = 0; i < read.frames.size(); ++i) {
        const unsigned char* const frame = mapping.bytes() + read.head.size + i * read.head.stride;
        const perf_metagroup_record& record = read.frames[i].record;
        REQUIRE(std::all_of(frame + record.header + record.size, frame + read.head.stride, zero));
    }
    REQUIRE(std::all_of(mapping.bytes() + used, end, zero));
}
