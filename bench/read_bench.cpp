// SPDX-License-Identifier: MIT
// What a sweep costs: per-fd read()s, RAW and FRAMED reads of the module, in one run, over CPUs
// that are busy and over CPUs that are idle.
//
// Besides Google Benchmark's own options:
//   --events=GROUP   what is counted on every CPU (4 software events)
//   --cpus=LIST      where (all); the first is the reader's
//   --check          fail if the figures over busy CPUs miss what the project promises
//
// An idle CPU must be woken before it can answer, and so must an idle virtual one by the host: that
// wait is the same in all ways and hides the difference. Busy CPUs are what one monitors.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure/affinity.hpp"
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
        for (EventGroup& group : groups)
            group.read(buffer);
    }
    void module() { device.read(buffer); }
};

// A thread on each CPU but the reader's, which spins or sleeps.
class Targets {
  public:
    explicit Targets(const metagroup::CpuList& cpus) {
        for (const int cpu : cpus.cpus().subspan(1))
            threads_.emplace_back([this, cpu] { work(cpu); });
    }
    ~Targets() {
        stop_ = true;
        set_busy(true);
        for (std::thread& thread : threads_)
            thread.join();
    }
    Targets(const Targets&) = delete;
    Targets& operator=(const Targets&) = delete;

    void set_busy(bool busy) {
        busy_ = busy;
        busy_.notify_all();
    }

  private:
    void work(int cpu) {
        measure::bind_to_cpu(cpu);
        while (!stop_) {
            busy_.wait(false);
            while (busy_ && !stop_) {
            }
        }
    }

    std::atomic<bool> busy_ = false;
    std::atomic<bool> stop_ = false;
    std::vector<std::thread> threads_;
};

// System calls and interrupts are counted in a pass of their own: counting takes time.
void count_costs(benchmark::State& state, const std::function<void()>& sweep) {
    constexpr unsigned sweeps = 1000;
    measure::SyscallCounter syscalls;
    const auto interrupts = measure::function_call_interrupts();
    syscalls.start();
    for (unsigned i = 0; i < sweeps; ++i)
        sweep();
    state.counters["syscalls"] = static_cast<double>(syscalls.stop()) / sweeps;
    state.counters["interrupts"] =
        static_cast<double>(measure::function_call_interrupts() - interrupts) / sweeps;
}

void register_way(const std::string& name, const std::function<void()>& prepare,
                  const std::function<void()>& sweep) {
    // The library owns what is registered. NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) {
                                     prepare();
                                     for (auto _ : state)
                                         sweep();
                                     count_costs(state, sweep);
                                 })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
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

    // Whether the figures over busy CPUs are as promised.
    bool summarize(std::size_t cpus) const {
        bool good = true;
        fmt::print("\n");
        for (const char* way : {"raw", "framed"}) {
            for (const char* targets : {"busy", "idle"}) {
                const std::string name = fmt::format("{}/{}", way, targets);
                const double ratio =
                    medians_.at(name) / medians_.at(fmt::format("per_fd/{}", targets));
                fmt::print(
                    "{:<12} takes {:.2f} of the per-fd time, {:.2f} system calls and {:.2f} "
                    "interrupts per sweep\n",
                    name, ratio, syscalls_.at(name), interrupts_.at(name));
                // What else goes on in the machine interrupts now and then.
                const bool few = std::abs(syscalls_.at(name) - 1) < 0.005 &&
                                 interrupts_.at(name) <= static_cast<double>(cpus) * 1.01;
                const bool fast = ratio <= kMostOfPerFd || std::string_view(targets) == "idle";
                good = good && few && fast;
            }
        }
        fmt::print("promised: {:.2f} over busy CPUs, 1 system call, at most {} interrupts: {}\n",
                   kMostOfPerFd, cpus, good ? "kept" : "MISSED");
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

int run(int argc, char** argv) {
    const bool check = take_option(argc, argv, "--check").has_value();
    const std::string events = take_option(argc, argv, "--events")
                                   .value_or("{cpu-clock,task-clock,context-switches,page-faults}");
    const auto cpus = metagroup::CpuList::parse(take_option(argc, argv, "--cpus").value_or("all"));
    const auto groups = metagroup::parse_events(events);

    // Ours first, so that the command line can say otherwise.
    std::vector<char*> arguments{argv[0]};
    std::vector<std::string> defaults{"--benchmark_repetitions=31", "--benchmark_min_time=0.03",
                                      "--benchmark_enable_random_interleaving=true",
                                      "--benchmark_report_aggregates_only=true"};
    for (std::string& one : defaults)
        arguments.push_back(one.data());
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;

    measure::bind_to_cpu(cpus.cpus().front());
    World world(groups.at(0), cpus);
    Targets targets(cpus);
    for (const bool busy : {true, false}) {
        const char* load = busy ? "busy" : "idle";
        register_way(
            fmt::format("per_fd/{}", load), [&, busy] { targets.set_busy(busy); },
            [&] { world.per_fd(); });
        for (const metagroup::Format format : {metagroup::Format::raw, metagroup::Format::framed}) {
            const char* name = format == metagroup::Format::raw ? "raw" : "framed";
            register_way(
                fmt::format("{}/{}", name, load),
                [&, busy, format] {
                    targets.set_busy(busy);
                    world.device.set_format(format);
                },
                [&] { world.module(); });
        }
    }

    fmt::print("One group of {} on each of {} CPUs\n", events, cpus.cpus().size());
    std::fflush(stdout);
    Reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    const bool good = reporter.summarize(cpus.cpus().size());
    return check && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
    return run(argc, argv);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
}
