// SPDX-License-Identifier: MIT
#include "common/totals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <string_view>
#include <utility>

namespace tool {
namespace {

struct Known {
    std::string_view event, divisor, name, unit;
    bool percent;
};

constexpr auto kRatios = std::to_array<Known>({
    {"instructions", "cycles", "IPC", "insn per cycle", false},
    {"cycles", "cpu-clock", "GHz", "GHz", false},
    {"branch-misses", "branches", "branch-miss", "of all branches", true},
    {"cache-misses", "cache-references", "cache-miss", "of all cache refs", true},
    {"L1-dcache-load-misses", "L1-dcache-loads", "L1d-miss", "of all L1-dcache accesses", true},
    {"LLC-load-misses", "LLC-loads", "LLC-miss", "of all LL-cache accesses", true},
    {"dTLB-load-misses", "dTLB-loads", "dTLB-miss", "of all dTLB cache accesses", true},
    {"iTLB-load-misses", "iTLB-loads", "iTLB-miss", "of all iTLB cache accesses", true},
});

constexpr auto kClocks = std::to_array<std::string_view>({"cpu-clock", "task-clock"});

// The name without modifiers, as cycles of cycles:u. Both events of a ratio need the same
// modifiers.
std::string_view stem(std::string_view name) {
    return name.substr(0, name.find(':'));
}

std::string_view modifiers(std::string_view name) {
    const auto colon = name.find(':');
    return colon == name.npos ? std::string_view{} : name.substr(colon);
}

std::optional<std::size_t> find(const std::vector<Column>& columns, std::string_view event,
                                std::string_view with) {
    const auto found = std::ranges::find_if(columns, [&](const Column& column) {
        return stem(column.event) == event && modifiers(column.event) == with;
    });
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

// True if one event, or group, for several PMUs was written.
bool written_alike(const std::vector<metagroup::EventSpec>& one,
                   const std::vector<metagroup::EventSpec>& other) {
    using metagroup::EventSpec;
    return !one.front().merged.empty() &&
           std::ranges::equal(one, other, {}, &EventSpec::merged, &EventSpec::merged);
}

}  // namespace

double Count::coverage() const {
    return enabled == 0 ? 0 : static_cast<double>(running) / static_cast<double>(enabled);
}

// The groups of one group that was written for several PMUs stand together; none is there twice.
Totals::Totals(std::span<const metagroup::GroupSpec> groups,
               std::span<const metagroup::MetaGroup::Member> members, const Aggregation& rows,
               bool merge) {
    std::vector<std::size_t> first_column;
    std::size_t first = 0;  // of those that are added up
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& events = groups[i].events;
        const auto seen = groups.subspan(first, i - first);
        if (merge && !seen.empty() && written_alike(events, seen.front().events) &&
            std::ranges::none_of(seen, [&](const metagroup::GroupSpec& other) {
                return other.events.front().name == events.front().name;
            })) {
            first_column.push_back(first_column.back());
            continue;
        }
        first = i;
        first_column.push_back(columns_.size());
        for (const metagroup::EventSpec& event : events)
            columns_.push_back({merge && !event.merged.empty() ? event.merged : event.name,
                                event.unit, event.scale, false, event.on_one_cpu});
    }
    for (const auto& member : members) {
        for (std::size_t i = 0; i < groups[member.group].events.size(); ++i)
            columns_[first_column[member.group] + i].supported = true;
        targets_.push_back({rows.index_of(member.cpu) * columns_.size(), first_column[member.group],
                            groups[member.group].events.size()});
    }
    counts_.resize(rows.places().size() * columns_.size());
}

Totals::Totals(std::vector<Column> columns, const Aggregation& rows)
    : columns_(std::move(columns)), counts_(rows.places().size() * columns_.size()) {}

void Totals::clear() {
    std::ranges::fill(counts_, Count{});
}

void Totals::add(const metagroup::Delta& delta) {
    std::size_t index = 0;
    for (const metagroup::MemberDelta& member : delta)
        add_member(index++, member);
}

void Totals::add_offline(const metagroup::Delta& delta) {
    auto target = targets_.begin();
    for (const metagroup::MemberDelta& member : delta) {
        const std::uint64_t ns = member.offline_ns().value_or(0);
        for (std::size_t event = 0; event < target->events; ++event)
            counts_[target->first + target->column + event].offline += ns;
        ++target;
    }
}

void Totals::add(std::size_t place, std::size_t column, std::optional<std::uint64_t> counted,
                 std::uint64_t enabled, std::uint64_t running) {
    counts_[place * columns_.size() + column].add(counted, columns_[column].scale, enabled,
                                                  running);
}

void Totals::add_all(const Totals& other) {
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
        counts_[i % columns_.size()].add(other.counts_[i]);
}

// Welford's algorithm.
void Mean::add(double x) {
    const double before = x - value;
    value += before / static_cast<double>(++runs);
    squares += before * (x - value);
}

double Mean::deviation() const {
    if (runs < 2) return 0;
    const auto n = static_cast<double>(runs);
    return std::sqrt(squares / (n - 1) / n);
}

void Runs::add(double seconds, const Totals& totals) {
    seconds_.add(seconds);
    if (!totals_) totals_ = totals;
    counts_.resize(totals.counts_.size());
    const auto weight = [n = seconds_.runs](std::uint64_t mean, std::uint64_t next) {
        return (mean * (n - 1) + next) / n;
    };
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const Count& next = totals.counts_[i];
        Count& mean = totals_->counts_[i];
        counts_[i].add(next.value);
        mean.value = counts_[i].value;
        mean.deviation = counts_[i].deviation();
        mean.enabled = weight(mean.enabled, next.enabled);
        mean.running = weight(mean.running, next.running);
        mean.offline = weight(mean.offline, next.offline);
        mean.cpus = std::max(mean.cpus, next.cpus);
    }
}

