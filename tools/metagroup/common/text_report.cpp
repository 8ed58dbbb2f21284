// SPDX-License-Identifier: MIT
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/count_rows.hpp"

namespace tool {
namespace {

// A rate for people, as in perf stat: 41.360 /sec, 2.596 G/sec. Programs get the plain number: a
// unit that changes from row to row is easily missed.
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

class TextReport final : public Report {
  public:
    TextReport(Output& output, Subject subject)
        : output_(output),
          subject_(std::move(subject)),
          labels_(subject_.columns.begin(), subject_.columns.end()) {
        for (const Place& place : subject_.rows.places())
            place_names_.push_back(place_column(place));
    }

    void started(std::chrono::system_clock::time_point when) override { started_ = when; }
    void interval(double seconds, const Counts& counts) override {
        if (const auto when = std::exchange(started_, std::nullopt))
            print("# started on {:%a %b %e %H:%M:%S %Y}\n\n",
                  fmt::localtime(std::chrono::system_clock::to_time_t(*when)));
        if (lines_ == 0) heading();
        begin_.clear();
        append_decimal(begin_, seconds, 9, 15, Digits::plain);
        begin_ += ' ';
        rows(counts);
        lines_ = (lines_ + 1) % 25;
    }

    void whole(const Mean& seconds, const Counts& counts) override {
        print("\n Performance counter stats for '{}'{}", subject_.target,
              subject_.cgroup.empty() ? "" : " in cgroup " + subject_.cgroup);
        if (seconds.runs > 1) print(" ({} runs)", seconds.runs);
        print(":\n\n");
        begin_.clear();
        rows(counts);
        if (seconds.runs > 1)
            print("\n {:>17.9f} +- {:.9f} seconds time elapsed  ( +- {:.2f} % )\n\n", seconds.value,
                  seconds.deviation(), 100 * seconds.deviation() / seconds.value);
        else
            print("\n {:>17.9f} seconds time elapsed\n\n", seconds.value);
        flush();
    }

    void overhead(const Overhead& overhead) override {
        const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
        const std::string of =
            subject_.origin == "groups" ? "" : fmt::format(" ({})", subject_.origin);
        print(
            " {} sweeps by {}{}: {:.1f} us each (p50; p99 {:.1f}), inter-CPU skew {:.1f} us (p50)",
            overhead.sweeps(), subject_.backend, of, us(overhead.duration.quantile(0.5)),
            us(overhead.duration.quantile(0.99)), us(overhead.skew.quantile(0.5)));
        if (overhead.deadlines > 0) print("\n {} deadlines of a stream", overhead.deadlines);
        print("\n {:.2f} % of one CPU used", 100 * overhead.cpu_use);
        if (const metagroup::Histogram& late = overhead.lateness; late.count() > 0) {
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
        std::string place;
        if (!subject_.rows.places().front().name.empty())
            place = fmt::format("{:<{}}", shows_cpus() ? "        CPUs" : "", place_width());
        print("#{:>14} {}{:>18} {:<9}{}\n", "time", place, "counts", "unit", "events");
    }

    std::string place_column(const Place& place) const {
        return place.name.empty() ? "" : fmt::format("{:<12}", place.name);
    }
    // Sums show the number of CPUs that they include, as in perf stat.
    bool shows_cpus() const { return subject_.rows.mode() != AggrMode::cpu; }
    std::size_t place_width() const { return shows_cpus() ? 17 : 12; }

    void rows(const Counts& counts) {
        each_row(subject_.rows.mode(), counts,
                 [&](std::size_t place, std::size_t column) { row(counts, place, column); });
        flush();
    }

    void row(const Counts& counts, std::size_t place, std::size_t column) {
        const Label& label = labels_[column];
        const Count& count = counts.at(place, column);
        text_ += begin_;
        text_ += place_names_[place];
        if (!place_names_[place].empty() && shows_cpus()) {
            append_integer(text_, count.whole(), 4, Digits::plain);
            text_ += ' ';
        }
        if (const Shown shown(subject_, counts, count, label, column); shown.value)
            shown.append(text_, label.decimals, 18, Digits::grouped);
        else
            text_ +=
                subject_.columns[column].supported ? "     <not counted>" : "   <not supported>";
        text_ += label.text;
        if (const auto metric = subject_.metrics.of(counts, place, column)) {
            const auto [value, prefix] = shorten(*metric);
            text_ += " # ";
            append_decimal(text_, value, 3, 12, Digits::grouped);
            text_ += metric->percent ? " % " : " ";
            text_ += prefix;
            text_ += metric->unit;
        }
        if (count.deviation > 0) print("  ( +- {:.2f} % )", percent(count));
        if (count.known() && count.coverage() < 0.995)
            print("  ({:.2f} %)", 100 * count.coverage());
        if (count.known() && !count.complete())
            print("  ({} of {} CPUs)", count.whole(), count.counters);
        if (count.offline > 0)
            print("  (offline {})", with_unit(std::chrono::nanoseconds(count.offline)));
        text_ += '\n';
    }

    Output& output_;
    Subject subject_;
    std::vector<Label> labels_;             // by column
    std::vector<std::string> place_names_;  // by place
    std::string begin_;                     // of each row
    std::string text_;
    std::optional<std::chrono::system_clock::time_point> started_;
    unsigned lines_ = 0;
};

}  // namespace

std::unique_ptr<Report> make_text_report(Output& output, Subject subject) {
    return std::make_unique<TextReport>(output, std::move(subject));
}

}  // namespace tool
