// SPDX-License-Identifier: MIT
// Backend::percpu: one event on all CPUs behind one descriptor, as the patches in upstream/ add
// them to Linux; see the comment at enum perf_event_read_format there. Framed as by the module.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>

#include "backend.hpp"
#include "diagnostics.hpp"
#include "format.hpp"
#include "frames.hpp"
#include "offline.hpp"
#include "opening.hpp"
#include "system.hpp"

namespace metagroup::detail {
namespace {

// PERF_FORMAT_PERCPU. Linux may give this bit another meaning: Backend::automatic does not use it.
constexpr std::uint64_t format_percpu = 1U << 5;

struct PercpuHeader {
    std::uint64_t nr;
    std::uint64_t size;  // of a record, padding included
};
struct PercpuRecord {
    std::uint32_t cpu;
    std::int32_t error;  // 0 or -errno
    std::uint64_t time;
    // The payload follows.
};

constexpr auto percpu_failed = "cannot read all CPUs by one event";
constexpr auto other_backend = "choose another backend";

[[noreturn]] void fail_percpu(Cause cause, int error, std::string reason,
                              std::string remedy = other_backend) {
    throw Error(cause, error, {percpu_failed, std::move(reason), std::move(remedy)});
}

// The records that read(2) of such an event returns. The buffer grows when necessary.
class PercpuRecords {
  public:
    // Throws nothing: \return false and sets errno if the call fails.
    bool read(int fd) {
        for (;;) {
            const ssize_t got =
                uninterrupted([&] { return ::read(fd, buffer_.data(), buffer_.size()); });
            if (got >= 0) return take(static_cast<std::size_t>(got));
            if (errno != ENOSPC) return false;
            buffer_.resize(2 * buffer_.size());
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return header_.nr; }
    [[nodiscard]] PercpuRecord operator[](std::size_t i) const noexcept {
        PercpuRecord record;
        std::memcpy(&record, at(i), sizeof(record));
        return record;
    }
    // The payload of record `i`, which has no error.
    [[nodiscard]] std::span<const std::byte> payload(std::size_t i,
                                                     std::uint64_t read_format) const noexcept {
        const std::span values(at(i) + sizeof(PercpuRecord), header_.size - sizeof(PercpuRecord));
        std::uint64_t nr = 1;
        if ((read_format & ReadFormat::group) != 0) std::memcpy(&nr, values.data(), sizeof(nr));
        const bool fits = nr <= values.size() && payload_size(read_format, nr) <= values.size();
        return fits ? values.first(payload_size(read_format, nr)) : values.first(0);
    }
    // The record of this CPU; size() if there is none.
    [[nodiscard]] std::size_t find(int cpu) const noexcept {
        std::size_t i = 0;
        while (i < size() && static_cast<int>((*this)[i].cpu) != cpu)
            ++i;
        return i;
    }

  private:
    [[nodiscard]] const std::byte* at(std::size_t i) const noexcept {
        return buffer_.data() + sizeof(PercpuHeader) + i * header_.size;
    }
    bool take(std::size_t bytes) noexcept {
        header_ = {};
        if (bytes < sizeof(PercpuHeader)) return refuse();
        PercpuHeader header;
        std::memcpy(&header, buffer_.data(), sizeof(header));
        bytes -= sizeof(header);
        if (header.size < sizeof(PercpuRecord) + sizeof(std::uint64_t) || header.size > bytes ||
            header.size % sizeof(std::uint64_t) != 0 || bytes % header.size != 0 ||
            header.nr != bytes / header.size)
            return refuse();
        header_ = header;
        return true;
    }
    static bool refuse() noexcept {
        errno = EBADMSG;
        return false;
    }

    std::vector<std::byte> buffer_ = std::vector<std::byte>(4096);
    PercpuHeader header_{};
};

// Opens an event that counts nothing, which no kernel accepts for all tasks and all CPUs without
// the patches, and checks that reading it returns a record of each CPU.
void require_percpu() {
    GroupSpec dummy = parse_events("dummy:u").front();
    perf_event_attr& attr = dummy.events.front().attr;
    attr.disabled = 1;
    attr.read_format = format_percpu;
    const UniqueFd event(static_cast<int>(uninterrupted(
        [&] { return ::syscall(SYS_perf_event_open, &attr, -1, -1, -1, PERF_FLAG_FD_CLOEXEC); })));
    if (!event && errno != EINVAL) fail_to_open(errno, dummy, 0, {});
    bool found = static_cast<bool>(event);
    PercpuRecords records;
    found = found && records.read(event.get());
    std::int64_t last = -1;
    for (std::size_t i = 0; found && i < records.size(); ++i) {
        std::uint64_t count = 1;
        std::memcpy(&count, records.payload(i, 0).data(), sizeof(count));
        found = records[i].error == 0 && records[i].cpu > last && count == 0;
        last = records[i].cpu;
    }
    if (!found)
        fail_percpu(Cause::no_percpu, EOPNOTSUPP,
                    "this kernel has no PERF_FORMAT_PERCPU, which is not part of Linux yet");
}

void require_all_cpus(const GroupSpec& group) {
    for (const EventSpec& event : group.events)
        if (event.per_package || event.on_one_cpu || event.cpus)
            fail_percpu(Cause::unsupported_event, EOPNOTSUPP,
                        format("event \"{}\" cannot be counted on every CPU", event.name));
}

// A group on all CPUs.
class PercpuGroup {
  public:
    PercpuGroup(GroupSpec spec, std::uint64_t read_format) : spec_(std::move(spec)) {
        require_all_cpus(spec_);
        for (EventSpec& event : spec_.events) {
            event.attr.use_clockid = 1;
            event.attr.clockid = CLOCK_MONOTONIC;
        }
        for (std::size_t i = 0; i < spec_.events.size(); ++i)
            events_.push_back(open_event(spec_, i, {}, i == 0 ? -1 : events_.front().get(),
                                         read_format | format_percpu));
    }

