// SPDX-License-Identifier: MIT
// metagroup_bench: measures all methods on the same events and CPUs in one run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/event_spec.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "case.hpp"
#include "conditions.hpp"
#include "costs.hpp"
#include "measure/measure.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

struct Options {
    metagroup::CpuList cpus;
    std::vector<Load> targets;
    std::vector<metagroup::GroupSpec> specs;  // a group for each number in --events
    std::vector<unsigned> groups;
    std::vector<const MethodInfo*> methods;
    std::chrono::nanoseconds time{};
    std::vector<std::string> rest;  // options of Google Benchmark
};

// Software events that every machine has. A cpu-clock that does not sample needs no timer.
constexpr auto kEvents = std::to_array<std::string_view>(
    {"cpu-clock", "task-clock", "context-switches", "page-faults", "cpu-migrations", "minor-faults",
     "major-faults", "alignment-faults"});

metagroup::GroupSpec group_of(unsigned events) {
    if (events < 1 || events > kEvents.size())
        throw std::invalid_argument(
            fmt::format("--events={}: want 1 to {}; --group-events takes any events by name",
                        events, kEvents.size()));
    std::string text;
    for (const std::string_view event : std::span(kEvents).first(events))
        text += fmt::format("{}{}", text.empty() ? "{" : ",", event);
    return metagroup::parse_events(text + "}").front();
}

metagroup::GroupSpec one_group(const std::string& text) {
    auto groups = metagroup::parse_events(text);
    if (groups.size() != 1)
        throw std::invalid_argument("--group-events: want one group: {event,event,...}");
    return groups.front();
}

const MethodInfo* method_named(const std::string& name) {
    const auto methods = all_methods();
    const auto found = std::ranges::find(methods, name, &MethodInfo::name);
    if (found == methods.end())
        throw std::invalid_argument(fmt::format("--methods: unknown method {}; see --help", name));
    return &*found;
}

std::string footer() {
    std::string text = "Methods:\n";
    for (const MethodInfo& method : all_methods())
        text += fmt::format("  {:<14}{}\n", method.name, method.summary);
    return text +
           "\nAll other options are those of Google Benchmark, for example\n"
           "  --benchmark_out=FILE           write JSON\n"
           "  --benchmark_format=json        JSON to stdout, in place of the table\n"
           "  --benchmark_repetitions=N      repetitions of each method (15)\n"
           "  --benchmark_filter=REGEX       by METHOD/TARGETS/cpus:N/events:E/groups:G\n";
}

// Throws CLI::Error, also for --help, for app.exit(); and the errors of parsing events and CPUs.
Options parse_options(CLI::App& app, int argc, char** argv) {
    app.name("metagroup_bench");
    app.description(
        "Measures methods of reading the counters of all CPUs, in interleaved repetitions.\n"
        "A method must first deliver the counts that read(2) returns. A method that is not "
        "available here is skipped with the reason.");
    std::string cpus = "all";
    std::vector<Load> targets{Load::idle, Load::busy};
    std::vector<unsigned> events{4};
    std::string group_events;
    std::vector<std::string> methods;
    double seconds = 0.03;
    Options options;
    options.groups = {1};
    app.add_option("--cpus", cpus, "CPUs to read, as in 0-3,8; the first is the reader's")
        ->capture_default_str();
    app.add_option("--targets", targets, "state of the other CPUs: idle,busy")
        ->delimiter(',')
        ->transform(CLI::Transformer(
            std::map<std::string, Load>{{"idle", Load::idle}, {"busy", Load::busy}}));
    app.add_option("--events", events, "events per group, as in 1,4,8 (4)")->delimiter(',');
    app.add_option("--group-events", group_events, "these events instead: {cycles,instructions}");
    app.add_option("--groups", options.groups, "groups per CPU, as in 1,4 (1)")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    app.add_option("--methods", methods, "methods to measure (all)")->delimiter(',');
    app.add_option("--time", seconds, "seconds of a repetition, which has at least one sweep")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.footer(footer());
    app.allow_extras();
    app.parse(argc, argv);

    options.cpus = metagroup::CpuList::parse(cpus);
    options.targets = targets;
    if (group_events.empty())
        std::ranges::transform(events, std::back_inserter(options.specs), group_of);
    else
        options.specs.push_back(one_group(group_events));
    if (methods.empty())
        for (const MethodInfo& method : all_methods())
            options.methods.push_back(&method);
    else
        std::ranges::transform(methods, std::back_inserter(options.methods), method_named);
    options.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
    options.rest = app.remaining();
    for (const std::string& option : options.rest)
        if (!option.starts_with("--benchmark_"))
            throw std::invalid_argument(fmt::format("unknown option {}; see --help", option));
    return options;
}

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
