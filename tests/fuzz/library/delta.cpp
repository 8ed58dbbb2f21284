// SPDX-License-Identifier: MIT
// The difference of two snapshots, of which one may be damaged.
#include <metagroup/delta.hpp>

#include <optional>
#include <system_error>

#include "snapshot_rules.hpp"

namespace metagroup::fuzz {
namespace {

using Count = std::optional<std::uint64_t>;

std::optional<SnapshotView> view_of(const test::Bytes& bytes) {
    try {
        return SnapshotView(bytes);
    } catch (const std::system_error&) {
        return std::nullopt;
    }
}

bool is_difference(const Count& difference, const Count& older, const Count& newer) {
    if (!older || !newer) return !difference;
    const bool back = *newer - *older > UINT64_MAX / 2;
    return back ? !difference : difference == *newer - *older;
}

void hold_rules(const MemberDelta& delta, const std::optional<MemberView>& older) {
    const MemberView& newer = delta.newer();
    demand((delta.match() == Match::joined) == !older,
           "a member without an older record has joined");
    if (delta.match() != Match::ok) {
        demand(!delta.elapsed_ns() && !delta.time_enabled() && !delta.time_running() &&
                   !delta.raw(0) && !delta.scaled(0),
               "records that do not match have no difference");
        return;
    }
    demand(older->cpu() == newer.cpu() && older->nr() == newer.nr() && newer.nr() > 0,
           "records that match are of the same events");
    demand(is_difference(delta.time_enabled(), older->time_enabled(), newer.time_enabled()) &&
               is_difference(delta.time_running(), older->time_running(), newer.time_running()) &&
               is_difference(delta.elapsed_ns(), older->time_ns(), newer.time_ns()),
           "times are differences of times");
    for (std::size_t i = 0; i < newer.nr(); ++i) {
        demand(older->id(i) == newer.id(i), "events that match have the same identifiers");
        demand(is_difference(delta.raw(i), older->raw(i), newer.raw(i)),
               "a count is the difference of the counts");
        demand(!delta.scaled(i) || delta.time_running().value_or(0) > 0,
               "only a count with a running time is scaled");
    }
    demand(!delta.raw(newer.nr()) && !delta.scaled(newer.nr()),
           "an event that is not there has no count");
}

}  // namespace

void delta(Bytes input) {
    Input numbers(input);
    const test::Bytes old_bytes = test::framed(take_frames(numbers), numbers.below(4));
    test::Bytes new_bytes = test::framed(take_frames(numbers), numbers.below(4));
    damage(new_bytes, numbers);
    const SnapshotView older(old_bytes);
    const auto newer = view_of(new_bytes);
    if (!newer) return;

    const Delta delta(older, *newer);
    demand(delta.size() == newer->size(), "every newer record has a difference");
    std::size_t stayed = 0;
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const auto old = older.find((*newer)[i].member());
        hold_rules(delta[i], old);
        if (old) ++stayed;
    }
    demand(delta.removed_count() <= older.size(), "only members of the older snapshot are removed");
    if (rising(*newer))
        demand(delta.removed_count() + stayed == older.size(),
               "every older member is removed or has stayed");
    demand(delta.elapsed_ns().has_value() == (newer->begin_ns() >= older.begin_ns()),
           "no time has gone by if the newer is older");
}

}  // namespace metagroup::fuzz
