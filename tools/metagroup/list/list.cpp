// SPDX-License-Identifier: MIT
// metagroup list: the events of this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <metagroup/known_events.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "columns.hpp"
#include "list/countable.hpp"
#include "list/pattern.hpp"
#include "output.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::KnownEvent;

struct ListOptions {
    std::optional<std::string> pattern;
    bool all = false;
    bool json = false;
};

struct Found {
    std::vector<KnownEvent> events;
    std::size_t tracepoints = 0;  // not asked for
    std::size_t uncounted = 0;    // not counted by this machine
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
        // What the system's files say may be anything.
        text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    }
    return text;
}

std::string as_text(const Found& found, std::size_t width) {
    // Most names are shorter; texts of the others begin a line below.
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
    note(found.tracepoints, "tracepoints: see them by a PATTERN, as in metagroup list 'sched:*'");
    note(found.uncounted, "more that this machine cannot count: see them by --all");
    return text;
}

std::string nothing_found(const std::string& pattern, std::size_t uncounted) {
    if (uncounted > 0) {
        return fmt::format(
            "no event that this machine can count matches \"{}\"; --all lists {} that it cannot",
            pattern, uncounted);
    }
    std::string word = pattern;
    std::erase_if(word, [](char c) { return c == '*' || c == '?'; });
    const std::vector<std::string> near = metagroup::near_events(word);
    return fmt::format("no event matches \"{}\"; {}", pattern,
                       near.empty() ? "\"metagroup list\" shows what there is"
                                    : fmt::format("near are: {}", fmt::join(near, ", ")));
}

int list(const ListOptions& options) {
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
                         "part of an event's name, PMU or description, or with *, ? and [] all of "
                         "it; hw and sw stand for hardware and software");
    list_app->add_flag("-a,--all", options->all,
                       "tracepoints too, and events that are known here but not counted");
    list_app->add_flag("-j,--json", options->json, "a line of JSON for each event");
    list_app->footer(
        "Names are those that stat -e takes. Tracepoints, of which there are thousands, are\n"
        "listed if a PATTERN fits them: tracepoint for all, 'sched:*' for the scheduler's.\n"
        "Which events can be counted is found out by opening them; where that is not\n"
        "permitted, all are listed. The exit status is 1 if nothing matches.");
    list_app->callback([options, &status] { status = list(*options); });
}

}  // namespace tool
