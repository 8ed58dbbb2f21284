// SPDX-License-Identifier: MIT
// Backend::per_fd: one read(2) per leader, the answers framed as the module frames them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <span>
#include <utility>

#include "backend.hpp"
#include "error.hpp"

namespace metagroup::detail {
namespace {

std::uint64_t monotonic_ns() noexcept {
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * ns_per_s +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Without allocating, as it is called while reading. A CPU that cannot be switched has no file.
bool cpu_is_offline(int cpu) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/sys/devices/system/cpu/cpu%d/online", cpu);
    const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
    char state = '1';
    return fd && ::read(fd.get(), &state, 1) == 1 && state == '0';
}

class PerFdReader final : public Reader {
  public:
    void add(EventGroup group) override {
        stride_ = std::max(stride_, frame_size(group.payload_size()));
        members_.push_back({std::move(group)});
    }

    std::uint32_t finish() override { return 0; }

    void read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) override {
        while (!read_members(snapshot, cpu_mask)) {
            // A group has grown: somebody else opened a sibling with a copy of our descriptor.
            stride_ += cache_line;
        }
    }

    SnapshotView sweep() override {
        read(swept_, {});
        return static_cast<const SnapshotView&>(swept_);
    }

    void enable() override {
        enabled_ = true;
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

  private:
    struct Member {
        EventGroup group;
        std::uint64_t last_enabled = 0;  // time_enabled of the last read
        bool offline = false;            // for good: offlining dissolves the group
    };

    static constexpr std::size_t cache_line = 64;

    static std::size_t frame_size(std::size_t payload) noexcept {
        const std::size_t bytes = sizeof(perf_metagroup_record) + payload;
        return (bytes + cache_line - 1) / cache_line * cache_line;
    }

    static bool selects(std::span<const std::uint64_t> mask, int cpu) noexcept {
        constexpr std::size_t bits = 64;
        const auto bit = static_cast<std::size_t>(cpu);
        return mask.empty() || (bit / bits < mask.size() && (mask[bit / bits] >> bit % bits & 1));
    }

    // False if a payload did not fit.
    bool read_members(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) {
        std::byte* const buffer = snapshot.prepare(snapshot_size()).data();
        perf_metagroup_snapshot header{};
        header.size = sizeof(header);
        header.stride = static_cast<__u32>(stride_);
        header.begin = monotonic_ns();
        std::byte* frame = buffer + sizeof(header);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (!selects(cpu_mask, members_[i].group.cpu())) continue;
            if (!read_member(i, std::span(frame, stride_))) return false;
            frame += stride_;
            ++header.count;
        }
        header.end = monotonic_ns();
        header.sequence = ++sequence_;
        std::memcpy(buffer, &header, sizeof(header));
        snapshot.commit(static_cast<std::size_t>(frame - buffer));
        return true;
    }

    bool read_member(std::size_t i, std::span<std::byte> frame) {
        Member& member = members_[i];
        const std::span<std::byte> payload = frame.subspan(sizeof(perf_metagroup_record));
        ssize_t got = 0;
        do {
            got = ::read(member.group.leader_fd(), payload.data(), payload.size());
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno == ENOSPC) return false;
        perf_metagroup_record record{};
        record.header = sizeof(record);
        record.member = static_cast<__u32>(i);
        record.cpu = static_cast<__u32>(member.group.cpu());
        record.time = monotonic_ns();
        record.read_format = static_cast<__u32>(member.group.read_format());
        record.size = got > 0 ? static_cast<__u32>(got) : 0;
        record.status = static_cast<__u32>(
            status(member, got, got < 0 ? errno : 0, payload.first(got > 0 ? record.size : 0)));
        std::memcpy(frame.data(), &record, sizeof(record));
        return true;
    }

    // read(2) tells less than the module: a member that waits for the PMU is `ok` here.
    Status status(Member& member, ssize_t got, int error,
                  std::span<const std::byte> bytes) const noexcept {
        if (got == 0) return Status::error;
        if (got < 0) return error == ENODEV ? Status::revoked : Status::stale;
        if (member.offline) return Status::offline;
        if (!enabled_) return Status::off;
        // Offlining takes the siblings away and stops the clock of an enabled group. Only then is
        // it worth asking sysfs.
        bool suspicious = bytes.size() < member.group.payload_size();
        const auto payload = Payload::parse(bytes, member.group.read_format());
        if (const auto time = payload ? payload->time_enabled() : std::nullopt) {
            suspicious |= *time == member.last_enabled;
            member.last_enabled = *time;
        }
        if (suspicious && cpu_is_offline(member.group.cpu())) member.offline = true;
        return member.offline ? Status::offline : Status::ok;
    }

    // Tries all members; the first error is thrown afterwards.
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
    bool enabled_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_per_fd_reader() {
    return std::make_unique<PerFdReader>();
}

}  // namespace metagroup::detail