    void read() {
        if (!records.read(events_.front().get()))
            throw_error(Call::any, errno,
                        format("cannot read group {} on all CPUs", to_string(spec_)));
    }
    void control(unsigned long request, const char* verb) {
        if (::ioctl(events_.front().get(), request, PERF_IOC_FLAG_GROUP) != 0)
            throw_error(Call::any, errno,
                        format("cannot {} group {} on all CPUs", verb, to_string(spec_)));
    }
    [[nodiscard]] const GroupSpec& spec() const noexcept { return spec_; }

    PercpuRecords records;  // of the last read()

  private:
    GroupSpec spec_;
    std::vector<UniqueFd> events_;
};

class PercpuReader final : public Reader {
  public:
    PercpuReader(std::span<const GroupSpec> groups, std::span<const MetaGroup::Member> members,
                 std::uint64_t read_format)
        : read_format_(read_format) {
        for (const GroupSpec& group : groups) {
            groups_.emplace_back(group, read_format);
            groups_.back().read();
            stride_ =
                std::max(stride_, Frames::size_for(payload_size(read_format, group.events.size())));
        }
        for (const MetaGroup::Member& member : members) {
            const PercpuGroup& group = groups_[member.group];
            const std::size_t record = group.records.find(member.cpu);
            if (record == group.records.size())
                fail_to_open(ENODEV, group.spec(), 0, {.cpu = member.cpu});
            members_.push_back({member.cpu, member.group, record, OfflineWatch()});
        }
    }

    Backend backend() const noexcept override { return Backend::percpu; }
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
        for_all(PERF_EVENT_IOC_ENABLE, "enable");
    }
    void disable() override {
        enabled_ = false;
        for_all(PERF_EVENT_IOC_DISABLE, "disable");
    }
    void reset() override { for_all(PERF_EVENT_IOC_RESET, "reset"); }

    std::size_t snapshot_size() const noexcept override {
        return Frames::snapshot_size(members_.size(), stride_);
    }
    std::shared_ptr<Sampler> start_sampler(const SamplerSubject& subject,
                                           const SamplerOptions& options) override {
        return make_per_fd_sampler(subject, options);
    }

  private:
    struct Member {
        int cpu;
        std::size_t group;
        std::size_t record;  // of its group: each CPU keeps its place
        OfflineWatch watch;
    };

    // \return false if a payload did not fit.
    bool read_members(Snapshot& snapshot, const CpuList* cpus) {
        const auto wanted = [&](const Member& member) {
            return cpus == nullptr || cpus->contains(member.cpu);
        };
        Frames frames(snapshot, members_.size(), stride_);
        for (std::size_t group = 0; group < groups_.size(); ++group)
            if (std::ranges::any_of(members_,
                                    [&](const Member& m) { return m.group == group && wanted(m); }))
                groups_[group].read();
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (wanted(members_[i]) && !add(frames, i)) return false;
        frames.finish(++sequence_);
        return true;
    }

    bool add(Frames& frames, std::size_t i) {
        Member& member = members_[i];
        const PercpuRecords& records = groups_[member.group].records;
        const PercpuRecord from = records[member.record];
        std::span<const std::byte> payload;
        if (from.error == 0) payload = records.payload(member.record, read_format_);
        if (payload.size() > frames.payload().size()) return false;
        std::ranges::copy(payload, frames.payload().begin());
        perf_metagroup_record record{};
        record.member = static_cast<__u32>(i);
        record.cpu = from.cpu;
        record.time = from.time;
        record.read_format = static_cast<__u32>(read_format_);
        record.size = static_cast<__u32>(payload.size());
        record.status = static_cast<__u16>(status(member, from, payload, frames.begin()));
        frames.add(record);
        return true;
    }

    // A member that waits for the PMU is reported as `ok`: the records do not tell.
    Status status(Member& member, const PercpuRecord& record, std::span<const std::byte> payload,
                  std::uint64_t begin) const noexcept {
        if (record.error == -EBUSY) return Status::error;
        if (record.error == -ENODEV) return Status::revoked;
        if (record.error != 0 || payload.empty()) return Status::stale;
        if (member.watch.is_offline()) return Status::offline;
        if (!enabled_) return Status::off;
        const std::size_t size =
            payload_size(read_format_, groups_[member.group].spec().events.size());
        return member.watch.check(payload, size, read_format_, member.cpu, begin, record.time)
                   ? Status::offline
                   : Status::ok;
    }

    // Tries all groups, then throws the first error.
    void for_all(unsigned long request, const char* verb) {
        std::exception_ptr first;
        for (PercpuGroup& group : groups_) {
            try {
                group.control(request, verb);
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        }
        if (first) std::rethrow_exception(first);
    }

    std::vector<PercpuGroup> groups_;
    std::vector<Member> members_;
    Snapshot swept_;
    std::uint64_t read_format_;
    std::size_t stride_ = Frames::size_for(0);
    std::uint64_t sequence_ = 0;
    bool enabled_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_percpu_reader(std::span<const GroupSpec> groups,
                                           std::span<const MetaGroup::Member> members,
                                           std::uint64_t read_format) {
    require_percpu();
    return std::make_unique<PercpuReader>(groups, members, read_format);
}

}  // namespace metagroup::detail
