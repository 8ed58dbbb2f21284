// SPDX-License-Identifier: MIT
// Backend::per_fd: one read(2) per leader, framed as by the module; for streams, each member is
// opened again as a group led by a timer, with its own ring.
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>

#include "backend.hpp"
#include "diagnostics.hpp"
#include "format.hpp"
#include "frames.hpp"
#include "offline.hpp"
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
    // These belong to a leader.
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
        // Otherwise only the timer would be read.
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

    // The kernel reports lost samples only before the next one: nothing follows the last.
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
        sources.push_back({ids.front(), index, group.read_format()});
        add_ids(which, ids);
        poll_fds.push_back({leader, 0, 0});
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        rings.emplace_back(leader, 0, page + options.ring_size,
                           options.overwrite ? Ring::Order::backward : Ring::Order::forward,
                           detail::format("the ring of member {}, on CPU {}", index, group.cpu()));
    }

    std::uint64_t period_;
    bool overwrite_;
    std::vector<EventGroup> groups_;
};

class PerFdReader final : public Reader {
  public:
    explicit PerFdReader(bool of_cgroup) : of_cgroup_(of_cgroup) {}

    Backend backend() const noexcept override { return Backend::per_fd; }

    void add(EventGroup group) override {
        stride_ = std::max(stride_, Frames::size_for(group.payload_size()));
        members_.push_back({std::move(group), OfflineWatch(of_cgroup_)});
    }

    std::uint32_t finish() override { return 0; }

    void read(Snapshot& snapshot, const CpuList* cpus) override {
        while (!read_members(snapshot, cpus)) {
            // The group has grown: another process added a sibling through a copy of its
            // descriptor.
            stride_ = Frames::size_for(stride_);
        }
    }

    SnapshotView sweep() override {
        read(swept_, nullptr);
        return static_cast<const SnapshotView&>(swept_);
    }

    void enable() override {
        enabled_ = true;
        for (Member& member : members_)
            member.watch.restart();
        for_all(&EventGroup::enable);
    }
    void disable() override {
        enabled_ = false;
        for_all(&EventGroup::disable);
    }
    void reset() override { for_all(&EventGroup::reset); }

    std::size_t snapshot_size() const noexcept override {
        return Frames::snapshot_size(members_.size(), stride_);
    }

    std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                           const SamplerOptions& options) override {
        return make_per_fd_sampler(subject, options);
    }

  private:
    struct Member {
        EventGroup group;
        OfflineWatch watch;
    };

    // \return false if a payload did not fit.
    bool read_members(Snapshot& snapshot, const CpuList* cpus) {
        Frames frames(snapshot, members_.size(), stride_);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (cpus != nullptr && !cpus->contains(members_[i].group.cpu())) continue;
            if (!read_member(i, frames)) return false;
        }
        frames.finish(++sequence_);
        return true;
    }

    bool read_member(std::size_t i, Frames& frames) {
        Member& member = members_[i];
        const std::span<std::byte> payload = frames.payload();
        const std::uint64_t begin = monotonic_ns();
        const ssize_t got = uninterrupted(
            [&] { return ::read(member.group.leader_fd(), payload.data(), payload.size()); });
        if (got < 0 && errno == ENOSPC) return false;
        perf_metagroup_record record{};
        record.member = static_cast<__u32>(i);
        record.cpu = static_cast<__u32>(member.group.cpu());
        record.time = monotonic_ns();
        record.read_format = static_cast<__u32>(member.group.read_format());
        record.size = got > 0 ? static_cast<__u32>(got) : 0;
        record.status = static_cast<__u16>(status(member, got, got < 0 ? errno : 0,
                                                  payload.first(record.size), begin, record.time));
        frames.add(record);
        return true;
    }

    // read(2) does not show whether a member is waiting for the PMU: it is reported as `ok`.
    Status status(Member& member, ssize_t got, int error, std::span<const std::byte> payload,
                  std::uint64_t begin, std::uint64_t now) const noexcept {
        if (got == 0) return Status::error;
        if (got < 0) return error == ENODEV ? Status::revoked : Status::stale;
        if (member.watch.is_offline()) return Status::offline;
        if (!enabled_) return Status::off;
        const EventGroup& group = member.group;
        return member.watch.check(payload, group.payload_size(), group.read_format(), group.cpu(),
                                  begin, now)
                   ? Status::offline
                   : Status::ok;
    }

    // Tries all members, then throws the first error.
    void for_all(void (EventGroup::*action)()) {
        std::exception_ptr first;
        for (Member& member : members_) {
            try {
                (member.group.*action)();
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        }
        if (first) std::rethrow_exception(first);
    }

    std::vector<Member> members_;
    Snapshot swept_;
    std::size_t stride_ = Frames::size_for(0);
    std::uint64_t sequence_ = 0;
    bool of_cgroup_;
    bool enabled_ = false;
};

}  // namespace

std::shared_ptr<Sampler> make_per_fd_sampler(const SamplerSubject& subject,
                                             const SamplerOptions& options) {
    return std::make_shared<PerFdSampler>(subject, options);
}

std::unique_ptr<Reader> make_per_fd_reader(bool of_cgroup) {
    return std::make_unique<PerFdReader>(of_cgroup);
}

}  // namespace metagroup::detail
