// SPDX-License-Identifier: MIT
#include "costs.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "measure/measure.hpp"
#include "ring.hpp"

namespace bench {
namespace {

// Counts of tracepoints on CPUs, which write samples to rings, so that reading the counts
// interrupts and wakes no CPU.
class TracepointCounter {
  public:
    // Events are named as in "power:cpu_idle"; an empty filter passes all samples. Throws
    // std::system_error if an event cannot be counted, metagroup::Error if there is no such event.
    TracepointCounter(std::span<const int> cpus, const std::vector<std::string>& events,
                      const std::string& filter = {}) {
        for (const std::string& event : events) {
            perf_event_attr attr = metagroup::parse_events(event).front().events.front().attr;
            attr.disabled = 1;
            attr.sample_period = 1;
            // No wakeups: there are no waiters.
            attr.watermark = 1;
            attr.wakeup_watermark = UINT32_MAX;
            for (const int cpu : cpus)
                add(cpu, attr, filter, event);
        }
    }

    // All samples since the construction.
    std::uint64_t read() {
        for (Ring& ring : rings_) {
            ring.drain([&](const perf_event_header& header, std::uint64_t) {
                if (header.type != PERF_RECORD_SAMPLE)
                    throw std::runtime_error("samples of tracepoints were lost");
                ++sum_;
            });
        }
        return sum_;
    }

  private:
    void add(int cpu, perf_event_attr attr, const std::string& filter, const std::string& event) {
        const auto check = [&](bool good) {
            if (!good) fail(errno, ("counting " + event).c_str());
        };
        const int fd = static_cast<int>(
            ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
        check(fd >= 0);
        fds_.emplace_back(fd);
        rings_.emplace_back(fd);
        check(filter.empty() || ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter.c_str()) == 0);
        check(::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0);
    }

    std::vector<metagroup::detail::UniqueFd> fds_;
    std::vector<Ring> rings_;
    std::uint64_t sum_ = 0;
};

// Interrupts between CPUs, on the receiving CPU; nothing if this kernel has no tracepoint. x86 has
// one for each kind of interrupt, arm64 one for all.
std::optional<TracepointCounter> count_interrupts_on(std::span<const int> cpus) {
    using Events = std::vector<std::string>;
    for (const Events& events :
         {Events{"irq_vectors:call_function_entry", "irq_vectors:call_function_single_entry",
                 "irq_vectors:reschedule_entry", "irq_vectors:irq_work_entry"},
          Events{"ipi:ipi_entry"}}) {
        try {
            return TracepointCounter(cpus, events);
        } catch (const metagroup::Error& error) {
            if (error.cause() != metagroup::Cause::unknown_event) throw;
        }
    }
    return {};
}

// From the page of a guest in slow motion, else from hardware counters.
std::function<InstructionCount(int)> instruction_counter(const metagroup::CpuList& cpus,
                                                         const SlowMotion* slow_motion) {
    if (slow_motion != nullptr)
        return [slow_motion](int cpu) {
            return InstructionCount{.kernel = slow_motion->kernel_instructions(cpu),
                                    .user = slow_motion->user_instructions(cpu),
                                    .tick = slow_motion->tick_instructions(cpu)};
        };
    try {
        const auto specs = metagroup::parse_events("{instructions:k,instructions:u}");
        const auto groups = std::make_shared<std::map<int, metagroup::EventGroup>>();
        for (const int cpu : cpus)
            groups->emplace(cpu, metagroup::EventGroup::open(specs.front(), cpu))
                .first->second.enable();
        return [groups](int cpu) {
            metagroup::EventGroup& group = groups->at(cpu);
            std::vector<std::byte> bytes(group.payload_size());
            group.read(bytes);
            const auto payload = metagroup::Payload::parse(bytes, group.read_format()).value();
            return InstructionCount{.kernel = payload.value(0), .user = payload.value(1)};
        };
    } catch (const std::system_error&) {
        return {};  // no such counters
    }
}

// The reader's CPU is idle or busy as it is between sweeps: the scheduler interrupts an idle CPU to
// balance load, and a busy one has ticks.
void pass_time(std::chrono::nanoseconds duration, bool idle) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + duration;
    if (idle) std::this_thread::sleep_until(end);
    while (Clock::now() < end) {
    }
}

// Against a background that is rare; that is frequent, as ticks are; that looks like the cost.
constexpr CostCounter::Rounds many_rounds{.number = 5, .min_sweeps = 1};
constexpr CostCounter::Rounds long_rounds{.number = 3, .min_sweeps = 2};
constexpr CostCounter::Rounds longest_rounds{.number = 3, .min_sweeps = 10};

}  // namespace

CostCounter::CostCounter(Conditions& conditions, metagroup::CpuList cpus,
                         std::chrono::nanoseconds pass)
    : conditions_(conditions),
      cpus_(std::move(cpus)),
      instructions_(instruction_counter(cpus_, conditions.slow_motion())),
      pass_(pass) {}

Costs CostCounter::count(Method& method, Load load) {
    Costs costs;
    count_calls(method, load, costs);
    count_interrupts(method, load, costs);
    if (load == Load::idle) count_wakeups(method, costs);
    measure_times(method, load, costs);
    if (const auto bytes = method.memory_bytes())
        costs["memory_bytes"] = static_cast<double>(*bytes);
    return costs;
}

unsigned CostCounter::repeat(Clock::duration time, unsigned min_steps,
                             const std::function<void()>& step) {
    constexpr unsigned max_steps = 1000;
    const auto end = Clock::now() + time;
    unsigned done = 0;
    while (done < min_steps || (done < max_steps && Clock::now() < end)) {
        step();
        ++done;
    }
    return done;
}

