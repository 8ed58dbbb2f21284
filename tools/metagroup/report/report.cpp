// SPDX-License-Identifier: MIT
// metagroup report: counts, distributions and pictures of a recording.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <metagroup/recording.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/count_report.hpp"
#include "report/analysis.hpp"
#include "report/distributions.hpp"
#include "report/plot.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using std::chrono::nanoseconds;

struct ReportOptions {
    void add_to(CLI::App& app);

    AggrMode mode = AggrMode::all;
    std::optional<nanoseconds> interval;
    std::optional<nanoseconds> since;
    std::optional<nanoseconds> until;
    CountOutput output;
    std::string plot;
    std::string html;
    std::string recording;
};

void ReportOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    add_duration(app, "-I,--interval", interval, 1ms, 10us,
                 "print counts of every interval, as in 100us, 1ms, 2s");
    add_duration(app, "--since", since, 1s, 0s, "leave out samples before TIME from the first one");
    add_duration(app, "--until", until, 1s, 0s, "leave out samples after TIME from the first one");
    add_aggregation(app, mode);
    output.add_options(app, "row");
    app.add_option("--plot", plot, "draw CPUs over time, as SVG")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("--html", html, "the same as a page that can be zoomed")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("recording", recording, "a perf.data file with counts in its samples")
        ->required()
        ->check(not_empty())
        ->type_name("FILE");
}

// The machine of the recording, or this one if the recording does not describe it.
Aggregation rows_of(const metagroup::Recording& recording, AggrMode mode,
                    const metagroup::CpuList& cpus) {
    if (recording.topology().empty()) return {mode, cpus};
    return {mode, cpus, recording.topology()};
}

std::optional<std::uint64_t> count_of(const std::optional<nanoseconds>& time) {
    if (!time) return std::nullopt;
    return static_cast<std::uint64_t>(time->count());
}

void draw(metagroup::Recording& recording, const Extent& extent, const ReportOptions& options) {
    constexpr std::uint64_t most = 400;  // steps, each two points wide
    const std::uint64_t time = std::max<std::uint64_t>(extent.last - extent.first, 1);
    // Whole periods, so that all steps have as many samples.
    const std::uint64_t unit = recording.period_ns().value_or(1);
    const std::uint64_t interval = (time / most / unit + 1) * unit;
    const Aggregation rows(AggrMode::cpu, extent.cpus);
    std::optional<Plot> plot;
    Analysis analysis(recording, extent, rows, interval,
                      [&](double end, const Totals& totals) { plot->add(end, totals); });
    plot.emplace(rows, analysis.columns(), analysis.metrics(), static_cast<double>(interval) / 1e9,
                 static_cast<std::size_t>((time - 1) / interval + 1));
    analysis.run(recording);
    if (!options.plot.empty()) Output(options.plot).write(plot->svg(options.recording));
    if (!options.html.empty()) Output(options.html).write(plot->html(options.recording));
}

void run(const ReportOptions& options) {
    if (!options.plot.empty() && !options.plot.ends_with(".svg"))
        throw std::invalid_argument("--plot: " + options.plot +
                                    " does not end with .svg, the only format");
    metagroup::Recording recording(options.recording);
    if (!recording.finished())
        fmt::print(stderr, "metagroup: {} was not finished; all whole records of it are read\n",
                   options.recording);
    const Extent extent = find_extent(recording, count_of(options.since).value_or(0),
                                      count_of(options.until).value_or(UINT64_MAX));
    const Aggregation rows = rows_of(recording, options.mode, extent.cpus);
    std::unique_ptr<Report> counts;
    Analysis analysis(recording, extent, rows, count_of(options.interval),
                      [&](double end, const Totals& totals) { counts->interval(end, totals); });

    Output output(options.output.file);
    counts = options.output.make_report(
        output, {rows, analysis.columns(), analysis.metrics(), options.recording, "", ""});
    analysis.run(recording);
    if (!options.interval) counts->whole(analysis.seconds(), analysis.whole());
    const auto distributions = analysis.distributions();
    output.write(options.output.json ? distributions_as_json(distributions)
                 : options.output.separator
                     ? '\n' + distributions_as_csv(distributions, *options.output.separator)
                     : distributions_as_text(distributions));
    if (!options.plot.empty() || !options.html.empty()) draw(recording, extent, options);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
    CLI::App* report = app.add_subcommand("report", "counts and distributions of a recording");
    const auto options = std::make_shared<ReportOptions>();
    options->add_to(*report);
    report->callback([options, &status] {
        run(*options);
        status = 0;
    });
}

}  // namespace tool
