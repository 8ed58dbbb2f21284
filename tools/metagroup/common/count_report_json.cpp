// SPDX-License-Identifier: MIT
// A line for each count, with the keys of perf stat -j, and one for the overhead.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/count_report.hpp"

namespace tool {
namespace {

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
    void whole(double seconds, const Totals& totals) override { rows("elapsed", seconds, totals); }
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

std::unique_ptr<Report> make_json_report(Output& output, Subject subject) {
    return std::make_unique<JsonReport>(output, std::move(subject));
}

}  // namespace tool
