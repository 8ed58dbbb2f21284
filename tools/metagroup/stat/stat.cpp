// SPDX-License-Identifier: MIT
// metagroup stat: counts of all CPUs, once or at intervals.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/delta.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/count_report.hpp"
#include "common/intervals.hpp"
#include "common/late_cpus.hpp"
#include "common/metric_table.hpp"
#include "common/process.hpp"
#include "common/replay.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::Delta;
using metagroup::MetaGroup;
using metagroup::Snapshot;

struct StatOptions {
    void add_to(CLI::App& app);

    MetaGroup::Options selected(const std::vector<MeasuredMetric>& requested) const;
    std::vector<MeasuredMetric> requested_metrics() const {
        return metrics.empty() ? std::vector<MeasuredMetric>()
                               : choose_metrics(metrics, metric_directory);
    }

    Selection selection;
    int detail = 0;
    std::string metrics;
    std::string metric_directory;
    bool verbose = false;
    std::string method = "auto";  // how intervals are read
    Replay::Options replay;
    AggrMode mode = AggrMode::all;
    bool no_merge = false;
    std::optional<std::chrono::nanoseconds> interval;
    std::optional<std::chrono::nanoseconds> timeout;
    std::optional<std::uint32_t> count;  // intervals
    std::optional<std::uint32_t> repeat;
    std::optional<std::chrono::nanoseconds> delay;
    CountOutput output;
    std::vector<std::string> command;
};

void StatOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    selection.add_options(app);
    app.add_flag("-d,--detailed", detail,
                 "also count caches; -dd adds more caches and TLBs, -ddd prefetches")
        ->excludes(app.get_option("--set"));
    CLI::Option* requested = add_metrics(app, metrics, metric_directory);
    replay.add_option(app);
    // Numbers without a unit are milliseconds, as in perf stat. No sweep is shorter than 10 us.
    CLI::Option* at = add_duration(app, "-I,--interval", interval, 1ms, 10us,
                                   "print counts at every interval, e.g. 100us, 1ms, 2s");
    replay.excludes(
        add_count(app, "--count,--interval-count", count, "stop after N intervals")->needs(at));
    replay.excludes(add_method(app, method)->needs(at));
    replay.excludes(add_duration(app, "--timeout", timeout, 1ms, 10us, "stop after TIME"));
    add_aggregation(app, mode);
    replay.excludes(
        app.add_flag("--no-merge", no_merge, "do not merge the counts of an event of several PMUs")
            ->excludes(requested));
    output.add_options(app, "count");
    app.add_flag("--metric-only", output.metric_only, "print metrics without counts");
    replay.excludes(app.add_flag("-v,--verbose", verbose,
                                 "print how long each event was enabled and counted, in ns; also "
                                 "metric expressions; on standard error"));
    replay.excludes(
        add_duration(app, "-D,--delay", delay, 1ms, 10us, "wait TIME after starting the command"));
    CLI::Option* run = add_command(
        app, command, "count while this command runs; counts all tasks, not only the command");
    replay.excludes(run);
    replay.excludes(add_count(app, "-r,--repeat", repeat,
                              "run the command N times and print mean and deviation")
                        ->needs(run)
                        ->excludes(at));
}

// The events that each -d adds, as in perf stat.
constexpr std::array<const char*, 3> kDetails{
    "L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
    "L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
    "L1-dcache-prefetches,L1-dcache-prefetch-misses"};

MetaGroup::Options StatOptions::selected(const std::vector<MeasuredMetric>& requested) const {
    MetaGroup::Options options = selection.options(groups_of(requested));
    for (std::size_t level = 0; level < kDetails.size() && level < std::size_t(detail); ++level)
        for (metagroup::GroupSpec& group : metagroup::parse_events(kDetails[level]))
            options.groups.push_back(std::move(group));
    return options;
}

std::string words(const std::vector<std::string>& command) {
    return command.empty() ? "system wide" : fmt::format("{}", fmt::join(command, " "));
}