bool is_clock(std::string_view event) {
    return std::ranges::find(kClocks, stem(event)) != kClocks.end();
}

Metrics::Metrics(const std::vector<Column>& columns, std::vector<DefinedMetric> defined)
    : defined_(std::move(defined)) {
    for (const Column& column : columns) {
        Formula formula;
        const std::string_view event = stem(column.event);
        formula.clock = is_clock(event);
        for (const Known& known : kRatios) {
            if (known.event != event) continue;
            const auto divisor = find(columns, known.divisor, modifiers(column.event));
            if (divisor) formula.ratio = Ratio{*divisor, known.name, known.unit, known.percent};
        }
        formulas_.push_back(formula);
    }
    for (std::size_t i = 0; i < defined_.size(); ++i)
        formulas_[defined_[i].column].defined = i;
}

std::string_view Metrics::label_of(std::size_t column) const {
    const Formula& formula = formulas_[column];
    if (formula.defined) return defined_[*formula.defined].label;
    return formula.ratio ? formula.ratio->unit : std::string_view{};
}

std::optional<Metric> Metrics::defined(const Totals& totals, std::size_t place,
                                       const DefinedMetric& metric) const {
    std::vector<double> values;
    const auto& variables = metric.expression.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const Count& count = totals.at(place, metric.columns[i].value_or(metric.column));
        if (!count.known()) return std::nullopt;
        if (variables[i].number_of_cpus)
            values.push_back(static_cast<double>(count.cpus));
        else if (!metric.columns[i])
            values.push_back(count.seconds());
        else  // clocks in milliseconds, as in perf's expressions
            values.push_back(count.value * (formulas_[*metric.columns[i]].clock ? 1e-6 : 1));
    }
    const auto value = metric.expression.evaluate(values);
    if (!value) return std::nullopt;
    return Metric{*value * metric.scale, metric.label, false};
}

std::optional<Metric> Metrics::of(const Totals& totals, std::size_t place,
                                  std::size_t column) const {
    if (const auto& index = formulas_[column].defined)
        return defined(totals, place, defined_[*index]);
    return formulas_[column].ratio ? ratio(totals, place, column) : rate(totals, place, column);
}

std::optional<Metric> Metrics::rate(const Totals& totals, std::size_t place,
                                    std::size_t column) const {
    const Count& count = totals.at(place, column);
    if (!count.known()) return std::nullopt;
    const double seconds = count.seconds();
    if (seconds == 0) return std::nullopt;
    if (formulas_[column].clock) return Metric{count.value / 1e9 / seconds, "CPUs utilized", false};
    return Metric{count.value / seconds, "/sec", false};
}

std::optional<Metric> Metrics::ratio(const Totals& totals, std::size_t place,
                                     std::size_t column) const {
    const auto& ratio = formulas_[column].ratio;
    const Count& count = totals.at(place, column);
    if (!ratio || !count.known()) return std::nullopt;
    const Count& divisor = totals.at(place, ratio->divisor);
    if (!divisor.known() || divisor.value == 0) return std::nullopt;
    return Metric{count.value / divisor.value * (ratio->percent ? 100 : 1), ratio->unit,
                  ratio->percent};
}

std::chrono::nanoseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

double CpuUse::take() {
    const CpuUse now;
    const std::chrono::duration<double> elapsed = now.since_ - since_;
    const std::chrono::duration<double> used = now.used_ - used_;
    *this = now;
    return used / elapsed;
}

std::uint64_t Histogram::upper_end(std::size_t bucket) {
    if (bucket < kSteps) return bucket;
    const std::size_t shift = bucket / kSteps - 1;
    return ((bucket % kSteps + kSteps + 1) << shift) - 1;
}

std::uint64_t Histogram::quantile(double part) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted && seen > 0) return std::min(upper_end(i), max_);
    }
    return 0;
}

void Overhead::add_deadline(const metagroup::Deadline& deadline) {
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t newest = 0;
    for (const metagroup::Sample& sample : deadline) {
        missed += sample.lost();
        // A late sample comes with a later deadline than its own.
        if (sample.lost() > 0 || sample.time_ns() < deadline.time_ns()) continue;
        oldest = std::min(oldest, sample.time_ns());
        newest = std::max(newest, sample.time_ns());
        lateness.add(sample.time_ns() - deadline.time_ns());
    }
    if (newest == 0) return;
    ++deadlines;
    skew.add(newest - oldest);
}

}  // namespace tool
