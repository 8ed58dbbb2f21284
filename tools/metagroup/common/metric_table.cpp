// SPDX-License-Identifier: MIT
#include "common/metric_table.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <metagroup/error.hpp>
#include <metagroup/suggestion.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "common/command_line.hpp"

namespace tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTime = "duration_time";  // in seconds, known for every count

bool same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> words;
    std::istringstream rest(text);
    for (std::string word; std::getline(rest, word, separator);)
        if (!word.empty()) words.push_back(word);
    return words;
}

fs::path installed_metrics() {
    std::error_code none;
    return fs::read_symlink("/proc/self/exe", none).parent_path() / METAGROUP_DATA / "metrics";
}

fs::path metrics_of_user() {
    const char* const config = std::getenv("XDG_CONFIG_HOME");
    const char* const home = std::getenv("HOME");
    if (config != nullptr && *config != '\0') return fs::path(config) / "metagroup/metrics";
    return home == nullptr ? fs::path() : fs::path(home) / ".config/metagroup/metrics";
}

// No value for an object that is not a metric, such as an event in perf's tables.
std::optional<MetricDefinition> definition(const nlohmann::json& object) {
    const auto text = [&](const char* key) { return object.value(key, std::string()); };
    MetricDefinition metric{text("MetricName"),      text("MetricExpr"), 1, text("ScaleUnit"), {},
                            text("BriefDescription")};
    if (metric.name.empty() || metric.expression.empty()) return std::nullopt;
    // 100%, 1e-6MB/s, 1Joules
    const char* const begin = metric.unit.data();
    const auto [end, error] = std::from_chars(begin, begin + metric.unit.size(), metric.scale);
    if (error == std::errc{}) metric.unit.erase(0, static_cast<std::size_t>(end - begin));
    metric.groups = split(text("MetricGroup"), ';');
    return metric;
}

}  // namespace

MetricTable MetricTable::load(const std::string& directory) {
    MetricTable table;
    table.read(installed_metrics(), false);
    table.read(metrics_of_user(), false);
    if (!directory.empty()) table.read(directory, true);
    return table;
}

void MetricTable::read(const std::string& directory, bool required) {
    std::error_code error;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    if (error && required)
        throw std::runtime_error(
            fmt::format("cannot read the metrics in {}: {}; give a directory with *.json files "
                        "with --metric-dir",
                        directory, error.message()));
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        try {
            for (const nlohmann::json& object : nlohmann::json::parse(std::ifstream(file)))
                if (auto metric = definition(object)) add(std::move(*metric));
        } catch (const nlohmann::json::exception& wrong) {
            throw std::runtime_error(
                fmt::format("{} is not a list of metrics in JSON: {}; see metagroup-stat(1)",
                            file.string(), wrong.what()));
        }
    }
}

void MetricTable::add(MetricDefinition metric) {
    const auto found = std::ranges::find_if(
        metrics_, [&](const MetricDefinition& other) { return same(other.name, metric.name); });
    if (found == metrics_.end())
        metrics_.push_back(std::move(metric));
    else
        *found = std::move(metric);
}

std::string_view MetricTable::expression_of(std::string_view name) const {
    const auto found = std::ranges::find(metrics_, name, &MetricDefinition::name);
    return found == metrics_.end() ? std::string_view{} : found->expression;
}

std::vector<const MetricDefinition*> MetricTable::find(const std::string& names) const {
    std::vector<const MetricDefinition*> found;
    for (const std::string& name : split(names, ',')) {
        const std::size_t before = found.size();
        std::vector<std::string> known;
        for (const MetricDefinition& metric : metrics_) {
            const bool fits = same(metric.name, name) ||
                              std::ranges::any_of(metric.groups,
                                                  [&](const auto& one) { return same(one, name); });
            if (fits && std::ranges::find(found, &metric) == found.end()) found.push_back(&metric);
            known.push_back(metric.name);
            known.insert(known.end(), metric.groups.begin(), metric.groups.end());
        }
        if (found.size() == before)
            throw std::invalid_argument(fmt::format(
                "unknown metric \"{}\"; {}", name,
                metagroup::did_you_mean(name, known, "\"metagroup list -M\" lists all")));
    }
    return found;
}

