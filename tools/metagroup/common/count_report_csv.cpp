// SPDX-License-Identifier: MIT
// The fields are those of perf stat -x: time (with -I), place and its CPUs (unless all CPUs are
// added up), value, unit, event, cgroup (with -G), nanoseconds counted, percentage of the time
// counted, metric, its unit.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "common/count_report.hpp"

namespace tool {
namespace {

// Fractions are printed as two integers, which takes much less time.
constexpr std::uint64_t kBillion = 1'000'000'000;

class CsvReport final : public Report {
  public:
    CsvReport(Output& output, Subject subject, std::string separator)
        : output_(output), subject_(std::move(subject)), separator_(std::move(separator)) {}

    void interval(double seconds, const Totals& totals) override {
        const auto ns = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
        rows(fmt::format(FMT_COMPILE("{}.{:09}{}"), ns / kBillion, ns % kBillion, separator_),
             totals);
    }
    void whole(double, const Totals& totals) override { rows("", totals); }
    void overhead(const Overhead&) override {}  // not in the format of perf stat

  private:
    void rows(const std::string& begin, const Totals& totals) {
        text_.clear();
        for (std::size_t place = 0; place < subject_.rows.places().size(); ++place) {
            const Place& at = subject_.rows.places()[place];
            for (std::size_t column = 0; column < totals.columns().size(); ++column) {
                text_.append(begin);
                if (!at.name.empty()) add(FMT_COMPILE("{1}{0}{2}{0}"), at.name, at.cpus);
                row(totals, place, column);
            }
        }
        output_.write({text_.data(), text_.size()});
    }

    template <typename Format, typename... Values>
    void add(const Format& format, const Values&... values) {
        fmt::format_to(std::back_inserter(text_), format, separator_, values...);
    }

    void row(const Totals& totals, std::size_t place, std::size_t column) {
        const Column& event = totals.columns()[column];
        const Count& count = totals.at(place, column);
        if (!count.known())
            text_.append(std::string_view("<not counted>"));
        else if (event.scale == 1)
            add(FMT_COMPILE("{1}"), static_cast<std::uint64_t>(std::llround(count.value)));
        else
            add(FMT_COMPILE("{1}"), count.value);
        add(FMT_COMPILE("{0}{1}{0}{2}{0}"), event.unit, event.event);
        if (!subject_.cgroup.empty()) add(FMT_COMPILE("{1}{0}"), subject_.cgroup);
        const auto percent = static_cast<std::uint64_t>(std::llround(10'000 * count.coverage()));
        add(FMT_COMPILE("{1}{0}{2}.{3:02}{0}"), count.running, percent / 100, percent % 100);
        if (const auto metric = subject_.metrics.of(totals, place, column))
            add(FMT_COMPILE("{1:.6g}{0}{2}"), metric->value, metric->unit);
        else
            text_.append(separator_);
        text_.push_back('\n');
    }

    Output& output_;
    Subject subject_;
    std::string separator_;
    fmt::memory_buffer text_;
};

}  // namespace

std::unique_ptr<Report> make_csv_report(Output& output, Subject subject, std::string separator) {
    return std::make_unique<CsvReport>(output, std::move(subject), std::move(separator));
}

}  // namespace tool
