// SPDX-License-Identifier: MIT
// Sets by the library, in a kernel that has the module.
#include <sys/stat.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <metagroup/delta.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>
#include <metagroup/stream.hpp>
#include <thread>

#include "support/cpus.hpp"
#include "support/process.hpp"
#include "support/settings.hpp"

using namespace std::chrono_literals;
using metagroup::Cause;
using metagroup::CpuList;
using metagroup::Delta;
using metagroup::Device;
using metagroup::Error;
using metagroup::EventOrigin;
using metagroup::LiveGroup;
using metagroup::MetaGroup;
using metagroup::Snapshot;
using metagroup::Status;

namespace test = metagroup::test;

namespace {

constexpr std::uint64_t kWithIds = metagroup::default_read_format | metagroup::ReadFormat::id;
constexpr const char* kSetEvents = "{context-switches,page-faults,cpu-clock}";

MetaGroup::Options set_options(EventOrigin origin, const char* events = kSetEvents) {
    MetaGroup::Options all;
    all.groups = metagroup::parse_events(events);
    all.origin = origin;
    return all;
}

void need_names() {
    if ((Device::open().info().features & PERF_METAGROUP_FEATURE_NAME) == 0)
        SKIP("the module has no names of sets");
}

// A name that ends with this.
struct Name {
    explicit Name(const std::string& given, unsigned mode = 0440) : text(given) {
        MetaGroup::Options what = set_options(EventOrigin::set);
        what.read_format = kWithIds;
        MetaGroup::open(what).publish(text, mode);
    }
    ~Name() { Device::open().unpublish(text); }
    Name(const Name&) = delete;
    Name& operator=(const Name&) = delete;
    std::string text;
};

MetaGroup join(const std::string& name) {
    MetaGroup::Options options;
    options.set = name;
    return MetaGroup::open(options);
}

}  // namespace

TEST_CASE("Groups are sets on request only") {
    REQUIRE(MetaGroup::open(set_options(EventOrigin::automatic)).origin() == EventOrigin::groups);
    REQUIRE(MetaGroup::open(set_options(EventOrigin::set, "cpu-clock")).origin() ==
            EventOrigin::set);
    MetaGroup::Options followed = set_options(EventOrigin::automatic);
    followed.follow = true;
    REQUIRE(MetaGroup::open(followed).origin() == EventOrigin::set);
}

TEST_CASE("A set and a group of the same events count the same between two sweeps") {
    MetaGroup set = MetaGroup::open(set_options(EventOrigin::set));
    MetaGroup groups = MetaGroup::open(set_options(EventOrigin::groups));
    Snapshot outer_begin, inner_begin, inner_end, outer_end;
    set.read(outer_begin);
    groups.read(inner_begin);
    test::touch_new_memory(100);
    test::burn_ms(5);
    groups.read(inner_end);
    set.read(outer_end);
    const Delta outer(outer_begin, outer_end);
    const Delta inner(inner_begin, inner_end);
    REQUIRE(outer.size() == inner.size());
    std::uint64_t faults = 0;
    for (std::size_t i = 0; i < outer.size(); ++i) {
        REQUIRE(set.members()[i].cpu == groups.members()[i].cpu);
        for (std::size_t event = 0; event < 2; ++event)
            REQUIRE(inner[i].raw(event).value() <= outer[i].raw(event).value());
        faults += inner[i].raw(1).value();
    }
    REQUIRE(faults >= 100);
}

TEST_CASE("A stopped set keeps its counts until it is started") {
    MetaGroup set = MetaGroup::open(set_options(EventOrigin::set));
    Snapshot first, second;
    set.disable();
    set.read(first);
    test::burn_ms(3);
    set.read(second);
    REQUIRE(second[0].status() == Status::off);
    REQUIRE(Delta(first, second)[0].raw(2) == 0);
    set.enable();
    test::burn_ms(3);
    set.read(second);
    REQUIRE(Delta(first, second)[0].raw(2) > 0);
}

