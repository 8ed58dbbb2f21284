// SPDX-License-Identifier: MIT
// Metrics without counts: one column per metric, one row per place.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "common/count_report.hpp"

namespace tool {
namespace {

class MetricReport : public Report {
  public:
    MetricReport(Output& output, Subject subject) : output_(output), subject_(std::move(subject)) {
        for (std::size_t column = 0; column < subject_.columns.size(); ++column)
            if (!subject_.metrics.label_of(column).empty()) columns_.push_back(column);
        if (columns_.empty())
            throw std::invalid_argument(
                "--metric-only: none of these events has a metric; choose metrics with -M");
    }

    void interval(double seconds, const Counts& counts) override {
        rows("interval", seconds, counts);
    }
    void whole(const Mean& seconds, const Counts& counts) override {
        rows("elapsed", seconds.value, counts);
    }
    void overhead(const Overhead&) override {}

  protected:
    virtual std::string heading() const { return ""; }
    virtual std::string row(std::string_view time, double seconds, const Counts& counts,
                            std::size_t place) const = 0;

    // The count with the most missing CPUs: a metric covers only CPUs that have all its counts.
    static const Count& poorest(const Counts& counts, std::size_t place) {
        std::size_t poorest = 0;
        for (std::size_t column = 1; column < counts.columns().size(); ++column)
            if (counts.at(place, column).missing() > counts.at(place, poorest).missing())
                poorest = column;
        return counts.at(place, poorest);
    }

    std::optional<double> value(const Counts& counts, std::size_t place, std::size_t column) const {
        const auto metric = subject_.metrics.of(counts, place, column);
        return metric ? std::optional(metric->value) : std::nullopt;
    }
    std::string label(std::size_t column) const {
        return std::string(subject_.metrics.label_of(column));
    }
    const Subject& subject() const { return subject_; }
    const std::vector<std::size_t>& columns() const { return columns_; }

  private:
    void rows(std::string_view time, double seconds, const Counts& counts) {
        std::string text;
        if (!std::exchange(has_heading_, true)) text = heading();
        for (std::size_t place = 0; place < subject_.rows.places().size(); ++place)
            text += row(time, seconds, counts, place) + '\n';
        output_.write(text);
    }

    Output& output_;
    Subject subject_;
    std::vector<std::size_t> columns_;
    bool has_heading_ = false;
};

// Columns as wide as their labels; with a separator, CSV.
class MetricText final : public MetricReport {
  public:
    MetricText(Output& output, Subject subject, std::optional<std::string> separator)
        : MetricReport(output, std::move(subject)), separator_(std::move(separator)) {}

  private:
    // A time or a place, at the start of a row.
    std::string front(std::string_view text, int width) const {
        if (separator_) return csv_field(text, *separator_) + *separator_;
        return fmt::format("{:<{}} ", text, width);
    }
    std::string cell(std::string_view text, std::size_t column) const {
        if (separator_) return csv_field(text, *separator_) + *separator_;
        return fmt::format("{:>{}} ", text, std::max<std::size_t>(8, label(column).size()));
    }
    bool has_places() const { return !subject().rows.places().front().name.empty(); }

    std::string heading() const override {
        std::string text = front("time", 15) + (has_places() ? front("place", 12) : "");
        for (const std::size_t column : columns())
            text += cell(label(column), column);
        return text + '\n';
    }
    std::string row(std::string_view /*time*/, double seconds, const Counts& counts,
                    std::size_t place) const override {
        std::string text = front(fmt::format("{:.9f}", seconds), 15);
        if (has_places()) text += front(subject().rows.places()[place].name, 12);
        for (const std::size_t column : columns()) {
            const auto known = value(counts, place, column);
            text += cell(known ? fmt::format("{:.3f}", *known) : separator_ ? "" : "-", column);
        }
        const Count& lacks = poorest(counts, place);
        if (lacks.complete()) return text;
        if (separator_) return text + fmt::format("{}", lacks.missing());
        return text + fmt::format(" ({} of {} CPUs)", lacks.whole(), lacks.counters);
    }

    std::optional<std::string> separator_;
};

class MetricJson final : public MetricReport {
    using MetricReport::MetricReport;

    std::string row(std::string_view time, double seconds, const Counts& counts,
                    std::size_t place) const override {
        nlohmann::ordered_json line{{time, seconds}};
        if (const std::string& name = subject().rows.places()[place].name; !name.empty())
            line["place"] = name;
        for (const std::size_t column : columns()) {
            const auto known = value(counts, place, column);
            line["metrics"][label(column)] =
                known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json();
        }
        if (const Count& lacks = poorest(counts, place); !lacks.complete())
            line["counters-missing"] = lacks.missing();
        return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    }
};

}  // namespace

std::unique_ptr<Report> make_metric_report(Output& output, Subject subject, bool json,
                                           std::optional<std::string> separator) {
    if (json) return std::make_unique<MetricJson>(output, std::move(subject));
    return std::make_unique<MetricText>(output, std::move(subject), std::move(separator));
}

}  // namespace tool
