// SPDX-License-Identifier: MIT
// metagroup compare: the cost of a sweep with and without the module.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/snapshot.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/text.hpp"
#include "measure/measure.hpp"
#include "subcommands.hpp"

namespace tool {
namespace {

using metagroup::CpuList;

// Costs per sweep. Counts are empty if the kernel does not allow or support them.
struct Cost {
    double microseconds = 0;  // median
    std::optional<double> syscalls;
    std::optional<double> mutexes;     // taken by the reader in the kernel
    std::optional<double> waits;       // of the reader for other CPUs, one at a time
    std::optional<double> interrupts;  // between CPUs, on the whole machine
};

struct Comparison {
    Cost per_fd;
    Cost module;
    std::string unknown;  // why a count is empty
};

// Event groups that both backends can read: one per CPU, all attached to one meta-group, all
// counting.
class ComparisonFixture {
  public:
    // \throws std::system_error naming what is missing.
    ComparisonFixture(const metagroup::GroupSpec& group, const CpuList& cpus,
                      const std::string& device)
        : groups_({&group, 1}, cpus),
          device_(metagroup::Device::open(device)),
          payloads_(groups_.all()) {
        device_.attach(groups_.leaders());
        device_.set_format(metagroup::Format::framed);
        device_.enable();
    }

    // One read() of the device.
    void read_module() { device_.read(snapshot_); }
    // One read() per CPU.
    void read_per_fd() { groups_.read(payloads_); }

    std::size_t cpus() const { return groups_.cpus().size(); }

    // Stops counting briefly. \return true if both backends read the same counts.
    bool agree() {
        device_.disable();
        read_module();
        read_per_fd();
        bool all = true;
        for (std::size_t member = 0; member < groups_.all().size(); ++member)
            all &= same(member);
        device_.enable();
        return all;
    }

  private:
    bool same(std::size_t member) {
        const auto payload =
            metagroup::Payload::parse(payloads_.of(member), groups_.all()[member].read_format());
        if (!payload) return false;
        for (std::size_t event = 0; event < payload->nr(); ++event) {
            if (snapshot_[member].raw(event) != payload->value(event)) return false;
        }
        return true;
    }

