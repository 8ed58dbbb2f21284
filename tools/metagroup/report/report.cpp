// SPDX-License-Identifier: MIT
// metagroup report: counts, distributions, phases and plots of a recording.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <metagroup/recording.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/count_report.hpp"
#include "common/replay.hpp"
#include "common/text.hpp"
#include "report/plot.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using std::chrono::nanoseconds;

struct ReportOptions {
    void add_to(CLI::App& app);

    AggrMode mode = AggrMode::all;
    std::optional<nanoseconds> interval;
    std::string figures;
    bool phases = false;
    CountOutput output;
    std::string plot;
    std::string html;
    Replay::Options recording{.file = "perf.data"};
};

void ReportOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    add_duration(app, "-I,--interval", interval, 1ms, 10us,
                 "print counts of every interval, e.g. 100us, 1ms, 2s");
    add_duration(app, "--since", recording.since, 1s, 0s,
                 "skip samples earlier than TIME after the first one");
    add_duration(app, "--until", recording.until, 1s, 0s,
                 "skip samples later than TIME after the first one");
    app.add_option("--figure", figures, "show only these figures, e.g. cycles,IPC,lateness")
        ->check(not_empty())
        ->type_name("NAMES");
    app.add_flag("--phases", phases, "print when the first figure changes, and the means between");
    add_aggregation(app, mode);
    output.add_options(app, "row");
    app.add_option("--plot", plot, "plot CPUs over time, as .svg, or as .png with rsvg-convert")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("--html", html, "the same as a zoomable HTML page")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("-i,--input,recording", recording.file,
                   "a perf.data file with counts in its samples")
        ->check(not_empty())
        ->type_name("FILE")
        ->capture_default_str();
}

// The figures of --figure, in its order.
class Choice {
  public:
    // Event names may contain commas. \throws std::invalid_argument listing the known names.
    Choice(std::string_view names, Replay& replay) : known_(replay.analysis().figures()) {
        std::vector<std::string> all;
        for (const Figure& figure : known_)
            all.push_back(figure.name);
        if (replay.recording().period_ns())
            all.insert(all.end(), {"lateness", "skew"});
        else
            all.emplace_back("interval");
        while (!names.empty()) {
            std::string_view longest;
            for (const std::string& name : all)
                if ((std::string(names) + ',').starts_with(name + ',') &&
                    name.size() > longest.size())
                    longest = name;
            if (longest.empty())
                throw std::invalid_argument(
                    fmt::format("--figure: the recording has no \"{}\"; it has {}", names,
                                fmt::join(all, ", ")));
            names_.emplace_back(longest);
            names.remove_prefix(std::min(longest.size() + 1, names.size()));
        }
    }

    bool has(const std::string& name) const {
        return names_.empty() || std::ranges::find(names_, name) != names_.end();
    }
    // The figures that are known over time. \throws std::invalid_argument if there are none.
    std::vector<Figure> over_time() const {
        if (names_.empty()) return known_;
        std::vector<Figure> chosen;
        for (const std::string& name : names_)
            for (const Figure& figure : known_)
                if (figure.name == name) chosen.push_back(figure);
        if (chosen.empty())
            throw std::invalid_argument("--figure: phases and plots require an event or a ratio");
        return chosen;
    }

  private:
    std::vector<Figure> known_;
    std::vector<std::string> names_;  // empty for all
};

// The means of a figure over the steps of a phase.
struct PhaseRow {
    std::size_t phase = 1;
    double from = 0;  // s
    double to = 0;
    const Figure* figure = nullptr;
    double mean = 0;
    std::pair<std::size_t, std::size_t> cpus{};  // Timeline::cpus()

    std::size_t missing() const { return cpus.second - cpus.first; }
};

