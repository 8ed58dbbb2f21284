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

// Histograms store integers: rates and ratios are stored in thousandths.
constexpr double kFactor = 1000;

// Without the module, a timer leads each group: it only triggers samples and is not reported.
bool is_counted(const metagroup::RecordedEvent& event) {
    return (event.attr.sample_type & PERF_SAMPLE_READ) != 0 && !event.is_timer();
}

// The time between two deadlines of a timer, in ns; 0 if the event is not a timer.
std::uint64_t timer_period(const perf_event_attr& attr) {
    if (!metagroup::is_clock(attr)) return 0;
    if (attr.freq == 0) return attr.sample_period;
    return 1'000'000'000 / std::max<std::uint64_t>(attr.sample_freq, 1);
}

// The events of a group are adjacent.
std::vector<Column> columns_of(const Recording& recording, const Extent& extent) {
    std::vector<Column> columns;
    for (const auto& [leader, events] : extent.groups)
        for (const std::size_t i : events)
            columns.push_back(metagroup::column_of(recording.events()[i]));
    return columns;
}

// The CPUs that count a group.
metagroup::CpuList cpus_of(const Recording& recording, const Extent& extent, std::size_t leader) {
    std::vector<int> sampled;
    const auto begin = extent.lanes.lower_bound({leader, 0});
    for (auto lane = begin; lane != extent.lanes.end() && lane->first.first == leader; ++lane)
        sampled.push_back(lane->first.second);
    const std::size_t event = extent.groups.at(leader).front();
    return metagroup::counting_cpus(recording.events()[event],
                                    metagroup::CpuList(std::move(sampled)), extent.cpus);
}

std::shared_ptr<const CountLayout> layout_of(const Recording& recording, const Extent& extent,
                                             const Aggregation& rows) {
    std::vector<CountLayout::Lane> lanes;
    std::size_t column = 0;
    for (const auto& [leader, events] : extent.groups) {
        for (const int cpu : cpus_of(recording, extent, leader))
            lanes.push_back({cpu, column, events.size()});
        column += events.size();
    }
    return std::make_shared<CountLayout>(columns_of(recording, extent), std::move(lanes), rows);
}

// The CPUs that a figure of a place lacks.
struct Lack {
    std::uint32_t least = UINT32_MAX;  // in any step
    std::uint32_t counters = 0;
};

// The time of the oldest sample. Reads as little as possible: nothing after a round is older than
// what was before the previous round.
std::uint64_t first_time(Recording& recording) {
    std::uint64_t first = UINT64_MAX;
    bool complete = false;
    recording.rewind();
    while (const auto entry = recording.next()) {
        if (entry->kind == Kind::sample) first = std::min(first, entry->time_ns);
        if (entry->kind == Kind::round && first < UINT64_MAX && std::exchange(complete, true))
            break;
    }
    return first;
}

// Adds those that the group does not have yet: a sample may lack some.
void add_events(const Recording& recording, const metagroup::Payload& payload,
                std::vector<std::size_t>& events) {
    std::size_t next = 0;
    for (std::size_t value = 0; value < payload.nr(); ++value) {
        const auto event = recording.event_of(payload.id(value).value());
        if (!event || !is_counted(recording.events()[*event])) continue;
        auto at = std::ranges::find(events, *event);
        if (at == events.end())
            at = events.insert(events.begin() + static_cast<std::ptrdiff_t>(next), *event);
        next = static_cast<std::size_t>(at - events.begin()) + 1;
    }
}

std::string_view unit_of(const Column& column) {
    if (column.reading) return column.unit;
    return column.clock ? "CPUs utilized" : "/sec";
}

// All rates and readings, then all ratios.
std::vector<Figure> figures_of(const std::vector<Column>& columns, const Metrics& metrics) {
    std::vector<Figure> figures;
    for (std::size_t i = 0; i < columns.size(); ++i)
        figures.push_back({columns[i].event, unit_of(columns[i]), i, false});
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (const auto& ratio = metrics.ratio_of(i))
            figures.push_back({std::string(ratio->name), ratio->unit, i, true});
    return figures;
}

