// SPDX-License-Identifier: MIT
// What the rows of all output formats of counts have in common.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/count_report.hpp"

namespace tool {

// The part of a row that depends on the event only.
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

// Counts of occurrences are written exactly. Nothing if the event was not counted.
struct Shown {
    Shown(const Subject& subject, const Counts& counts, const Count& count, const Label& label,
          std::size_t column)
        : exact(label.integer && count.exact()), whole(count.count) {
        // As perf: the cgroup has not run.
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

// The deviation.
inline double percent(const Count& count) {
    const double value = count.value();
    return value == 0 ? 0 : 100 * count.deviation / value;
}

// Of the time in which it could count. Nothing could keep an unsupported event from counting.
inline double percent_running(const Column& column, const Count& count) {
    return column.supported ? 100 * count.coverage() : 100;
}

// The order of rows in perf stat: with -A by event, else by place. An event that is counted once
// for all CPUs has one row, of the first.
template <typename Row>
void each_row(const Aggregation& rows, const std::vector<Column>& columns, const Row& row) {
    const std::size_t places = rows.places().size();
    const auto show = [&](std::size_t place, std::size_t column) {
        if (place == 0 || !columns[column].once) row(place, column);
    };
    if (rows.mode() == AggrMode::cpu) {
        for (std::size_t column = 0; column < columns.size(); ++column)
            for (std::size_t place = 0; place < places; ++place)
                show(place, column);
    } else {
        for (std::size_t place = 0; place < places; ++place)
            for (std::size_t column = 0; column < columns.size(); ++column)
                show(place, column);
    }
}

}  // namespace tool