// Like perf stat, continues without the events that this machine does not support.
struct Supported {
    explicit Supported(MetaGroup::Options all)
        : groups(metagroup::divide_weak(std::move(all.groups))), options(std::move(all)) {
        options.groups.clear();
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (!metagroup::can_count(groups[i])) continue;
            index.push_back(i);
            options.groups.push_back(groups[i]);
        }
        if (index.empty()) options.groups = groups;  // opening them reports why
    }
    // The groups of a published set are known only after it was joined.
    std::span<const metagroup::GroupSpec> all(const MetaGroup& group) const {
        return groups.empty() ? group.groups() : groups;
    }
    // Their `group` is an index into all groups.
    std::vector<MetaGroup::Member> members(const MetaGroup& group) const {
        std::vector<MetaGroup::Member> members(group.members().begin(), group.members().end());
        if (index.empty()) return members;
        for (MetaGroup::Member& member : members)
            member.group = index[member.group];
        return members;
    }

    std::vector<metagroup::GroupSpec> groups;
    MetaGroup::Options options;
    std::vector<std::size_t> index;  // of options.groups in all groups
};

class Stat {
  public:
    explicit Stat(const StatOptions& options)
        : options_(options),
          requested_(options.requested_metrics()),
          selected_(options.selected(requested_)),
          group_(MetaGroup::open(selected_.options)),
          output_(options.output.file, options.output.append, Output::Stream::error),
          late_(group_.cpus()),
          rows_(options.mode, group_.cpus()),
          counts_(std::make_shared<CountLayout>(selected_.all(group_), selected_.members(group_),
                                                rows_, !options.no_merge)),
          accumulator_(group_.members().size(), !options.selection.cgroup().empty()),
          metrics_(counts_.columns(), defined_metrics(requested_, counts_.columns())),
          report_(options.output.make_report(
              output_,
              {rows_, counts_.columns(), metrics_, words(options.command),
               options.selection.cgroup(), std::string(metagroup::to_string(group_.backend())),
               std::string(metagroup::to_string(group_.origin()))})) {}

    int run();
    // Sleeps until the deadline, the end of the command, or a signal that stops counting.
    // \return 0 at the deadline.
    int wait_until(Signals::Clock::time_point deadline);

  private:
    using Clock = Signals::Clock;

    void start_command();
    void run_once();
    void count();
    bool is_complete() const;
    void count_since(const Snapshot& begin);
    void count_intervals(Clock::time_point start, Clock::time_point end);
    void count_deadlines(Clock::time_point end);
    void show_deadlines();
    void show_interval();
    void show(std::uint64_t end_ns, const Counts& counts);
    void print_times(const Counts& counts) const;
    void sweep(Snapshot& snapshot);
    double seconds(std::uint64_t time_ns) const;
    void report_lost_cpus();
    void report_offline_time() const;

    const StatOptions& options_;
    std::vector<MeasuredMetric> requested_;
    Supported selected_;
    MetaGroup group_;
    Output output_;  // truncates the file, so only if counting is possible
    LateCpus late_;
    Aggregation rows_;
    Counts counts_;  // of the last interval or run
    Accumulator accumulator_;
    Metrics metrics_;
    std::unique_ptr<Report> report_;
    Overhead overhead_;
    Snapshot begin_;  // of all runs
    Snapshot first_;
    Snapshot last_;
    Snapshot now_;
    CpuUse cpu_use_;
    // Blocked once the counters are open: before, which may take long, signals end the program. The
    // destructor delivers SIGPIPE after the command was terminated.
    Signals broken_pipe_{SIGPIPE};
    Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    std::optional<Child> child_;
    bool interrupted_ = false;                 // by a signal that stops counting
    std::uint64_t shown_ = 0;                  // intervals
    std::optional<StreamedIntervals> stream_;  // no value: sweeps
};

void Stat::sweep(Snapshot& snapshot) {
    group_.read(snapshot);
    overhead_.add_sweep(snapshot);
}

