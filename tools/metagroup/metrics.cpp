// SPDX-License-Identifier: MIT
#include "metrics.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tool {
namespace {

struct Ratio {
    std::string_view event, divisor, unit;
    bool percent;
};

constexpr auto kRatios = std::to_array<Ratio>({
    {"instructions", "cycles", "insn per cycle", false},
    {"cycles", "cpu-clock", "GHz", false},
    {"branch-misses", "branches", "of all branches", true},
    {"cache-misses", "cache-references", "of all cache refs", true},
    {"L1-dcache-load-misses", "L1-dcache-loads", "of all L1-dcache accesses", true},
    {"LLC-load-misses", "LLC-loads", "of all LL-cache accesses", true},
    {"dTLB-load-misses", "dTLB-loads", "of all dTLB cache accesses", true},
    {"iTLB-load-misses", "iTLB-loads", "of all iTLB cache accesses", true},
});

constexpr auto kClocks = std::to_array<std::string_view>({"cpu-clock", "task-clock"});

// The name without modifiers: cycles of cycles:u. Those of a pair must be the same.
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

Metrics::Metrics(const std::vector<Column>& columns) {
    for (const Column& column : columns) {
        Formula formula{{}, "/sec", false};
        const std::string_view event = stem(column.event);
        if (std::ranges::find(kClocks, event) != kClocks.end()) formula.unit = "CPUs utilized";
        for (const Ratio& ratio : kRatios) {
            if (ratio.event != event) continue;
            const auto divisor = find(columns, ratio.divisor, modifiers(column.event));
            if (divisor) formula = {divisor, std::string(ratio.unit), ratio.percent};
        }
        formulas_.push_back(formula);
    }
}

std::optional<Metric> Metrics::of(const Totals& totals, std::size_t place,
                                  std::size_t column) const {
    const Formula& formula = formulas_[column];
    const Count& count = totals.at(place, column);
    if (!count.known()) return std::nullopt;
    if (!formula.divisor) {
        // Of one CPU's time: as many CPUs were enabled as there are in the place.
        const double seconds =
            static_cast<double>(count.enabled) / 1e9 / static_cast<double>(count.cpus);
        if (seconds == 0) return std::nullopt;
        const bool clock = formula.unit == "CPUs utilized";
        return Metric{count.value / seconds / (clock ? 1e9 : 1), formula.unit, false};
    }
    const Count& divisor = totals.at(place, *formula.divisor);
    if (!divisor.known() || divisor.value == 0) return std::nullopt;
    return Metric{count.value / divisor.value * (formula.percent ? 100 : 1), formula.unit,
                  formula.percent};
}

}  // namespace tool
