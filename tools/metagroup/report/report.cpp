// SPDX-License-Identifier: MIT
// metagroup report: counts, distributions and pictures of a recording.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <metagroup/recording.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "common/count_report.hpp"
#include "common/replay.hpp"
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
    CountOutput output;
    std::string plot;
    std::string html;
    Replay::Options recording;
};

void ReportOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    add_duration(app, "-I,--interval", interval, 1ms, 10us,
                 "print counts of every interval, as in 100us, 1ms, 2s");
    add_duration(app, "--since", recording.since, 1s, 0s,
                 "leave out samples before TIME from the first one");
    add_duration(app, "--until", recording.until, 1s, 0s,
                 "leave out samples after TIME from the first one");
    add_aggregation(app, mode);
    output.add_options(app, "row");
    app.add_option("--plot", plot, "draw CPUs over time, as SVG")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("--html", html, "the same as a page that can be zoomed")
        ->check(not_empty())
        ->type_name("FILE");
    app.add_option("recording", recording.file, "a perf.data file with counts in its samples")
        ->required()
        ->check(not_empty())
        ->type_name("FILE");
}

void draw(metagroup::Recording& recording, const Extent& extent, const ReportOptions& options) {
    constexpr std::uint64_t most = 400;  // steps, each two points wide
    const std::uint64_t time = std::max<std::uint64_t>(extent.last - extent.first, 1);
    // Whole periods, so that all steps have as many samples.
    const std::uint64_t unit = recording.period_ns().value_or(1);
    const std::uint64_t interval = (time / most / unit + 1) * unit;
    const Aggregation rows(AggrMode::cpu, extent.cpus);
    Analysis analysis(recording, extent, rows, interval);
    Plot plot(rows, analysis.columns(), analysis.metrics(), static_cast<double>(interval) / 1e9,
              static_cast<std::size_t>((time - 1) / interval + 1));
    analysis.run([&](double end, const Totals& totals) { plot.add(end, totals); });
    if (!options.plot.empty()) Output(options.plot).write(plot.svg(options.recording.file));
    if (!options.html.empty()) Output(options.html).write(plot.html(options.recording.file));
}

void run(const ReportOptions& options) {
    if (!options.plot.empty() && !options.plot.ends_with(".svg"))
        throw std::invalid_argument("--plot: " + options.plot +
                                    " does not end with .svg, the only format");
    Replay replay(options.recording, options.mode, options.interval);
    Output output(options.output.file);
    replay.print_counts(options.output, output);
    const auto distributions = replay.analysis().distributions();
    output.write(options.output.json ? distributions_as_json(distributions)
                 : options.output.separator
                     ? '\n' + distributions_as_csv(distributions, *options.output.separator)
                     : distributions_as_text(distributions));
    if (!options.plot.empty() || !options.html.empty())
        draw(replay.recording(), replay.extent(), options);
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