double Stat::seconds(std::uint64_t time_ns) const {
    return static_cast<double>(time_ns - first_.begin_ns()) / 1e9;
}

// As in perf stat -v: count, time enabled, time counted.
void Stat::print_times(const Counts& counts) const {
    if (!options_.verbose) return;
    for (const MeasuredMetric& metric : requested_)
        fmt::print(stderr, "{} = {}\n", metric.definition.name, metric.definition.expression);
    for (std::size_t place = 0; place < counts.places(); ++place) {
        const std::string& name = rows_.places()[place].name;
        for (std::size_t column = 0; column < counts.columns().size(); ++column) {
            const Count& count = counts.at(place, column);
            if (count.counters == 0) continue;
            fmt::print(stderr, "{}{}{}: {} {} {}\n", name, name.empty() ? "" : " ",
                       counts.columns()[column].event, count.value(), count.enabled, count.running);
        }
    }
}

void Stat::show(std::uint64_t end_ns, const Counts& counts) {
    print_times(counts);
    report_->interval(seconds(end_ns), counts);
    ++shown_;
}

// Counts from `begin` to now_.
void Stat::count_since(const Snapshot& begin) {
    counts_.clear();
    accumulator_.add(counts_, now_, begin.begin_ns());
    counts_.add_up(now_.begin_ns() - begin.begin_ns());
}

void Stat::show_interval() {
    count_since(last_);
    show(now_.begin_ns(), counts_);
}

int Stat::wait_until(Clock::time_point deadline) {
    for (;;) {
        const int signal = signals_.wait_until(deadline);
        if (signal == SIGCHLD && !(child_ && child_->status())) continue;
        interrupted_ = signal != 0 && signal != SIGCHLD;
        return signal;
    }
}

void Stat::count() {
    // Start at the end of the first sweep, so that every CPU counts for the whole time.
    const Clock::time_point start{std::chrono::nanoseconds(first_.end_ns())};
    const auto end = options_.timeout ? start + *options_.timeout : Clock::time_point::max();
    if (options_.interval)
        stream_ = StreamedIntervals::start(group_, options_.method, *options_.interval, first_,
                                           counts_.shared_layout());
    if (!options_.interval)
        wait_until(end);
    else if (stream_)
        count_deadlines(end);
    else
        count_intervals(start, end);
    sweep(now_);
    if (!options_.interval) return count_since(first_);
    if (is_complete()) return;
    if (!stream_) return show_interval();
    stream_->finish(now_);
    show_deadlines();
}

// \return false if the last interval ended early and has not been shown.
bool Stat::is_complete() const {
    return options_.count && shown_ == *options_.count;
}

void Stat::count_intervals(Clock::time_point start, Clock::time_point end) {
    Ticker ticker(*options_.interval, start);
    while (!is_complete()) {
        if (ticker.next() >= end) {
            wait_until(end);
            break;
        }
        if (ticker.wait(*this) != 0) break;
        overhead_.lateness.add(static_cast<std::uint64_t>(ticker.lateness().count()));
        sweep(now_);
        show_interval();
        last_.swap(now_);
    }
    overhead_.missed = ticker.missed();
}

void Stat::count_deadlines(Clock::time_point end) {
    while (!is_complete()) {
        const auto next = Clock::now() + stream_->batch();
        if (wait_until(std::min(next, end)) != 0 || next >= end) break;
        show_deadlines();
    }
    overhead_.missed += stream_->stop();
    show_deadlines();
}

void Stat::show_deadlines() {
    while (!is_complete()) {
        const Counts* counts = stream_->next(overhead_);
        if (counts == nullptr) return;
        show(stream_->end(), *counts);
    }
}

