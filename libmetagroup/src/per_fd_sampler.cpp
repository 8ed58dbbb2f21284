// SPDX-License-Identifier: MIT
// Backend::per_fd: each member once more, as a group that a timer leads, with a ring of its own.
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "diagnostics.hpp"
#include "format.hpp"
#include "sampler.hpp"
#include "system.hpp"

namespace metagroup::detail {
namespace {

// The group with a timer as its leader.
GroupSpec led_by_timer(GroupSpec group, const SamplerOptions& options) {
    EventSpec timer = parse_events("cpu-clock").front().events.front();
    timer.name = "cpu-clock, the timer of the stream";
    timer.attr.sample_period = options.period;
    timer.attr.sample_type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
    timer.attr.sample_id_all = 1;
    timer.attr.watermark = 1;
    timer.attr.wakeup_watermark = static_cast<__u32>(options.watermark);
    timer.attr.write_backward = options.overwrite ? 1 : 0;
    // These are a leader's.
    perf_event_attr& before = group.events.front().attr;
    timer.attr.pinned = before.pinned;
    timer.attr.exclusive = before.exclusive;
    before.pinned = 0;
    before.exclusive = 0;
    group.events.insert(group.events.begin(), std::move(timer));
    // The events of a group must agree on the clock.
    for (EventSpec& event : group.events) {
        event.attr.use_clockid = 1;
        event.attr.clockid = CLOCK_MONOTONIC;
    }
    return group;
}

class PerFdSampler final : public Sampler {
  public:
    PerFdSampler(const SamplerSubject& subject, const SamplerOptions& options)
        : period_(options.period), overwrite_(options.overwrite) {
        // Without it, only the timer is read.
        const std::uint64_t format = subject.read_format | ReadFormat::group;
        hidden = 1;
        std::vector<GroupSpec> specs;
        for (const GroupSpec& group : subject.groups)
            specs.push_back(led_by_timer(group, options));
        describe(specs);
        for (RecordedEvent& event : events)
            if (event.attr.watermark != 0) event.name = "timer";
        for (std::size_t i = 0; i < subject.members.size(); ++i) {
            const MetaGroup::Member& member = subject.members[i];
            groups_.push_back(
                EventGroup::open(specs[member.group], member.cpu, format, subject.cgroup));
            add(groups_.back(), member.group, i, options);
        }
        first = monotonic_ns() / period_ * period_ + period_;
        for (EventGroup& group : groups_)
            group.enable();
        running = true;
    }

    // The kernel reports lost samples before the next one only: there is none after the last.
    std::uint64_t stop() override {
        for (EventGroup& group : groups_)
            group.disable();
        const std::uint64_t now = monotonic_ns();
        running = false;
        if (overwrite_) return 0;
        std::uint64_t lost = 0;
        for (Ring& ring : rings) {
            ring.update();
            const std::uint64_t last = std::max(ring.newest_time(), first);
            if (now > last) lost += (now - last) / period_;
        }
        return lost;
    }

  private:
    void add(const EventGroup& group, std::size_t which, std::size_t index,
             const SamplerOptions& options) {
        const int leader = group.leader_fd();
        if (sample_head + group.payload_size() > options.ring_size)
            throw_error(Call::start_stream, ENOSPC, "cannot start a stream",
                        {.bytes = options.ring_size});
        const std::vector<std::uint64_t> ids = group.ids();
        origins.push_back({ids.front(), index, group.read_format()});
        add_ids(which, ids);
        polled.push_back({leader, 0, 0});
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        rings.emplace_back(leader, 0, page + options.ring_size,
                           options.overwrite ? Ring::Order::backward : Ring::Order::forward,
                           detail::format("the ring of member {}, on CPU {}", index, group.cpu()));
    }

    std::uint64_t period_;
    bool overwrite_;
    std::vector<EventGroup> groups_;
};

}  // namespace

std::shared_ptr<Sampler> start_per_fd_sampler(const SamplerSubject& subject,
                                              const SamplerOptions& options) {
    return std::make_shared<PerFdSampler>(subject, options);
}

}  // namespace metagroup::detail
