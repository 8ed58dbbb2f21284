// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>
#include <stdexcept>
#include <thread>

#include "measure/measure.hpp"
#include "ring.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// Counts of tracepoints on CPUs, which write samples to rings, so that reading the counts
// interrupts and wakes no CPU.
class TracepointCounter {
  public:
    // Events are named as in "power:cpu_idle"; an empty filter passes all samples. Throws
    // std::system_error if an event cannot be counted, metagroup::Error if there is no such event.
    TracepointCounter(const metagroup::CpuList& cpus, const std::string& events,
                      const std::string& filter)
        : groups_(samplers(events), cpus) {
        for (const int fd : groups_.leaders()) {
            rings_.emplace_back(fd);
            if (!filter.empty() && ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0)
                fail(errno, ("counting " + events).c_str());
        }
        groups_.enable();
    }

    // All samples since the construction.
    std::uint64_t read() {
        for (Ring& ring : rings_) {
            ring.visit([&](const perf_event_header& header, std::uint64_t) {
                if (header.type != PERF_RECORD_SAMPLE)
                    throw std::runtime_error("samples of tracepoints were lost");
                ++sum_;
            });
            ring.release();
        }
        return sum_;
    }

  private:
    static std::vector<metagroup::GroupSpec> samplers(const std::string& events) {
        auto specs = metagroup::parse_events(events);
        for (metagroup::GroupSpec& spec : specs) {
            perf_event_attr& attr = spec.events.front().attr;
            attr.sample_period = 1;
            // No wakeups: there are no waiters.
            attr.watermark = 1;
            attr.wakeup_watermark = UINT32_MAX;
        }
        return specs;
    }

    measure::CpuGroups groups_;
    std::vector<Ring> rings_;
    std::uint64_t sum_ = 0;
};

metagroup::CpuList without_first(const metagroup::CpuList& cpus) {
    const auto others = cpus.cpus().subspan(1);
    return metagroup::CpuList({others.begin(), others.end()});
}

// From the page of a guest in slow motion, else from hardware counters.
std::function<std::vector<InstructionCount>()> instruction_counter(const Machine& machine) {
    if (const SlowMotion* slow_motion = machine.slow_motion())
        return [slow_motion, &cpus = machine.cpus()] {
            std::vector<InstructionCount> all;
            for (const int cpu : cpus)
                all.push_back(slow_motion->instructions(cpu));
            return all;
        };
    try {
        const auto groups = std::make_shared<measure::CpuGroups>(
            metagroup::parse_events("{instructions:k,instructions:u}"), machine.cpus());
        groups->enable();
        return [groups] {
            const auto counts = groups->counts();
            std::vector<InstructionCount> all;
            for (std::size_t i = 0; i < counts.size(); i += 2)
                all.push_back({.kernel = counts[i], .user = counts[i + 1]});
            return all;
        };
    } catch (const std::system_error&) {
        return {};  // no such counters
    }
}

// The reader's CPU is idle or busy as it is between sweeps: the scheduler interrupts an idle CPU to
// balance load, and a busy one has ticks.
void pass_time(Clock::duration duration, bool idle) {
    const auto end = Clock::now() + duration;
    if (idle) std::this_thread::sleep_until(end);
    while (Clock::now() < end) {
    }
}

std::vector<double> medians(const std::vector<std::vector<double>>& rounds) {
    std::vector<double> result;
    for (std::size_t i = 0; i < rounds.front().size(); ++i) {
        std::vector<double> column;
        column.reserve(rounds.size());
        for (const auto& round : rounds)
            column.push_back(round[i]);
        result.push_back(measure::median(std::move(column)));
    }
    return result;
}

}  // namespace

CostCounter::CostCounter(Machine& machine, std::chrono::nanoseconds pass)
    : machine_(machine), pass_(pass), instructions_(instruction_counter(machine)) {}

void CostCounter::count(Method& method, Costs& costs) const {
    // Only this program's calls are counted: there is no background.
    measure::SyscallCounter syscalls;
    machine_.turn(method, [&] {
        method.samples(1);
        syscalls.start();
        const unsigned sweeps = repeat(method, 1, 3, [&] { method.sweep(); });
        const auto calls = static_cast<double>(syscalls.stop());
        costs["syscalls"] = calls / method.samples(sweeps);
    });
    // On the receiving CPU. x86 has a tracepoint for each kind of interrupt, arm64 one for all.
    for (const char* events :
         {"irq_vectors:call_function_entry,irq_vectors:call_function_single_entry,"
          "irq_vectors:reschedule_entry,irq_vectors:irq_work_entry",
          "ipi:ipi_entry"}) {
        try {
            count_events(method, "ipis", events, "", costs);
            break;
        } catch (const metagroup::Error& error) {
            if (error.cause() != metagroup::Cause::unknown_event) throw;
        }
    }
    // The tracepoint has the state at the entry of idle, and -1 at the exit.
    if (!machine_.busy())
        count_events(method, "wakeups", "power:cpu_idle", "state == 4294967295", costs);
    measure_times(method, costs);
}

// Makes sweeps for a fraction of the pass. Returns how many.
unsigned CostCounter::repeat(Method& method, unsigned rounds, unsigned min_sweeps,
                             const std::function<void()>& sweep) const {
    constexpr unsigned max_sweeps = 1000;
    const auto end = Clock::now() + pass_ / rounds;
    unsigned done = 0;
    while (done < min_sweeps || (done < max_sweeps && Clock::now() < end)) {
        method.wait();
        sweep();
        ++done;
    }
    return done;
}

