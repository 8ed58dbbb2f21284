// SPDX-License-Identifier: MIT
// A line for each count, with the keys of perf stat -j, and one for the monitor itself.
#include <nlohmann/json.hpp>

#include <utility>

#include "stat/report.hpp"

namespace tool {
namespace {

using Json = nlohmann::ordered_json;

Json quantiles(const Histogram& histogram) {
    return {{"p50", histogram.quantile(0.5)},
            {"p99", histogram.quantile(0.99)},
            {"max", histogram.max()}};
}

class JsonReport final : public Report {
  public:
    JsonReport(Output& output, Subject subject) : output_(output), subject_(std::move(subject)) {}

    void interval(double seconds, const Totals& totals) override {
        rows({{"interval", seconds}}, totals);
    }
    void whole(double seconds, const Totals& totals) override {
        rows({{"elapsed", seconds}}, totals);
    }
    void self(const Self& self) override {
        Json line{{"self",
                   {{"backend", subject_.backend},
                    {"sweeps", self.sweeps()},
                    {"missed-ticks", self.missed()},
                    {"sweep-ns", quantiles(self.duration())},
                    {"skew-ns", quantiles(self.skew())},
                    {"late-ns", quantiles(self.lateness())},
                    {"cpu-use", self.cpu_use()}}}};
        output_.write(line.dump() + '\n');
    }

  private:
    void rows(const Json& begin, const Totals& totals) {
        std::string text;
        for (std::size_t place = 0; place < subject_.places.all().size(); ++place) {
            for (std::size_t column = 0; column < totals.columns().size(); ++column) {
                Json line = begin;
                fill(line, totals, place, column);
                text += line.dump() + '\n';
            }
        }
        output_.write(text);
    }

    void fill(Json& line, const Totals& totals, std::size_t place, std::size_t column) const {
        const Place& where = subject_.places.all()[place];
        const Column& about = totals.columns()[column];
        const Count& count = totals.at(place, column);
        if (!where.name.empty()) line["place"] = where.name;
        line["cpus"] = where.cpus;
        line["counter-value"] = count.known() ? Json(count.value) : Json(nullptr);
        line["unit"] = about.unit;
        line["event"] = about.event;
        if (!subject_.cgroup.empty()) line["cgroup"] = subject_.cgroup;
        line["event-runtime"] = count.running;
        line["pcnt-running"] = 100 * count.coverage();
        if (const auto metric = subject_.metrics.of(totals, place, column)) {
            line["metric-value"] = metric->value;
            line["metric-unit"] = metric->unit;
        }
    }

    Output& output_;
    Subject subject_;
};

}  // namespace

std::unique_ptr<Report> make_json_report(Output& output, Subject subject) {
    return std::make_unique<JsonReport>(output, std::move(subject));
}

}  // namespace tool
