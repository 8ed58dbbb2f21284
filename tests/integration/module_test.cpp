// SPDX-License-Identifier: MIT
// The library over the module, in a kernel that has it.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <chrono>
#include <metagroup/delta.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <thread>

#include "fixtures.hpp"
#include "support/allocation_counter.hpp"
#include "support/backends.hpp"
#include "support/cpus.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using metagroup::Backend;
using metagroup::Cause;
using metagroup::CpuList;
using metagroup::Error;
using metagroup::LiveGroup;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::Status;

namespace test = metagroup::test;

namespace {

// A limit on open files, hard and soft, for as long as this lives.
class FewFiles {
  public:
    explicit FewFiles(rlim_t limit) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const rlimit few{limit, limit};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("With the module loaded, the automatic backend uses the module") {
    const MetaGroup group = MetaGroup::open(test::options(Backend::automatic));
    REQUIRE(group.backend() == Backend::module);
    REQUIRE_FALSE(group.backend_reason().empty());
}

TEST_CASE("Both backends return one record per CPU with the same shape", "[backends]") {
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend));
        Snapshot snapshot;
        group.read(snapshot);
        const auto cpus = test::online_cpus();
        REQUIRE(snapshot.size() == cpus.size());
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            const auto member = snapshot[i];
            REQUIRE(member.cpu() == cpus[i]);
            REQUIRE(member.status() == Status::ok);
            REQUIRE(member.nr() == 4);
            REQUIRE(member.time_enabled().value() == member.time_running().value());
            REQUIRE(member.raw(0).value() > 0);
        }
    }
}

TEST_CASE("The module returns the payloads that reads of the leaders return") {
    const auto spec = metagroup::parse_events(test::kEvents).front();
    std::vector<metagroup::EventGroup> groups;
    std::vector<int> leaders;
    for (const int cpu : test::online_cpus()) {
        groups.push_back(metagroup::EventGroup::open(spec, cpu));
        leaders.push_back(groups.back().leader_fd());
    }
    auto device = metagroup::Device::open();
    device.attach(leaders);
    device.set_format(metagroup::Format::framed);
    device.enable();
    test::burn_ms(5);
    device.disable();

    Snapshot snapshot;
    device.read(snapshot);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        std::vector<std::byte> own(groups[i].payload_size());
        REQUIRE(groups[i].read(own) == own.size());
        REQUIRE(std::ranges::equal(snapshot[i].payload_bytes(), own));
    }
}

TEST_CASE("Reads and sweeps through the module do not allocate") {
    MetaGroup group = MetaGroup::open(test::options(Backend::module));
    const metagroup::CpuList one({test::online_cpus().back()});
    Snapshot snapshot;
    group.read(snapshot);
    static_cast<void>(group.sweep());
    const test::AllocationCounter allocations;
    std::uint64_t sum = 0;
    for (int round = 0; round < 100; ++round) {
        group.read(snapshot);
        for (const auto member : group.sweep())
            sum += member.raw(0).value();
        group.read(snapshot, one);
    }
    REQUIRE(allocations.count() == 0);
    REQUIRE(sum > 0);
}

TEST_CASE("Clocks advance with time between two snapshots", "[backends]") {
    using namespace std::chrono;
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend, "{cpu-clock}"));
        Snapshot first, second;
        group.read(first);
        std::this_thread::sleep_for(milliseconds(20));
        group.read(second);
        for (std::size_t i = 0; i < first.size(); ++i) {
            const auto passed = second[i].time_ns() - first[i].time_ns();
            const auto counted = second[i].raw(0).value() - first[i].raw(0).value();
            CAPTURE(metagroup::to_string(backend), i, passed, counted);
            REQUIRE(counted >= 15'000'000);
            // A clock that counts nanoseconds, read at about the time that the record names.
            const auto off = counted > passed ? counted - passed : passed - counted;
            REQUIRE(off < passed / 2);
        }
    }
}

