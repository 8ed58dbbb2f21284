// SPDX-License-Identifier: MIT
/// \file
/// EventGroup: one event group, open on one CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/export.hpp>
#include <metagroup/payload.hpp>
#include <span>
#include <vector>

namespace metagroup {

/// The default read format of groups.
inline constexpr std::uint64_t default_read_format =
    ReadFormat::group | ReadFormat::total_time_enabled | ReadFormat::total_time_running;

/// Owns the descriptors of an event group: leader and siblings. Move-only.
class METAGROUP_API EventGroup {
  public:
    /// Opens all events of `spec` on `cpu`, disabled: for all tasks, or only for those in a cgroup
    /// if `cgroup` is a descriptor of its directory. If the process runs out of descriptors, raises
    /// its soft limit (RLIMIT_NOFILE) to the hard limit and tries again.
    /// \throws std::invalid_argument if the group has no events, `cpu` is negative, or
    ///         `read_format` has unknown bits.
    /// \throws Error with the errno of perf_event_open(2), naming event, CPU and remedy.
    static EventGroup open(const GroupSpec& spec, int cpu,
                           std::uint64_t read_format = default_read_format, int cgroup = -1);

    [[nodiscard]] int cpu() const noexcept { return cpu_; }
    /// Number of events, including the leader.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t read_format() const noexcept { return read_format_; }
    /// Bytes of its payload.
    [[nodiscard]] std::size_t payload_size() const noexcept;
    /// The leader's descriptor; -1 after release_leader().
    [[nodiscard]] int leader_fd() const noexcept { return leader_.get(); }

    /// The kernel's identifiers of its events, leader first. Not available after release_leader().
    /// \throws Error.
    [[nodiscard]] std::vector<std::uint64_t> ids() const;

    /// read(2) of the leader; does not allocate. \return bytes of payload, 0 if a pinned event
    /// could not be put on the PMU. \throws Error.
    std::size_t read(std::span<std::byte> buffer);
    /// Enables leader and siblings. \throws Error.
    void enable();
    /// Disables leader and siblings. \throws Error.
    void disable();
    /// Sets the counts of leader and siblings to 0. \throws Error.
    void reset();
    /// Closes the leader's descriptor, which is not needed once the group is attached to a
    /// meta-group. Siblings stay open: closing one would remove the event from its group.
    void release_leader() noexcept { leader_.reset(); }

  private:
    EventGroup() = default;
    void control(unsigned long request, const char* verb);

    detail::UniqueFd leader_;
    std::vector<detail::UniqueFd> siblings_;
    int cpu_ = -1;
    std::size_t size_ = 0;
    std::uint64_t read_format_ = 0;
};

/// True unless this machine lacks an event or PMU of the group, or the PMU has too few counters for
/// the whole group. Lack of permission, descriptors or free counters is reported by open().
/// \throws std::invalid_argument if the group has no events.
METAGROUP_API bool can_count(const GroupSpec& group);

/// Splits each weak group that cannot be counted into groups of one event. The other groups are no
/// longer weak: MetaGroup::open() does not test them again. \throws as can_count().
METAGROUP_API std::vector<GroupSpec> divide_weak(std::vector<GroupSpec> groups);

}  // namespace metagroup