// One row of one group.
std::shared_ptr<const CountLayout> layout_of_sample(const std::vector<Column>& columns) {
    return std::make_shared<CountLayout>(
        columns, std::vector<CountLayout::Lane>{{.cpu = 0, .events = columns.size()}},
        Aggregation(AggrMode::all, metagroup::CpuList({0})));
}

}  // namespace

Analysis::Group::Group(const std::vector<Column>& columns, std::size_t first,
                       const std::vector<Figure>& all)
    : counts(layout_of_sample(columns)), metrics(columns) {
    for (Figure& figure : figures_of(columns, metrics)) {
        const auto found = std::ranges::lower_bound(
            all, std::pair(figure.ratio, first + figure.column), {},
            [](const Figure& one) { return std::pair(one.ratio, one.column); });
        figures.emplace_back(static_cast<std::size_t>(found - all.begin()), std::move(figure));
    }
}

std::vector<double> Distribution::quantiles() const {
    std::vector<double> found;
    if (values->count() == 0) return found;
    for (const double part : {0.5, 0.9, 0.99, 1.0})
        found.push_back(static_cast<double>(values->quantile(part)) / factor);
    return found;
}

Extent find_extent(Recording& recording, std::uint64_t since, std::uint64_t until) {
    const std::uint64_t first = first_time(recording);
    Extent extent{.begin = since == 0 ? 0 : first + since,
                  .end = until > UINT64_MAX - first ? UINT64_MAX : first + until,
                  .first = UINT64_MAX};
    const metagroup::CpuList recorded = recording.cpus();
    std::set<int> cpus(recorded.begin(), recorded.end());
    recording.rewind();
    while (const auto entry = recording.next()) {
        if (entry->kind == Kind::round || entry->time_ns < first) continue;
        const std::uint64_t at = entry->time_ns - first;
        if (at < since || at > until) continue;
        cpus.insert(entry->cpu);
        if (entry->kind == Kind::lost) continue;
        ++extent.samples;
        extent.first = std::min(extent.first, entry->time_ns);
        extent.last = std::max(extent.last, entry->time_ns);
        const auto [lane, is_new] = extent.lanes.try_emplace({entry->event, entry->cpu});
        lane->second.last = std::max(lane->second.last, entry->time_ns);
        if (is_new) lane->second.first = entry->time_ns;
        if (entry->payload->nr() <= lane->second.events) continue;
        lane->second.events = entry->payload->nr();
        add_events(recording, *entry->payload, extent.groups[entry->event]);
    }
    if (extent.last == 0) throw std::runtime_error("the recording has no samples in this time");
    std::erase_if(extent.groups, [](const auto& group) { return group.second.empty(); });
    extent.cpus = metagroup::CpuList({cpus.begin(), cpus.end()});
    return extent;
}

Analysis::Analysis(Recording& recording, Extent extent, const Aggregation& rows,
                   std::optional<std::uint64_t> interval)
    : recording_(recording),
      rows_(rows),
      extent_(std::move(extent)),
      period_(recording.period_ns()),
      layout_(layout_of(recording, extent_, rows)),
      metrics_(layout_->columns()),
      figures_(figures_of(layout_->columns(), metrics_)),
      whole_(layout_),
      accumulator_(layout_->lanes().size()) {
    recording_.rewind();
    if (interval)
        intervals_.emplace(layout_, nominal(extent_.first), *interval,
                           std::max(nominal(extent_.last), nominal(extent_.first) + 1));
    std::size_t lane = 0;
    std::size_t column = 0;
    for (const auto& [leader, events] : extent_.groups) {
        for (const int cpu : cpus_of(recording, extent_, leader)) {
            const auto known = extent_.lanes.find({leader, cpu});
            if (known != extent_.lanes.end()) {
                counters_[{leader, cpu}] = {lane, known->second.last, groups_.size()};
                if (intervals_) intervals_->begin(lane, known->second.first);
            } else if (intervals_) {
                intervals_->finish(lane);
            }
            ++lane;
        }
        const auto begin = columns().begin() + static_cast<std::ptrdiff_t>(column);
        groups_.emplace_back(std::vector(begin, begin + static_cast<std::ptrdiff_t>(events.size())),
                             column, figures_);
        column += events.size();
    }
}

