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

/// The format of the data that read() of a handle returns.
enum class Format : std::uint32_t {
    raw = PERF_METAGROUP_FORMAT_RAW,        ///< the payloads, one after the other
    framed = PERF_METAGROUP_FORMAT_FRAMED,  ///< a snapshot header and records
};

/// The CPUs that sweeps do not interrupt.
struct Mode {
    /// Do not wake idle CPUs: their records (Status::idle) date from idle entry.
    bool quiet = false;
    /// Do not interrupt CPUs isolated with nohz_full= or isolcpus=: their records are
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
    std::vector<std::uint64_t> ids{};  ///< identifiers of its events, leader first
    std::uint32_t generation = 0;      ///< how often the events of a set were reopened
    int error = 0;                     ///< errno of the last attempt to reopen, or 0
    std::size_t failed = 0;            ///< index of the event that caused it
    std::uint32_t reason = 0;          ///< PERF_METAGROUP_REASON_* for that event
    std::uint32_t users = 0;           ///< set members that share its events; 0 for a group
};

/// How a set is opened.
struct SetOptions {
    /// The CPUs; by default, those that are online, or with `follow` those that are present.
    std::optional<CpuList> cpus{};
    /// The module reopens the events when their CPU comes online. A CPU that is offline now is then
    /// not an error.
    bool follow = false;
    /// Of the payloads; must include ReadFormat::group.
    std::uint64_t read_format = default_read_format;
};

/// The members that a call created, numbered consecutively: for each set one per CPU, in ascending
/// order.
struct NewMembers {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// An operation on set members, on many CPUs at the same moment.
enum class Operation : std::uint32_t {
    start = PERF_METAGROUP_START,  ///< counts continue from their current values
    stop = PERF_METAGROUP_STOP,    ///< counts and times do not advance
    reset = PERF_METAGROUP_RESET,  ///< counts become 0; times are kept
};

/// When an operation took effect: CLOCK_MONOTONIC in nanoseconds.
struct OperationTime {
    std::uint64_t begin_ns = 0;  ///< before the first CPU
    std::uint64_t end_ns = 0;    ///< after the last CPU
    std::uint64_t skew_ns = 0;   ///< between the first and the last CPU
    std::uint32_t members = 0;   ///< number affected
};

/// A thin owner of one handle: each function is one system call of linux/perf_metagroup.h, which
/// describes its meaning and all errors. Failures throw Error with the kernel's errno. A call
/// interrupted by a signal is restarted. Move-only; the meta-group is destroyed with its last
/// descriptor.
class METAGROUP_API Device {
  public:
    /// Opens the device: a new, empty meta-group whose read format is Format::raw.
    /// \throws Error: Cause::no_module, no_device_permission, wrong_module...
    static Device open(const std::string& path = PERF_METAGROUP_DEVICE);
    /// Takes ownership of a descriptor, for example one passed by another process; closes it even
    /// on error.
    /// \throws Error (Cause::wrong_module) if it does not refer to this device, or the module's ABI
    ///         differs.
    explicit Device(int fd);

