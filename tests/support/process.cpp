// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
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

constexpr unsigned kNobody = 65534;

void check(long result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

// These capabilities and no others.
void set_capabilities(__u64 mask) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    for (unsigned word = 0; word < data.size(); ++word) {
        const auto bits = static_cast<__u32>(mask >> 32 * word);
        data[word] = {bits, bits, 0};
    }
    check(::syscall(SYS_capset, &header, data.data()), "capset");
}

void become_nobody() {
    check(::setgroups(0, nullptr), "setgroups");
    check(::setresgid(kNobody, kNobody, kNobody), "setresgid");
    check(::setresuid(kNobody, kNobody, kNobody), "setresuid");
    // Or the files of this process in /proc would still be root's.
    check(::prctl(PR_SET_DUMPABLE, 1), "PR_SET_DUMPABLE");
}

void write_text(const char* path, const std::string& text) {
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    check(::write(file.get(), text.data(), text.size()), path);
}

void become(Identity identity) {
    switch (identity) {
        case Identity::root:
            return;
        case Identity::bare_root:
            for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
                // Older kernels have fewer.
                if (::prctl(PR_CAPBSET_DROP, capability) && errno != EINVAL)
                    check(-1, "PR_CAPBSET_DROP");
            }
            return set_capabilities(0);
        case Identity::monitor:
            check(::prctl(PR_SET_KEEPCAPS, 1), "PR_SET_KEEPCAPS");
            become_nobody();
            return set_capabilities(__u64{1} << CAP_PERFMON);
        case Identity::user:
            return become_nobody();
        case Identity::container:
            become_nobody();
            check(::unshare(CLONE_NEWUSER), "a user namespace");
            write_text("/proc/self/setgroups", "deny");
            write_text("/proc/self/uid_map", "0 " + std::to_string(kNobody) + " 1");
            write_text("/proc/self/gid_map", "0 " + std::to_string(kNobody) + " 1");
            return;
    }
}

// A child that runs `body` and ends; its status is what `body` returns, 255 if it throws.
template <typename Body>
pid_t start(const Body& body) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
        ::_exit(body());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
    } catch (...) {
        std::fprintf(stderr, "child: unknown exception\n");
    }
    ::_exit(255);
}

int answer(int socket, Identity identity, const detail::Action& action, std::size_t size) {
    constexpr int kept = 3;
    check(::dup2(socket, kept), "dup2");
    check(::close_range(kept + 1, ~0U, 0), "close_range");
    become(identity);
    const std::vector<Fd> given = receive_fds(kept);
    std::vector<int> fds;
    for (const Fd& fd : given)
        fds.push_back(fd.get());
    std::vector<std::byte> result(size);
    action(fds, result.data());
    return ::write(kept, result.data(), size) == static_cast<ssize_t>(size) ? 0 : 1;
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

int exit_status(pid_t child) {
    int status = 0;
    check(::waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int in_child(const std::function<int()>& body) {
    return exit_status(start(body));
}

const char* name(Identity identity) {
    switch (identity) {
        case Identity::root:
            return "root";
        case Identity::bare_root:
            return "root without capabilities";
        case Identity::monitor:
            return "a user with CAP_PERFMON";
        case Identity::user:
            return "a user";
        case Identity::container:
            return "root of a user namespace";
    }
    return "?";
}

int identity_error(Identity identity) {
    return exit_status(start([identity] {
        try {
            become(identity);
            return 0;
        } catch (const std::system_error& error) {
            return error.code().value();
        }
    }));
}

void detail::run_as(Identity identity, std::span<const int> fds, const Action& action, void* result,
                    std::size_t size) {
    std::array<int, 2> pair{};
    check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), "socketpair");
    Fd here(pair[0]);
    Fd there(pair[1]);
    const pid_t child = start([&] { return answer(there.get(), identity, action, size); });
    check(child, "fork");
    there.reset();
    send_fds(here.get(), fds);
    const ssize_t got = ::read(here.get(), result, size);
    here.reset();
    if (exit_status(child) != 0 || got != static_cast<ssize_t>(size))
        throw std::runtime_error(std::string("no result of ") + name(identity));
}

}  // namespace metagroup::test
