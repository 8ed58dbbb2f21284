// SPDX-License-Identifier: MIT
// The types of the public API: views of temporaries do not compile, since they would dangle, and
// every aggregate can be initialised by any of its members. A member without a default initialiser
// does not compile, since warnings are errors.
#include <metagroup/delta.hpp>
#include <metagroup/known_events.hpp>
#include <metagroup/live_group.hpp>
#include <metagroup/mapping.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/published_set.hpp>
#include <metagroup/stream.hpp>
#include <type_traits>

#include "helpers.hpp"

using namespace metagroup;

namespace {

// A concept for each call: true if it compiles for objects of that kind.
#define CAN_CALL(name, call)               \
    template <typename T>                  \
    concept name = requires(T && object) { \
        std::forward<T>(object).call;      \
    }

CAN_CALL(has_bytes, bytes());
CAN_CALL(has_index, operator[](0));
CAN_CALL(has_find, find(0));
CAN_CALL(has_begin, begin());
CAN_CALL(has_end, end());
CAN_CALL(has_view, view());
CAN_CALL(has_sweep, sweep());
CAN_CALL(has_members, members());
CAN_CALL(has_groups, groups());
CAN_CALL(has_events, events(0));
CAN_CALL(has_cpus, cpus());
CAN_CALL(has_newest, newest());
CAN_CALL(has_delta, delta());
CAN_CALL(has_group, group());
CAN_CALL(has_read, read());

#undef CAN_CALL

}  // namespace

TEST_CASE("Delta rejects temporary snapshots, but accepts views") {
    STATIC_CHECK(std::is_constructible_v<Delta, Snapshot&, const Snapshot&>);
    STATIC_CHECK(std::is_constructible_v<Delta, Snapshot&, SnapshotView>);
    STATIC_CHECK(std::is_constructible_v<Delta, SnapshotView, SnapshotView>);
    STATIC_CHECK_FALSE(std::is_constructible_v<Delta, Snapshot, Snapshot&>);
    STATIC_CHECK_FALSE(std::is_constructible_v<Delta, Snapshot&, Snapshot>);
    STATIC_CHECK_FALSE(std::is_constructible_v<Delta, Snapshot, Snapshot>);
    STATIC_CHECK_FALSE(std::is_constructible_v<Delta, const Snapshot, Snapshot&>);
    STATIC_CHECK_FALSE(std::is_constructible_v<Delta, SnapshotView, Snapshot>);
}

TEST_CASE("SnapshotView rejects temporary snapshots") {
    STATIC_CHECK(std::is_constructible_v<SnapshotView, Snapshot&>);
    STATIC_CHECK_FALSE(std::is_constructible_v<SnapshotView, Snapshot>);
    STATIC_CHECK(std::is_assignable_v<SnapshotView&, Snapshot&>);
    STATIC_CHECK_FALSE(std::is_assignable_v<SnapshotView&, Snapshot>);
}

TEST_CASE("A temporary snapshot gives no access to records") {
    STATIC_CHECK((has_bytes<Snapshot&> && has_index<Snapshot&> && has_find<Snapshot&>));
    STATIC_CHECK_FALSE((has_bytes<Snapshot> || has_index<Snapshot> || has_find<Snapshot>));
    STATIC_CHECK((has_bytes<SnapshotView> && has_index<SnapshotView> && has_find<SnapshotView>));
    STATIC_CHECK((has_begin<const SnapshotView&> && has_end<const Snapshot&>));
    STATIC_CHECK_FALSE((has_begin<SnapshotView> || has_end<SnapshotView>));
    STATIC_CHECK_FALSE((has_begin<Snapshot> || has_end<Snapshot>));
}

TEST_CASE("Parts of temporaries are copies") {
    using Newer = decltype(std::declval<MemberDelta>().newer());
    using Decoded = decltype(std::declval<MemberView>().payload());
    using Cpus = decltype(std::declval<CpuList>().cpus());
    using Reason = decltype(std::declval<MetaGroup>().backend_reason());
    STATIC_CHECK((std::is_same_v<Newer, MemberView>));
    STATIC_CHECK((std::is_same_v<Decoded, std::optional<Payload>>));
    STATIC_CHECK((std::is_same_v<Cpus, std::vector<int>>));
    STATIC_CHECK((std::is_same_v<Reason, std::string>));
}

TEST_CASE("A temporary CPU list has no iterators") {
    STATIC_CHECK((has_begin<const CpuList&> && has_end<CpuList&>));
    STATIC_CHECK_FALSE((has_begin<CpuList> || has_end<CpuList>));
}

TEST_CASE("A temporary meta-group or mapping returns no references") {
    STATIC_CHECK((has_view<Mapping&> && has_sweep<MetaGroup&> && has_members<const MetaGroup&>));
    STATIC_CHECK((has_groups<MetaGroup&> && has_events<MetaGroup&>));
    STATIC_CHECK_FALSE((has_view<Mapping> || has_sweep<MetaGroup> || has_members<MetaGroup>));
    STATIC_CHECK_FALSE((has_groups<MetaGroup> || has_events<MetaGroup>));
    STATIC_CHECK((has_cpus<MetaGroup&> && !has_cpus<MetaGroup>));
    STATIC_CHECK((has_newest<LiveGroup&> && has_delta<LiveGroup&> && has_group<LiveGroup&>));
    STATIC_CHECK_FALSE((has_newest<LiveGroup> || has_delta<LiveGroup> || has_group<LiveGroup>));
}

TEST_CASE("A temporary stream gives no access to deadlines") {
    STATIC_CHECK(has_read<Stream&>);
    STATIC_CHECK_FALSE(has_read<Stream>);
}

TEST_CASE("Designated initializers may name any subset of an aggregate's members") {
    const MetaGroup::Options groups{.groups = {GroupSpec{.events = {EventSpec{.name = "a"}}}}};
    const MetaGroup::Options others{.backend = Backend::per_fd, .mode = {.quiet = true}};
    const MetaGroup::Options device{.cgroup = "system.slice", .device = "/dev/null"};
    CHECK(groups.groups.front().events.front().name == "a");
    CHECK(others.groups.empty());
    CHECK(device.backend == Backend::automatic);
    CHECK(MetaGroup::Member{.cpu = 3}.group == 0);
    CHECK(MemberInfo{.cpu = 3}.ids.empty());
    CHECK(SetOptions{.follow = true}.read_format == default_read_format);
    CHECK(PublishedSet{.gid = 3}.name.empty());
    CHECK(Mode{.skip_isolated = true} == Mode{false, true});
    CHECK(EventSpec{.scale = 2.0}.unit.empty());
    CHECK(GroupSpec{.modifiers = "u"}.events.empty());
    CHECK(KnownEvent{.pmu = "msr"}.name.empty());
    CHECK(Stream::Options{.overwrite = true}.watermark == 0);
    CHECK(Stream::Options{.watermark = 1}.period.count() == 1'000'000);
    CHECK(Error::Parts{.failed = "a"}.remedy.empty());
}
