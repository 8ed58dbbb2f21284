// SPDX-License-Identifier: MIT
#include "common/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

using metagroup::RecordedEntry;
using metagroup::Recording;
using Kind = RecordedEntry::Kind;

// Histograms have integers: rates and ratios are kept in thousandths.
constexpr double kFactor = 1000;

std::vector<Column> columns_of(const Recording& recording) {
    std::vector<Column> columns;
    for (const metagroup::RecordedEvent& event : recording.events())
        if ((event.attr.sample_type & PERF_SAMPLE_READ) != 0)
            columns.push_back({event.name, event.unit, event.scale});
    return columns;
}

// Adds what was counted between two readings; nothing if the counter went back, as after a reset.
template <typename Reading>
void add_difference(Totals& totals, std::size_t place, std::size_t column, const Reading& older,
                    const Reading& newer) {
    const std::uint64_t count = newer.count - older.count;
    totals.add(place, column, count > UINT64_MAX / 2 ? std::nullopt : std::optional(count),
               newer.enabled - older.enabled, newer.running - older.running);
}

}  // namespace

Extent find_extent(Recording& recording, std::uint64_t since, std::uint64_t until) {
    std::uint64_t first = UINT64_MAX;
    recording.rewind();
    while (const auto entry = recording.next())
        if (entry->kind == Kind::sample) first = std::min(first, entry->time_ns);
    Extent extent{{}, UINT64_MAX, 0};
    std::set<int> cpus;
    recording.rewind();
    while (const auto entry = recording.next()) {
        const std::uint64_t at = entry->time_ns - first;
        if (entry->kind == Kind::round || at < since || at > until) continue;
        cpus.insert(entry->cpu);
        if (entry->kind == Kind::lost) continue;
        extent.first = std::min(extent.first, entry->time_ns);
        extent.last = std::max(extent.last, entry->time_ns);
    }
    if (extent.last == 0) throw std::runtime_error("the recording has no samples in this time");
    extent.cpus = metagroup::CpuList({cpus.begin(), cpus.end()});
    return extent;
}

Analysis::Analysis(Recording& recording, Extent extent, const Aggregation& rows,
                   std::optional<std::uint64_t> interval)
    : recording_(recording),
      rows_(rows),
      extent_(std::move(extent)),
      period_(recording.period_ns()),
      interval_(interval),
      columns_(columns_of(recording)),
      metrics_(columns_),
      whole_(columns_, rows),
      sample_(columns_, Aggregation::one()) {
    recording_.rewind();
    std::size_t column = 0;
    for (const metagroup::RecordedEvent& event : recording.events()) {
        const bool read = (event.attr.sample_type & PERF_SAMPLE_READ) != 0;
        column_of_.push_back(read ? std::optional(column++) : std::nullopt);
    }
}

double Analysis::seconds() const {
    return static_cast<double>(nominal(extent_.last) - nominal(extent_.first)) / 1e9;
}

// An interval includes the deadline at its end.
std::uint64_t Analysis::interval_of(std::uint64_t time) const {
    const std::uint64_t after = nominal(time) - nominal(extent_.first);
    return after == 0 || !interval_ ? 0 : (after - 1) / *interval_;
}

bool Analysis::step(const OnInterval& on_interval) {
    const auto entry = recording_.next();
    if (!entry) {
        finish(on_interval);
        return false;
    }
    if (entry->kind == Kind::round)
        end_round(std::exchange(complete_, newest_), on_interval);
    else
        add(*entry);
    return true;
}

void Analysis::add(const RecordedEntry& entry) {
    if (entry.time_ns < extent_.first || entry.time_ns > extent_.last) return;
    if (!extent_.cpus.contains(entry.cpu)) return;  // the file has grown
    newest_ = std::max(newest_, entry.time_ns);
    if (period_) add_deadline(entry);
    if (entry.kind == Kind::sample) add_sample(entry);
}

void Analysis::finish(const OnInterval& on_interval) {
    end_round(UINT64_MAX, on_interval);
    for (const auto& [id, counter] : counters_)
        add_difference(whole_, counter.place, counter.column, counter.first, counter.last);
    counters_.clear();
}

