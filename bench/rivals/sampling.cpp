// SPDX-License-Identifier: MIT
// Each CPU reads its own groups when a timer of its own fires, and writes what it read into a ring
// that the monitor has mapped: PERF_SAMPLE_READ with a sampling cpu-clock as leader of the same
// events. No read(), no interrupt from CPU to CPU, no system call of the monitor.
//
// So a sweep is split. Its time here is the monitor's: draining one sample of each CPU. The rest is
// paid by each CPU in its timer's interrupt: `target_insns`. What limits samples per second is the
// larger of the two. CPUs sample when their timers fire, not at the same time (`skew_ns`), whether
// or not anyone wants to know, and a timer wakes a CPU that sleeps.
#include <linux/perf_event.h>

#include <ctime>
#include <span>
#include <stdexcept>

#include "measure/ring.hpp"
#include "rivals/skew.hpp"
#include "rivals/ways.hpp"

namespace bench {
namespace {

std::vector<metagroup::GroupSpec> led_by_timer(std::vector<metagroup::GroupSpec> specs,
                                               std::chrono::nanoseconds period) {
    metagroup::EventSpec timer = metagroup::parse_events("cpu-clock").front().events.front();
    timer.attr.sample_period = static_cast<std::uint64_t>(period.count());
    timer.attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
    // Nobody sleeps until a ring is full enough: spare the interrupt that would wake him.
    timer.attr.watermark = 1;
    timer.attr.wakeup_watermark = UINT32_MAX;
    for (metagroup::GroupSpec& spec : specs) {
        spec.events.insert(spec.events.begin(), timer);
        // The events of a group must agree on the clock.
        for (metagroup::EventSpec& event : spec.events) {
            event.attr.use_clockid = 1;
            event.attr.clockid = CLOCK_MONOTONIC;
        }
    }
    return specs;
}

// Takes out all samples; `payload` gets what the last one read, and its time is returned, or
// nothing if there was none.
std::optional<std::uint64_t> drain(measure::Ring& ring, std::span<std::byte> payload) {
    std::optional<std::uint64_t> time;
    ring.drain([&](const perf_event_header& header, std::uint64_t where) {
        if (header.type != PERF_RECORD_SAMPLE) return;
        std::uint64_t when = 0;
        if (header.size != sizeof(header) + sizeof(when) + payload.size())
            throw std::runtime_error("a sample is not as long as a payload and its time");
        where += sizeof(header);
        ring.copy(where, std::as_writable_bytes(std::span(&when, 1)));
        ring.copy(where + sizeof(when), payload);
        time = when;
    });
    return time;
}

class Sampling : public Rival {
  public:
    explicit Sampling(Subject& subject)
        : period_(subject.sampling_period()),
          groups_(led_by_timer(subject.specs(), period_), subject.cpus()),
          payloads_(groups_.all()),
          times_(groups_.all().size()) {
        for (const int leader : groups_.leaders())
            rings_.emplace_back(leader);
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void pause() override { groups_.disable(); }
    void resume() override { groups_.enable(); }

    bool wait_sleeps() const override { return true; }
    bool uses_timers() const override { return true; }
    // For the next period's samples. What has piled up, as nobody came, is none of a sweep's.
    void wait() override {
        const auto period = static_cast<std::uint64_t>(period_.count());
        due_ += period;
        if (due_ < monotonic_ns()) {
            sweep();
            due_ = monotonic_ns() + period;
        }
        const timespec due{.tv_sec = static_cast<time_t>(due_ / 1'000'000'000),
                           .tv_nsec = static_cast<long>(due_ % 1'000'000'000)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
    }
    void sweep() override {
        for (std::size_t i = 0; i < rings_.size(); ++i) {
            if (const auto time = drain(rings_[i], payloads_.of(i))) times_[i] = *time;
        }
    }
    std::vector<std::uint64_t> counts() const override { return payloads_.counts(); }
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        Skew skew;
        for (const std::uint64_t time : times_)
            skew.note(time);
        return skew.ns();
    }
    std::optional<std::size_t> memory_bytes() const override {
        return payloads_.bytes() + rings_.size() * measure::Ring::bytes();
    }

  private:
    std::chrono::nanoseconds period_;
    measure::CpuGroups groups_;
    measure::Payloads payloads_;
    std::vector<std::uint64_t> times_;
    std::vector<measure::Ring> rings_;
    std::uint64_t due_ = 0;
};

}  // namespace

std::unique_ptr<Rival> make_sampling(Subject& subject) {
    return std::make_unique<Sampling>(subject);
}

}  // namespace bench