TEST_CASE("A user who may open events but no attrs gets a set from templates") {
    const test::Paranoid level(2);
    REQUIRE(::chmod(PERF_METAGROUP_DEVICE, 0666) == 0);
    const int status = test::run_as(test::Identity::monitor, {}, [](auto) {
        try {
            auto device = Device::open();
            device.open_set(metagroup::parse_events("cpu-clock").front().events);
            return 1;
        } catch (const Error& error) {
            if (error.cause() != Cause::no_set_permission) return 2;
        }
        return MetaGroup::open(set_options(EventOrigin::set)).origin() == EventOrigin::set ? 0 : 3;
    });
    REQUIRE(::chmod(PERF_METAGROUP_DEVICE, 0600) == 0);
    REQUIRE(status == 0);
}

TEST_CASE("An event that a set cannot count is named with the reason") {
    auto device = Device::open();
    auto events = metagroup::parse_events("{cpu-clock,page-faults}").front().events;
    events[1].attr.sample_period = 1;
    try {
        device.open_set(events);
        FAIL("it was opened");
    } catch (const Error& error) {
        REQUIRE_THAT(error.operation(), Catch::Matchers::ContainsSubstring("\"page-faults\""));
        REQUIRE(error.cause() == Cause::unsupported_event);
        REQUIRE(error.code().value() == EINVAL);
    }
}

TEST_CASE("The events of one CPU are replaced and read back while the other CPUs keep counting") {
    auto device = Device::open();
    device.set_format(metagroup::Format::framed);
    const auto clock = metagroup::parse_events("{cpu-clock,page-faults}").front().events;
    const metagroup::NewMembers members = device.open_set(clock, {.read_format = kWithIds});
    const std::uint32_t last = members.first + members.count - 1;
    Snapshot older, between, newer;
    device.read(older);
    device.set_events(last, metagroup::parse_events("page-faults:u").front().events);
    device.read(between);
    test::burn_ms(3);
    device.read(newer);

    const auto replaced = device.events(last);
    REQUIRE(replaced.size() == 1);
    REQUIRE(replaced[0].config == PERF_COUNT_SW_PAGE_FAULTS);
    REQUIRE(replaced[0].exclude_kernel == 1);
    const auto old = older.find(last).value();
    const auto now = between.find(last).value();
    REQUIRE(now.nr() == 1);
    REQUIRE(now.generation() == old.generation() + 1);
    REQUIRE(now.id(0).value() != old.id(0).value());
    REQUIRE(now.time_enabled().value() < between.end_ns() - older.begin_ns());
    REQUIRE(Delta(older, between)[members.count - 1].match() == metagroup::Match::changed);
    REQUIRE(Delta(between, newer)[members.count - 1].match() == metagroup::Match::ok);
    if (members.count == 1) return;
    REQUIRE(device.events(members.first).size() == 2);
    REQUIRE_FALSE(Delta(older, newer)[0].reopened());
    REQUIRE(Delta(older, newer)[0].raw(0) > 0);
}

TEST_CASE("The events of one CPU are replaced by events of descriptors") {
    auto device = Device::open();
    const auto set = device.open_set(metagroup::parse_events("cpu-clock").front().events);
    {
        const auto other = metagroup::EventGroup::open(
            metagroup::parse_events("page-faults").front(), test::online_cpus().front());
        device.set_events(set.first, std::array{other.leader_fd()});
    }
    REQUIRE(device.events(set.first).at(0).config == PERF_COUNT_SW_PAGE_FAULTS);
}

TEST_CASE("If a new event cannot be opened, a CPU keeps its events and counts") {
    auto device = Device::open();
    device.set_format(metagroup::Format::framed);
    const auto set = device.open_set(metagroup::parse_events("cpu-clock").front().events);
    auto events = metagroup::parse_events("{page-faults,context-switches}").front().events;
    events[1].attr.sample_period = 1;
    Snapshot older, newer;
    device.read(older);
    try {
        device.set_events(set.first, events);
        FAIL("they were replaced");
    } catch (const Error& error) {
        REQUIRE(error.operation() ==
                "cannot open event \"context-switches\" for member " + std::to_string(set.first));
        REQUIRE(error.cause() == Cause::unsupported_event);
    }
    test::burn_ms(3);
    device.read(newer);
    REQUIRE(device.events(set.first).at(0).config == PERF_COUNT_SW_CPU_CLOCK);
    REQUIRE_FALSE(Delta(older, newer)[0].reopened());
    REQUIRE(Delta(older, newer)[0].raw(0) > 0);
}

