// SPDX-License-Identifier: MIT
#include "export/connections.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace tool {

// Keeps at most `most` of the open connections that `which` selects.
template <typename Which>
void Connections::keep(std::size_t most, const Which& which) {
    const auto counts = [&](const Connection& one) { return !one.shut && which(one); };
    const auto open = std::ranges::count_if(all_, counts);
    if (static_cast<std::size_t>(open) > most) shut(*std::ranges::find_if(all_, counts));
}

void Connections::opened(int fd, std::string client) {
    const std::scoped_lock lock(mutex_);
    all_.push_back({fd, std::move(client), Clock::now() + kArrival, false});
    const std::string& its = all_.back().client;
    if (!its.empty()) keep(kMostOfClient, [&](const Connection& one) { return one.client == its; });
    keep(most_, [](const Connection&) { return true; });
}

void Connections::served(int fd) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(all_, fd, &Connection::fd);
    if (found == all_.end()) return;
    found->deadline = Clock::now() + kSilence;
    all_.splice(all_.end(), all_, found);
}

void Connections::closed(int fd) {
    const std::scoped_lock lock(mutex_);
    all_.remove_if([fd](const Connection& one) { return one.fd == fd; });
}

void Connections::shut_late() {
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    for (Connection& one : all_)
        if (!one.shut && one.deadline < now) shut(one);
}

// The library notices the end of the connection and closes it after closed().
void Connections::shut(Connection& connection) {
    connection.shut = true;
    ::shutdown(connection.fd, SHUT_RDWR);
}

std::size_t connection_limit(std::size_t listeners) {
    constexpr std::size_t kMost = 64;
    constexpr std::size_t kLeast = 4;
    constexpr std::size_t kOthers = 8;  // for sweeps, sysfs and the library
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
