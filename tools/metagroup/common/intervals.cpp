// SPDX-License-Identifier: MIT
#include "common/intervals.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <metagroup/error.hpp>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

using metagroup::Snapshot;
using metagroup::Stream;
using std::chrono::nanoseconds;

// The deadlines of a stream that are read at once: the rings hold several times as many. A stream
// costs less than sweeps if they are ten or more.
constexpr nanoseconds kLongestBatch = std::chrono::milliseconds(100);
constexpr int kLargestBatch = 512;

// In the shape of metagroup::MemberDelta.
template <typename Reading, typename Member>
struct Difference {
    std::optional<std::uint64_t> time_enabled() const {
        return *newer.time_enabled() - older.enabled;
    }
    std::optional<std::uint64_t> time_running() const {
        return *newer.time_running() - older.running;
    }
    // Nothing if the count went back: it was reset.
    std::optional<std::uint64_t> raw(std::size_t event) const {
        const std::uint64_t count = *newer.raw(event) - older.counts[event];
        return count > UINT64_MAX / 2 ? std::nullopt : std::optional(count);
    }

    const Reading& older;
    const Member& newer;
};

}  // namespace

CLI::Option* add_method(CLI::App& app, std::string& method) {
    return app
        .add_option("--method", method,
                    "sweep at each interval, stream (CPUs read their own counters at common "
                    "deadlines) or auto")
        ->check(CLI::IsMember({"auto", "sweep", "stream"}))
        ->capture_default_str();
}

std::optional<StreamedIntervals> StreamedIntervals::start(metagroup::MetaGroup& group,
                                                          const std::string& method,
                                                          nanoseconds interval,
                                                          const Snapshot& first) {
    const bool wanted = method == "stream";
    const bool possible = group.backend() == metagroup::Backend::module;
    if (wanted && !possible)
        throw std::invalid_argument("--method stream needs the module: " +
                                    std::string(group.backend_reason()));
    const bool cheaper = possible && 10 * interval < kLongestBatch;
    if (!wanted && (method == "sweep" || !cheaper)) return std::nullopt;
    try {
        return StreamedIntervals(Stream::start(group, {.period = interval}), first);
    } catch (const metagroup::Error&) {
        if (wanted) throw;
        return std::nullopt;  // sweeps need no rings and no timers
    }
}

StreamedIntervals::StreamedIntervals(Stream stream, const Snapshot& first)
    : stream_(std::move(stream)),
      batch_(std::min(kLongestBatch,
                      kLargestBatch * nanoseconds(static_cast<std::int64_t>(stream_.period_ns())))),
      last_(first.size()) {
    for (std::size_t i = 0; i < last_.size(); ++i)
        add(i, first[i], nullptr);
}

std::optional<std::uint64_t> StreamedIntervals::next(Totals& totals, Overhead& overhead) {
    for (;;) {
        if (unread_.empty()) unread_ = stream_.read();
        if (unread_.empty()) return std::nullopt;
        const metagroup::Deadline& deadline = unread_.front();
        unread_ = unread_.subspan(1);
        overhead.add_deadline(deadline);
        totals.clear();
        bool counted = false;
        for (const metagroup::Sample& sample : deadline) {
            add(sample.index(), sample, &totals);
            counted = counted || sample.nr() > 0;
        }
        if (counted) return deadline.time_ns();
    }
}

void StreamedIntervals::add_rest(const Snapshot& snapshot, Totals& totals) {
    for (std::size_t i = 0; i < last_.size(); ++i)
        add(i, snapshot[i], &totals);
}

template <typename Member>
void StreamedIntervals::add(std::size_t index, const Member& member, Totals* totals) {
    if (member.nr() == 0 || !member.time_enabled() || !member.time_running()) return;
    Reading& last = last_[index];
    // A member that is read late keeps its newest counts: see Stream::read().
    if (*member.time_enabled() < last.enabled) return;
    if (totals != nullptr && last.counts.size() == member.nr())
        totals->add_member(index, Difference<Reading, Member>{last, member});
    last.enabled = *member.time_enabled();
    last.running = *member.time_running();
    last.counts.resize(member.nr());
    for (std::size_t event = 0; event < last.counts.size(); ++event)
        last.counts[event] = *member.raw(event);
}

}  // namespace tool