TEST_CASE("Skew is computed from the records, and does not exceed the duration of the sweep") {
    MetaGroup group = MetaGroup::open(test::options(Backend::module));
    Snapshot snapshot;
    std::uint64_t largest = 0;
    for (int round = 0; round < 100; ++round) {
        group.read(snapshot);
        std::vector<std::uint64_t> times;
        for (const auto member : snapshot)
            times.push_back(member.time_ns());
        const auto [oldest, newest] = std::ranges::minmax(times);
        REQUIRE(snapshot.skew_ns() == newest - oldest);
        REQUIRE(snapshot.skew_ns() <= snapshot.end_ns() - snapshot.begin_ns());
        largest = std::max<std::uint64_t>(largest, snapshot.skew_ns());
    }
    // No two CPUs read their clock in the same nanosecond each time.
    REQUIRE(largest > 0);
}

TEST_CASE("Disable stops and enable resumes all members, in both backends", "[backends]") {
    for (const Backend backend : test::backends()) {
        MetaGroup group = MetaGroup::open(test::options(backend));
        Snapshot snapshot;
        group.disable();
        group.read(snapshot);
        const auto stopped = snapshot[0].raw(0).value();
        test::burn_ms(3);
        group.read(snapshot);
        REQUIRE(snapshot[0].raw(0).value() == stopped);
        group.enable();
        test::burn_ms(3);
        group.read(snapshot);
        REQUIRE(snapshot[0].raw(0).value() > stopped);
        group.disable();
        group.reset();
        group.read(snapshot);
        REQUIRE(snapshot[0].raw(0).value() == 0);
    }
}

TEST_CASE("The number of members is not limited by RLIMIT_NOFILE") {
    const FewFiles few(32);
    MetaGroup::Options wanted =
        test::options(Backend::module, "cpu-clock,task-clock,page-faults,dummy");
    const auto four = wanted.groups;
    for (int i = 0; i < 15; ++i)
        wanted.groups.insert(wanted.groups.end(), four.begin(), four.end());
    MetaGroup group = MetaGroup::open(wanted);
    Snapshot snapshot;
    group.read(snapshot);
    REQUIRE(snapshot.size() == 64 * test::online_cpus().size());
}

TEST_CASE("A snapshot grows when a group grows") {
    const auto small = metagroup::parse_events("{cpu-clock}").front();
    auto group = metagroup::EventGroup::open(small, 0);
    auto device = metagroup::Device::open();
    const int leader = group.leader_fd();
    device.attach(std::span(&leader, 1));
    device.set_format(metagroup::Format::framed);
    Snapshot snapshot;
    device.read(snapshot);
    REQUIRE(snapshot[0].nr() == 1);

    std::vector<int> siblings;
    perf_event_attr attr = small.events.front().attr;
    attr.read_format = metagroup::default_read_format;
    for (int i = 0; i < 50; ++i) {
        siblings.push_back(static_cast<int>(
            ::syscall(SYS_perf_event_open, &attr, -1, 0, leader, PERF_FLAG_FD_CLOEXEC)));
        REQUIRE(siblings.back() >= 0);
    }
    device.read(snapshot);
    REQUIRE(snapshot[0].nr() == 51);
    for (const int fd : siblings)
        ::close(fd);
    device.read(snapshot);
    REQUIRE(snapshot[0].nr() == 1);
}

TEST_CASE("Only the record of an offline CPU has status OFFLINE") {
    MetaGroup group = MetaGroup::open(test::options(Backend::module));
    Snapshot snapshot;
    group.read(snapshot);
    const test::OfflineCpu gone(test::online_cpus().back());
    group.read(snapshot);
    for (const auto member : snapshot)
        REQUIRE(member.status() == (member.cpu() == gone.cpu() ? Status::offline : Status::ok));
}

TEST_CASE("Opening on an offline CPU fails and names the CPU") {
    const test::OfflineCpu gone(test::online_cpus().back());
    auto wanted = test::options(Backend::module);
    wanted.cpus = metagroup::CpuList::parse(std::to_string(gone.cpu()));
    try {
        MetaGroup::open(wanted);
        FAIL("it was opened");
    } catch (const Error& error) {
        REQUIRE(error.cause() == Cause::cpu_offline);
        REQUIRE_THAT(error.reason(),
                     Catch::Matchers::ContainsSubstring("CPU " + std::to_string(gone.cpu())));
    }
}

