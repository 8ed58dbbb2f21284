// SPDX-License-Identifier: MIT
#include "common/count_report.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/command_line.hpp"

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
            place_names_.push_back(place_column(place));
    }

    void interval(double seconds, const Totals& totals) override {
        if (lines_ == 0) heading();
        begin_.clear();
        append_decimal(begin_, seconds, 9, 15, Digits::plain);
        begin_ += ' ';
        rows(totals);
        lines_ = (lines_ + 1) % 25;
    }

    void whole(const Mean& seconds, const Totals& totals) override {
        print("\n Performance counter stats for '{}'{}", subject_.target,
              subject_.cgroup.empty() ? "" : " in cgroup " + subject_.cgroup);
        if (seconds.runs > 1) print(" ({} runs)", seconds.runs);
        print(":\n\n");
        begin_.clear();
        rows(totals);
        if (seconds.runs > 1)
            print("\n {:>17.9f} +- {:.9f} seconds time elapsed  ( +- {:.2f} % )\n\n", seconds.value,
                  seconds.deviation(), 100 * seconds.deviation() / seconds.value);
        else
            print("\n {:>17.9f} seconds time elapsed\n\n", seconds.value);
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
        std::string place;
        if (!subject_.rows.places().front().name.empty())
            place = fmt::format("{:<{}}", shows_cpus() ? "        CPUs" : "", place_width());
        print("#{:>14} {}{:>18} {:<9}{}\n", "time", place, "counts", "unit", "events");
    }

    // A place of several CPUs has their number, as in perf stat.
    std::string place_column(const Place& place) const {
        if (place.name.empty()) return "";
        if (!shows_cpus()) return fmt::format("{:<{}}", place.name, place_width());
        return fmt::format("{:<12}{:>4} ", place.name, place.cpus);
    }
    bool shows_cpus() const { return !subject_.rows.places().front().name.starts_with("CPU"); }
    std::size_t place_width() const { return shows_cpus() ? 17 : 12; }

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
            text_ +=
                subject_.columns[column].supported ? "     <not counted>" : "   <not supported>";
        text_ += label.text;
        if (const auto metric = subject_.metrics.of(totals, place, column)) {
            const auto [value, prefix] = shorten(*metric);
            text_ += " # ";
            append_decimal(text_, value, 3, 12, Digits::grouped);
            text_ += metric->percent ? " % " : " ";
            text_ += prefix;
            text_ += metric->unit;
        }
        if (count.deviation > 0) print("  ( +- {:.2f} % )", 100 * count.deviation / count.value);
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

// Fractions are printed as two integers, which takes much less time.
constexpr std::uint64_t kBillion = 1'000'000'000;

// The fields are those of perf stat -x: time (with -I), place and its CPUs (unless all CPUs are
// added up), value, unit, event, cgroup (with -G), deviation in percent (with -r), nanoseconds
// counted, percentage of the time counted, metric, its unit.
class CsvReport final : public Report {
  public:
    CsvReport(Output& output, Subject subject, std::string separator)
        : output_(output), subject_(std::move(subject)), separator_(std::move(separator)) {}

    void interval(double seconds, const Totals& totals) override {
        const auto ns = static_cast<std::uint64_t>(std::llround(seconds * 1e9));
        rows(fmt::format(FMT_COMPILE("{}.{:09}{}"), ns / kBillion, ns % kBillion, separator_),
             totals);
    }
    void whole(const Mean& seconds, const Totals& totals) override {
        has_deviation_ = seconds.runs > 1;
        rows("", totals);
    }
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
            text_.append(std::string_view(event.supported ? "<not counted>" : "<not supported>"));
        else if (event.scale == 1)
            add(FMT_COMPILE("{1}"), static_cast<std::uint64_t>(std::llround(count.value)));
        else
            add(FMT_COMPILE("{1}"), count.value);
        add(FMT_COMPILE("{0}{1}{0}{2}{0}"), event.unit, event.event);
        if (!subject_.cgroup.empty()) add(FMT_COMPILE("{1}{0}"), subject_.cgroup);
        if (has_deviation_)
            add(FMT_COMPILE("{1:.2f}%{0}"),
                count.value == 0 ? 0 : 100 * count.deviation / count.value);
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
    bool has_deviation_ = false;
    fmt::memory_buffer text_;
};

using Json = nlohmann::ordered_json;

Json quantiles(const Histogram& histogram) {
    return {{"p50", histogram.quantile(0.5)},
            {"p99", histogram.quantile(0.99)},
            {"max", histogram.max()}};
}

