// SPDX-License-Identifier: MIT
// Metrics by name, defined in files in the format of perf's tables.
#pragma once

#include <CLI/App.hpp>
#include <metagroup/event_spec.hpp>
#include <string>
#include <vector>

#include "common/metric_expression.hpp"
#include "common/totals.hpp"

namespace tool {

struct MetricDefinition {
    std::string name;
    std::string expression;
    double scale = 1;
    std::string unit;
    std::vector<std::string> groups;
    std::string description;
};

// A metric, the events that it needs, and the columns in which they are counted.
struct MeasuredMetric {
    MetricDefinition definition;
    MetricExpression expression;
    std::vector<metagroup::GroupSpec> groups;
    std::vector<std::string> names;  // names of the columns, by variable
    std::string missing;             // why it cannot be counted; empty if it can
};

class MetricTable {
  public:
    // Reads all *.json files of the installation, then those in $XDG_CONFIG_HOME/metagroup/metrics,
    // then those in `directory` unless it is empty. A later definition of a name replaces an
    // earlier one. \throws std::runtime_error naming the file and the error.
    static MetricTable load(const std::string& directory);

    const std::vector<MetricDefinition>& all() const { return metrics_; }

    // Finds metrics by comma-separated names and groups, ignoring case. \throws
    // std::invalid_argument naming the unknown one and similar ones.
    std::vector<const MetricDefinition*> find(const std::string& names) const;

    MeasuredMetric measure(const MetricDefinition& metric) const;

  private:
    void read(const std::string& directory, bool required);
    void add(MetricDefinition metric);
    std::string_view expression_of(std::string_view name) const;

    std::vector<MetricDefinition> metrics_;
};

// The events of all the metrics.
std::vector<metagroup::GroupSpec> groups_of(const std::vector<MeasuredMetric>& metrics);

// The metrics of MetricTable::find() that can be counted; reports the others and the reasons on
// standard error. \throws as MetricTable, and if none can be counted.
std::vector<MeasuredMetric> choose_metrics(const std::string& names, const std::string& directory);

// The argument for Metrics. The first columns must be those of groups_of().
std::vector<DefinedMetric> defined_metrics(const std::vector<MeasuredMetric>& metrics,
                                           const std::vector<Column>& columns);

// Adds --metric-dir.
void add_metric_directory(CLI::App& app, std::string& directory);

// Adds --metrics, which excludes --set, and --metric-dir. \return --metrics
CLI::Option* add_metrics(CLI::App& app, std::string& metrics, std::string& directory);

}  // namespace tool
