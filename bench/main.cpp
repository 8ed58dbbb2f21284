// SPDX-License-Identifier: MIT
// metagroup_bench: every way to read the counters of all CPUs, over the same events on the same
// CPUs in the same run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "conditions.hpp"
#include "contestant.hpp"
#include "costs.hpp"
#include "measure/affinity.hpp"
#include "measure/open_files.hpp"
#include "options.hpp"
#include "promise.hpp"
#include "reporter.hpp"
#include "table.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

// A line on stderr now and then: results come at the end only, as the ways have turns.
class Progress {
  public:
    void note_turn() {
        ++turns_;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < 5s) return;
        last_ = now;
        const std::chrono::duration<double> elapsed = now - start_;
        fmt::print(stderr, "metagroup_bench: {} turns in {:.0f} s ...\n", turns_, elapsed.count());
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = start_;
    unsigned turns_ = 0;
};

// One way under one load.
struct Entry {
    std::string name;
    const Contestant* contestant;
};

class Session {
  public:
    explicit Session(const Options& options)
        : options_(options),
          conditions_(options.cpus),
          // Costs are counted once, so for longer than one turn.
          costs_(conditions_, options.cpus, 2 * options.time) {
        for (const metagroup::GroupSpec& spec : options.specs) {
            for (const unsigned groups : options.groups)
                enter_all(std::vector(groups, spec));
        }
    }

    int run();

  private:
    void enter_all(const std::vector<metagroup::GroupSpec>& specs);
    void enter(Contestant& contestant, const std::string& name, Load load);
    std::chrono::nanoseconds sampling_period(std::size_t groups_per_cpu) const;

    const Options& options_;
    Conditions conditions_;
    CostCounter costs_;
    Progress progress_;
    std::deque<Subject> subjects_;
    std::deque<Contestant> contestants_;
    std::vector<std::string> shapes_;
    std::vector<Entry> entries_;
};

void Session::enter_all(const std::vector<metagroup::GroupSpec>& specs) {
    Subject& subject = subjects_.emplace_back(specs, options_.cpus, sampling_period(specs.size()));
    shapes_.push_back(fmt::format("cpus:{}/events:{}/groups:{}", options_.cpus.size(),
                                  specs.front().events.size(), specs.size()));
    for (const Way* way : options_.ways) {
        Contestant& contestant = contestants_.emplace_back(*way, subject);
        for (const Load load : options_.targets)
            enter(contestant, fmt::format("{}/{}/{}", way->name, to_string(load), shapes_.back()),
                  load);
    }
}

// In slow motion long enough for a busy CPU's own work, and for the monitor to empty the buffers of
// all groups before the next samples come: else they only pile up.
std::chrono::nanoseconds Session::sampling_period(std::size_t groups_per_cpu) const {
    const SlowMotion* slow_motion = conditions_.slow_motion();
    if (slow_motion == nullptr) return 1ms;
    constexpr std::size_t buffers_at_once = 32;
    const std::size_t buffers = options_.cpus.size() * groups_per_cpu;
    const std::size_t instructions = 60'000 * ((buffers - 1) / buffers_at_once + 1);
    return instructions * std::chrono::nanoseconds(1s) / slow_motion->rate();
}

void Session::enter(Contestant& contestant, const std::string& name, Load load) {
    entries_.push_back({name, &contestant});
    // The time of one iteration is a median already.
    const auto run = [this, &contestant, load](benchmark::State& state) {
        contestant.run(state, load, conditions_, costs_, options_.time);
        progress_.note_turn();
    };
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime()
        ->Iterations(1);
}

int Session::run() {
    if (const SlowMotion* slow_motion = conditions_.slow_motion())
        benchmark::AddCustomContext("instructions_per_second", std::to_string(slow_motion->rate()));
    Results results;
    JsonReporter json;
    JsonReporter file;
    Recorder recorder(results, options_.json ? &json : nullptr);
    benchmark::RunSpecifiedBenchmarks(&recorder, options_.file ? &file : nullptr);
    if (!options_.json) {
        print_heading();
        for (const auto& [name, contestant] : entries_) {
            if (!contestant->defect().empty())
                print_skipped(name, contestant->defect());
            else if (results.contains(name))
                print_result(name, results.at(name));
        }
    }
    if (!options_.check) return 0;
    return keeps_promise(results, shapes_, options_.cpus.size()) ? 0 : 1;
}

// Ours come first, so that the command line can say otherwise.
void initialize_benchmark(const Options& options) {
    std::vector<std::string> arguments{"metagroup_bench", "--benchmark_repetitions=15",
                                       "--benchmark_enable_random_interleaving=true"};
    std::ranges::copy(options.rest, std::back_inserter(arguments));
    std::vector<char*> pointers;
    std::ranges::transform(arguments, std::back_inserter(pointers),
                           [](std::string& argument) { return argument.data(); });
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    if (count > 1)
        throw std::invalid_argument(fmt::format("unknown option {}; see --help", pointers[1]));
}

int run(const Options& options) {
    initialize_benchmark(options);
    measure::raise_file_limit();
    measure::bind_to_cpu(options.cpus.cpus().front());
    return Session(options).run();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
    CLI::App app;
    try {
        return bench::run(bench::parse_options(app, argc, argv));
    } catch (const CLI::Error& error) {
        return app.exit(error);
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_bench: %s\n", error.what());
    return 1;
}