double Analysis::seconds() const {
    return static_cast<double>(nominal(extent_.last) - nominal(extent_.first)) / 1e9;
}

bool Analysis::step(const OnInterval& on_interval) {
    const auto entry = recording_.next();
    if (!entry) {
        finish(on_interval);
        return false;
    }
    if (entry->kind != Kind::round) {
        add(*entry);
        show_intervals(0, on_interval);
        return true;
    }
    const std::uint64_t complete = std::exchange(complete_, newest_);
    end_round(complete);
    // Do not wait for a CPU that has no samples for a long time.
    if (intervals_)
        show_intervals(complete - std::min(complete, intervals_->longest_gap()), on_interval);
    return true;
}

void Analysis::add(const RecordedEntry& entry) {
    if (!extent_.cpus.contains(entry.cpu)) return;  // the file has grown
    if (entry.kind == Kind::lost) {
        // Deadlines that were lost at the end have no sample after them.
        if (entry.time_ns >= extent_.first) add_timing(entry);
        return;
    }
    if (entry.time_ns < extent_.first || entry.time_ns > extent_.last) return;
    newest_ = std::max(newest_, entry.time_ns);
    add_timing(entry);
    add_sample(entry);
}

void Analysis::finish(const OnInterval& on_interval) {
    end_round(UINT64_MAX);
    show_intervals(UINT64_MAX, on_interval);
    whole_.add_up(extent_.last - extent_.first);
}

void Analysis::show_intervals(std::uint64_t forced, const OnInterval& on_interval) {
    if (!intervals_) return;
    while (const Counts* counts = intervals_->take(forced))
        on_interval(static_cast<double>(intervals_->taken_until() - nominal(extent_.first)) / 1e9,
                    *counts);
}

// \return false if the sample lacks an event of its group.
bool Analysis::take_values(const RecordedEntry& entry) {
    const metagroup::Payload& payload = *entry.payload;
    values_.clear();
    ids_.clear();
    std::size_t value = 0;
    for (const std::size_t event : extent_.groups[entry.event]) {
        while (value < payload.nr() && recording_.event_of(payload.id(value).value()) != event)
            ++value;
        if (value == payload.nr()) return false;
        values_.push_back(payload.value(value));
        ids_.push_back(*payload.id(value));
    }
    return true;
}

void Analysis::add_sample(const RecordedEntry& entry) {
    const auto found = counters_.find({entry.event, entry.cpu});
    if (found == counters_.end()) return;
    const Counter& counter = found->second;
    // Formats without times: assume that the event was always counted.
    const std::uint64_t enabled = entry.payload->time_enabled().value_or(entry.time_ns);
    const auto difference =
        take_values(entry)
            ? accumulator_.add(counter.lane,
                               {.time = entry.time_ns,
                                .enabled = enabled,
                                .running = entry.payload->time_running().value_or(enabled),
                                .status = metagroup::Status::idle,
                                .counts = values_,
                                .ids = ids_})
            : std::nullopt;
    if (difference) {
        whole_.add(counter.lane, *difference);
        if (intervals_) intervals_->add(counter.lane, *difference);
        add_figures(counter, rows_.index_of(entry.cpu), *difference);
    }
    if (intervals_ && entry.time_ns >= counter.last) intervals_->finish(counter.lane);
}

// For one sample.
void Analysis::add_figures(const Counter& counter, std::size_t place,
                           const metagroup::Difference& difference) {
    constexpr double largest = 1e15;
    Group& group = groups_[counter.group];
    group.counts.clear();
    group.counts.add(0, difference);
    group.counts.add_up();
    for (const auto& [index, figure] : group.figures) {
        const auto metric = figure.of(group.metrics, group.counts, 0);
        if (!metric || !(metric->value >= 0)) continue;
        histograms_[{place, index}].add(
            static_cast<std::uint64_t>(std::llround(std::min(metric->value, largest) * kFactor)));
    }
}

