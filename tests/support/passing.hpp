// SPDX-License-Identifier: MIT
// Descriptors in messages over Unix sockets.
#pragma once

#include <span>
#include <vector>

#include "fd.hpp"

namespace metagroup::test {

// Both throw if the socket fails. A message of no descriptors is one, too.
void send_fds(int socket, std::span<const int> fds);
std::vector<Fd> receive_fds(int socket);

}  // namespace metagroup::test
