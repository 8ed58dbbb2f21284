// SPDX-License-Identifier: MIT
// Finds out, from what read(2) of its leader returns, that the CPU of a group has gone offline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metagroup::detail {

/// Follows one group by its payloads. Offlining removes events from their CPU for good, which stops
/// the clock of an enabled group even if the CPU is back by now, and may dissolve the group.
class OfflineWatch {
  public:
    explicit OfflineWatch(bool of_cgroup = false) : of_cgroup_(of_cgroup) {}

    /// Call when the group is enabled.
    void restart() noexcept { last_enabled_ = unknown; }
    /// Once true, always true.
    [[nodiscard]] bool is_offline() const noexcept { return offline_; }
    /// Checks the payload of an enabled group on `cpu`, which has `size` bytes if the group is
    /// complete, and was read between `begin` and `now`. \return is_offline(). Does not allocate.
    bool check(std::span<const std::byte> payload, std::size_t size, std::uint64_t read_format,
               int cpu, std::uint64_t begin, std::uint64_t now) noexcept;

  private:
    static constexpr std::uint64_t unknown = UINT64_MAX;

    [[nodiscard]] bool stopped(std::span<const std::byte> payload, std::size_t size,
                               std::uint64_t read_format, int cpu, std::uint64_t begin,
                               std::uint64_t now) noexcept;

    std::uint64_t last_enabled_ = unknown;  // time_enabled of the last payload
    std::uint64_t advanced_ = 0;            // when it first had that value
    bool of_cgroup_;
    bool offline_ = false;
};

}  // namespace metagroup::detail
