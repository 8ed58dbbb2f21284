// SPDX-License-Identifier: MIT
#include "tracepoint_counter.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <metagroup/error.hpp>
#include <metagroup/event_spec.hpp>
#include <system_error>

namespace bench {

TracepointCounter::TracepointCounter(std::span<const int> cpus,
                                     const std::vector<std::string>& events,
                                     const std::string& filter) {
    for (const std::string& event : events) {
        perf_event_attr attr = metagroup::parse_events(event).front().events.front().attr;
        attr.disabled = 1;
        attr.sample_period = 1;
        // No wakeups: there are no waiters.
        attr.watermark = 1;
        attr.wakeup_watermark = UINT32_MAX;
        const auto check = [&](bool good) {
            if (!good) throw std::system_error(errno, std::generic_category(), "counting " + event);
        };
        for (const int cpu : cpus) {
            const int fd = static_cast<int>(
                ::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
            check(fd >= 0);
            fds_.emplace_back(fd);
            rings_.emplace_back(fd);
            check(filter.empty() || ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter.c_str()) == 0);
            check(::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0);
        }
    }
}

std::uint64_t TracepointCounter::read() {
    for (Ring& ring : rings_) {
        ring.drain([&](const perf_event_header& header, std::uint64_t) {
            if (header.type != PERF_RECORD_SAMPLE)
                throw std::runtime_error("samples of tracepoints were lost");
            ++sum_;
        });
    }
    return sum_;
}

TracepointCounter TracepointCounter::of_wakeups(std::span<const int> cpus) {
    // The tracepoint has the state at the entry, and -1 at the exit.
    return {cpus, {"power:cpu_idle"}, "state == 4294967295"};
}

std::optional<TracepointCounter> TracepointCounter::of_interrupts(std::span<const int> cpus) {
    // x86 has a tracepoint for each kind of interrupt, arm64 one for all.
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

}  // namespace bench
