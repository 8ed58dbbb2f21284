// SPDX-License-Identifier: MIT
// metagroup list: the events of this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/known_events.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/metric_table.hpp"
#include "common/text.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::KnownEvent;

// Part of a text in any case; with `*`, `?` and `[]` the whole text. hw and sw are the PMUs
// hardware and software, as in perf list.
class Pattern {
  public:
    explicit Pattern(std::string text) {
        if (text == "hw")
            pmu_ = "hardware";
        else if (text == "sw")
            pmu_ = "software";
        else
            glob_ = text.find_first_of("*?[") == text.npos ? "*" + text + "*" : std::move(text);
    }

    // True if it fits the event's name, PMU or description.
    bool matches(const KnownEvent& event) const {
        if (!pmu_.empty()) return event.pmu == pmu_;
        return fits(event.name) || fits(event.pmu) || fits(event.description);
    }

  private:
    bool fits(const std::string& text) const {
        return ::fnmatch(glob_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
    }

    std::string glob_;
    std::string pmu_;
};

// Tells by opening them which events can be counted. Virtual machines often lack the counters of
// the CPU that they show.
class Countable {
  public:
    // Opens some events of each PMU of libpfm4; the result holds for all events of the PMU.
    explicit Countable(std::span<const KnownEvent> events);

    bool operator()(const KnownEvent& event) const;

