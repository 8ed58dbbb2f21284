// SPDX-License-Identifier: MIT
// Backend::per_fd: one read(2) per leader, framed as by the module; for streams, each member is
// opened again as a group led by a timer, with its own ring.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>

#include "backend.hpp"
#include "diagnostics.hpp"
#include "format.hpp"
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

// Does not allocate: it is part of the read path. A CPU that cannot go offline has no such file.
bool cpu_is_offline(int cpu) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/sys/devices/system/cpu/cpu%d/online", cpu);
    const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
    char state = '1';
    return fd && ::read(fd.get(), &state, 1) == 1 && state == '0';
}

class PerFdReader final : public Reader {
  public:
    explicit PerFdReader(bool of_cgroup) : of_cgroup_(of_cgroup) {}

    Backend backend() const noexcept override { return Backend::per_fd; }

    void add(EventGroup group) override {
        stride_ = std::max(stride_, frame_size(group.payload_size()));
        members_.push_back({std::move(group)});
    }

    std::uint32_t finish() override { return 0; }

    void read(Snapshot& snapshot, const CpuList* cpus) override {
        while (!read_members(snapshot, cpus)) {
            // The group has grown: another process added a sibling through a copy of its
            // descriptor.
            stride_ += cache_line;
        }
    }

    SnapshotView sweep() override {
        read(swept_, nullptr);
        return static_cast<const SnapshotView&>(swept_);
    }

    void enable() override {
        enabled_ = true;
        for (Member& member : members_)
            member.last_enabled = not_read;
        for_all(&EventGroup::enable);
    }
    void disable() override {
        enabled_ = false;
        for_all(&EventGroup::disable);
    }
    void reset() override { for_all(&EventGroup::reset); }

    std::size_t snapshot_size() const noexcept override {
        return sizeof(perf_metagroup_snapshot) + members_.size() * stride_;
    }

    std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                           const SamplerOptions& options) override {
        return std::make_shared<PerFdSampler>(subject, options);
    }

  private:
    static constexpr std::uint64_t not_read = UINT64_MAX;

    struct Member {
        EventGroup group;
        std::uint64_t last_enabled = not_read;  // time_enabled of the last read
        std::uint64_t advanced = 0;             // when it first had that value
        bool offline = false;                   // permanent: offlining dissolves the group
    };

    static constexpr std::size_t cache_line = 64;
    // If only ticks advance the kernel's clock, it stands still between them, for up to 10 ms.
    static constexpr std::uint64_t longest_tick_ns = 100'000'000;

    static std::size_t frame_size(std::size_t payload) noexcept {
        const std::size_t bytes = sizeof(perf_metagroup_record) + payload;
        return (bytes + cache_line - 1) / cache_line * cache_line;
    }

    // \return false if a payload did not fit.
    bool read_members(Snapshot& snapshot, const CpuList* cpus) {
        std::byte* const buffer = snapshot.prepare(snapshot_size()).data();
        perf_metagroup_snapshot header{};
        header.size = sizeof(header);
        header.stride = static_cast<__u32>(stride_);
        header.layout = 1;
        header.begin = monotonic_ns();
        std::byte* frame = buffer + sizeof(header);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (cpus != nullptr && !cpus->contains(members_[i].group.cpu())) continue;
            if (!read_member(i, std::span(frame, stride_))) return false;
            frame += stride_;
            ++header.count;
        }
        header.end = monotonic_ns();
        header.bytes = static_cast<std::uint64_t>(frame - buffer);
        header.sequence = ++sequence_;
        std::memcpy(buffer, &header, sizeof(header));
        snapshot.commit(static_cast<std::size_t>(frame - buffer));
        return true;
    }

    bool read_member(std::size_t i, std::span<std::byte> frame) {
        Member& member = members_[i];
        const std::span<std::byte> payload = frame.subspan(sizeof(perf_metagroup_record));
        const std::uint64_t begin = monotonic_ns();
        const ssize_t got = uninterrupted(
            [&] { return ::read(member.group.leader_fd(), payload.data(), payload.size()); });
        if (got < 0 && errno == ENOSPC) return false;
        perf_metagroup_record record{};
        record.frame = static_cast<__u32>(stride_);
        record.header = sizeof(record);
        record.member = static_cast<__u32>(i);
        record.cpu = static_cast<__u32>(member.group.cpu());
        record.time = monotonic_ns();
        record.read_format = static_cast<__u32>(member.group.read_format());
        record.size = got > 0 ? static_cast<__u32>(got) : 0;
        record.status = static_cast<__u16>(status(member, got, got < 0 ? errno : 0,
                                                  payload.first(got > 0 ? record.size : 0), begin,
                                                  record.time));
        std::memcpy(frame.data(), &record, sizeof(record));
        return true;
    }

    // read(2) does not show whether a member is waiting for the PMU: it is reported as `ok`.
    Status status(Member& member, ssize_t got, int error, std::span<const std::byte> bytes,
                  std::uint64_t begin, std::uint64_t now) const noexcept {
        if (got == 0) return Status::error;
        if (got < 0) return error == ENODEV ? Status::revoked : Status::stale;
        if (member.offline) return Status::offline;
        if (!enabled_) return Status::off;
        member.offline = dissolved(member, bytes, begin, now);
        return member.offline ? Status::offline : Status::ok;
    }

    // Offlining removes the siblings and stops the clock of an enabled group, even if the CPU is
    // back by now. For a cgroup, the clock also stands still while the cgroup is not running.
    // `begin` and `now` are the times before and after the read.
    bool dissolved(Member& member, std::span<const std::byte> bytes, std::uint64_t begin,
                   std::uint64_t now) const noexcept {
        const bool shorter = bytes.size() < member.group.payload_size();
        const auto payload = Payload::parse(bytes, member.group.read_format());
        const auto time = payload ? payload->time_enabled() : std::nullopt;
        const bool stands_still = time && *time == member.last_enabled;
        if (time && !stands_still) {
            // NTP slews one of the two clocks.
            const std::uint64_t wall = begin - std::min(begin, member.advanced);
            const bool lags = member.last_enabled != not_read &&
                              *time - member.last_enabled + longest_tick_ns + wall / 1000 < wall;
            member.last_enabled = *time;
            member.advanced = now;
            if (lags && !of_cgroup_) return true;
        }
        if (!shorter && !stands_still) return false;
        if (stands_still && (shorter || !of_cgroup_) && now - member.advanced > longest_tick_ns)
            return true;
        return cpu_is_offline(member.group.cpu());
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
    std::size_t stride_ = cache_line;
    std::uint64_t sequence_ = 0;
    bool of_cgroup_;
    bool enabled_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_per_fd_reader(bool of_cgroup) {
    return std::make_unique<PerFdReader>(of_cgroup);
}

}  // namespace metagroup::detail