// The growth of `counter` per sweep: the median over rounds, so that rare work of the kernel on all
// CPUs, which falls into few of them, does not count.
CostCounter::PerSweep CostCounter::per_sweep(Method& method, Rounds rounds,
                                             const std::function<Sample()>& counter) const {
    std::vector<std::vector<double>> gross;
    std::vector<std::vector<double>> net;
    const auto growth = [&](const auto& body) {
        Sample before;
        Sample after;
        conditions_.at_full_speed([&] { before = counter(); });
        body();
        conditions_.at_full_speed([&] { after = counter(); });
        std::ranges::transform(after, before, after.begin(), std::minus{});
        return after;
    };
    for (unsigned round = 0; round < rounds.number; ++round) {
        Clock::duration duration{};
        unsigned sweeps = 0;
        method.wait();
        method.sweep();  // drains pending samples
        method.samples(1);
        Sample with = growth([&] {
            const auto start = Clock::now();
            sweeps = repeat(pass_ / rounds.number, rounds.min_sweeps, [&] {
                method.wait();
                method.sweep();
            });
            duration = Clock::now() - start;
        });
        const double samples = method.samples(sweeps);
        conditions_.at_full_speed([&] { method.pause(); });
        Sample without = growth([&] { pass_time(duration, method.wait_sleeps()); });
        conditions_.at_full_speed([&] { method.resume(); });
        if (samples == 0) continue;  // timers were late
        for (Sample* sample : {&with, &without})
            std::ranges::for_each(*sample, [&](double& count) { count /= samples; });
        gross.resize(with.size());
        net.resize(with.size());
        for (std::size_t i = 0; i < with.size(); ++i) {
            gross[i].push_back(with[i]);
            net[i].push_back(with[i] - without[i]);
        }
    }
    if (gross.empty()) throw std::runtime_error("no samples arrived");
    PerSweep result;
    std::ranges::transform(gross, std::back_inserter(result.gross), measure::median<double>);
    std::ranges::transform(net, std::back_inserter(result.net), measure::median<double>);
    return result;
}

void CostCounter::count_calls(Method& method, Load load, Costs& costs) {
    // Only this program's calls are counted: there is no background.
    measure::SyscallCounter syscalls;
    conditions_.turn(method, load, [&] {
        method.samples(1);
        syscalls.start();
        const unsigned sweeps = repeat(pass_, 3, [&] {
            method.wait();
            method.sweep();
        });
        const auto calls = static_cast<double>(syscalls.stop());
        costs["syscalls"] = calls / method.samples(sweeps);
    });
}

void CostCounter::count_interrupts(Method& method, Load load, Costs& costs) {
    if (auto counter = count_interrupts_on(cpus_.cpus()))
        costs["ipis"] = count_events(method, load, [&] { return counter->read(); });
}

void CostCounter::count_wakeups(Method& method, Costs& costs) {
    // The tracepoint has the state at the entry of idle, and -1 at the exit.
    TracepointCounter exits(cpus_.cpus().subspan(1), {"power:cpu_idle"}, "state == 4294967295");
    costs["wakeups"] = count_events(method, Load::idle, [&] { return exits.read(); });
}

double CostCounter::count_events(Method& method, Load load,
                                 const std::function<std::uint64_t()>& read) {
    double count = 0;
    conditions_.turn(method, load, [&] {
        const auto sample = [&] { return Sample{static_cast<double>(read())}; };
        count = per_sweep(method, many_rounds, sample).net[0];
    });
    return count;
}

void CostCounter::count_instructions(Method& method, Load load, Costs& costs) {
    const int reader = cpus_.cpus().front();
    const auto targets = cpus_.cpus().subspan(1);
    const auto counter = [&] {
        const auto own = instructions_(reader);
        double others = 0;
        for (const int cpu : targets) {
            const auto count = instructions_(cpu);
            others += static_cast<double>(count.kernel);
            // The user instructions of a busy CPU are its work, not a cost.
            if (load == Load::idle) others += static_cast<double>(count.user);
            if (method.uses_timers()) others += static_cast<double>(count.tick);
        }
        return Sample{others, static_cast<double>(own.kernel), static_cast<double>(own.user)};
    };
    conditions_.turn(method, load, [&] {
        const PerSweep insns =
            per_sweep(method, method.uses_timers() ? longest_rounds : long_rounds, counter);
        if (!targets.empty() && !method.is_program())
            costs["target_insns"] = insns.net[0] / static_cast<double>(targets.size());
        // Between sweeps the reader spins in user space, which is no background of a sweep.
        costs["reader_insns"] = insns.net[1] + insns.gross[2];
        // In slow motion timers take almost no time, and are late as the host is. So the rate is
        // that at which the CPU that has the most to execute does nothing else.
        if (const SlowMotion* slow_motion = conditions_.slow_motion();
            slow_motion != nullptr && method.uses_timers())
            costs["max_rate"] = static_cast<double>(slow_motion->rate()) /
                                std::max(costs["reader_insns"], costs["target_insns"]);
    });
}

void CostCounter::measure_times(Method& method, Load load, Costs& costs) {
    std::vector<std::uint64_t> skews;
    std::vector<std::uint64_t> late;
    conditions_.turn(method, load, [&] {
        repeat(pass_, 3, [&] {
            method.wait();
            if (const auto skew = method.skew_ns()) skews.push_back(*skew);
        });
        if (conditions_.slow_motion() != nullptr) return;  // timers are late as the host is
        repeat(pass_, 3, [&] {
            method.wait();
            std::ranges::copy(method.lateness_ns(), std::back_inserter(late));
        });
        if (load == Load::busy) {
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
