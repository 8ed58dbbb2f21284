// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/count_report.hpp"
#include "common/text.hpp"

namespace tool {
namespace {

// A rate as in perf stat: 41.360 /sec, 2.596 G/sec.
struct Shortened {
    double value;
    std::string_view prefix;
};

Shortened shorten(const Metric& metric) {
    Shortened shortened{metric.value, ""};
    if (metric.unit != "/sec") return shortened;
    for (const std::string_view larger : {"K", "M", "G"}) {
        if (shortened.value < 1000) break;
        shortened = {shortened.value / 1000, larger};
    }
    return shortened;
}

// The part of a row that depends on the event only.
struct Label {
    explicit Label(const Column& column) {
        const bool clock = is_clock(column.event);
        if (clock) divisor = 1e6;
        if (clock || column.scale != 1) decimals = 2;
        text = fmt::format(" {:<9}{:<26}", clock ? "msec" : column.unit, column.event);
    }

    double divisor = 1;
    unsigned decimals = 0;
    std::string text;  // unit and event
};

class TextReport final : public Report {
  public:
    TextReport(Output& output, Subject subject)
        : output_(output),
          subject_(std::move(subject)),
          labels_(subject_.columns.begin(), subject_.columns.end()) {
        for (const Place& place : subject_.rows.places())
            place_names_.push_back(place_column(place.name));
    }

    void interval(double seconds, const Totals& totals) override {
        if (lines_ == 0) heading();
        begin_.clear();
        append_decimal(begin_, seconds, 9, 15, Digits::plain);
        begin_ += ' ';
        rows(totals);
        lines_ = (lines_ + 1) % 25;
    }

    void whole(double seconds, const Totals& totals) override {
        print("\n Performance counter stats for '{}'{}:\n\n", subject_.target,
              subject_.cgroup.empty() ? "" : " in cgroup " + subject_.cgroup);
        begin_.clear();
        rows(totals);
        print("\n {:>17.9f} seconds time elapsed\n\n", seconds);
        flush();
    }

    void overhead(const Overhead& overhead) override {
        const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
        print(" {} sweeps by {}: {:.1f} us each (p50; p99 {:.1f}), inter-CPU skew {:.1f} us (p50)",
              overhead.sweeps(), subject_.backend, us(overhead.duration.quantile(0.5)),
              us(overhead.duration.quantile(0.99)), us(overhead.skew.quantile(0.5)));
        if (overhead.deadlines > 0) print("\n {} deadlines of a stream", overhead.deadlines);
        print("\n {:.2f} % of one CPU used", 100 * overhead.cpu_use);
        if (const Histogram& late = overhead.lateness; late.count() > 0) {
            print("; ticks missed: {}; timer lateness {:.1f} us (p50), {:.1f} (p99), {:.1f} (max)",
                  overhead.missed, us(late.quantile(0.5)), us(late.quantile(0.99)), us(late.max()));
        }
        print("\n\n");
        flush();
    }

  private:
    template <typename... Values>
    void print(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    }

    void flush() {
        output_.write(text_);
        text_.clear();
    }

    void heading() {
        print("#{:>14} {}{:>18} {:<9}{}\n", "time", place_column(""), "counts", "unit", "events");
    }

    std::string place_column(const std::string& name) const {
        if (subject_.rows.places().front().name.empty()) return "";
        return fmt::format("{:<12}", name);
    }

    void rows(const Totals& totals) {
        for (std::size_t place = 0; place < place_names_.size(); ++place) {
            for (std::size_t column = 0; column < labels_.size(); ++column)
                row(totals, place, column);
        }
        flush();
    }

    void row(const Totals& totals, std::size_t place, std::size_t column) {
        const Label& label = labels_[column];
        const Count& count = totals.at(place, column);
        text_ += begin_;
        text_ += place_names_[place];
        if (count.known())
            append_decimal(text_, count.value / label.divisor, label.decimals, 18, Digits::grouped);
        else
            text_ += "     <not counted>";
        text_ += label.text;
        if (const auto metric = subject_.metrics.of(totals, place, column)) {
            const auto [value, prefix] = shorten(*metric);
            text_ += " # ";
            append_decimal(text_, value, 3, 12, Digits::grouped);
            text_ += metric->percent ? " % " : " ";
            text_ += prefix;
            text_ += metric->unit;
        }
        if (count.known() && count.coverage() < 0.995)
            print("  ({:.2f} %)", 100 * count.coverage());
        text_ += '\n';
    }

    Output& output_;
    Subject subject_;
    std::vector<Label> labels_;             // by column
    std::vector<std::string> place_names_;  // by place
    std::string begin_;                     // of each row
    std::string text_;
    unsigned lines_ = 0;
};

}  // namespace

std::unique_ptr<Report> make_text_report(Output& output, Subject subject) {
    return std::make_unique<TextReport>(output, std::move(subject));
}

}  // namespace tool
