// SPDX-License-Identifier: MIT
// What a sweep costs: per-fd read()s, RAW and FRAMED reads of the module, in one run.
//
// Besides Google Benchmark's own options:
//   --events=GROUP   what is counted on every CPU (4 software events)
//   --cpus=LIST      where (all)
//   --check          fail if the figures miss what the project promises
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/interrupts.hpp"
#include "measure/syscalls.hpp"

namespace {

using metagroup::Device;
using metagroup::EventGroup;

constexpr double kMostOfPerFd = 0.65;  // what a meta-group may take of the per-fd time

struct World {
    std::vector<EventGroup> groups;
    Device device = Device::open();
    std::vector<std::byte> buffer;

    World(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus) {
        std::vector<int> leaders;
        for (const int cpu : cpus.cpus()) {
            groups.push_back(EventGroup::open(group, cpu));
            leaders.push_back(groups.back().leader_fd());
        }
        device.attach(leaders);
        device.enable();
        buffer.resize(std::max(device.info().framed_size, device.info().raw_size));
    }

    void per_fd() {
        for (EventGroup& group : groups) group.read(buffer);
    }
    void module() { device.read(buffer); }
};

// System calls and interrupts are counted in a pass of their own: counting takes time.
void count_costs(benchmark::State& state, const std::function<void()>& sweep) {
    constexpr unsigned sweeps = 1000;
    measure::SyscallCounter syscalls;
    const auto interrupts = measure::function_call_interrupts();
    syscalls.start();
    for (unsigned i = 0; i < sweeps; ++i) sweep();
    state.counters["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps;
    state.counters["interrupts"] =
        static_cast<double>(measure::function_call_interrupts() - interrupts) / sweeps;
}

void register_way(const std::string& name, const std::function<void()>& prepare,
                  const std::function<void()>& sweep) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        prepare();
        for (auto _ : state) sweep();
        count_costs(state, sweep);
    })->Unit(benchmark::kMicrosecond)->UseRealTime();
}

// The console as usual, and the medians kept for the ratios.
class Reporter : public benchmark::ConsoleReporter {
  public:
    void ReportRuns(const std::vector<Run>& runs) override {
        ConsoleReporter::ReportRuns(runs);
        for (const Run& run : runs) {
            if (run.aggregate_name != "median") continue;
            const std::string& name = run.run_name.function_name;
            medians_[name] = run.GetAdjustedRealTime();
            syscalls_[name] = run.counters.at("syscalls");
            interrupts_[name] = run.counters.at("interrupts");
        }
    }

    // Whether the figures are as promised.
    bool summarize(std::size_t cpus) const {
        bool good = true;
        for (const char* way : {"raw", "framed"}) {
            const double ratio = medians_.at(way) / medians_.at("per_fd");
            const bool fast = ratio <= kMostOfPerFd;
            // What else goes on in the machine interrupts now and then.
            const bool few = std::abs(syscalls_.at(way) - 1) < 0.005 &&
                             interrupts_.at(way) <= static_cast<double>(cpus) * 1.01;
            good = good && fast && few;
            fmt::print("{} / per_fd = {:.2f} (must be <= {:.2f}), syscalls per sweep {:.2f} (must be 1), "
                       "interrupts per sweep {:.2f} (must be <= {}): {}\n",
                       way, ratio, kMostOfPerFd, syscalls_.at(way), interrupts_.at(way), cpus,
                       fast && few ? "ok" : "MISSED");
        }
        return good;
    }

  private:
    std::map<std::string, double> medians_, syscalls_, interrupts_;
};

// Takes `--name=value` or `--name` out of the arguments.
std::optional<std::string> take_option(int& argc, char** argv, std::string_view name) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (!argument.starts_with(name)) continue;
        const std::string_view rest = argument.substr(name.size());
        if (!rest.empty() && rest.front() != '=') continue;
        std::rotate(argv + i, argv + i + 1, argv + argc);
        --argc;
        return std::string(rest.empty() ? rest : rest.substr(1));
    }
    return {};
}

void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set))
        throw std::system_error(errno, std::generic_category(), "binding to a CPU");
}

int run(int argc, char** argv) {
    const bool check = take_option(argc, argv, "--check").has_value();
    const std::string events = take_option(argc, argv, "--events")
                                   .value_or("{cpu-clock,task-clock,context-switches,page-faults}");
    const auto cpus = metagroup::CpuList::parse(take_option(argc, argv, "--cpus").value_or("all"));
    const auto groups = metagroup::parse_events(events);

    // Ours first, so that the command line can say otherwise.
    std::vector<char*> arguments{argv[0]};
    std::vector<std::string> defaults{"--benchmark_repetitions=51", "--benchmark_min_time=0.03",
                                      "--benchmark_enable_random_interleaving=true",
                                      "--benchmark_report_aggregates_only=true"};
    for (std::string& one : defaults) arguments.push_back(one.data());
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;

    bind_to(cpus.cpus().front());
    World world(groups.at(0), cpus);
    register_way("per_fd", [] {}, [&] { world.per_fd(); });
    register_way("raw", [&] { world.device.set_format(metagroup::Format::raw); },
                 [&] { world.module(); });
    register_way("framed", [&] { world.device.set_format(metagroup::Format::framed); },
                 [&] { world.module(); });

    fmt::print("One group of {} on each of {} CPUs\n", events, cpus.cpus().size());
    std::fflush(stdout);
    Reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    const bool good = reporter.summarize(cpus.cpus().size());
    return check && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", argv[0], error.what());
        return 1;
    }
}
