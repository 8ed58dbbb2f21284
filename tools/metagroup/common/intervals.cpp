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

// The number of stream deadlines to read at once: the rings hold several times as many. From ten
// on, a stream costs less than sweeps.
constexpr nanoseconds kLongestBatch = std::chrono::milliseconds(100);
constexpr int kLargestBatch = 512;

}  // namespace

CLI::Option* add_method(CLI::App& app, std::string& method) {
    return app.add_option("--method", method, "read with sweeps, or with a stream of the module")
        ->check(CLI::IsMember({"auto", "sweep", "stream"}))
        ->capture_default_str();
}

std::optional<StreamedIntervals> StreamedIntervals::start(
    metagroup::MetaGroup& group, const std::string& method, nanoseconds interval,
    const Snapshot& first, const std::shared_ptr<const CountLayout>& layout) {
    const bool wanted = method == "stream";
    const bool possible = group.backend() == metagroup::Backend::module;
    if (wanted && !possible)
        throw std::invalid_argument("--method stream requires the module: " +
                                    std::string(group.backend_reason()));
    const bool cheaper = possible && 10 * interval < kLongestBatch;
    if (!wanted && (method == "sweep" || !cheaper)) return std::nullopt;
    try {
        return StreamedIntervals(Stream::start(group, {.period = interval}), first, layout);
    } catch (const metagroup::Error&) {
        if (wanted) throw;
        return std::nullopt;  // sweeps need neither rings nor timers
    }
}

StreamedIntervals::StreamedIntervals(Stream stream, const Snapshot& first,
                                     const std::shared_ptr<const CountLayout>& layout)
    : stream_(std::move(stream)),
      batch_(std::min(kLongestBatch,
                      kLargestBatch * nanoseconds(static_cast<std::int64_t>(stream_.period_ns())))),
      accumulator_(first.size()),
      intervals_(layout, stream_.first_ns() - stream_.period_ns(), stream_.period_ns()) {
    for (std::size_t i = 0; i < first.size(); ++i)
        accumulator_.add(i, first[i], first.begin_ns());
}

const Counts* StreamedIntervals::next(Overhead& overhead) {
    for (;;) {
        const auto patience = static_cast<std::uint64_t>((2 * batch_).count());
        const std::uint64_t forced = finished_ ? UINT64_MAX : newest_ - std::min(newest_, patience);
        if (const Counts* counts = intervals_.take(forced)) return counts;
        if (unread_.empty() && !finished_) unread_ = stream_.read();
        if (unread_.empty()) return nullptr;
        overhead.add_deadline(unread_.front());
        add(unread_.front());
        unread_ = unread_.subspan(1);
    }
}

void StreamedIntervals::add(const metagroup::Deadline& deadline) {
    for (const metagroup::Sample& sample : deadline) {
        newest_ = std::max(newest_, sample.time_ns());
        if (const auto difference = accumulator_.add(sample))
            intervals_.add(sample.index(), *difference);
    }
}

void StreamedIntervals::finish(const Snapshot& snapshot) {
    unread_ = {};
    finished_ = true;
    for (std::size_t i = 0; i < snapshot.size(); ++i)
        if (const auto difference = accumulator_.add(i, snapshot[i], snapshot.begin_ns()))
            intervals_.add(i, *difference);
    intervals_.end(snapshot.begin_ns());
}

}  // namespace tool
