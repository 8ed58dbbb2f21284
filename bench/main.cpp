// SPDX-License-Identifier: MIT
// metagroup_bench: measures all methods on the same events and CPUs in one run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "case.hpp"
#include "conditions.hpp"
#include "costs.hpp"
#include "measure/measure.hpp"
#include "options.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

// A line on stderr every 5 seconds. Interleaved benchmarks report at the end only.
class Progress {
  public:
    void note_repetition() {
        ++repetitions_;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < 5s) return;
        last_ = now;
        const std::chrono::duration<double> elapsed = now - start_;
        fmt::print(stderr, "metagroup_bench: {} repetitions in {:.0f} s ...\n", repetitions_,
                   elapsed.count());
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = start_;
    unsigned repetitions_ = 0;
};

// Passes on a line for each case: its median, or of a case that fails the first error.
class Summary : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context& context) override { return next_->ReportContext(context); }
    void ReportRuns(const std::vector<Run>& runs) override {
        std::vector<Run> kept;
        std::ranges::copy_if(runs, std::back_inserter(kept), [this](const Run& run) {
            return run.aggregate_name.empty() ? failed_.insert(run.benchmark_name()).second
                                              : run.aggregate_name == "median";
        });
        if (!kept.empty()) next_->ReportRuns(kept);
    }
    void Finalize() override { next_->Finalize(); }

  private:
    std::unique_ptr<BenchmarkReporter> next_{benchmark::CreateDefaultDisplayReporter()};
    std::set<std::string> failed_;
};

class Session {
  public:
    explicit Session(const Options& options)
        : options_(options),
          conditions_(options.cpus),
          // Costs are counted once only, so for longer than one repetition.
          costs_(conditions_, options.cpus, 2 * options.time) {
        for (const metagroup::GroupSpec& spec : options.specs) {
            for (const unsigned groups : options.groups)
                add_subject(std::vector(groups, spec));
        }
        describe();
    }

  private:
    void add_subject(const std::vector<metagroup::GroupSpec>& specs);
    void add(Case& one, const std::string& name, Load load);
    void describe() const;
    std::chrono::nanoseconds sampling_period(std::size_t groups_per_cpu) const;

    const Options& options_;
    Conditions conditions_;
    CostCounter costs_;
    Progress progress_;
    std::deque<Subject> subjects_;
    std::deque<Case> cases_;
};

void Session::add_subject(const std::vector<metagroup::GroupSpec>& specs) {
    Subject& subject = subjects_.emplace_back(specs, options_.cpus, sampling_period(specs.size()));
    for (const MethodInfo* method : options_.methods) {
        Case& one = cases_.emplace_back(*method, subject);
        for (const Load load : options_.targets)
            add(one,
                fmt::format("{}/{}/cpus:{}/events:{}/groups:{}", method->name, to_string(load),
                            options_.cpus.size(), specs.front().events.size(), specs.size()),
                load);
    }
}

// In slow motion long enough for the work of a busy CPU and for the reader to drain all rings
// before the next samples arrive.
std::chrono::nanoseconds Session::sampling_period(std::size_t groups_per_cpu) const {
    const SlowMotion* slow_motion = conditions_.slow_motion();
    if (slow_motion == nullptr) return 1ms;
    constexpr std::size_t rings_at_once = 32;
    const std::size_t rings = options_.cpus.size() * groups_per_cpu;
    const std::size_t instructions = 60'000 * ((rings - 1) / rings_at_once + 1);
    return instructions * std::chrono::nanoseconds(1s) / slow_motion->rate();
}

void Session::add(Case& one, const std::string& name, Load load) {
    const auto run = [this, &one, load](benchmark::State& state) {
        one.run(state, load, conditions_, costs_, options_.time);
        progress_.note_repetition();
    };
    // One iteration, since its time is a median already.
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime()
        ->Iterations(1);
}

// Goes into the results, for the report: the kernel, and the table of methods.
void Session::describe() const {
    utsname system{};
    ::uname(&system);
    benchmark::AddCustomContext("kernel", system.release);
    if (const SlowMotion* slow_motion = conditions_.slow_motion())
        benchmark::AddCustomContext("instructions_per_second", std::to_string(slow_motion->rate()));
    std::string methods;
    for (const MethodInfo& method : all_methods())
        methods += fmt::format("{}\t{}\t{}\n", method.name, to_string(method.role), method.summary);
    benchmark::AddCustomContext("methods", methods);
}

// The defaults come first, so that the command line overrides them.
void initialize_benchmark(const Options& options) {
    // Static, because Google Benchmark keeps a pointer to the program's name.
    static std::vector<std::string> arguments{"metagroup_bench", "--benchmark_repetitions=15",
                                              "--benchmark_enable_random_interleaving=true",
                                              "--benchmark_display_aggregates_only=true"};
    std::ranges::copy(options.rest, std::back_inserter(arguments));
    std::vector<char*> pointers;
    std::ranges::transform(arguments, std::back_inserter(pointers),
                           [](std::string& argument) { return argument.data(); });
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    if (count > 1)
        throw std::invalid_argument(fmt::format("unknown option {}; see --help", pointers[1]));
}

// Raises the limit of open files as far as the privileges of this process allow. Every event of
// every CPU is a file; if the limit is still too low, opening an event fails with the reason.
void raise_file_limit() {
    constexpr rlim_t most = 1 << 20;  // the default of fs.nr_open
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlimit privileged{most, std::max(limit.rlim_max, most)};
    if (::setrlimit(RLIMIT_NOFILE, &privileged) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void run(const Options& options) {
    initialize_benchmark(options);
    raise_file_limit();
    measure::bind_to_cpu(options.cpus.cpus().front());
    const Session session(options);
    Summary summary;
    benchmark::RunSpecifiedBenchmarks(&summary);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) try {
    CLI::App app;
    try {
        bench::run(bench::parse_options(app, argc, argv));
        return 0;
    } catch (const CLI::Error& error) {
        return app.exit(error);
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup_bench: %s\n", error.what());
    return 1;
}