// The growth of `counter` per sample: the median over rounds, so that rare work of the kernel on
// all CPUs, which falls into few of them, does not count.
CostCounter::Growth CostCounter::growth(Method& method, Rounds rounds,
                                        const std::function<Sample()>& counter) const {
    std::vector<Sample> gross;
    std::vector<Sample> net;
    const auto during = [&](const auto& body) {
        Sample before;
        Sample after;
        machine_.at_full_speed([&] { before = counter(); });
        body();
        machine_.at_full_speed([&] { after = counter(); });
        std::ranges::transform(after, before, after.begin(), std::minus{});
        return after;
    };
    for (unsigned round = 0; round < rounds.number; ++round) {
        Clock::duration duration{};
        unsigned sweeps = 0;
        method.wait();
        method.sweep();  // drains pending samples
        method.samples(1);
        Sample with = during([&] {
            const auto start = Clock::now();
            sweeps = repeat(method, rounds.number, rounds.min_sweeps, [&] { method.sweep(); });
            duration = Clock::now() - start;
        });
        const double samples = method.samples(sweeps);
        machine_.at_full_speed([&] { method.pause(); });
        const Sample without = during([&] { pass_time(duration, method.kind() != Kind::sweep); });
        machine_.at_full_speed([&] { method.resume(); });
        if (samples == 0) continue;  // timers were late
        Sample difference;
        for (std::size_t i = 0; i < with.size(); ++i) {
            difference.push_back((with[i] - without[i]) / samples);
            with[i] /= samples;
        }
        gross.push_back(std::move(with));
        net.push_back(std::move(difference));
    }
    if (gross.empty()) throw std::runtime_error("no samples arrived");
    return {.gross = medians(gross), .net = medians(net)};
}

// Against a background that is rare.
void CostCounter::count_events(Method& method, const char* name, const std::string& events,
                               const std::string& filter, Costs& costs) const {
    const bool targets_only = !filter.empty();
    TracepointCounter counter(targets_only ? without_first(machine_.cpus()) : machine_.cpus(),
                              events, filter);
    machine_.turn(method, [&] {
        const auto sample = [&] { return Sample{static_cast<double>(counter.read())}; };
        costs[name] = growth(method, {.number = 5, .min_sweeps = 1}, sample).net[0];
    });
}

void CostCounter::count_instructions(Method& method, Costs& costs) const {
    const bool timers = method.kind() == Kind::timer;
    const auto targets = static_cast<double>(machine_.cpus().size() - 1);
    const auto counter = [&] {
        const auto all = instructions_();
        std::uint64_t others = 0;
        for (std::size_t i = 1; i < all.size(); ++i) {
            others += all[i].kernel;
            // The user instructions of a busy CPU are its work, not a cost.
            if (!machine_.busy()) others += all[i].user;
            if (timers) others += all[i].tick;
        }
        return Sample{static_cast<double>(others), static_cast<double>(all[0].kernel),
                      static_cast<double>(all[0].user)};
    };
    machine_.turn(method, [&] {
        // Against a background that is frequent, as ticks are, or that looks like the cost.
        const auto rounds =
            timers ? Rounds{.number = 3, .min_sweeps = 10} : Rounds{.number = 5, .min_sweeps = 2};
        const Growth insns = growth(method, rounds, counter);
        if (targets > 0 && method.kind() != Kind::program)
            costs["target_insns"] = insns.net[0] / targets;
        // Between sweeps the reader spins in user space, which is no background of a sweep.
        costs["reader_insns"] = insns.net[1] + insns.gross[2];
        costs["all_insns"] = costs["reader_insns"] + insns.net[0];
        // In slow motion timers take almost no time, and are late as the host is. So the rate is
        // that at which the CPU that has the most to execute does nothing else.
        if (const SlowMotion* slow_motion = machine_.slow_motion();
            slow_motion != nullptr && timers)
            costs["max_rate"] = static_cast<double>(slow_motion->rate()) /
                                std::max(costs["reader_insns"], costs["target_insns"]);
    });
}

void CostCounter::measure_times(Method& method, Costs& costs) const {
    std::vector<std::uint64_t> skews;
    std::vector<std::uint64_t> late;
    machine_.turn(method, [&] {
        repeat(method, 1, 3, [&] {
            if (const auto skew = method.skew_ns()) skews.push_back(*skew);
        });
        if (machine_.slow_motion() != nullptr) return;  // timers are late as the host is
        repeat(method, 1, 3,
               [&] { std::ranges::copy(method.lateness_ns(), std::back_inserter(late)); });
        if (machine_.busy()) {
            if (const auto rate = method.max_rate()) costs["max_rate"] = *rate;
        }
    });
    if (!skews.empty()) costs["skew_ns"] = static_cast<double>(measure::median(skews));
    if (late.empty()) return;
    std::ranges::sort(late);
    costs["late_p50_ns"] = static_cast<double>(late[late.size() / 2]);
    costs["late_p99_ns"] = static_cast<double>(late[late.size() * 99 / 100]);
    costs["late_max_ns"] = static_cast<double>(late.back());
}

}  // namespace bench
