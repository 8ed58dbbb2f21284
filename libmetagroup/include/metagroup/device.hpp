// SPDX-License-Identifier: MIT
/// \file
/// Device: one handle of /dev/perf_metagroup.
#pragma once

#include <linux/perf_metagroup.h>

#include <cstddef>
#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace metagroup {

/// The format of what read() of a handle returns.
enum class Format : std::uint32_t {
    raw = PERF_METAGROUP_FORMAT_RAW,        ///< the payloads, one after the other
    framed = PERF_METAGROUP_FORMAT_FRAMED,  ///< a snapshot header and records
};

/// The CPUs that sweeps do not interrupt.
struct Mode {
    /// Do not wake idle CPUs: their records, Status::idle, are as of when they became idle.
    bool quiet = false;
    /// Do not interrupt CPUs isolated by nohz_full= or isolcpus=: their records are
    /// Status::skipped.
    bool skip_isolated = false;
    friend bool operator==(const Mode&, const Mode&) = default;
};

/// The state of one member in the kernel, without a sweep.
struct MemberInfo {
    std::uint32_t member = 0;          ///< its number
    int cpu = -1;                      ///< its CPU
    Status status = Status::stale;     ///< its state now
    std::uint64_t read_format = 0;     ///< of the leader
    std::size_t payload = 0;           ///< bytes of payload now
    std::vector<std::uint64_t> ids{};  ///< identifiers of its events, the leader's first
    std::uint32_t generation = 0;      ///< how often the events of a set have been opened anew
    int error = 0;                     ///< errno of the last attempt to do so, or 0
    std::size_t failed = 0;            ///< index of the event that was the cause
    std::uint32_t reason = 0;          ///< PERF_METAGROUP_REASON_* for that event
    std::uint32_t users = 0;           ///< members of sets that share its events; 0 for a group
};

/// How a set is opened.
struct SetOptions {
    /// The CPUs; if not given, those that are online, or with `follow` those that are present.
    std::optional<CpuList> cpus{};
    /// The module opens the events anew when their CPU comes online. CPUs that are offline now are
    /// no error then.
    bool follow = false;
    /// Of the payloads; ReadFormat::group is needed.
    std::uint64_t read_format = default_read_format;
};

/// The members that a call has made, with numbers that follow one another: one for each CPU, in
/// rising order, of each set.
struct NewMembers {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// A change of the members of sets, on many CPUs at one moment.
enum class Operation : std::uint32_t {
    start = PERF_METAGROUP_START,  ///< counts go on from where they are
    stop = PERF_METAGROUP_STOP,    ///< counts and times stand still
    reset = PERF_METAGROUP_RESET,  ///< counts are 0; times are as before
};

/// When it was done: CLOCK_MONOTONIC in nanoseconds.
struct OperationTime {
    std::uint64_t begin_ns = 0;  ///< before the first CPU
    std::uint64_t end_ns = 0;    ///< after the last CPU
    std::uint64_t skew_ns = 0;   ///< between the first CPU and the last one
    std::uint32_t members = 0;   ///< to which it was done
};

/// A thin owner of one handle: each function is one system call of linux/perf_metagroup.h, where
/// the meaning and all errors are described. Errors are Error with the kernel's errno.
/// No call is interrupted by a signal: it begins again. Move-only; the meta-group ends with its
/// last descriptor.
class METAGROUP_API Device {
  public:
    /// Opens the device: a new, empty meta-group, which reads in Format::raw.
    /// \throws Error: Cause::no_module, no_device_permission, wrong_module...
    static Device open(const std::string& path = PERF_METAGROUP_DEVICE);
    /// Takes ownership of a descriptor, for example one that another process passed on; closes it
    /// on errors, too.
    /// \throws Error (Cause::wrong_module) if it is none of this device, or its module has another
    ///         ABI.
    explicit Device(int fd);

