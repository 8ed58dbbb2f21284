// SPDX-License-Identifier: MIT
// Listening sockets: of addresses, or passed by systemd.
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
// without one, all addresses. Of a name, the first address that can be listened on. \throws
// std::invalid_argument that gives an example, std::system_error that names address, reason and
// remedy.
Listener listen_on(const std::string& address);

// The sockets that the service manager passes, see sd_listen_fds(3); each once.
// \throws std::runtime_error if one of them is no listening socket.
std::vector<Listener> take_passed_sockets();

}  // namespace tool
