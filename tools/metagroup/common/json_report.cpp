// SPDX-License-Identifier: MIT
#include <fmt/compile.h>
#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/count_rows.hpp"

namespace tool {
namespace {

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

std::unique_ptr<Report> make_json_report(Output& output, Subject subject) {
    return std::make_unique<JsonReport>(output, std::move(subject));
}

}  // namespace tool
