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

// The name without modifiers: cycles for cycles:u. Both events of a ratio need the same modifiers.
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

}  // namespace

Metrics::Metrics(const std::vector<Column>& columns, std::vector<DefinedMetric> defined)
    : defined_(std::move(defined)) {
    for (const Column& column : columns) {
        Formula formula;
        const std::string_view event = stem(column.event);
        formula.clock = column.clock;
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

std::optional<Metric> Metrics::defined(const Counts& counts, Row place,
                                       const DefinedMetric& metric) const {
    const auto& variables = metric.expression.variables();
    std::vector<std::size_t> columns;
    for (const auto& column : metric.columns)
        columns.push_back(column.value_or(metric.column));
    std::vector<Count> sums(columns.size());
    if (!counts.sum_common(place, columns, sums)) return std::nullopt;
    std::vector<double> values;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const auto value = counts.value(sums[i], columns[i]);
        if (!value) return std::nullopt;
        if (variables[i].number_of_cpus)
            values.push_back(sums[i].counted);
        else if (!metric.columns[i])
            values.push_back(sums[i].seconds());
        else  // clocks are in milliseconds, as in perf's expressions
            values.push_back(*value * (formulas_[columns[i]].clock ? 1e-6 : 1));
    }
    const auto value = metric.expression.evaluate(values);
    if (!value || !std::isfinite(*value * metric.scale)) return std::nullopt;
    return Metric{*value * metric.scale, metric.label, false};
}

std::optional<Metric> Metrics::of(const Counts& counts, Row place, std::size_t column) const {
    if (const auto& index = formulas_[column].defined)
        return defined(counts, place, defined_[*index]);
    return formulas_[column].ratio ? ratio(counts, place, column) : rate(counts, place, column);
}

std::optional<Metric> Metrics::rate(const Counts& counts, Row place, std::size_t column) const {
    const auto rate = counts.rate(counts.sum(place, column), column);
    if (!rate) return std::nullopt;
    if (formulas_[column].clock) return Metric{*rate / 1e9, "CPUs utilized", false};
    return Metric{*rate, "/sec", false};
}

std::optional<Metric> Metrics::ratio(const Counts& counts, Row place, std::size_t column) const {
    const auto& known = formulas_[column].ratio;
    if (!known) return std::nullopt;
    const auto ratio = counts.ratio(place, column, known->divisor);
    if (!ratio) return std::nullopt;
    return Metric{*ratio * (known->percent ? 100 : 1), known->unit, known->percent};
}

Count Metrics::poorest(const Counts& counts, Row place, std::size_t column) const {
    const Formula& formula = formulas_[column];
    std::vector<std::size_t> columns;
    if (formula.defined) {
        for (const auto& variable : defined_[*formula.defined].columns)
            columns.push_back(variable.value_or(column));
    } else if (formula.ratio) {
        columns.push_back(formula.ratio->divisor);
    }
    Count poorest = counts.sum(place, column);
    for (const std::size_t other : columns) {
        const Count count = counts.sum(place, other);
        if (count.missing() > poorest.missing()) poorest = count;
    }
    return poorest;
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

void Overhead::add_deadline(const metagroup::Deadline& deadline) {
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t newest = 0;
    for (const metagroup::Sample& sample : deadline) {
        missed += sample.lost();
        // A late sample is returned with a later deadline than its own.
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