    /// Limits and current size of the meta-group.
    [[nodiscard]] perf_metagroup_info info() const;
    /// Attaches the leaders behind these descriptors as members, all or none. The descriptors may
    /// then be closed; those of siblings must stay open.
    /// \return number of the first member; the others follow.
    /// \throws Error: Cause::bad_descriptor, already_attached, too_many_members...; names the
    ///         offending descriptor.
    std::uint32_t attach(std::span<const int> leader_fds);
    /// Removes one member. \throws Error: Cause::no_such_member...
    void detach(std::uint32_t member);
    /// Enables all members, siblings included.
    void enable();
    /// Disables all members, siblings included.
    void disable();
    /// Sets all counts to 0 but keeps the times, as PERF_EVENT_IOC_RESET does.
    void reset();
    /// Sets the format of read().
    void set_format(Format format);
    /// Sets the CPUs that sweeps do not interrupt. \throws Error: Cause::too_many_quiet...
    void set_mode(Mode mode);
    /// The state of one member. \throws Error: Cause::no_such_member...
    [[nodiscard]] MemberInfo member(std::uint32_t member) const;
    /// Opens a set: kernel events on many CPUs, all or none, with one member per CPU. The events
    /// are pinned, belong to no perf group, and need no descriptors. Requires CAP_SYS_ADMIN.
    /// \throws Error: Cause::no_set_permission, pmu_busy, unsupported_event, cpu_offline...; names
    ///         event and CPU.
    NewMembers open_set(std::span<const EventSpec> events, const SetOptions& options = {});
    /// The same without privilege: each descriptor is an event opened by perf_event_open(2) with
    /// pid -1 on any CPU, and may then be closed.
    NewMembers open_set(std::span<const int> templates, const SetOptions& options = {});
    /// Starts, stops or resets the set members on these CPUs, by default on all, with one
    /// broadcast.
    OperationTime control(Operation operation, const std::optional<CpuList>& cpus = std::nullopt);
    /// The events of a set member, reduced to the fields that the module uses, in payload order.
    /// \throws Error: Cause::no_such_member; Cause::other if the member is a group.
    [[nodiscard]] std::vector<perf_event_attr> events(std::uint32_t member) const;
    /// Replaces the events of a set member, thus on one CPU, all or none. The member keeps its
    /// number, position and read format, and stays started or stopped. Its counts and times begin
    /// at 0, its identifiers are new, and its payload has one value per new event: Match::changed,
    /// or MemberDelta::reopened(). The old and the new events need counters at the same time for a
    /// moment, and the CPU must be online. Requires CAP_SYS_ADMIN.
    /// \throws Error as open_set() and events(); names the event. The member then keeps its events.
    /// \throws std::invalid_argument if `events` is empty.
    void set_events(std::uint32_t member, std::span<const EventSpec> events);
    /// The same without privilege, with descriptors as for open_set().
    void set_events(std::uint32_t member, std::span<const int> templates);
    /// Publishes the sets of this meta-group under a name, which keeps their events when the handle
    /// is closed. `mode` says who may join: 0400 the owner, 0040 the group `gid` (by default the
    /// caller's), 0004 all. See PublishedSet for a list.
    /// \throws Error: Cause::no_set_permission, set_exists, bad_set_name...
    void publish(const std::string& name, unsigned mode = 0440,
                 std::optional<std::uint32_t> gid = std::nullopt);
    /// Adds members that share the events of a published set and count from 0.
    /// \throws Error: Cause::no_such_set, with similar names; no_set_permission...
    NewMembers join(const std::string& name);
    /// Removes a name. Existing users keep counting. \throws as join().
    void unpublish(const std::string& name);
    /// One sweep, in the format of set_format(). Does not allocate.
    /// \return bytes read.
    /// \throws Error: Cause::buffer_too_small, see info()...
    std::size_t read(std::span<std::byte> buffer);
    /// One sweep in Format::framed into a snapshot. Allocates only if a group has grown.
    void read(Snapshot& snapshot);
    /// The same, but members on other CPUs are neither read nor in the snapshot. With an empty list
    /// the snapshot has no records.
    void read(Snapshot& snapshot, const CpuList& cpus);
    /// One sweep without a copy: see Mapping.
    void sweep();
    /// Starts a stream of this handle: `period`, `ring_size`, `watermark` and `flags` are as in
    /// perf_metagroup_stream. See Stream for reading it.
    /// \return the same with `first`, `map_offset` and `map_stride`.
    /// \throws Error: Cause::stream_running, too_many_streams, buffer_too_small...; wrong_module if
    ///         the module is too old.
    perf_metagroup_stream start_stream(const perf_metagroup_stream& stream);
    /// Stops the stream. \return lost deadlines that no ring reports, of all CPUs.
    std::uint64_t stop_stream();
    /// The descriptor, to poll or to pass on; -1 if moved from.
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
