// SPDX-License-Identifier: MIT
#include "export/connections.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace tool {

void Connections::opened(int fd) {
    const auto now = Clock::now();
    all_.push_back({.fd = fd, .since = now, .waiting = true, .shut = false});
    for (Connection& one : all_)
        if (one.waiting && now - one.since > kArrival) shut(one);
    const auto open = std::ranges::count(all_, false, &Connection::shut);
    if (static_cast<std::size_t>(open) > most_)
        shut(*std::ranges::find(all_, false, &Connection::shut));
}

void Connections::served(int fd) {
    const auto found = std::ranges::find(all_, fd, &Connection::fd);
    if (found == all_.end()) return;
    found->waiting = false;
    all_.splice(all_.end(), all_, found);
}

void Connections::closed(int fd) {
    all_.remove_if([fd](const Connection& one) { return one.fd == fd; });
}

// The library sees the end, and closes it.
void Connections::shut(Connection& connection) {
    connection.shut = true;
    ::shutdown(connection.fd, SHUT_RDWR);
}

std::size_t connection_limit(std::size_t listeners) {
    constexpr std::size_t kMost = 64;
    constexpr std::size_t kLeast = 4;
    constexpr std::size_t kOthers = 8;  // of sweeps, sysfs, and the library
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const std::filesystem::directory_iterator open("/proc/self/fd");
    const auto used = static_cast<std::size_t>(std::distance(begin(open), end(open))) + kOthers;
    const std::size_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    return std::clamp(left / listeners, kLeast, kMost);
}

}  // namespace tool
