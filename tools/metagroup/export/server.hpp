// SPDX-License-Identifier: MIT
// HTTP on listening sockets: one page, /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "export/accept.hpp"
#include "export/connections.hpp"
#include "export/listener.hpp"

struct MHD_Daemon;

namespace tool {

class Server {
  public:
    // A thread for each listener calls `page` for each request. \throws std::runtime_error.
    using Page = std::function<std::string(Format)>;
    Server(std::vector<Listener> listeners, Page page);

    // Ends connections of clients that are too slow; to be called again and again.
    void shut_late();

    struct Service;  // of one listener

  private:
    struct Stop {
        void operator()(MHD_Daemon* daemon) const;
    };

    std::vector<Listener> listeners_;
    Page page_;
    std::vector<std::unique_ptr<Service>> services_;
    std::vector<std::unique_ptr<MHD_Daemon, Stop>> daemons_;
};

}  // namespace tool
