// SPDX-License-Identifier: MIT
// Rows of counts, as all output formats need them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/count_report.hpp"

namespace tool {

// The part of a row that depends only on the event.
struct Label {
    explicit Label(const Column& column) {
        if (column.clock) divisor = 1e6;
        if (column.clock || column.scale != 1) decimals = 2;
        integer = decimals == 0 && !column.reading;
        unit = column.clock ? "msec" : column.unit;
        text = fmt::format(" {:<9}{:<26}", unit, column.event);
    }

    double divisor = 1;
    unsigned decimals = 0;
    bool integer = false;
    std::string unit;
    std::string text;  // unit and event
};

// Occurrences are printed exactly. No value if the event was not counted.
struct Shown {
    Shown(const Subject& subject, const Counts& counts, const Count& count, const Label& label,
          std::size_t column)
        : exact(label.integer && count.exact()), whole(count.count) {
        // As in perf: the cgroup has not run.
        if (!subject.cgroup.empty() && count.enabled == 0) return;
        value = counts.value(count, column);
        if (value) value = *value / label.divisor;
    }
    void append(std::string& text, unsigned decimals, std::size_t width, Digits digits) const {
        if (exact)
            append_integer(text, whole, width, digits);
        else
            append_decimal(text, *value, decimals, width, digits);
    }

    bool exact;
    std::uint64_t whole;
    std::optional<double> value;
};

// The relative deviation.
inline double percent(const Count& count) {
    const double value = count.value();
    return value == 0 ? 0 : 100 * count.deviation / value;
}

// The part of the enabled time that was counted. An unsupported event was never enabled: 100 %.
inline double percent_running(const Column& column, const Count& count) {
    return column.supported ? 100 * count.coverage() : 100;
}

// The order of rows in perf stat: with -A by event, otherwise by place. An event that only some
// CPUs count, for all, has rows only for these.
template <typename Row>
void each_row(AggrMode mode, const Counts& counts, const Row& row) {
    const std::size_t places = counts.places();
    const std::size_t columns = counts.columns().size();
    const auto show = [&](std::size_t place, std::size_t column) {
        if (!counts.columns()[column].supported || counts.at(place, column).counters > 0)
            row(place, column);
    };
    if (mode == AggrMode::cpu) {
        for (std::size_t column = 0; column < columns; ++column)
            for (std::size_t place = 0; place < places; ++place)
                show(place, column);
    } else {
        for (std::size_t place = 0; place < places; ++place)
            for (std::size_t column = 0; column < columns; ++column)
                show(place, column);
    }
}

}  // namespace tool
