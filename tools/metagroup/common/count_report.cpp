// SPDX-License-Identifier: MIT
#include "common/count_report.hpp"

#include <fmt/chrono.h>
#include <fmt/compile.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
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

double percent(const Count& count) {
    const double value = count.value();
    return value == 0 ? 0 : 100 * count.deviation / value;
}

// The order of rows in perf stat: with -A by event, otherwise by place. An event that only some CPUs
// count, for all, has rows only for these.
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

    // A place with several CPUs shows their number, as in perf stat.
    std::string place_column(const Place& place) const {
        if (place.name.empty()) return "";
        if (!shows_cpus()) return fmt::format("{:<{}}", place.name, place_width());
        return fmt::format("{:<12}{:>4} ", place.name, place.cpus.size());
    }
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

// The part of the enabled time that was counted. An unsupported event was never enabled: 100 %.
double percent_running(const Column& column, const Count& count) {
    return column.supported ? 100 * count.coverage() : 100;
}

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

using Json = nlohmann::ordered_json;

Json quantiles(const metagroup::Histogram& histogram) {
    return {{"p50", histogram.quantile(0.5)},
            {"p99", histogram.quantile(0.99)},
            {"max", histogram.max()}};
}

std::string json_string(std::string_view text) {
    // Text from system files may be invalid UTF-8.
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The key of a place in perf stat -j.
std::string_view place_key(AggrMode mode) {
    switch (mode) {
        case AggrMode::cpu:
            return "cpu";
        case AggrMode::core:
            return "core";
        case AggrMode::cache:
            return "cache";
        case AggrMode::die:
            return "die";
        case AggrMode::socket:
            return "socket";
        case AggrMode::node:
            return "node";
        case AggrMode::all:
            break;
    }
    return "";
}

// One line per count, with the keys of perf stat -j, and one for the overhead.
class JsonReport final : public Report {
  public:
    JsonReport(Output& output, Subject subject)
        : output_(output),
          subject_(std::move(subject)),
          labels_(subject_.columns.begin(), subject_.columns.end()) {
        const AggrMode mode = subject_.rows.mode();
        for (const Place& place : subject_.rows.places()) {
            std::string& text = places_.emplace_back();
            const std::string name = mode == AggrMode::cpu ? place.name.substr(3) : place.name;
            if (!name.empty())
                text = fmt::format(R"("{}":{},)", place_key(mode), json_string(name));
        }
        const std::string cgroup =
            subject_.cgroup.empty() ? ""
                                    : fmt::format(R"("cgroup":{},)", json_string(subject_.cgroup));
        for (std::size_t i = 0; i < labels_.size(); ++i)
            columns_.push_back(fmt::format(R"(,"unit":{},"event":{},{}"event-runtime":)",
                                           json_string(labels_[i].unit),
                                           json_string(subject_.columns[i].event), cgroup));
    }

    void started(std::chrono::system_clock::time_point when) override {
        started_ = std::chrono::duration<double>(when.time_since_epoch()).count();
    }
    void interval(double seconds, const Counts& counts) override {
        rows("interval", seconds, counts);
    }
    void whole(const Mean& seconds, const Counts& counts) override {
        rows("elapsed", seconds.value, counts);
    }
    void overhead(const Overhead& overhead) override {
        Json line{{"self",
                   {{"started", started_},
                    {"backend", subject_.backend},
                    {"origin", subject_.origin},
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
    void rows(std::string_view time, double seconds, const Counts& counts) {
        begin_.clear();
        fmt::format_to(std::back_inserter(begin_), FMT_COMPILE(R"({{"{}":{},)"), time, seconds);
        text_.clear();
        each_row(subject_.rows.mode(), counts,
                 [&](std::size_t place, std::size_t column) { row(counts, place, column); });
        output_.write({text_.data(), text_.size()});
    }

    template <typename Format, typename... Values>
    void add(const Format& format, const Values&... values) {
        fmt::format_to(std::back_inserter(text_), format, values...);
    }

    void row(const Counts& counts, std::size_t place, std::size_t column) {
        const Column& event = subject_.columns[column];
        const Count& count = counts.at(place, column);
        text_.append(begin_);
        text_.append(places_[place]);
        if (subject_.rows.mode() != AggrMode::cpu)
            add(FMT_COMPILE(R"("counters":{},)"), count.whole());
        text_.append(std::string_view(R"("counter-value":)"));
        const Shown shown(subject_, counts, count, labels_[column], column);
        if (shown.value && shown.exact)
            add(FMT_COMPILE("{}"), shown.whole);
        else if (shown.value)
            add(FMT_COMPILE("{}"), *shown.value);
        else
            add(FMT_COMPILE(R"("<not {}>")"), event.supported ? "counted" : "supported");
        text_.append(columns_[column]);
        add(FMT_COMPILE(R"({},"pcnt-running":{})"), count.running, percent_running(event, count));
        if (count.deviation > 0) add(FMT_COMPILE(R"(,"variance":{})"), percent(count));
        if (count.offline > 0) add(FMT_COMPILE(R"(,"offline-time":{})"), count.offline);
        if (event.supported && count.missing() > 0)
            add(FMT_COMPILE(R"(,"counters-missing":{})"), count.missing());
        if (const auto metric = subject_.metrics.of(counts, place, column))
            add(FMT_COMPILE(R"(,"metric-value":{},"metric-unit":{})"), metric->value,
                json_string(metric->unit));
        text_.append(std::string_view("}\n"));
    }

    Output& output_;
    Subject subject_;
    std::vector<Label> labels_;  // by column
    // Fragments that are the same in all lines.
    std::vector<std::string> places_;
    std::vector<std::string> columns_;
    double started_ = 0;
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

namespace {

// Converts a backslash and a t to a tab. \return the reason if `text` cannot be a separator.
std::string separator_of(std::string& text) {
    const auto of_numbers = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view(".+-%\"\n\r").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (text.empty()) return "must not be empty";
    if (text == "\\t") text = "\t";
    if (std::ranges::none_of(text, of_numbers)) return "";
    return fmt::format("\"{}\" may be part of a number; use , or ; or \\t", text);
}

}  // namespace

void CountOutput::add_options(CLI::App& app, const std::string& lines) {
    CLI::Option* csv =
        app.add_option("-x,--field-separator", separator, "print CSV with this separator")
            ->transform(CLI::Validator(separator_of, ""))
            ->type_name("SEPARATOR");
    app.add_flag("-j,--json", json, "print one line of JSON per " + lines)->excludes(csv);
    CLI::Option* output = app.add_option("-o,--output", file, "write to a file")
                              ->check(not_empty())
                              ->type_name("FILE");
    app.add_flag("--append", append, "append to the file")->needs(output);
}

std::unique_ptr<Report> CountOutput::make_report(Output& output, Subject subject) const {
    if (metric_only) return make_metric_report(output, std::move(subject), json, separator);
    if (json) return make_json_report(output, std::move(subject));
    if (separator) return make_csv_report(output, std::move(subject), *separator);
    return make_text_report(output, std::move(subject));
}

}  // namespace tool