TEST_CASE("Only the events of set members can be replaced and read") {
    auto device = Device::open();
    const auto events = metagroup::parse_events("cpu-clock").front().events;
    const auto group =
        metagroup::EventGroup::open(metagroup::GroupSpec{events}, test::online_cpus().front());
    const std::uint32_t member = device.attach(std::array{group.leader_fd()});
    const auto refused = [](const auto& action) -> Error {
        try {
            action();
        } catch (const Error& error) {
            return error;
        }
        throw std::runtime_error("it was done");
    };
    for (const Error& error : {refused([&] { device.set_events(member, events); }),
                               refused([&] { static_cast<void>(device.events(member)); })}) {
        REQUIRE(error.code().value() == EINVAL);
        REQUIRE_THAT(error.reason(), Catch::Matchers::ContainsSubstring("event group"));
    }
    REQUIRE(refused([&] { device.set_events(member + 1, events); }).cause() ==
            Cause::no_such_member);
}

TEST_CASE("A set continues to count when a CPU is back, and the delta shows the gap") {
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    LiveGroup live = LiveGroup::open(set_options(EventOrigin::set));
    REQUIRE(live.group().origin() == EventOrigin::set);
    const std::size_t last = live.newest().size() - 1;
    Snapshot before = live.newest();
    {
        const test::OfflineCpu gone(test::online_cpus().back());
        live.read();
        REQUIRE(live.offline() == CpuList({gone.cpu()}));
        REQUIRE_FALSE(live.reopen());
        REQUIRE(live.delta()[0].raw(2) > 0);
    }
    for (int tries = 0; tries < 200 && !live.offline().empty(); ++tries) {
        std::this_thread::sleep_for(50ms);
        live.read();
        REQUIRE_FALSE(live.reopen());
    }
    REQUIRE(live.offline().empty());
    REQUIRE(live.reopen_error().empty());
    test::burn_ms(5);
    live.read();
    const Delta whole(before, live.newest());
    REQUIRE_FALSE(whole[0].reopened());
    REQUIRE(whole[last].reopened());
    REQUIRE(whole[last].raw(2) > 0);
    REQUIRE_FALSE(live.delta()[last].reopened());
}

TEST_CASE("A stream has the samples of a set") {
    MetaGroup set = MetaGroup::open(set_options(EventOrigin::set));
    auto stream = metagroup::Stream::start(set, {.period = 5ms});
    const test::BusyCpus busy;
    std::size_t samples = 0;
    for (int tries = 0; tries < 100 && samples < 2 * set.members().size(); ++tries) {
        std::this_thread::sleep_for(50ms);
        for (const metagroup::Deadline& deadline : stream.read())
            for (const metagroup::Sample& sample : deadline)
                samples += sample.nr() == 3 ? 1 : 0;
    }
    REQUIRE(samples >= 2 * set.members().size());
}

TEST_CASE("A published set outlives its publisher, and is joined by name") {
    need_names();
    const Name name("library");
    REQUIRE(metagroup::published_set("library").value().cpus == CpuList::online());
    MetaGroup joined = join("library");
    REQUIRE(joined.origin() == EventOrigin::name);
    REQUIRE(joined.cpus() == CpuList::online());
    // Later kernels rewrite the type of a clock to one that sysfs does not name.
    REQUIRE(to_string(joined.groups().front()).starts_with("{context-switches,page-faults,"));
    Snapshot first, second;
    joined.read(first);
    test::burn_ms(3);
    joined.read(second);
    REQUIRE(Delta(first, second).size() == CpuList::online().size());
    REQUIRE(Delta(first, second)[0].raw(2) > 0);
    const auto all = metagroup::published_sets();
    REQUIRE(all.size() == 1);
    REQUIRE(all.front().users == 1);
}

TEST_CASE("An unknown name is refused with similar ones") {
    need_names();
    const Name name("library");
    try {
        join("librari");
        FAIL("it was joined");
    } catch (const Error& error) {
        REQUIRE(error.cause() == Cause::no_such_set);
        REQUIRE_THAT(error.remedy(), Catch::Matchers::ContainsSubstring("\"library\""));
    }
}

TEST_CASE("A name that is already in use is refused") {
    need_names();
    const Name name("library");
    MetaGroup other = MetaGroup::open(set_options(EventOrigin::set));
    try {
        other.publish("library");
        FAIL("it was published");
    } catch (const Error& error) {
        REQUIRE(error.cause() == Cause::set_exists);
    }
}
