// SPDX-License-Identifier: MIT
#include "offline.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/payload.hpp>
#include <optional>

namespace metagroup::detail {
namespace {

// If only ticks advance the kernel's clock, it stands still between them, for up to 10 ms.
constexpr std::uint64_t longest_tick_ns = 100'000'000;

// Does not allocate: it is part of the read path. A CPU that cannot go offline has no such file.
bool cpu_is_offline(int cpu) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/sys/devices/system/cpu/cpu%d/online", cpu);
    const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
    char state = '1';
    return fd && ::read(fd.get(), &state, 1) == 1 && state == '0';
}

}  // namespace

bool OfflineWatch::check(std::span<const std::byte> payload, std::size_t size,
                         std::uint64_t read_format, int cpu, std::uint64_t begin,
                         std::uint64_t now) noexcept {
    offline_ = offline_ || stopped(payload, size, read_format, cpu, begin, now);
    return offline_;
}

// For a cgroup, the clock also stands still while the cgroup is not running.
bool OfflineWatch::stopped(std::span<const std::byte> payload, std::size_t size,
                           std::uint64_t read_format, int cpu, std::uint64_t begin,
                           std::uint64_t now) noexcept {
    const bool shorter = payload.size() < size;
    const auto decoded = Payload::parse(payload, read_format);
    const auto time = decoded ? decoded->time_enabled() : std::nullopt;
    const bool stands_still = time && *time == last_enabled_;
    if (time && !stands_still) {
        // NTP slews one of the two clocks.
        const std::uint64_t wall = begin - std::min(begin, advanced_);
        const bool lags = last_enabled_ != unknown &&
                          *time - last_enabled_ + longest_tick_ns + wall / 1000 < wall;
        last_enabled_ = *time;
        advanced_ = now;
        if (lags && !of_cgroup_) return true;
    }
    if (!shorter && !stands_still) return false;
    if (stands_still && (shorter || !of_cgroup_) && now - advanced_ > longest_tick_ns) return true;
    return cpu_is_offline(cpu);
}

}  // namespace metagroup::detail
