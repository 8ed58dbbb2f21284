// SPDX-License-Identifier: MIT
// HTTP server with one page, /metrics.
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
    // One thread per listener calls `page` for each request. \throws std::runtime_error.
    using Page = std::function<std::string(Format)>;
    Server(std::vector<Listener> listeners, Page page);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Closes connections of slow clients; call this periodically.
    void shut_late();

    struct Service;  // for one listener

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
