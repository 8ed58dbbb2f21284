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

/// How counters are read. Snapshots are the same, except that read(2) of a leader provides less
/// information than the module: `per_fd` never reports Status::inactive, takes the time of a member
/// from the reader's clock after the read, and may report Status::offline of a single event one
/// snapshot late. If the CPU is back by then, the report takes another 0.1 s, and for a single
/// event of a cgroup it never comes. `percpu` does the same, but its times are taken on the CPU
/// that is read. It always reads all online CPUs, even if the snapshot has only some, and supports
/// neither cgroups nor events that are counted on certain CPUs only. Its streams are those of
/// `per_fd`.
enum class Backend {
    automatic,  ///< `module` if the device can be used, else `per_fd`
    module,     ///< the kernel module: one read(2) of /dev/perf_metagroup for all
    per_fd,     ///< one read(2) per leader; needs no module
    /// Experimental: one read(2) for each group, of an event on all CPUs (PERF_FORMAT_PERCPU), on
    /// kernels with the patches in `upstream/`. Linux does not have them, so `automatic` does not
    /// use it.
    percpu,
};

/// `automatic`, `module`, `per-fd` or `percpu`.
METAGROUP_API std::string_view to_string(Backend backend) noexcept;

/// Where counts come from. Snapshots are the same, but each event of a set is pinned: it is never
/// multiplexed, and nothing else can use its counter. Sets need no descriptors, share counters with
/// other sets that count the same events, have identifiers assigned by the module, and continue
/// when a CPU comes back online: see MemberDelta::reopened().
enum class EventOrigin {
    automatic,  ///< `groups`, unless Options::follow or Options::set is given
    groups,     ///< event groups of perf_event_open(2), which may be multiplexed
    set,        ///< events opened by the module; requires Backend::module
    name,       ///< the events of a published set that was joined
};

/// `automatic`, `groups`, `set` or `name`.
METAGROUP_API std::string_view to_string(EventOrigin origin) noexcept;

/// Event groups on many CPUs. Move-only. One thread at a time may use it.
class METAGROUP_API MetaGroup {
  public:
    struct Options {
        /// The groups; each is opened on every CPU that can count it. Weak groups are split where
        /// needed: see divide_weak().
        std::vector<GroupSpec> groups{};
        /// The CPUs; by default, those that are online when the meta-group is opened.
        std::optional<CpuList> cpus{};
        /// Count only while tasks of this cgroup run: its path relative to /sys/fs/cgroup, or
        /// wherever cgroups are mounted. Empty for all tasks. The times of a cgroup do not advance
        /// while it is not running.
        std::string cgroup{};
        Backend backend = Backend::automatic;
        /// With `automatic`, counters are pinned only if `follow` is set; if a PMU then has too
        /// few, falls back to groups.
        EventOrigin origin = EventOrigin::automatic;
        /// Join this published set. It determines groups, CPUs and read format, which must not be
        /// given; nor can it be limited to a cgroup.
        std::string set{};
        /// Prefer sets, which count again on a CPU that comes back online; for groups see
        /// LiveGroup. A CPU that is offline when a set is opened is then not an error.
        bool follow = false;
        /// Do not start counting until enable().
        bool start_disabled = false;
        /// Of the leaders; siblings are read only with ReadFormat::group.
        std::uint64_t read_format = default_read_format;
        /// The CPUs that sweeps do not interrupt. Anything but the default requires the module.
        Mode mode = {};
        /// The device to use for Backend::module.
        std::string device = PERF_METAGROUP_DEVICE;
    };

    /// One member: a group on a CPU.
    struct Member {
        std::uint32_t number = 0;  ///< as in MemberView::member()
        int cpu = -1;              ///< where it was opened
        std::size_t group = 0;     ///< index in groups()
    };

    /// Opens every group on every CPU, CPU by CPU (sets: group by group), all or none, and finally
    /// enables them. A group with an event that only certain CPUs can count (EventSpec::cpus) is
    /// opened only on those in the list. Backend::module closes the leaders' descriptors on the
    /// way, so that only siblings need descriptors; the soft limit of descriptors is raised if
    /// needed. \throws std::invalid_argument if there is no group, one is empty, the list of CPUs
    /// is empty, or Options::set is combined with an option that it excludes. \throws Error naming
    /// event, CPU or cgroup, and remedy.
    static MetaGroup open(const Options& options);

    MetaGroup(MetaGroup&&) noexcept;
    MetaGroup& operator=(MetaGroup&&) noexcept;
    MetaGroup(const MetaGroup&) = delete;
    MetaGroup& operator=(const MetaGroup&) = delete;
    ~MetaGroup();

    /// One sweep. Record `i` of the snapshot is members()[i]. Allocates only if the snapshot is too
    /// small, as it is the first time. \throws Error.
    void read(Snapshot& snapshot);
    /// The same for the members on some CPUs only: the others are neither read nor in the snapshot,
    /// so use SnapshotView::find() to locate records. With an empty list the snapshot has no
    /// records. Does not allocate either: the list stores its mask.
    void read(Snapshot& snapshot, const CpuList& cpus);
    /// One sweep, with Backend::module without a copy: the fastest way to read. The view is valid
    /// until the next call of any function. \throws Error.
    [[nodiscard]] SnapshotView sweep() &;
    SnapshotView sweep() && = delete;
    /// Enables all members. Tries all, then throws the first error. \throws Error.
    void enable();
    /// Disables all members. \throws as enable().
    void disable();
    /// Sets all counts to 0. \throws as enable().
    void reset();

    /// The backend in use, never Backend::automatic.
    [[nodiscard]] Backend backend() const noexcept;
    /// The reason for this backend as text, for example the error of Backend::module.
    [[nodiscard]] const std::string& backend_reason() const& noexcept;
    [[nodiscard]] std::string backend_reason() &&;
    /// The origin in use, never EventOrigin::automatic, and the reason for it as text.
    [[nodiscard]] EventOrigin origin() const noexcept;
    [[nodiscard]] const std::string& origin_reason() const& noexcept;
    [[nodiscard]] std::string origin_reason() &&;
    /// The CPUs of the options, or of the set that was joined.
    [[nodiscard]] const CpuList& cpus() const& noexcept;
    const CpuList& cpus() const&& = delete;
    /// Device::publish() for a meta-group of EventOrigin::set. The name keeps the events after this
    /// object is destroyed.
    void publish(const std::string& name, unsigned mode = 0440,
                 std::optional<std::uint32_t> gid = std::nullopt);
    /// Why the events of a followed member could not be reopened, as text; empty if they were, or
    /// if that was not tried. \throws Error; std::out_of_range if i >= members().size().
    [[nodiscard]] std::string reopen_error(std::size_t i) const;
    /// The members, in the order of the snapshot's records.
    [[nodiscard]] std::span<const Member> members() const& noexcept;
    std::span<const Member> members() const&& = delete;
    /// The groups that were opened. Value `i` of a record belongs to event `i` of its group.
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
