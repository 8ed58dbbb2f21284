// SPDX-License-Identifier: MIT
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/count_rows.hpp"

namespace tool {
namespace {

// The fields of perf stat -x: time (with -I), place (unless all CPUs are added up) and its CPUs
// (unless it is one), value, unit, event, cgroup (with -G), deviation in percent (with -r),
// nanoseconds counted, percentage of the time counted, metric, its unit. A row with CPUs that were
// offline for a time has one more: the nanoseconds. A row that lacks CPUs has that and the number
// of missing CPUs.
class CsvReport final : public Report {
  public:
    CsvReport(Output& output, Subject subject, std::string separator)
        : output_(output),
          subject_(std::move(subject)),
          separator_(std::move(separator)),
          labels_(subject_.columns.begin(), subject_.columns.end()) {
        for (const Place& place : subject_.rows.places()) {
            std::string& text = places_.emplace_back();
            if (place.name.empty()) continue;
            text = csv_field(place.name, separator_) + separator_;
        }
        const std::string cgroup = subject_.cgroup.empty() ? "" : field(subject_.cgroup);
        for (std::size_t i = 0; i < labels_.size(); ++i)
            columns_.push_back(field(labels_[i].unit) + field(subject_.columns[i].event) + cgroup);
    }

    void interval(double seconds, const Counts& counts) override {
        begin_.clear();
        append_decimal(begin_, seconds, 9, 0, Digits::plain);
        begin_ += separator_;
        rows(counts);
    }
    void whole(const Mean& seconds, const Counts& counts) override {
        begin_.clear();
        has_deviation_ = seconds.runs > 1;
        rows(counts);
    }
    void overhead(const Overhead&) override {}  // perf stat's format has none

  private:
    void rows(const Counts& counts) {
        text_.clear();
        each_row(subject_.rows.mode(), counts, [&](std::size_t place, std::size_t column) {
            text_ += begin_;
            text_ += places_[place];
            row(counts, place, column);
        });
        output_.write(text_);
    }

    void end_field() { text_ += separator_; }
    std::string field(std::string_view text) const {
        return csv_field(text, separator_) + separator_;
    }
    void number(double value, unsigned decimals) {
        append_decimal(text_, value, decimals, 0, Digits::plain);
        end_field();
    }

    void row(const Counts& counts, std::size_t place, std::size_t column) {
        const Label& label = labels_[column];
        const Column& event = subject_.columns[column];
        const Count& count = counts.at(place, column);
        if (!places_[place].empty() && subject_.rows.mode() != AggrMode::cpu) {
            fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), count.whole());
            end_field();
        }
        if (const Shown shown(subject_, counts, count, label, column); shown.value) {
            shown.append(text_, label.decimals, 0, Digits::plain);
            end_field();
        } else {
            text_ += field(event.supported ? "<not counted>" : "<not supported>");
        }
        text_ += columns_[column];
        if (has_deviation_) {
            append_decimal(text_, percent(count), 2, 0, Digits::plain);
            text_ += '%';
            end_field();
        }
        fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), count.running);
        end_field();
        number(percent_running(event, count), 2);
        if (const auto metric = subject_.metrics.of(counts, place, column)) {
            number(metric->value, 3);
            text_ += csv_field(metric->unit, separator_);
        } else {
            end_field();
        }
        const bool lacks = event.supported && count.missing() > 0;
        if (count.offline > 0 || lacks) {
            end_field();
            fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), count.offline);
        }
        if (lacks) {
            end_field();
            fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), count.missing());
        }
        text_ += '\n';
    }

    Output& output_;
    Subject subject_;
    std::string separator_;
    std::vector<Label> labels_;         // by column
    std::vector<std::string> places_;   // the fields of each
    std::vector<std::string> columns_;  // unit, event, cgroup
    bool has_deviation_ = false;
    std::string begin_;  // of each row
    std::string text_;
};

}  // namespace

std::unique_ptr<Report> make_csv_report(Output& output, Subject subject, std::string separator) {
    return std::make_unique<CsvReport>(output, std::move(subject), std::move(separator));
}

}  // namespace tool
