// SPDX-License-Identifier: MIT
// The connections of a listener: silent ones make way for others.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>

namespace tool {

class Connections {
  public:
    // Time for the first request to arrive.
    static constexpr std::chrono::seconds kArrival{5};
    // Time for an answer to be taken and for the next request to arrive.
    static constexpr std::chrono::seconds kSilence{30};
    // Connections of one address.
    static constexpr std::size_t kMostOfClient = 16;

    explicit Connections(std::size_t most) : most_(most) {}

    // Shuts the one that has been silent for longest if its client, or all together, have too many.
    // `client` is the address, empty if it is not known.
    void opened(int fd, std::string client);
    // A request has arrived.
    void served(int fd);
    void closed(int fd);
    // Shuts those whose time has passed.
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
    std::list<Connection> all_;  // the one that has been silent for longest first
};

// The connections that a listener can have, of `listeners`, so that descriptors are left. Raises
// the soft limit of descriptors.
std::size_t connection_limit(std::size_t listeners);

}  // namespace tool