MeasuredMetric MetricTable::measure(const MetricDefinition& metric) const {
    MeasuredMetric measured{metric, MetricExpression("0"), {}, {}, {}};
    try {
        measured.expression =
            MetricExpression(metric.expression, [&](auto name) { return expression_of(name); });
    } catch (const std::invalid_argument& error) {
        measured.missing = error.what();
        return measured;
    }
    bool together = true;  // events of the CPU itself, in one group if possible
    metagroup::GroupSpec group{{}, "W"};
    for (const auto& variable : measured.expression.variables()) {
        std::string& name = measured.names.emplace_back(variable.event);
        if (variable.event == kTime) continue;
        try {
            auto groups = metagroup::parse_events(variable.event);
            if (!metagroup::can_count(groups.front()))
                measured.missing = fmt::format("this machine cannot count \"{}\"", variable.event);
            const metagroup::EventSpec& event = groups.front().events.front();
            name = event.merged.empty() ? event.name : event.merged;
            const auto same_name = [&](const metagroup::GroupSpec& other) {
                return other.events.front().name == event.name;
            };
            if (std::ranges::any_of(measured.groups, same_name)) continue;
            together = together && !event.cpus && groups.size() == 1;
            group.events.push_back(event);
            measured.groups.insert(measured.groups.end(), groups.begin(), groups.end());
        } catch (const metagroup::Error& error) {
            measured.missing = error.reason();
        }
    }
    if (group.events.empty() && measured.missing.empty())
        measured.missing = "its expression contains no event";
    if (together && group.events.size() > 1 && measured.missing.empty())
        measured.groups = metagroup::divide_weak({std::move(group)});
    return measured;
}

std::vector<metagroup::GroupSpec> groups_of(const std::vector<MeasuredMetric>& metrics) {
    std::vector<metagroup::GroupSpec> groups;
    for (const MeasuredMetric& metric : metrics)
        groups.insert(groups.end(), metric.groups.begin(), metric.groups.end());
    return groups;
}

std::vector<MeasuredMetric> choose_metrics(const std::string& names, const std::string& directory) {
    const MetricTable table = MetricTable::load(directory);
    std::vector<MeasuredMetric> chosen;
    for (const MetricDefinition* const metric : table.find(names)) {
        MeasuredMetric measured = table.measure(*metric);
        if (measured.missing.empty()) {
            chosen.push_back(std::move(measured));
            continue;
        }
        fmt::print(stderr, "metagroup: skipping metric \"{}\": {}\n", metric->name,
                   measured.missing);
    }
    if (chosen.empty())
        throw std::runtime_error("none of the metrics can be counted; see \"metagroup list -M\"");
    return chosen;
}

void add_metric_directory(CLI::App& app, std::string& directory) {
    app.add_option("--metric-dir", directory, "read more metrics from the *.json files there")
        ->check(not_empty())
        ->envname("METAGROUP_METRICS")
        ->type_name("FILE");
}

CLI::Option* add_metrics(CLI::App& app, std::string& metrics, std::string& directory) {
    CLI::Option* const option =
        app.add_option("-M,--metrics", metrics,
                       "metrics or metric groups, e.g. IPC,power; see metagroup list -M")
            ->check(not_empty())
            ->excludes(app.get_option("--set"))
            ->type_name("METRICS");
    add_metric_directory(app, directory);
    return option;
}

std::vector<DefinedMetric> defined_metrics(const std::vector<MeasuredMetric>& metrics,
                                           const std::vector<Column>& columns) {
    std::size_t first = 0;  // column of the next metric
    std::vector<DefinedMetric> defined;
    for (const MeasuredMetric& metric : metrics) {
        const auto& [name, expression, scale, unit, groups, description] = metric.definition;
        DefinedMetric one{first,
                          metric.expression,
                          {},
                          scale,
                          unit.empty() ? name : fmt::format("{}  {}", unit, name)};
        for (const std::string& column : metric.names) {
            const auto from = columns.begin() + static_cast<std::ptrdiff_t>(one.column);
            const auto found = std::ranges::find(from, columns.end(), column, &Column::event);
            if (column != kTime)
                one.columns.emplace_back(static_cast<std::size_t>(found - columns.begin()));
            else
                one.columns.emplace_back(std::nullopt);
            if (column != kTime && found != columns.end())
                first = std::max(first, *one.columns.back() + 1);
        }
        defined.push_back(std::move(one));
    }
    return defined;
}

}  // namespace tool
