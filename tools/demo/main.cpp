// SPDX-License-Identifier: MIT
// metagroup-demo: the counters of all CPUs, read in both ways, and what it costs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "demo/compare.hpp"
#include "demo/sides.hpp"
#include "measure/affinity.hpp"

namespace {

// Where there is no hardware PMU these still come from every CPU in the same way.
std::string default_events() {
    if (std::filesystem::exists("/sys/bus/event_source/devices/cpu"))
        return "{cycles,instructions,context-switches,page-faults}";
    if (std::filesystem::exists("/sys/bus/event_source/devices/msr/events/tsc"))
        return "{cpu-clock,msr/tsc/,context-switches,page-faults}";
    return "{cpu-clock,task-clock,context-switches,page-faults}";
}

double microseconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e3;
}

// `running` is a sweep while the groups counted: its statuses and times. The counts are of now,
// when they stand still, so that both ways must give the same numbers.
bool print_counts(const metagroup::GroupSpec& group, const metagroup::Snapshot& running,
                  demo::Sides& sides) {
    bool same = true;
    fmt::print("{:>3}  {:<8} {:>10}  {:<16} {:>18} {:>18}\n", "CPU", "status", "read after",
               "event", "one read() for all", "a read() per CPU");
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const metagroup::MemberView then = running[i];
        const metagroup::MemberView now = sides.snapshot()[i];
        const metagroup::Payload own = sides.payload(i);
        std::string place =
            fmt::format("{:>3}  {:<8} {:>7.1f} us", then.cpu(), metagroup::to_string(then.status()),
                        microseconds(then.time_ns() - running.begin_ns()));
        for (std::size_t event = 0; event < group.events.size(); ++event) {
            const auto ours = now.raw(event);
            same &= ours == own.value(event);
            fmt::print("{}  {:<16} {:>18} {:>18}\n", place, group.events[event].name,
                       ours ? std::to_string(*ours) : "-", own.value(event));
            place.assign(place.size(), ' ');
        }
    }
    return same;
}

void print_row(const char* what, double per_fd, double module, const char* unit) {
    fmt::print("  {:<28} {:>12.2f} {:>12.2f} {:<3} {:>6.2f}\n", what, per_fd, module, unit,
               module / per_fd);
}

int run(const std::string& events, const metagroup::CpuList& cpus, unsigned sweeps) {
    const auto groups = metagroup::parse_events(events);
    if (groups.size() != 1) throw std::invalid_argument("give one group: {event,event,...}");

    measure::bind_to_cpu(cpus.cpus().front());
    demo::Sides sides(groups.front(), cpus);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));

    sides.read_module();
    const metagroup::Snapshot running = sides.snapshot();
    sides.disable();
    sides.read_module();
    sides.read_per_fd();

    fmt::print("\n{} on {} CPUs, counting for 200 ms\n\n", events, sides.size());
    const bool same = print_counts(groups.front(), running, sides);
    fmt::print("\nOne sweep took {:.1f} us in the kernel, with {:.1f} us of skew between CPUs.",
               microseconds(running.end_ns() - running.begin_ns()),
               microseconds(running.skew_ns()));
    fmt::print("\n{}\n", same ? "All counts are the same in both ways."
                              : "THE COUNTS DIFFER: this is a defect, please report it.");

    sides.enable();
    const demo::Comparison cost = demo::compare(sides, sweeps);
    fmt::print("\nCost of a sweep over {} running groups, {} of each way in turns:\n\n",
               sides.size(), sweeps);
    fmt::print("  {:<28} {:>12} {:>12}     {:>6}\n", "", "read()s", "one read()", "ratio");
    print_row("time (median)", cost.per_fd.microseconds, cost.module.microseconds, "us");
    print_row("system calls", cost.per_fd.syscalls, cost.module.syscalls, "");
    print_row("interrupts to other CPUs", cost.per_fd.interrupts, cost.module.interrupts, "");
    fmt::print("\n");
    return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Reads the counters of all CPUs with one read() and with one read() per CPU, "
        "shows both, and what they cost.",
        "metagroup-demo");
    std::string events = default_events();
    std::string cpus = "all";
    unsigned sweeps = 2000;
    app.add_option("-e,--events", events, "one group of events")->capture_default_str();
    app.add_option("-C,--cpus", cpus, "CPUs, as in 0-3,8")->capture_default_str();
    app.add_option("-n,--sweeps", sweeps, "sweeps to measure, of each way")
        ->check(CLI::Range(1U, 10'000'000U))
        ->capture_default_str();
    app.set_version_flag("--version", METAGROUP_VERSION);
    CLI11_PARSE(app, argc, argv);
    return run(events, metagroup::CpuList::parse(cpus), sweeps);
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup-demo: %s\n", error.what());
    return 1;
}