// Of the lost deadlines that precede this time, only those between start and end.
std::uint64_t Analysis::lost_inside(const RecordedEntry& entry) const {
    const std::uint64_t period =
        period_ ? *period_ : timer_period(recording_.events()[entry.event].attr);
    if (period == 0) return entry.time_ns > extent_.end ? 0 : entry.lost;
    const std::uint64_t time = nominal(entry.time_ns);
    const std::uint64_t since = (time - nominal(extent_.begin)) / period;
    const std::uint64_t after = time > extent_.end ? (time - extent_.end - 1) / period : 0;
    return std::min(entry.lost, since) - std::min({entry.lost, since, after});
}

void Analysis::add_timing(const RecordedEntry& entry) {
    const std::size_t place = rows_.index_of(entry.cpu);
    Lane& lane = lanes_[{period_ ? 0 : entry.event, entry.cpu}];
    const bool lost = entry.kind == Kind::lost;
    const std::uint64_t before =
        std::exchange(lost ? lane.last_loss : lane.last_sample, entry.time_ns);
    // At common deadlines, the members of a CPU have the same time.
    if (period_ && before == entry.time_ns) return;
    Losses& losses = losses_[place];
    if (lost) {
        const std::uint64_t missed = lost_inside(entry);
        if (missed == 0) return;
        losses.lost += missed;
        losses.expected += missed;
        histograms_.try_emplace({place, figures_.size()});  // a row even without a sample
        return;
    }
    ++losses.expected;
    if (!period_ && (before == 0 || entry.time_ns < before)) return;
    histograms_[{place, figures_.size()}].add(period_ ? entry.time_ns % *period_
                                                      : entry.time_ns - before);
    if (!period_) return;
    Span& span = deadlines_[nominal(entry.time_ns)];
    span.first = std::min(span.first, entry.time_ns);
    span.last = std::max(span.last, entry.time_ns);
}

void Analysis::end_round(std::uint64_t complete) {
    while (!deadlines_.empty() && deadlines_.begin()->first < nominal(complete)) {
        const Span& span = deadlines_.begin()->second;
        if (extent_.cpus.size() > 1) skew_.add(span.last - span.first);
        deadlines_.erase(deadlines_.begin());
    }
}

std::vector<Distribution> Analysis::distributions() const {
    std::vector<Distribution> found;
    for (const auto& [key, histogram] : histograms_) {
        const auto& [place, figure] = key;
        const Place& at = rows_.places()[place];
        Distribution row{
            at.name, at.cpus.size(), period_ ? "lateness" : "interval", "ns", 1, &histogram, {}};
        if (figure == figures_.size()) {
            const Losses& losses = losses_.at(place);
            row.lost = losses.lost;
            row.expected = losses.expected;
        } else {
            row.factor = kFactor;
            row.name = figures_[figure].name;
            row.unit = figures_[figure].unit;
        }
        found.push_back(std::move(row));
    }
    if (skew_.count() > 0) found.push_back({"", extent_.cpus.size(), "skew", "ns", 1, &skew_, {}});
    return found;
}