  private:
    std::set<std::string> pfm_pmus_;
};

Countable::Countable(std::span<const KnownEvent> events) {
    // A single event may be missing on this model of CPU only.
    constexpr int tries = 8;
    std::map<std::string, int> tried;
    for (const KnownEvent& event : events) {
        if (event.source != "libpfm4" || pfm_pmus_.contains(event.pmu) ||
            tried[event.pmu]++ >= tries)
            continue;
        if (can_count(event.name)) pfm_pmus_.insert(event.pmu);
    }
}

bool Countable::operator()(const KnownEvent& event) const {
    if (event.source == "libpfm4") return pfm_pmus_.contains(event.pmu);
    // The names of perf are the same everywhere; sysfs and tracefs describe this machine.
    return event.source != "perf" || can_count(event.name);
}

struct ListOptions {
    std::optional<std::string> pattern;
    bool all = false;
    bool json = false;
    bool metrics = false;
    std::string metric_directory;
};

struct Found {
    std::vector<KnownEvent> events;
    std::size_t tracepoints = 0;  // left out without a pattern
    std::size_t uncounted = 0;    // left out because this machine cannot count them
};

Found find(const ListOptions& options) {
    const std::vector<KnownEvent> known = metagroup::known_events();
    std::optional<Pattern> pattern;
    if (options.pattern) pattern.emplace(*options.pattern);
    std::optional<Countable> countable;
    if (!options.all) countable.emplace(known);
    Found found;
    for (const KnownEvent& event : known) {
        if (pattern && !pattern->matches(event)) continue;
        if (!pattern && !options.all && event.pmu == "tracepoint")
            ++found.tracepoints;
        else if (countable && !(*countable)(event))
            ++found.uncounted;
        else
            found.events.push_back(event);
    }
    return found;
}

std::string as_json(const std::vector<KnownEvent>& events) {
    std::string text;
    for (const KnownEvent& event : events) {
        nlohmann::ordered_json line{{"name", event.name}, {"pmu", event.pmu}};
        line["description"] = event.description;
        if (!event.unit.empty()) line["unit"] = event.unit;
        line["source"] = event.source;
        // Text from files of the system may be invalid UTF-8.
        text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    }
    return text;
}

std::string as_text(const Found& found, std::size_t width) {
    // Wide enough for most names.
    const Columns columns{
        .indent = 2, .text = std::min<std::size_t>(28, width / 2), .width = width};
    std::string text;
    std::string pmu;
    for (const KnownEvent& event : found.events) {
        if (event.pmu != pmu) {
            pmu = event.pmu;
            text += fmt::format("{}{} ({}):\n", text.empty() ? "" : "\n", pmu, event.source);
        }
        const std::string unit = event.unit.empty() ? "" : fmt::format(" [{}]", event.unit);
        text += entry(event.name, event.description + unit, columns);
    }
    const auto note = [&](std::size_t count, const char* what) {
        if (count == 0) return;
        text += '\n';
        for (const std::string& line : fold(fmt::format("{} {}", count, what), width))
            text += line + '\n';
    };
    note(found.tracepoints, "tracepoints: list them by a pattern, as in metagroup list 'sched:*'");
    note(found.uncounted, "more that this machine cannot count: list them by --all");
    return text;
}

std::string nothing_found(const std::string& pattern, std::size_t uncounted) {
    if (uncounted > 0) {
        return fmt::format(
            "no event that this machine can count matches \"{}\"; --all lists {} that it cannot",
            pattern, uncounted);
    }
    try {
        metagroup::parse_events(pattern);
    } catch (const metagroup::Error& error) {
        if (error.cause() == metagroup::Cause::no_trace_permission) return error.what();
    }
    std::string word = pattern;
    std::erase_if(word, [](char c) { return c == '*' || c == '?'; });
    const std::vector<std::string> near = metagroup::similar_events(word);
    return fmt::format("no event matches \"{}\"; {}", pattern,
                       near.empty() ? "\"metagroup list\" shows all events"
                                    : fmt::format("similar events: {}", fmt::join(near, ", ")));
}

struct FoundMetric {
    MetricDefinition definition;
    std::string missing;  // why it cannot be counted here
};

std::string as_json(const std::vector<FoundMetric>& metrics) {
    std::string text;
    for (const auto& [metric, missing] : metrics) {
        nlohmann::ordered_json line{{"metric", metric.name},
                                    {"groups", metric.groups},
                                    {"description", metric.description},
                                    {"expression", metric.expression}};
        if (!metric.unit.empty()) line["unit"] = metric.unit;
        if (!missing.empty()) line["missing"] = missing;
        text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    }
    return text;
}

std::string as_text(const std::vector<FoundMetric>& metrics, std::size_t width) {
    const Columns columns{.indent = 2, .text = 28, .width = width};
    std::string text;
    for (const auto& [metric, missing] : metrics) {
        const std::string unit = metric.unit.empty() ? "" : fmt::format(" [{}]", metric.unit);
        text += entry(
            metric.name,
            fmt::format("{}{} ({}){}{}", metric.description, unit, fmt::join(metric.groups, ", "),
                        missing.empty() ? "" : "; not here: ", missing),
            columns);
    }
    return text;
}

int list_metrics(const ListOptions& options) {
    const MetricTable table = MetricTable::load(options.metric_directory);
    const std::optional<Pattern> pattern =
        options.pattern ? std::optional(Pattern(*options.pattern)) : std::nullopt;
    std::vector<FoundMetric> found;
    for (const MetricDefinition& metric : table.all()) {
        const std::string groups = fmt::format("{}", fmt::join(metric.groups, ", "));
        const KnownEvent known{metric.name, groups, metric.description, metric.unit, {}};
        if (pattern && !pattern->matches(known)) continue;
        found.push_back({metric, table.measure(metric).missing});
    }
    if (found.empty()) {
        fmt::print(
            stderr, "metagroup: no metric {}; {}\n",
            pattern ? fmt::format("matches \"{}\"", *options.pattern) : "is installed",
            pattern ? "\"metagroup list -M\" shows all" : "name a directory by --metric-dir");
        return 1;
    }
    Output output("");
    output.write(options.json ? as_json(found) : as_text(found, output.width()));
    return 0;
}

int list(const ListOptions& options) {
    if (options.metrics) return list_metrics(options);
    const Found found = find(options);
    if (found.events.empty() && options.pattern) {
        fmt::print(stderr, "metagroup: {}\n", nothing_found(*options.pattern, found.uncounted));
        return 1;
    }
    Output output("");
    output.write(options.json ? as_json(found.events) : as_text(found, output.width()));
    return 0;
}

}  // namespace

void add_list(CLI::App& app, int& status) {
    CLI::App* list_app = app.add_subcommand("list", "events that can be counted");
    const auto options = std::make_shared<ListOptions>();
    list_app->add_option("PATTERN", options->pattern,
                         "part of an event's name, PMU or description; with *, ? and [] all of it; "
                         "hw and sw stand for hardware and software");
    list_app->add_flag("-a,--all", options->all,
                       "also tracepoints, and events that this machine knows but cannot count");
    list_app->add_flag("-j,--json", options->json, "a line of JSON for each event or metric");
    list_app->add_flag("-M,--metrics", options->metrics,
                       "metrics instead of events: what -M of metagroup stat and top takes");
    add_metric_directory(*list_app, options->metric_directory);
    list_app->footer(
        "Option -e of the other subcommands takes these names. Tracepoints, of which there are\n"
        "thousands, are listed if TEXT matches them: tracepoint for all, 'sched:*' for the\n"
        "scheduler's. Events are opened to find out which can be counted; without permission for\n"
        "that, all are listed. The exit status is 1 if nothing matches.");
    list_app->callback([options, &status] { status = list(*options); });
}

}  // namespace tool