// Once a CPU goes offline, its groups stop counting for good, even if it comes back. Groups of
// several events lose their counts, single events keep them.
void Stat::report_lost_cpus() {
    group_.read(last_);  // Backend::per_fd may report it one sweep late
    if (group_.origin() != metagroup::EventOrigin::groups) return report_offline_time();
    const Delta whole(first_, now_);
    std::set<int> lost;
    bool counted = true;
    for (std::size_t i = 0; i < last_.size(); ++i) {
        if (last_[i].status() != metagroup::Status::offline) continue;
        lost.insert(group_.members()[i].cpu);
        counted &= whole[i].match() == metagroup::Match::ok;
    }
    if (lost.empty()) return;
    fmt::print(stderr, "metagroup: CPU {} went offline: {}\n",
               metagroup::CpuList({lost.begin(), lost.end()}).to_string(),
               counted || options_.interval
                   ? "not counted from then on"
                   : "its counts are not included; use -I to print them until it goes offline");
}

// Sets keep their counts and continue when the CPU is back.
void Stat::report_offline_time() const {
    std::set<int> cpus;
    std::uint64_t longest = 0;
    for (const metagroup::MemberDelta& member : Delta(begin_, now_)) {
        const std::uint64_t ns = member.offline_ns().value_or(0);
        if (ns > 0) cpus.insert(member.newer().cpu());
        longest = std::max(longest, ns);
    }
    if (cpus.empty()) return;
    fmt::print(stderr, "metagroup: CPU {} was offline for {}{}, which the counts do not include\n",
               metagroup::CpuList({cpus.begin(), cpus.end()}).to_string(),
               cpus.size() > 1 ? "up to " : "", with_unit(std::chrono::nanoseconds(longest)));
    for (std::size_t i = 0; i < last_.size(); ++i) {
        const std::string problem =
            last_[i].status() == metagroup::Status::offline ? group_.reopen_error(i) : "";
        if (!problem.empty()) return fmt::print(stderr, "metagroup: {}\n", problem);
    }
}

void Stat::start_command() {
    if (!options_.command.empty()) child_.emplace(options_.command, signals_);
}

void Stat::run_once() {
    bool ended = false;  // the command ended before counting began
    if (options_.delay) {
        start_command();
        ended = wait_until(Clock::now() + *options_.delay) != 0;
    }
    sweep(first_);
    if (begin_.empty()) {
        begin_ = first_;
        report_->started(std::chrono::system_clock::now());
    }
    last_ = first_;
    accumulator_.add(counts_, first_);
    if (!options_.delay) start_command();
    if (!ended) return count();
    sweep(now_);
    count_since(first_);
}

int Stat::run() {
    group_.enable();
    Runs runs;
    for (std::uint32_t left = options_.repeat.value_or(1); left > 0 && !interrupted_; --left) {
        run_once();
        // Exclude an interrupted run from the mean.
        const bool whole = !interrupted_ || runs.seconds().runs == 0;
        if (!options_.interval && whole) runs.add(seconds(now_.begin_ns()), counts_);
        if (!child_) continue;
        child_->terminate();
        if (left > 1) child_->wait();
    }
    overhead_.cpu_use = cpu_use_.take();
    if (!options_.interval) {
        print_times(runs.counts());
        report_->whole(runs.seconds(), runs.counts());
    }
    report_->overhead(overhead_);
    report_lost_cpus();
    if (const std::string late = late_.message(); !late.empty())
        fmt::print(stderr, "metagroup: {}\n", late);
    return child_ ? child_->wait() : 0;
}

int replay(const StatOptions& options) {
    keep_recording(options.replay.file, options.output.file);
    Replay recording(options.replay, options.mode, options.interval);
    Output output(options.output.file, options.output.append, Output::Stream::error);
    recording.print_counts(options.output, output);
    return 0;
}

}  // namespace

void add_stat(CLI::App& app, int& status) {
    CLI::App* stat = app.add_subcommand("stat", "count events on all CPUs");
    const auto options = std::make_shared<StatOptions>();
    options->add_to(*stat);
    stat->callback([options, &status] {
        status = options->replay.file.empty() ? Stat(*options).run() : replay(*options);
    });
}

}  // namespace tool