    measure::CpuGroups groups_;
    metagroup::Device device_;
    metagroup::Snapshot snapshot_;
    measure::Payloads payloads_;
};

using Clock = std::chrono::steady_clock;

template <typename Read>
double microseconds(Read&& read) {
    const auto begin = Clock::now();
    read();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class InterruptCounter {
  public:
    void start() { before_ = measure::interprocessor_interrupts(); }
    std::uint64_t stop() const { return measure::interprocessor_interrupts() - before_; }

  private:
    std::uint64_t before_ = 0;
};

// Per read, minus the calls for starting and stopping the counter.
template <typename Counter, typename Read>
double count_per_read(Counter& counter, unsigned reads, Read&& read) {
    const auto count = [&](unsigned times) {
        counter.start();
        for (unsigned i = 0; i < times; ++i)
            read();
        return static_cast<double>(counter.stop());
    };
    const double nothing = count(0);
    return std::max(count(reads) - nothing, 0.0) / reads;
}

// Kernel functions of which every sweep calls at least one, in this and in older kernels, and how
// many of these calls concern only the reader's own CPU.
struct Calls {
    std::vector<std::vector<std::string>> names;
    double own = 0;
};

// Counts calls of the first group of functions that this kernel has.
measure::KernelCallCounter first_of(const std::vector<std::vector<std::string>>& names) {
    for (auto group = names.begin();; ++group) {
        try {
            return measure::KernelCallCounter(*group);
        } catch (const std::system_error&) {
            if (std::next(group) == names.end()) throw;
        }
    }
}

// Probes do not see calls that the kernel's compiler has inlined.
template <typename Read>
double count_calls(const Calls& calls, unsigned reads, Read&& read) {
    measure::KernelCallCounter counter = first_of(calls.names);
    const double count = count_per_read(counter, reads, read);
    if (count < 0.5)
        throw std::runtime_error("probes do not see the calls of " + calls.names.front().front() +
                                 "() in this kernel");
    return std::max(count - calls.own, 0.0);
}

// Separate from the timing, which it would disturb. Counts vary little, so a few reads suffice.
template <typename Read>
void count(Cost& cost, std::string& unknown, const Calls& waits, unsigned sweeps, Read&& read) {
    const unsigned reads = std::min(sweeps, 200U);
    const auto try_count = [&](std::optional<double>& result, auto&& counted) {
        try {
            result = counted();
        } catch (const std::exception& error) {
            unknown = error.what();
        }
    };
    try_count(cost.interrupts, [&] {
        InterruptCounter counter;
        return count_per_read(counter, reads, read);
    });
    try_count(cost.syscalls, [&] {
        measure::SyscallCounter counter;
        return count_per_read(counter, reads, read);
    });
    const Calls mutexes{{{"mutex_lock", "mutex_lock_interruptible", "mutex_lock_killable"},
                         {"mutex_lock_nested", "mutex_lock_interruptible_nested"}}};  // lockdep
    try_count(cost.mutexes, [&] { return count_calls(mutexes, reads, read); });
    try_count(cost.waits, [&] { return count_calls(waits, reads, read); });
}

// `sweeps` with each backend. The calling thread should be bound to a CPU.
Comparison compare(ComparisonFixture& sides, unsigned sweeps) {
    const auto per_fd = [&] { sides.read_per_fd(); };
    const auto module = [&] { sides.read_module(); };

    // Alternate, so that disturbances affect both backends alike. The first sweeps allocate memory.
    per_fd();
    module();
    std::vector<double> per_fd_times, module_times;
    for (unsigned i = 0; i < sweeps; ++i) {
        per_fd_times.push_back(microseconds(per_fd));
        module_times.push_back(microseconds(module));
    }

    Comparison result;
    result.per_fd.microseconds = measure::median(std::move(per_fd_times));
    result.module.microseconds = measure::median(std::move(module_times));
    count(result.per_fd, result.unknown, {{{"smp_call_function_single"}}, 1}, sweeps, per_fd);
    const double alone = sides.cpus() == 1 ? 1 : 0;
    count(result.module, result.unknown, {{{"on_each_cpu_mask"}, {"on_each_cpu_cond_mask"}}, alone},
          sweeps, module);
    return result;
}

// Data common to all rows.
struct Experiment {
    std::string events;
    unsigned sweeps = 0;  // of each backend
    int reader = 0;       // the CPU that reads
    bool slow = false;    // a guest in slow motion, see bench/slowmo/
};

class Results {
  public:
    virtual ~Results() = default;

    virtual void row(std::size_t cpus, const Comparison& comparison, bool same) = 0;
    // Called after the last row. `same`: all counts agreed.
    virtual void end(bool same) = 0;
};

double samples_per_second(std::size_t cpus, const Cost& cost) {
    return static_cast<double>(cpus) / (cost.microseconds / 1e6);
}

class Table final : public Results {
  public:
    Table(Output& output, const Experiment& experiment) : output_(output) {
        output_.write(fmt::format(
            "\n {} on every CPU, {} sweeps with each backend, alternating, from CPU {}.\n"
            " per-fd: one read() per CPU. module: one read() for all CPUs.\n",
            experiment.events, experiment.sweeps, experiment.reader));
        if (experiment.slow)
            output_.write(R"(
 In slow motion: the clock of a virtual CPU advances with its instructions, however many
 real CPUs there are. Compare these times only with each other: a real CPU is about a
 hundred times as fast.
)");
        output_.write(
            fmt::format("\n {:4} {:<7} {:>22} {:>8} {:>8} {:>8} {:>8}\n"
                        " {:>4} {:<7} {:>10} {:>11} {:>8} {:>8} {:>8} {:>8} {:>11}\n",
                        "", "", experiment.slow ? "in slow motion:  " : "", "", "system", "",
                        "serial", "CPUs", "backend", "us/sweep", "samples/s", "speed", "calls",
                        "mutexes", "waits", "interrupts"));
    }

    void row(std::size_t cpus, const Comparison& comparison, bool same) override {
        const Cost& per_fd = comparison.per_fd;
        const Cost& module = comparison.module;
        line(fmt::format("{}", cpus), "per-fd", cpus, per_fd, 1);
        line("", "module", cpus, module, per_fd.microseconds / module.microseconds);
        if (!same) output_.write("      COUNTS DIFFER\n");
        if (!comparison.unknown.empty()) unknown_ = comparison.unknown;
    }

    void end(bool same) override {
        std::string text =
            same ? "\n With counting stopped, all counts are the same with both backends.\n\n"
                 : "\n THE COUNTS DIFFER: this is a bug, please report it.\n\n";
        if (!unknown_.empty()) text += fmt::format(" Some costs are unknown: {}\n\n", unknown_);
        output_.write(text);
    }

  private:
    void line(const std::string& label, const char* way, std::size_t cpus, const Cost& cost,
              double speed) {
        output_.write(fmt::format(
            " {:>4} {:<7} {:>10.2f} {:>11.0f} {:>7.2f}x {:>8} {:>8} {:>8} {:>11}\n", label, way,
            cost.microseconds, samples_per_second(cpus, cost), speed, cell(cost.syscalls),
            cell(cost.mutexes), cell(cost.waits), cell(cost.interrupts)));
    }

    static std::string cell(const std::optional<double>& value) {
        return value ? fmt::format("{:.1f}", *value) : "-";
    }

    Output& output_;
    std::string unknown_;
};

class JsonLines final : public Results {
  public:
    JsonLines(Output& output, Experiment experiment)
        : output_(output), experiment_(std::move(experiment)) {}

    void row(std::size_t cpus, const Comparison& comparison, bool same) override {
        const Json line{{"cpus", cpus},
                        {"events", experiment_.events},
                        {"sweeps", experiment_.sweeps},
                        {"per-fd", object(cpus, comparison.per_fd)},
                        {"module", object(cpus, comparison.module)},
                        {"same-counts", same}};
        output_.write(line.dump() + '\n');
    }

    void end(bool) override {}  // each row has same-counts

  private:
    using Json = nlohmann::ordered_json;

    static Json number(const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    }

    static Json object(std::size_t cpus, const Cost& cost) {
        return {{"sweep-us", cost.microseconds},
                {"system-calls", number(cost.syscalls)},
                {"mutexes", number(cost.mutexes)},
                {"waits", number(cost.waits)},
                {"interrupts", number(cost.interrupts)},
                {"samples-per-second", samples_per_second(cpus, cost)}};
    }

    Output& output_;
    Experiment experiment_;
};

// Events that every CPU can count, even without a hardware PMU.
std::string default_group() {
    const std::filesystem::path devices = "/sys/bus/event_source/devices";
    if (std::filesystem::exists(devices / "cpu"))
        return "{cycles,instructions,context-switches,page-faults}";
    if (std::filesystem::exists(devices / "msr/events/tsc"))
        return "{cpu-clock,msr/tsc/,context-switches,page-faults}";
    return "{cpu-clock,task-clock,context-switches,page-faults}";
}

struct CompareOptions {
    std::string events = default_group();
    std::string cpus = "online";
    std::string device = PERF_METAGROUP_DEVICE;
    std::vector<std::size_t> numbers;
    unsigned sweeps = 2000;
    bool json = false;
    std::string file;
};

// The default of --numbers.
std::vector<std::size_t> powers_of_two_and(std::size_t all) {
    std::vector<std::size_t> numbers;
    for (std::size_t number = 1; number < all; number *= 2)
        numbers.push_back(number);
    numbers.push_back(all);
    return numbers;
}

CpuList first_of(const CpuList& cpus, std::size_t number) {
    if (number > cpus.size())
        throw std::invalid_argument("--numbers needs " + std::to_string(number) +
                                    " CPUs, but --cpu lists " + std::to_string(cpus.size()));
    return CpuList(
        std::vector<int>(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(number)));
}

int run(const CompareOptions& options) {
    const auto groups = metagroup::parse_events(options.events);
    if (groups.size() != 1)
        throw std::invalid_argument(
            "compare reads one group per CPU: put the events in braces, "
            "e.g. -e '{cycles,instructions}'");
    const CpuList cpus = CpuList::parse(options.cpus);
    const int reader = cpus.cpus().front();
    measure::bind_to_cpu(reader);

    // Set by bench/slowmo/slow.
    const bool slow = std::getenv("METAGROUP_SLOW_MOTION") != nullptr;
    const Experiment experiment{options.events, options.sweeps, reader, slow};
    std::vector<CpuList> selections;
    for (const std::size_t number :
         options.numbers.empty() ? powers_of_two_and(cpus.size()) : options.numbers)
        selections.push_back(first_of(cpus, number));
    std::optional<Output> output;
    std::unique_ptr<Results> results;
    bool all_same = true;
    for (const CpuList& some : selections) {
        ComparisonFixture sides(groups.front(), some, options.device);
        if (!results) {  // only after the first device was opened
            output.emplace(options.file);
            if (options.json)
                results = std::make_unique<JsonLines>(*output, experiment);
            else
                results = std::make_unique<Table>(*output, experiment);
        }
        const Comparison comparison = compare(sides, options.sweeps);
        const bool same = sides.agree();
        results->row(some.size(), comparison, same);
        all_same &= same;
    }
    results->end(all_same);
    return all_same ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
    CLI::App* compare =
        app.add_subcommand("compare", "measure the cost of a sweep with and without the module");
    const auto options = std::make_shared<CompareOptions>();
    compare->add_option("-e,--event", options->events, "one group of events, in braces")
        ->type_name("EVENTS")
        ->capture_default_str();
    compare->add_option("-C,--cpu", options->cpus, "CPUs, e.g. 0-3,8")
        ->type_name("CPUS")
        ->capture_default_str();
    compare
        ->add_option("--numbers", options->numbers,
                     "numbers of CPUs to compare on, e.g. 8,32 (default: 1, 2, 4 ... and all)")
        ->type_name("LIST")
        ->delimiter(',')
        ->check(CLI::Range(1U, 1'000'000U));
    add_device(*compare, options->device);
    compare->add_option("-n,--sweeps", options->sweeps, "sweeps to measure with each backend")
        ->check(CLI::Range(1U, 10'000'000U))
        ->type_name("N")
        ->capture_default_str();
    compare->add_flag("-j,--json", options->json, "print one line of JSON per number of CPUs");
    compare->add_option("-o,--output", options->file, "write to a file")->type_name("FILE");
    compare->callback([options, &status] { status = run(*options); });
}

}  // namespace tool