    /// Limits and present size of the meta-group.
    [[nodiscard]] perf_metagroup_info info() const;
    /// Makes the leaders behind these descriptors members, all or none. They may be closed then;
    /// those of siblings must stay open.
    /// \return number of the first; the others follow.
    /// \throws Error: Cause::bad_descriptor, already_attached, too_many_members...; names the
    ///         descriptor at fault.
    std::uint32_t attach(std::span<const int> leader_fds);
    /// Removes one member. \throws Error: Cause::no_such_member...
    void detach(std::uint32_t member);
    /// Enables all members, siblings included.
    void enable();
    /// Disables all members, siblings included.
    void disable();
    /// Sets all counts to 0, but not the times, as PERF_EVENT_IOC_RESET does.
    void reset();
    /// Chooses the format of read().
    void set_format(Format format);
    /// Chooses the CPUs that sweeps do not interrupt. \throws Error: Cause::too_many_quiet...
    void set_mode(Mode mode);
    /// The state of one member. \throws Error: Cause::no_such_member...
    [[nodiscard]] MemberInfo member(std::uint32_t member) const;
    /// Opens events on many CPUs by themselves, all or none: a member for each CPU. They are
    /// pinned, in no perf group, and need no descriptors. Needs CAP_SYS_ADMIN. \throws Error:
    /// Cause::no_set_permission, pmu_busy, unsupported_event, cpu_offline...; names
    ///         event and CPU.
    NewMembers open_set(std::span<const EventSpec> events, const SetOptions& options = {});
    /// The same without privilege: each descriptor is of an event that perf_event_open(2) has
    /// opened with pid -1 on any CPU, and may be closed then.
    NewMembers open_set(std::span<const int> templates, const SetOptions& options = {});
    /// Starts, stops or resets the members of sets on these CPUs, or on all, by one broadcast.
    OperationTime control(Operation operation, const std::optional<CpuList>& cpus = std::nullopt);
    /// The events of a member of a set, as far as the module uses them, in the order of its
    /// payload.
    /// \throws Error: Cause::no_such_member; Cause::other if the member is a group.
    [[nodiscard]] std::vector<perf_event_attr> events(std::uint32_t member) const;
    /// Replaces the events of a member of a set, so of one CPU, all or none. The member keeps its
    /// number, place and read format, and is started or stopped as before. Its counts and times
    /// begin at 0, its identifiers are new, and its payload has as many values as there are events
    /// now: Match::changed, or MemberDelta::reopened(). Both the old and the new events need
    /// counters for a moment, and the CPU has to be online. Needs CAP_SYS_ADMIN. \throws Error as
    /// open_set() and events(); names the event. The member keeps its events then. \throws
    /// std::invalid_argument if there is no event.
    void set_events(std::uint32_t member, std::span<const EventSpec> events);
    /// The same without privilege, by descriptors as those of open_set().
    void set_events(std::uint32_t member, std::span<const int> templates);
    /// Gives a name to the sets of this meta-group, which keeps their events when the handle is
    /// closed. `mode`: who may join, 0400 the owner, 0040 the group `gid`, 0004 all. Without `gid`
    /// it is the group of the caller. See PublishedSet for what there is.
    /// \throws Error: Cause::no_set_permission, set_exists, bad_set_name...
    void publish(const std::string& name, unsigned mode = 0440,
                 std::optional<std::uint32_t> gid = std::nullopt);
    /// Adds members that share the events of a published set, and count from 0.
    /// \throws Error: Cause::no_such_set, with similar names; no_set_permission...
    NewMembers join(const std::string& name);
    /// Ends a name. Who has joined keeps the events. \throws as join().
    void unpublish(const std::string& name);
    /// One sweep, in the format chosen. Does not allocate.
    /// \return bytes read.
    /// \throws Error: Cause::buffer_too_small, see info()...
    std::size_t read(std::span<std::byte> buffer);
    /// One sweep in Format::framed into a snapshot. Allocates only if a group has grown.
    void read(Snapshot& snapshot);
    /// The same, but members on other CPUs are neither read nor in the snapshot. An empty list
    /// gives a snapshot without records.
    void read(Snapshot& snapshot, const CpuList& cpus);
    /// One sweep that copies nothing: see Mapping.
    void sweep();
    /// Starts a stream of this handle: `period`, `ring_size`, `watermark` and `flags` are as in
    /// perf_metagroup_stream. See Stream for reading it.
    /// \return the same with `first`, `map_offset` and `map_stride`.
    /// \throws Error: Cause::stream_running, too_many_streams, buffer_too_small...; wrong_module if
    ///         the module is too old for it.
    perf_metagroup_stream start_stream(const perf_metagroup_stream& stream);
    /// Stops it. \return deadlines lost that no ring reports, of all CPUs.
    std::uint64_t stop_stream();
    /// The descriptor, for poll loops and passing on; -1 if moved from.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    explicit Device(detail::UniqueFd fd);
    NewMembers open_set(perf_metagroup_open_set& set, const SetOptions& options);
    bool set_events(perf_metagroup_events& replacement);
    template <typename Read>
    void read_whole(Snapshot& snapshot, const Read& call);

    detail::UniqueFd fd_;
};

}  // namespace metagroup
