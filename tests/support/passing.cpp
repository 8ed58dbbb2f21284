// SPDX-License-Identifier: MIT
#include "passing.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace metagroup::test {
namespace {

constexpr std::size_t kMost = 16;

// A message of one byte and some descriptors.
struct Message {
    char byte = 'x';
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
    msghdr header{};

    Message() {
        header.msg_iov = &data;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
    }
    Message(const Message&) = delete;  // it points into itself
    Message& operator=(const Message&) = delete;
};

void demand_one(ssize_t bytes, const char* what) {
    if (bytes < 0) throw std::system_error(errno, std::generic_category(), what);
    if (bytes != 1) throw std::runtime_error(what);
}

}  // namespace

void send_fds(int socket, std::span<const int> fds) {
    if (fds.size() > kMost) throw std::length_error("too many descriptors for one message");
    Message message;
    message.header.msg_controllen = fds.empty() ? 0 : CMSG_SPACE(fds.size_bytes());
    if (!fds.empty()) {
        cmsghdr* const part = CMSG_FIRSTHDR(&message.header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
    }
    demand_one(::sendmsg(socket, &message.header, MSG_NOSIGNAL), "sending descriptors");
}

std::vector<Fd> receive_fds(int socket) {
    Message message;
    demand_one(::recvmsg(socket, &message.header, 0), "receiving descriptors");
    std::vector<Fd> fds;
    const cmsghdr* const part = CMSG_FIRSTHDR(&message.header);
    if (!part) return fds;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
        fds.emplace_back(fd);
    }
    return fds;
}

}  // namespace metagroup::test