void Analysis::add_sample(const RecordedEntry& entry) {
    const metagroup::Payload& payload = *entry.payload;
    const std::size_t place = rows_.index_of(entry.cpu);
    const std::uint64_t interval = interval_of(entry.time_ns);
    sample_.clear();
    for (std::size_t i = 0; i < payload.nr(); ++i) {
        const std::uint64_t id = payload.id(i).value();
        const auto event = recording_.event_of(id);
        if (!event || !column_of_[*event]) continue;
        // Formats without times: the event was counted all the time.
        const std::uint64_t enabled = payload.time_enabled().value_or(entry.time_ns);
        const Reading now{enabled, payload.time_running().value_or(enabled), payload.value(i)};
        const auto [found, is_new] =
            counters_.try_emplace(id, Counter{place, *column_of_[*event], now, now, now, interval});
        if (is_new) continue;
        Counter& counter = found->second;
        add_difference(sample_, 0, counter.column, counter.last, now);
        if (counter.interval != interval) end_interval(counter);
        counter.interval = interval;
        counter.last = now;
    }
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        add_to_histogram(place, column, metrics_.rate(sample_, 0, column));
        add_to_histogram(place, columns_.size() + column, metrics_.ratio(sample_, 0, column));
    }
}

void Analysis::add_to_histogram(std::size_t place, std::size_t figure,
                                const std::optional<Metric>& metric) {
    constexpr double largest = 1e15;
    if (!metric || !(metric->value >= 0)) return;
    histograms_[{place, figure}].add(
        static_cast<std::uint64_t>(std::llround(std::min(metric->value, largest) * kFactor)));
}

void Analysis::add_deadline(const RecordedEntry& entry) {
    const std::size_t place = rows_.index_of(entry.cpu);
    Cpu& cpu = cpus_[entry.cpu];
    // The members of a CPU have the same time.
    std::uint64_t& newest = entry.kind == Kind::lost ? cpu.last_loss : cpu.last_sample;
    if (std::exchange(newest, entry.time_ns) == entry.time_ns) return;
    if (entry.kind == Kind::lost) {
        lost_[place] += entry.lost;
        return;
    }
    histograms_[{place, lateness_figure()}].add(entry.time_ns % *period_);
    Span& span = deadlines_[nominal(entry.time_ns)];
    span.first = std::min(span.first, entry.time_ns);
    span.last = std::max(span.last, entry.time_ns);
}

void Analysis::end_interval(Counter& counter) {
    if (!interval_ || counter.last.enabled == counter.begin.enabled) return;
    Totals& totals = intervals_.try_emplace(counter.interval, columns_, rows_).first->second;
    add_difference(totals, counter.place, counter.column, counter.begin, counter.last);
    counter.begin = counter.last;
}

void Analysis::end_round(std::uint64_t complete, const OnInterval& on_interval) {
    while (!deadlines_.empty() && deadlines_.begin()->first < nominal(complete)) {
        const Span& span = deadlines_.begin()->second;
        if (extent_.cpus.size() > 1) skew_.add(span.last - span.first);
        deadlines_.erase(deadlines_.begin());
    }
    const bool all = complete == UINT64_MAX;
    if (!interval_ || (!all && complete < extent_.first)) return;
    const std::uint64_t open = all ? UINT64_MAX : interval_of(complete);  // the first
    for (auto& [id, counter] : counters_)
        if (counter.interval < open) end_interval(counter);
    while (!intervals_.empty() && intervals_.begin()->first < open) {
        const auto end = static_cast<double>((intervals_.begin()->first + 1) * *interval_) / 1e9;
        on_interval(std::min(end, seconds()), intervals_.begin()->second);
        intervals_.erase(intervals_.begin());
    }
}

std::vector<Distribution> Analysis::distributions() const {
    std::vector<Distribution> found;
    const std::size_t columns = columns_.size();
    for (const auto& [key, histogram] : histograms_) {
        const auto& [place, figure] = key;
        const Place& at = rows_.places()[place];
        Distribution row{at.name, at.cpus, "lateness", "ns", 1, &histogram, {}};
        if (figure == lateness_figure()) {
            const auto lost = lost_.find(place);
            row.lost = lost == lost_.end() ? 0 : lost->second;
        } else {
            const std::string& event = columns_[figure % columns].event;
            const auto& ratio = metrics_.ratio_of(figure % columns);
            row.factor = kFactor;
            row.name = figure < columns ? event : ratio->name;
            row.unit = figure >= columns ? ratio->unit : is_clock(event) ? "CPUs utilized" : "/sec";
        }
        found.push_back(std::move(row));
    }
    if (skew_.count() > 0) found.push_back({"", extent_.cpus.size(), "skew", "ns", 1, &skew_, {}});
    return found;
}

}  // namespace tool