Timeline::Timeline(Recording& recording, const Extent& extent, const Aggregation& rows,
                   std::vector<Figure> figures, std::uint64_t most)
    : rows_(rows), figures_(std::move(figures)) {
    // Whole periods, so that all steps have the same number of samples. Without periods, long
    // enough for each CPU to have several samples per step, so that sums include all CPUs.
    // No more than a few values per sample either way.
    constexpr std::uint64_t some = 4;
    const std::uint64_t unit = recording.period_ns().value_or(1);
    std::set<std::size_t> groups;
    for (const metagroup::RecordedEvent& event : recording.events())
        if ((event.attr.sample_type & PERF_SAMPLE_READ) != 0) groups.insert(event.leader);
    const std::uint64_t samples =
        recording.period_ns() ? some * extent.samples : extent.samples / some;
    most = std::clamp<std::uint64_t>(samples / (groups.size() * extent.cpus.size()), 1, most);
    const std::uint64_t time =
        std::max<std::uint64_t>((extent.last / unit - extent.first / unit) * unit, 1);
    const std::uint64_t interval = (time / most / unit + 1) * unit;
    interval_ = static_cast<double>(interval) / 1e9;
    steps_ = static_cast<std::size_t>((time - 1) / interval + 1);
    values_.assign(figures_.size() * steps_ * places().size(), -1);
    std::vector<std::uint32_t> missing(values_.size());  // CPUs, by value
    std::vector<Lack> lacks(figures_.size() * places().size());
    Analysis analysis(recording, extent, rows, interval);
    analysis.run([&](double end, const Counts& counts) {
        const double at = std::ceil(end / interval_ - 1e-6) - 1;
        const auto step =
            static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(steps_ - 1)));
        for (std::size_t i = 0; i < figures_.size(); ++i)
            for (std::size_t place = 0; place < places().size(); ++place) {
                const auto metric = figures_[i].of(analysis.metrics(), counts, place);
                const Count count = figures_[i].ratio ? analysis.metrics().poorest(
                                                            counts, place, figures_[i].column)
                                                      : counts.at(place, figures_[i].column);
                Lack& lack = lacks[i * places().size() + place];
                lack.counters = count.counters;
                if (!metric) continue;
                const std::size_t value = (i * steps_ + step) * places().size() + place;
                values_[value] = metric->value;
                missing[value] = count.missing();
                lack.least = std::min(lack.least, count.missing());
            }
    });
    // The rate of some CPUs is not the rate of all; but some may have no counts at all.
    for (std::size_t value = 0; value < values_.size(); ++value) {
        const std::size_t figure = value / (steps_ * places().size());
        const Lack& lack = lacks[figure * places().size() + value % places().size()];
        if (!figures_[figure].ratio && missing[value] > lack.least) values_[value] = -1;
    }
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        auto& [counted, all] = cpus_.emplace_back();
        for (std::size_t place = 0; place < places().size(); ++place) {
            const Lack& lack = lacks[i * places().size() + place];
            counted += lack.counters - std::min(lack.least, lack.counters);
            all += lack.counters;
        }
    }
}

double Timeline::highest(std::size_t figure) const {
    const auto begin =
        values_.begin() + static_cast<std::ptrdiff_t>(figure * steps_ * places().size());
    const auto size = static_cast<std::ptrdiff_t>(steps_ * places().size());
    return std::max(*std::max_element(begin, begin + size), 0.0);
}

std::vector<std::size_t> find_phases(std::span<const double> series) {
    constexpr std::size_t window = 5;
    const std::size_t n = series.size();
    const std::size_t least = std::max<std::size_t>(n / 100, window);  // steps of a phase
    std::vector<std::size_t> begins{0};
    if (n < 2 * least) return begins;
    const auto median = [](std::vector<double> values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    // The median of neighbours: one or two steps are not a phase.
    std::vector<double> smooth;
    std::vector<double> changes;
    std::vector<double> sums{0};
    for (std::size_t i = 0; i < n; ++i) {
        const auto near = series.subspan(std::min(i - std::min(i, window / 2), n - window), window);
        smooth.push_back(median({near.begin(), near.end()}));
        sums.push_back(sums.back() + smooth.back());
        if (i > 0) changes.push_back(std::abs(series[i] - series[i - 1]));
    }
    const auto [low, high] = std::ranges::minmax(smooth);
    // The noise is estimated from the changes between steps: the median of |x - y| for a normal
    // distribution is 0.954 times its deviation. The minimum is a fraction of the range and of the
    // height.
    const double noise = std::max({median(changes) / 0.954, (high - low) / 100, high / 1000});
    const double penalty = 3 * noise * noise * std::log(static_cast<double>(n));
    std::vector<std::pair<std::size_t, std::size_t>> open{{0, n}};
    while (!open.empty()) {
        const auto [first, last] = open.back();
        open.pop_back();
        std::size_t best = 0;
        double most = penalty;
        for (std::size_t cut = first + least; cut + least <= last; ++cut) {
            const auto before = static_cast<double>(cut - first);
            const auto after = static_cast<double>(last - cut);
            const double change =
                (sums[cut] - sums[first]) / before - (sums[last] - sums[cut]) / after;
            const double gain = change * change * before * after / (before + after);
            if (gain <= most) continue;
            most = gain;
            best = cut;
        }
        if (best == 0) continue;
        begins.push_back(best);
        open.emplace_back(first, best);
        open.emplace_back(best, last);
    }
    std::ranges::sort(begins);
    return begins;
}

}  // namespace tool
