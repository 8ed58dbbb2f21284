// SPDX-License-Identifier: MIT
// Each CPU reads its own groups when its timer fires and writes a sample into a ring that the
// reader has mapped: PERF_SAMPLE_READ with a sampling cpu-clock as leader of the same events. There
// is no read(), no interrupt from CPU to CPU, and no system call of the reader.
//
// The time of a sweep is that of draining one sample of each CPU. Each CPU pays the rest in its
// timer interrupt (`target_insns`), and the larger of the two limits the samples per second. CPUs
// sample when their timers fire, not at the same time (`skew_ns`), and a timer wakes an idle CPU.
#pragma once

#include <linux/perf_event.h>

#include <span>
#include <stdexcept>
#include <utility>

#include "methods/method.hpp"
#include "ring.hpp"

namespace bench {

inline std::vector<metagroup::GroupSpec> led_by_timer(std::vector<metagroup::GroupSpec> specs,
                                                      std::chrono::nanoseconds period) {
    metagroup::EventSpec timer = metagroup::parse_events("cpu-clock").front().events.front();
    timer.attr.sample_period = static_cast<std::uint64_t>(period.count());
    timer.attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
    // The reader polls, so a filling ring need not interrupt to wake it.
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

// Takes out all samples and copies the payload of the last one. Returns its time, or nothing if
// there was no sample.
inline std::optional<std::uint64_t> drain(Ring& ring, std::span<std::byte> payload) {
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

class Sampling : public Method {
  public:
    explicit Sampling(Subject& subject)
        : groups_(led_by_timer(subject.specs(), subject.sampling_period()), subject.cpus()),
          payloads_(groups_.all()),
          times_(groups_.all().size()),
          periods_(subject.sampling_period()) {
        for (const int leader : groups_.leaders())
            rings_.emplace_back(leader);
    }

    measure::CpuGroups* groups() override { return &groups_; }
    void pause() override { groups_.disable(); }
    void resume() override { groups_.enable(); }

    // All samples are of the same size.
    double samples(unsigned) override {
        const std::size_t sample =
            sizeof(perf_event_header) + sizeof(std::uint64_t) + payloads_.of(0).size();
        std::uint64_t visited = 0;
        for (const Ring& ring : rings_)
            visited += ring.visited();
        const std::uint64_t bytes = visited - std::exchange(visited_, visited);
        return static_cast<double>(bytes) / static_cast<double>(sample * rings_.size());
    }
    bool wait_sleeps() const override { return true; }
    bool uses_timers() const override { return true; }
    // Until the next period's samples are there. Samples of missed periods are dropped first.
    void wait() override {
        if (periods_.is_late()) {
            sweep();
            periods_.restart();
        }
        periods_.sleep();
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
        return payloads_.bytes() + rings_.size() * Ring::default_bytes();
    }

  private:
    measure::CpuGroups groups_;
    measure::Payloads payloads_;
    std::vector<std::uint64_t> times_;
    std::vector<Ring> rings_;
    Periods periods_;
    std::uint64_t visited_ = 0;  // bytes of all rings, at the last call of samples()
};

}  // namespace bench
