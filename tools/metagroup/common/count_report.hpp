// SPDX-License-Identifier: MIT
// Output formats of counts: text for people, CSV and JSON for programs.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "common/counts.hpp"
#include "common/text.hpp"
#include "common/totals.hpp"

namespace tool {

// Data common to all rows.
struct Subject {
    const Aggregation& rows;
    const std::vector<Column>& columns;
    const Metrics& metrics;
    std::string target;  // 'system wide', or the command
    std::string cgroup;  // empty for all tasks
    std::string backend;
    std::string origin;
};

class Report {
  public:
    virtual ~Report() = default;

    // The time of day at which intervals start.
    virtual void started(std::chrono::system_clock::time_point /*when*/) {}
    // The counts of an interval that ended at `seconds` after the start.
    virtual void interval(double seconds, const Counts& counts) = 0;
    // The counts from start to end, or the mean of several runs.
    virtual void whole(const Mean& seconds, const Counts& counts) = 0;
    virtual void overhead(const Overhead& overhead) = 0;
};

std::unique_ptr<Report> make_text_report(Output& output, Subject subject);
std::unique_ptr<Report> make_csv_report(Output& output, Subject subject, std::string separator);
std::unique_ptr<Report> make_json_report(Output& output, Subject subject);

// One column per metric and no counts: text, JSON or, with a separator, CSV.
// \throws std::invalid_argument if no column has a metric.
std::unique_ptr<Report> make_metric_report(Output& output, Subject subject, bool json,
                                           std::optional<std::string> separator);

// The format and the file, from -x, -j and -o.
struct CountOutput {
    // `lines` names what each line of JSON describes.
    void add_options(CLI::App& app, const std::string& lines);
    std::unique_ptr<Report> make_report(Output& output, Subject subject) const;

    std::optional<std::string> separator{};
    bool json = false;
    bool metric_only = false;
    std::string file{};
    bool append = false;
};

}  // namespace tool