TEST_CASE("A group that belongs to another meta-group is refused with the reason") {
    const auto spec = metagroup::parse_events("{cpu-clock}").front();
    const auto group = metagroup::EventGroup::open(spec, 0);
    auto owner = metagroup::Device::open();
    auto other = metagroup::Device::open();
    const int leader = group.leader_fd();
    owner.attach(std::span(&leader, 1));
    try {
        other.attach(std::span(&leader, 1));
        FAIL("it was attached twice");
    } catch (const Error& error) {
        REQUIRE(error.cause() == Cause::already_attached);
        REQUIRE(error.code().value() == EBUSY);
        REQUIRE_THAT(error.reason(), Catch::Matchers::ContainsSubstring("member"));
    }
}

TEST_CASE("Without privilege the error names the device") {
    const int status = test::run_as(test::Identity::user, {}, [](auto) {
        try {
            MetaGroup::open(test::options(Backend::module));
            return 1;
        } catch (const Error& error) {
            const bool right = error.code().value() == EACCES || error.code().value() == EPERM;
            const bool named = error.operation().find("perf_metagroup") != std::string::npos;
            return right && named && error.cause() == Cause::no_device_permission ? 0 : 2;
        }
    });
    REQUIRE(status == 0);
}

TEST_CASE("Without privilege the error of the other backend names perf_event_paranoid",
          "[backends]") {
    const int status = test::run_as(test::Identity::user, {}, [](auto) {
        try {
            MetaGroup::open(test::options(test::other_backend()));
            return 1;
        } catch (const Error& error) {
            const bool named = error.reason().find("perf_event_paranoid") != std::string::npos;
            return named && error.cause() == Cause::no_perf_permission ? 0 : 2;
        }
    });
    REQUIRE(status == 0);
}

// A meta-group whose CPUs go offline and come back.

namespace test = metagroup::test;

namespace {

LiveGroup open(const char* events) {
    const Backend backend = GENERATE(from_range(test::backends()));
    UNSCOPED_INFO(metagroup::to_string(backend));
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    metagroup::MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.backend = backend;
    options.origin = metagroup::EventOrigin::groups;  // which do not come back by themselves
    return LiveGroup::open(options);
}

// As long as it may take until the backend shows it.
bool comes_back(LiveGroup& live) {
    for (int tries = 0; tries < 200; ++tries) {
        std::this_thread::sleep_for(50ms);
        live.read();
        if (live.reopen()) return true;
    }
    return false;
}

void require_all_count(LiveGroup& live) {
    REQUIRE(live.offline().empty());
    live.read();
    REQUIRE(live.delta().size() == test::online_cpus().size());
    for (std::size_t i = 0; i < live.delta().size(); ++i)
        REQUIRE(live.delta()[i].raw(0) > 0);
}

}  // namespace

TEST_CASE("While a CPU is offline the others count, and all count once it is back", "[backends]") {
    const char* const events = GENERATE("cpu-clock", "{cpu-clock,page-faults}");
    LiveGroup live = open(events);
    {
        const test::OfflineCpu gone(test::online_cpus().back());
        live.read();
        live.read();
        REQUIRE(live.offline() == CpuList({gone.cpu()}));
        REQUIRE_FALSE(live.reopen());
        REQUIRE(live.reopen_error().empty());
        REQUIRE(live.delta()[0].raw(0) > 0);
    }
    REQUIRE(live.reopen());
    require_all_count(live);
}

TEST_CASE("A CPU that was offline briefly counts again", "[backends]") {
    const char* const events = GENERATE("cpu-clock", "{cpu-clock,page-faults}");
    LiveGroup live = open(events);
    test::OfflineCpu(test::online_cpus().back()).back();
    REQUIRE(comes_back(live));
    require_all_count(live);
}

TEST_CASE("Groups are not reopened on a CPU that is offline", "[backends]") {
    if (test::online_cpus().size() < 3) SKIP("needs three CPUs");
    LiveGroup live = open("cpu-clock");
    const int last = test::online_cpus().back();
    {
        const test::OfflineCpu other(last - 1);
        test::OfflineCpu(last).back();
        REQUIRE(comes_back(live));
        REQUIRE(live.offline() == CpuList({other.cpu()}));
        live.read();
        REQUIRE(live.delta()[live.delta().size() - 1].raw(0) > 0);
    }
    REQUIRE(live.reopen());
    require_all_count(live);
}
