// SPDX-License-Identifier: MIT
// The connections of a listener: idle ones are closed in favour of new ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>

namespace tool {

class Connections {
  public:
    // Timeout for the first request.
    static constexpr std::chrono::seconds kArrival{5};
    // Timeout for sending the answer and receiving the next request.
    static constexpr std::chrono::seconds kSilence{30};
    // Maximum connections from one address.
    static constexpr std::size_t kMostOfClient = 16;

    explicit Connections(std::size_t most) : most_(most) {}

    // Shuts down the longest idle connection if this client, or all clients together, have too
    // many. `client` is the address, empty if unknown.
    void opened(int fd, std::string client);
    // Call when a request has arrived.
    void served(int fd);
    void closed(int fd);
    // Shuts down connections that have timed out.
    void shut_late();

  private:
    using Clock = std::chrono::steady_clock;

    struct Connection {
        int fd;
        std::string client;
        Clock::time_point deadline;
        bool shut;
    };

    static void shut(Connection& connection);
    template <typename Which>
    void keep(std::size_t most, const Which& which);

    std::size_t most_;
    std::mutex mutex_;
    std::list<Connection> all_;  // longest idle first
};

// The maximum number of connections for each of `listeners` listeners that leaves enough
// descriptors. Raises the soft limit of descriptors.
std::size_t connection_limit(std::size_t listeners);

}  // namespace tool
