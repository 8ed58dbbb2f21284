// SPDX-License-Identifier: MIT
// Metrics by name: definitions in files, in the format of perf's tables.
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
    std::vector<std::string> names;  // of the columns, by variable
    std::string missing;             // why it cannot be counted; empty: it can
};

class MetricTable {
  public:
    // Of the installation, then of $XDG_CONFIG_HOME/metagroup/metrics, then of `directory` if it is
    // not empty: all files *.json. A later definition of a name replaces an earlier one.
    // \throws std::runtime_error that names the file and what is wrong.
    static MetricTable load(const std::string& directory);

    const std::vector<MetricDefinition>& all() const { return metrics_; }

    // By names and groups, which commas separate; in any case.
    // \throws std::invalid_argument that names the unknown one and similar ones.
    std::vector<const MetricDefinition*> find(const std::string& names) const;

    MeasuredMetric measure(const MetricDefinition& metric) const;

  private:
    void read(const std::string& directory, bool required);
    void add(MetricDefinition metric);
    std::string_view expression_of(std::string_view name) const;

    std::vector<MetricDefinition> metrics_;
};

// The events of all of them.
std::vector<metagroup::GroupSpec> groups_of(const std::vector<MeasuredMetric>& metrics);

// Those of MetricTable::find() that can be counted; says on standard error which cannot, and why.
// \throws as MetricTable, and if none is left.
std::vector<MeasuredMetric> choose_metrics(const std::string& names, const std::string& directory);

// For Metrics. The first columns are those of groups_of().
std::vector<DefinedMetric> defined_metrics(const std::vector<MeasuredMetric>& metrics,
                                           const std::vector<Column>& columns);

// An option --metric-dir.
void add_metric_directory(CLI::App& app, std::string& directory);

// Adds the option --metrics, which a published set excludes, and --metric-dir. \return --metrics
CLI::Option* add_metrics(CLI::App& app, std::string& metrics, std::string& directory);

}  // namespace tool
