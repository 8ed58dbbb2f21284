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

#include <stdexcept>

#include "methods/readers.hpp"
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

class Sampling : public GroupReader {
  public:
    explicit Sampling(Subject& subject)
        : GroupReader(
              measure::CpuGroups(led_by_timer(subject.specs(), subject.period()), subject.cpus())),
          periods_(subject.period()) {
        for (const int leader : groups_.leaders())
            rings_.emplace_back(leader);
        times_.resize(rings_.size());
    }

    Kind kind() const override { return Kind::timer; }
    void pause() override { groups_.disable(); }
    void resume() override { groups_.enable(); }
    // Until the next period's samples are there. Samples of missed periods are dropped first.
    void wait() override {
        if (periods_.is_late()) sweep();
        periods_.sleep();
    }
    // Takes out all samples; the last one of each group stays.
    void sweep() override {
        for (std::size_t i = 0; i < rings_.size(); ++i) {
            Ring& ring = rings_[i];
            const auto payload = payloads_.of(i);
            ring.visit([&](const perf_event_header& header, std::uint64_t where) {
                if (header.type != PERF_RECORD_SAMPLE) return;
                if (header.size != kHead + payload.size())
                    throw std::runtime_error("a sample is not as long as a payload and its time");
                times_[i] = ring.word(where + sizeof(header));
                ring.copy(where + kHead, payload);
            });
            ring.release();
        }
    }
    // All samples are of the same size.
    double samples(unsigned) override {
        return static_cast<double>(newly_visited(rings_, visited_)) /
               static_cast<double>((kHead + payloads_.of(0).size()) * rings_.size());
    }
    std::optional<std::uint64_t> skew_ns() override {
        sweep();
        return spread_of(times_);
    }

  private:
    static constexpr std::size_t kHead = sizeof(perf_event_header) + sizeof(std::uint64_t);

    std::vector<Ring> rings_;
    Periods periods_;
    std::uint64_t visited_ = 0;  // bytes of all rings, at the last call of samples()
};

}  // namespace bench
