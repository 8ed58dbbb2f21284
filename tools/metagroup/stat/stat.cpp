// SPDX-License-Identifier: MIT
// metagroup stat: counts of all CPUs, once or at intervals.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "child.hpp"
#include "signals.hpp"
#include "stat/options.hpp"
#include "stat/report.hpp"
#include "subcommands.hpp"
#include "ticker.hpp"

namespace tool {
namespace {

using metagroup::Delta;
using metagroup::MetaGroup;
using metagroup::Snapshot;

std::string words(const std::vector<std::string>& command) {
    return command.empty() ? "system wide" : fmt::format("{}", fmt::join(command, " "));
}

std::unique_ptr<Report> make_report(const StatOptions& options, Output& output, Subject subject) {
    if (options.json) return make_json_report(output, std::move(subject));
    if (options.separator) return make_csv_report(output, std::move(subject), *options.separator);
    return make_text_report(output, std::move(subject));
}

class Stat {
  public:
    explicit Stat(const StatOptions& options)
        : options_(options),
          output_(options.file),
          what_(options.selection.options()),
          group_(MetaGroup::open(what_)),
          places_(options.by, what_.cpus),
          totals_(group_, places_),
          metrics_(totals_.columns()),
          report_(
              make_report(options, output_,
                          {places_, metrics_, words(options.command), options.selection.cgroup(),
                           std::string(metagroup::to_string(group_.backend()))})) {}

    int run();

  private:
    using Clock = Signals::Clock;

    void count(const Signals& signals, std::optional<Child>& child);
    bool ended(int signal, std::optional<Child>& child) const;
    void show_interval();
    void sweep(Snapshot& snapshot);
    double seconds(const Snapshot& snapshot) const;
    void tell_of_lost_cpus() const;

    const StatOptions& options_;
    Output output_;
    MetaGroup::Options what_;
    MetaGroup group_;
    Places places_;
    Totals totals_;
    Metrics metrics_;
    std::unique_ptr<Report> report_;
    Self self_;
    Snapshot first_;
    Snapshot last_;
    Snapshot now_;
    std::uint64_t missed_ = 0;
};

void Stat::sweep(Snapshot& snapshot) {
    group_.read(snapshot);
    self_.add_sweep(snapshot);
}

double Stat::seconds(const Snapshot& snapshot) const {
    return static_cast<double>(snapshot.begin_ns() - first_.begin_ns()) / 1e9;
}

void Stat::show_interval() {
    sweep(now_);
    totals_.clear();
    totals_.add(Delta(last_, now_));
    report_->interval(seconds(now_), totals_);
    last_.swap(now_);
}

// After a wait that a signal ended.
bool Stat::ended(int signal, std::optional<Child>& child) const {
    if (signal == 0) return false;
    if (signal != SIGCHLD) return true;
    return child && child->status();
}

void Stat::count(const Signals& signals, std::optional<Child>& child) {
    const auto start = Clock::now();
    const auto end = options_.timeout ? start + *options_.timeout : Clock::time_point::max();
    if (!options_.interval) {
        while (Clock::now() < end && !ended(signals.wait_until(end), child)) {
        }
        return;
    }
    Ticker ticker(*options_.interval, start);
    for (std::uint64_t shown = 0; options_.count == 0 || shown < options_.count;) {
        if (const int signal = ticker.wait(signals)) {
            if (ended(signal, child)) break;
            continue;
        }
        self_.add_tick(ticker.lateness());
        show_interval();
        ++shown;
        if (Clock::now() >= end) break;
    }
    missed_ = ticker.missed();
}

// Nothing is counted on a CPU that went offline, also when it is back. With the module its groups
// dissolve, with what they had counted; else they stand still.
void Stat::tell_of_lost_cpus() const {
    const metagroup::CpuList online = metagroup::CpuList::online();
    std::vector<int> lost;
    bool dissolved = false;
    for (std::size_t i = 0; i < now_.size(); ++i) {
        const int cpu = group_.members()[i].cpu;
        const bool offline = now_[i].status() == metagroup::Status::offline;
        dissolved |= offline;
        if ((offline || !online.contains(cpu)) && !std::ranges::count(lost, cpu))
            lost.push_back(cpu);
    }
    if (lost.empty()) return;
    fmt::print(stderr, "metagroup: CPU {} went offline: {}\n",
               metagroup::CpuList(std::move(lost)).to_string(),
               dissolved && !options_.interval
                   ? "nothing of it is in the counts; -I prints what was before"
                   : "not counted from then on");
}

int Stat::run() {
    const Signals signals{SIGINT, SIGTERM, SIGCHLD};
    group_.enable();
    sweep(first_);
    last_ = first_;
    std::optional<Child> child;
    if (!options_.command.empty()) child.emplace(options_.command, signals);
    count(signals, child);
    const int status = child ? child->wait() : 0;

    sweep(now_);
    self_.end(missed_);
    if (!options_.interval) {
        totals_.clear();
        totals_.add(Delta(first_, now_));
        report_->whole(seconds(now_), totals_);
    }
    report_->self(self_);
    tell_of_lost_cpus();
    return status;
}

}  // namespace

void add_stat(CLI::App& app, int& status) {
    CLI::App* stat = app.add_subcommand("stat", "count events on all CPUs");
    const auto options = std::make_shared<StatOptions>();
    options->add_to(*stat);
    stat->callback([options, &status] { status = Stat(*options).run(); });
}

}  // namespace tool
