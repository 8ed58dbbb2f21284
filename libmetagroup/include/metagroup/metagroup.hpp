// SPDX-License-Identifier: MIT
/// \file
/// MetaGroup: event groups on many CPUs, read with one call.
#pragma once

#include <linux/perf_metagroup.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

class Stream;
namespace detail {
class Sampler;
struct SamplerOptions;
}  // namespace detail

/// The way of reading. The snapshots are the same, but read(2) of a leader returns less than the
/// module: with `per_fd` there is no Status::inactive, a member's time is the reader's clock after
/// its read, and Status::offline of a single event may come one snapshot late. If the CPU is back
/// by then it comes another 0.1 s later, and for a single event of a cgroup not at all.
enum class Backend {
    automatic,  ///< `module` if the device can be used, else `per_fd`
    module,     ///< the kernel module: one read(2) of /dev/perf_metagroup for all
    per_fd,     ///< one read(2) per leader; needs no module
};

/// `automatic`, `module` or `per-fd`.
METAGROUP_API std::string_view to_string(Backend backend) noexcept;

/// The source of the counts. Snapshots are the same, but the events of a set are pinned, each by
/// itself: they are never multiplexed, and others cannot have their counters. They need neither
/// descriptors nor a sweep that was interrupted, share counters with other sets that count the
/// same, have identifiers of the module's own, and go on when a CPU that was offline is back:
/// MemberDelta::reopened().
enum class EventOrigin {
    automatic,  ///< `groups`, unless Options::follow or Options::set asks for another
    groups,     ///< event groups of perf_event_open(2), which may take turns on the PMU
    set,        ///< events that the module has opened; needs Backend::module
    name,       ///< those of a published set that was joined
};

/// `automatic`, `groups`, `set` or `name`.
METAGROUP_API std::string_view to_string(EventOrigin origin) noexcept;

/// Event groups on many CPUs. Move-only. One thread at a time may use it.
class METAGROUP_API MetaGroup {
  public:
    struct Options {
        /// The groups; each is opened on each CPU that it can be counted on. Weak groups are
        /// divided where needed: see divide_weak().
        std::vector<GroupSpec> groups{};
        /// The CPUs; if not given, those that are online when the meta-group is opened.
        std::optional<CpuList> cpus{};
        /// Count only while tasks of this cgroup run: its path as below /sys/fs/cgroup, or wherever
        /// cgroups are mounted. Empty: all tasks. Times of a cgroup stand still while it does not
        /// run.
        std::string cgroup{};
        Backend backend = Backend::automatic;
        /// `automatic` pins no counters unless `follow` is set, and then falls back to groups if a
        /// PMU has too few.
        EventOrigin origin = EventOrigin::automatic;
        /// Join this published set. Groups, CPUs and read format are its own, and must not be
        /// given; nor can it be limited to a cgroup.
        std::string set{};
        /// Open sets, since only sets count again on a CPU that is back; see LiveGroup for groups.
        /// A CPU that is offline when a set is opened is no error then.
        bool follow = false;
        /// Do not count before enable().
        bool start_disabled = false;
        /// Of the leaders; ReadFormat::group is needed to read siblings.
        std::uint64_t read_format = default_read_format;
        /// The CPUs that sweeps do not interrupt. Anything but the default needs the module.
        Mode mode = {};
        /// The device of Backend::module.
        std::string device = PERF_METAGROUP_DEVICE;
    };

    /// One member: a group on a CPU.
    struct Member {
        std::uint32_t number = 0;  ///< as in MemberView::member()
        int cpu = -1;              ///< where it was opened
        std::size_t group = 0;     ///< index in groups()
    };

    /// Opens every group on every CPU, CPU by CPU (sets: group by group), all or none, and enables
    /// them at the end. A group with an event whose PMU names the CPUs it counts on
    /// (EventSpec::cpus) is opened on those of the list only. Backend::module closes the leaders'
    /// descriptors in between, so that only siblings need descriptors; the soft limit of
    /// descriptors is raised if needed. \throws std::invalid_argument if there is no group, the
    /// list of CPUs is empty, or Options::set comes with an option that it excludes. \throws Error
    /// that names event, CPU or cgroup, and remedy.
    static MetaGroup open(const Options& options);

    MetaGroup(MetaGroup&&) noexcept;
    MetaGroup& operator=(MetaGroup&&) noexcept;
    MetaGroup(const MetaGroup&) = delete;
    MetaGroup& operator=(const MetaGroup&) = delete;
    ~MetaGroup();

    /// One sweep. Record `i` of the snapshot is members()[i]. Does not allocate unless the snapshot
    /// is too small, as it is the first time. \throws Error.
    void read(Snapshot& snapshot);
    /// The same of the members on some CPUs only: the others are neither read nor in the snapshot,
    /// so look for records by SnapshotView::find(). An empty list gives a snapshot without records.
    /// Does not allocate either: the list keeps its mask.
    void read(Snapshot& snapshot, const CpuList& cpus);
    /// One sweep without a copy if the backend is Backend::module, which is the fastest way to
    /// read. The view is valid until the next call of any function. \throws Error.
    [[nodiscard]] SnapshotView sweep() &;
    SnapshotView sweep() && = delete;
    /// Enables all members. \throws Error: all are tried, the first error is thrown.
    void enable();
    /// Disables all members. \throws as enable().
    void disable();
    /// Sets all counts to 0. \throws as enable().
    void reset();

    /// The backend in use, never Backend::automatic.
    [[nodiscard]] Backend backend() const noexcept;
    /// The reason for this backend as a text, for example the error of Backend::module.
    [[nodiscard]] const std::string& backend_reason() const& noexcept;
    [[nodiscard]] std::string backend_reason() &&;
    /// The origin in use, never EventOrigin::automatic, and the reason as a text.
    [[nodiscard]] EventOrigin origin() const noexcept;
    [[nodiscard]] const std::string& origin_reason() const& noexcept;
    [[nodiscard]] std::string origin_reason() &&;
    /// The CPUs of the options, or those of the set that was joined.
    [[nodiscard]] const CpuList& cpus() const& noexcept;
    const CpuList& cpus() const&& = delete;
    /// Device::publish() of a meta-group of EventOrigin::set. Its name keeps its events when this
    /// ends.
    void publish(const std::string& name, unsigned mode = 0440,
                 std::optional<std::uint32_t> gid = std::nullopt);
    /// Why the events of a followed member could not be opened anew, as a text; empty if they
    /// could, or were not tried. \throws Error; std::out_of_range if i >= members().size().
    [[nodiscard]] std::string problem(std::size_t i) const;
    /// The members, in the order of the snapshot's records.
    [[nodiscard]] std::span<const Member> members() const& noexcept;
    std::span<const Member> members() const&& = delete;
    /// The groups that were opened. Value `i` of a record is of event `i` of its group.
    [[nodiscard]] std::span<const GroupSpec> groups() const& noexcept;
    std::span<const GroupSpec> groups() const&& = delete;
    /// Events of a member. \throws std::out_of_range if i >= members().size().
    [[nodiscard]] std::span<const EventSpec> events(std::size_t i) const&;
    std::span<const EventSpec> events(std::size_t i) const&& = delete;
    /// Bytes that a snapshot needs.
    [[nodiscard]] std::size_t snapshot_size() const noexcept;

  private:
    friend class Stream;
    struct State;
    explicit MetaGroup(std::unique_ptr<State> state) noexcept;
    std::shared_ptr<detail::Sampler> start_sampler(const detail::SamplerOptions& options);
    std::unique_ptr<State> state_;
};

}  // namespace metagroup