// The phases of the first figure, over all CPUs. Where it is unknown, it counts as unchanged.
std::vector<PhaseRow> phases_of(const Timeline& timeline, double seconds) {
    std::vector<double> first;
    for (std::size_t step = 0; step < timeline.steps(); ++step) {
        const double value = timeline.at(0, step, 0);
        first.push_back(value >= 0 || first.empty() ? std::max(value, 0.0) : first.back());
    }
    std::vector<std::size_t> bounds = find_phases(first);
    bounds.push_back(timeline.steps());
    std::vector<PhaseRow> rows;
    for (std::size_t phase = 1; phase < bounds.size(); ++phase) {
        for (std::size_t i = 0; i < timeline.figures().size(); ++i) {
            double sum = 0;
            std::size_t known = 0;
            for (std::size_t step = bounds[phase - 1]; step < bounds[phase]; ++step) {
                if (timeline.at(i, step, 0) < 0) continue;
                sum += timeline.at(i, step, 0);
                ++known;
            }
            if (known == 0) continue;
            const auto time = [&](std::size_t step) {
                return std::min(static_cast<double>(step) * timeline.interval(), seconds);
            };
            rows.push_back({phase, time(bounds[phase - 1]), time(bounds[phase]),
                            &timeline.figures()[i], sum / static_cast<double>(known),
                            timeline.cpus(i)});
        }
    }
    return rows;
}

// The tables after the counts, in the same format.

template <typename... Fields>
void put_csv(std::string& text, const std::string& separator, const Fields&... fields) {
    text += fmt::format(
        "{}\n",
        fmt::join(std::vector<std::string>{csv_field(fmt::format("{}", fields), separator)...},
                  separator));
}

