// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <utility>

#include "stat/report.hpp"

namespace tool {
namespace {

// 1,234,567: the same in every locale.
std::string grouped(double value, int decimals) {
    std::string digits = fmt::format("{:.{}f}", value, decimals);
    const std::size_t point = std::min(digits.find('.'), digits.size());
    const std::size_t first = digits.front() == '-' ? 1 : 0;
    for (std::size_t at = point; at > first + 3;)
        digits.insert(at -= 3, 1, ',');
    return digits;
}

// A rate as perf stat has it: 41.360 /sec, 2.596 G/sec.
void shorten(Metric& metric) {
    if (metric.unit != "/sec") return;
    std::string_view prefix;
    for (const std::string_view larger : {"K", "M", "G"}) {
        if (metric.value < 1000) break;
        metric.value /= 1000;
        prefix = larger;
    }
    metric.unit.insert(0, prefix);
}

class TextReport final : public Report {
  public:
    TextReport(Output& output, Subject subject) : output_(output), subject_(std::move(subject)) {}

    void interval(double seconds, const Totals& totals) override {
        if (lines_ == 0) heading();
        rows(fmt::format("{:>15.9f} ", seconds), totals);
        lines_ = (lines_ + 1) % 25;
    }

    void whole(double seconds, const Totals& totals) override {
        print("\n Performance counter stats for '{}'{}:\n\n", subject_.what,
              subject_.cgroup.empty() ? "" : " in cgroup " + subject_.cgroup);
        rows("", totals);
        print("\n {:>17.9f} seconds time elapsed\n\n", seconds);
        flush();
    }

    void self(const Self& self) override {
        const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
        print(" {} sweeps by {}: {:.1f} us each (p50; p99 {:.1f}), CPUs {:.1f} us apart (p50)",
              self.sweeps(), subject_.backend, us(self.duration().quantile(0.5)),
              us(self.duration().quantile(0.99)), us(self.skew().quantile(0.5)));
        print("\n {:.2f} % of one CPU used", 100 * self.cpu_use());
        if (self.lateness().count() > 0) {
            print("; ticks missed: {}; ticks late by {:.1f} us (p50), {:.1f} (p99), {:.1f} (max)",
                  self.missed(), us(self.lateness().quantile(0.5)),
                  us(self.lateness().quantile(0.99)), us(self.lateness().max()));
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
        output_.write({text_.data(), text_.size()});
        text_.clear();
    }

    void heading() {
        print("#{:>14} {}{:>18} {:<9}{}\n", "time", place_column(""), "counts", "unit", "events");
    }

    std::string place_column(const std::string& name) const {
        if (subject_.places.all().front().name.empty()) return "";
        return fmt::format("{:<12}", name);
    }

    void rows(const std::string& begin, const Totals& totals) {
        for (std::size_t place = 0; place < subject_.places.all().size(); ++place) {
            const std::string head = begin + place_column(subject_.places.all()[place].name);
            for (std::size_t column = 0; column < totals.columns().size(); ++column)
                row(head, totals, place, column);
        }
        flush();
    }

    void row(const std::string& head, const Totals& totals, std::size_t place, std::size_t column) {
        const Column& about = totals.columns()[column];
        const Count& count = totals.at(place, column);
        std::string value = "<not counted>";
        std::string unit = about.unit;
        if (count.known()) {
            const bool clock = is_clock(about.event);
            if (clock) unit = "msec";
            value = clock ? grouped(count.value / 1e6, 2)
                          : grouped(count.value, about.scale == 1 ? 0 : 2);
        }
        print("{}{:>18} {:<9}{:<26}", head, value, unit, about.event);
        if (auto metric = subject_.metrics.of(totals, place, column)) {
            shorten(*metric);
            print(" # {:>12} {}{}", grouped(metric->value, 3), metric->percent ? "% " : "",
                  metric->unit);
        }
        if (count.known() && count.coverage() < 0.995)
            print("  ({:.2f} %)", 100 * count.coverage());
        print("\n");
    }

    Output& output_;
    Subject subject_;
    fmt::memory_buffer text_;
    unsigned lines_ = 0;
};

}  // namespace

std::unique_ptr<Report> make_text_report(Output& output, Subject subject) {
    return std::make_unique<TextReport>(output, std::move(subject));
}

}  // namespace tool
