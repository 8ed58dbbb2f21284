// SPDX-License-Identifier: MIT
// Listening sockets, created for addresses or passed by systemd.
#pragma once

#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <vector>

namespace tool {

struct Listener {
    metagroup::detail::UniqueFd socket;
    std::string url;  // http://[::1]:19468/metrics, or the path of a Unix socket
};

// Listens on HOST:PORT. The host is a name, an IPv4 address, or an IPv6 address in brackets;
// without a host, listens on all addresses. For a name, uses the first address that works. \throws
// std::invalid_argument with an example, std::system_error naming address, reason and remedy.
Listener listen_on(const std::string& address);

// The sockets passed by the service manager, see sd_listen_fds(3), without duplicates.
// \throws std::runtime_error if one of them is not a listening socket.
std::vector<Listener> take_passed_sockets();

}  // namespace tool
