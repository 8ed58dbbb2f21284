// SPDX-License-Identifier: MIT
// The connections of a listener: those that are silent for long make way for new ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>

namespace tool {

// For one thread.
class Connections {
  public:
    // The time that a request may take to arrive.
    static constexpr std::chrono::seconds kArrival{10};

    explicit Connections(std::size_t most) : most_(most) {}

    // Shuts those whose request has not arrived in time, and the one that has been silent for
    // longest if there are too many.
    void opened(int fd);
    // A request has arrived.
    void served(int fd);
    void closed(int fd);

  private:
    using Clock = std::chrono::steady_clock;

    struct Connection {
        int fd;
        Clock::time_point since;
        bool waiting;
        bool shut;
    };

    void shut(Connection& connection);

    std::size_t most_;
    std::list<Connection> all_;  // the one that has been silent for longest first
};

// The connections that a listener can have, of `listeners`, so that descriptors are left. Raises
// the soft limit of descriptors.
std::size_t connection_limit(std::size_t listeners);

}  // namespace tool