void put_json(std::string& text, const nlohmann::ordered_json& line) {
    text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string as_csv(std::span<const Distribution> rows, const std::string& separator) {
    std::string text = "\n";
    put_csv(text, separator, "place", "cpus", "figure", "unit", "samples", "lost", "p50", "p90",
            "p99", "max");
    for (const Distribution& row : rows) {
        std::vector<std::string> values;
        for (const double value : row.quantiles())
            values.push_back(fmt::format("{}", value));
        values.resize(4);
        put_csv(text, separator, row.place, row.cpus, row.name, row.unit, row.values->count(),
                row.lost ? std::to_string(*row.lost) : "", values[0], values[1], values[2],
                values[3]);
    }
    return text;
}

std::string as_csv(std::span<const PhaseRow> rows, const std::string& separator) {
    std::string text = "\n";
    put_csv(text, separator, "phase", "from", "to", "figure", "unit", "mean", "cpus-missing");
    for (const PhaseRow& row : rows)
        put_csv(text, separator, row.phase, row.from, row.to, row.figure->name, row.figure->unit,
                row.mean, row.missing());
    return text;
}

std::string as_json(std::span<const Distribution> rows) {
    std::string text;
    for (const Distribution& row : rows) {
        nlohmann::ordered_json line;
        if (!row.place.empty()) line["place"] = row.place;
        line["cpus"] = row.cpus;
        line["figure"] = row.name;
        line["unit"] = row.unit;
        line["samples"] = row.values->count();
        if (row.lost) line["lost"] = *row.lost;
        if (const auto values = row.quantiles(); !values.empty()) {
            line["p50"] = values[0];
            line["p90"] = values[1];
            line["p99"] = values[2];
            line["max"] = values[3];
        }
        put_json(text, line);
    }
    return text;
}

std::string as_json(std::span<const PhaseRow> rows) {
    std::string text;
    for (const PhaseRow& row : rows) {
        nlohmann::ordered_json line{
            {"phase", row.phase},         {"from", row.from},         {"to", row.to},
            {"figure", row.figure->name}, {"unit", row.figure->unit}, {"mean", row.mean}};
        if (row.missing() > 0) line["counters-missing"] = row.missing();
        put_json(text, line);
    }
    return text;
}

std::string as_text(std::span<const Distribution> rows) {
    std::string text = fmt::format(" {:<12}{:<26}{:>12}{:>10}{:>10}{:>10}{:>10}  {}\n", "",
                                   "figure", "samples", "p50", "p90", "p99", "max", "unit");
    std::uint64_t expected = 0;
    std::uint64_t lost = 0;
    for (const Distribution& row : rows) {
        fmt::format_to(std::back_inserter(text), " {:<12}{:<26}{:>12}", row.place, row.name,
                       row.values->count());
        const auto values = row.quantiles();
        for (const double value : values)
            text += fmt::format("{:>10}", short_number(value));
        text += fmt::format("{:{}}  {}\n", "", values.empty() ? 40 : 0, row.unit);
        expected += row.expected;
        lost += row.lost.value_or(0);
    }
    if (expected > 0) text += fmt::format("\n deadlines lost: {} of {}\n", lost, expected);
    return text + '\n';
}

std::string as_text(std::span<const PhaseRow> rows) {
    std::string text = fmt::format(" {:<12}{:>12}{:>12}  {:<26}{:>10}  {}\n", "", "from", "to",
                                   "figure", "mean", "unit");
    for (const PhaseRow& row : rows)
        text += fmt::format(
            " phase {:<6}{:>10.6f} s{:>10.6f} s  {:<26}{:>10}  {}{}\n", row.phase, row.from, row.to,
            row.figure->name, short_number(row.mean), row.figure->unit,
            row.missing() > 0 ? fmt::format(" ({} of {} CPUs)", row.cpus.first, row.cpus.second)
                              : "");
    return text + '\n';
}

template <typename Row>
std::string table(const std::vector<Row>& rows, const CountOutput& format) {
    if (format.json) return as_json(std::span<const Row>(rows));
    if (format.separator) return as_csv(std::span<const Row>(rows), *format.separator);
    return as_text(std::span<const Row>(rows));
}

void draw(Replay& replay, const Choice& choice, const ReportOptions& options) {
    constexpr std::size_t values = 500'000;  // two megabytes
    const Aggregation cpus(AggrMode::cpu, replay.extent().cpus);
    if (cpus.places().size() * choice.over_time().size() > values)
        throw std::invalid_argument(
            "--plot and --html: too many events on too many CPUs; choose some with --figure");
    const auto timeline = [&](std::uint64_t most) {
        return Timeline(replay.recording(), replay.extent(), cpus, choice.over_time(), most);
    };
    if (!options.plot.empty()) {
        const std::string svg =
            svg_of(timeline(400), options.recording.file);  // two points wide each
        if (options.plot.ends_with(".png"))
            write_png(svg, options.plot);
        else
            Output(options.plot).write(svg);
    }
    if (options.html.empty()) return;
    const std::size_t steps = values / (cpus.places().size() * choice.over_time().size());
    const std::size_t most = std::clamp<std::size_t>(steps, 400, 20'000);
    Output(options.html).write(page_of(timeline(most), options.recording.file));
}

void run(const ReportOptions& options) {
    if (!options.plot.empty() && !options.plot.ends_with(".svg") && !options.plot.ends_with(".png"))
        throw std::invalid_argument("--plot: " + options.plot + " ends with neither .svg nor .png");
    for (const std::string& output : {options.output.file, options.plot, options.html})
        keep_recording(options.recording.file, output);
    Replay replay(options.recording, options.mode, options.interval);
    const Choice choice(options.figures, replay);
    Output output(options.output.file, options.output.append);
    replay.print_counts(options.output, output);
    std::vector<Distribution> distributions = replay.analysis().distributions();
    std::erase_if(distributions, [&](const Distribution& row) { return !choice.has(row.name); });
    output.write(table(distributions, options.output));
    if (options.phases) {
        const Aggregation all(AggrMode::all, replay.extent().cpus);
        const Timeline timeline(replay.recording(), replay.extent(), all, choice.over_time(), 1000);
        output.write(table(phases_of(timeline, replay.seconds()), options.output));
    }
    if (!options.plot.empty() || !options.html.empty()) draw(replay, choice, options);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
    CLI::App* report =
        app.add_subcommand("report", "print counts and distributions of a recording");
    const auto options = std::make_shared<ReportOptions>();
    options->add_to(*report);
    report->callback([options, &status] {
        run(*options);
        status = 0;
    });
}

}  // namespace tool