std::string json_string(std::string_view text) {
    // Text from files of the system may be invalid UTF-8.
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A line for each count, with the keys of perf stat -j, and one for the overhead.
class JsonReport final : public Report {
  public:
    JsonReport(Output& output, Subject subject) : output_(output), subject_(std::move(subject)) {
        for (const Place& place : subject_.rows.places()) {
            const std::string name =
                place.name.empty() ? "" : fmt::format(R"("place":{},)", json_string(place.name));
            places_.push_back(name + fmt::format(R"("cpus":{},"counter-value":)", place.cpus));
        }
        const std::string cgroup =
            subject_.cgroup.empty() ? ""
                                    : fmt::format(R"("cgroup":{},)", json_string(subject_.cgroup));
        for (const Column& column : subject_.columns)
            columns_.push_back(fmt::format(R"(,"unit":{},"event":{},{}"event-runtime":)",
                                           json_string(column.unit), json_string(column.event),
                                           cgroup));
    }

    void interval(double seconds, const Totals& totals) override {
        rows("interval", seconds, totals);
    }
    void whole(const Mean& seconds, const Totals& totals) override {
        rows("elapsed", seconds.value, totals);
    }
    void overhead(const Overhead& overhead) override {
        Json line{{"self",
                   {{"backend", subject_.backend},
                    {"sweeps", overhead.sweeps()},
                    {"deadlines", overhead.deadlines},
                    {"missed-ticks", overhead.missed},
                    {"sweep-ns", quantiles(overhead.duration)},
                    {"skew-ns", quantiles(overhead.skew)},
                    {"late-ns", quantiles(overhead.lateness)},
                    {"cpu-use", overhead.cpu_use}}}};
        output_.write(line.dump() + '\n');
    }

  private:
    void rows(std::string_view time, double seconds, const Totals& totals) {
        begin_.clear();
        fmt::format_to(std::back_inserter(begin_), FMT_COMPILE(R"({{"{}":{},)"), time, seconds);
        text_.clear();
        for (std::size_t place = 0; place < places_.size(); ++place) {
            for (std::size_t column = 0; column < columns_.size(); ++column)
                row(totals, place, column);
        }
        output_.write({text_.data(), text_.size()});
    }

    template <typename Format, typename... Values>
    void add(const Format& format, const Values&... values) {
        fmt::format_to(std::back_inserter(text_), format, values...);
    }

    void row(const Totals& totals, std::size_t place, std::size_t column) {
        const Count& count = totals.at(place, column);
        text_.append(begin_);
        text_.append(places_[place]);
        if (count.known())
            add(FMT_COMPILE("{}"), count.value);
        else
            text_.append(std::string_view("null"));
        text_.append(columns_[column]);
        add(FMT_COMPILE(R"({},"pcnt-running":{})"), count.running, 100 * count.coverage());
        if (count.deviation > 0)
            add(FMT_COMPILE(R"(,"variance":{})"), 100 * count.deviation / count.value);
        if (const auto metric = subject_.metrics.of(totals, place, column))
            add(FMT_COMPILE(R"(,"metric-value":{},"metric-unit":"{}")"), metric->value,
                metric->unit);
        text_.append(std::string_view("}\n"));
    }

    Output& output_;
    Subject subject_;
    // Fragments that are the same in all lines.
    std::vector<std::string> places_;
    std::vector<std::string> columns_;
    fmt::memory_buffer begin_;  // of each line
    fmt::memory_buffer text_;
};

}  // namespace

std::unique_ptr<Report> make_text_report(Output& output, Subject subject) {
    return std::make_unique<TextReport>(output, std::move(subject));
}

std::unique_ptr<Report> make_csv_report(Output& output, Subject subject, std::string separator) {
    return std::make_unique<CsvReport>(output, std::move(subject), std::move(separator));
}

std::unique_ptr<Report> make_json_report(Output& output, Subject subject) {
    return std::make_unique<JsonReport>(output, std::move(subject));
}

void CountOutput::add_options(CLI::App& app, const std::string& lines) {
    CLI::Option* csv = app.add_option("-x,--field-separator", separator, "CSV with this separator")
                           ->check(not_empty());
    app.add_flag("-j,--json", json, "a line of JSON for each " + lines)->excludes(csv);
    CLI::Option* output = app.add_option("-o,--output", file, "write to a file")
                              ->check(not_empty())
                              ->type_name("FILE");
    app.add_flag("--append", append, "add to the file")->needs(output);
}

std::unique_ptr<Report> CountOutput::make_report(Output& output, Subject subject) const {
    if (json) return make_json_report(output, std::move(subject));
    if (separator)
        return make_csv_report(output, std::move(subject), *separator == "\\t" ? "\t" : *separator);
    return make_text_report(output, std::move(subject));
}

}  // namespace tool
