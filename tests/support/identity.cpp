// SPDX-License-Identifier: MIT
#include "identity.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include "fd.hpp"
#include "passing.hpp"

namespace metagroup::test {
namespace {

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

void become(Who who) {
    switch (who) {
        case Who::root:
            return;
        case Who::bare_root:
            for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
                // Older kernels have fewer.
                if (::prctl(PR_CAPBSET_DROP, capability) && errno != EINVAL)
                    check(-1, "PR_CAPBSET_DROP");
            }
            return set_capabilities(0);
        case Who::monitor:
            check(::prctl(PR_SET_KEEPCAPS, 1), "PR_SET_KEEPCAPS");
            become_nobody();
            return set_capabilities(__u64{1} << CAP_PERFMON);
        case Who::user:
            return become_nobody();
        case Who::container:
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

int end(pid_t child) {
    int status = 0;
    check(::waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int answer_to(int socket, Who who, const detail::Question& question, std::size_t size) {
    constexpr int kept = 3;
    check(::dup2(socket, kept), "dup2");
    check(::close_range(kept + 1, ~0U, 0), "close_range");
    become(who);
    const std::vector<Fd> given = receive_fds(kept);
    std::vector<int> fds;
    for (const Fd& fd : given)
        fds.push_back(fd.get());
    std::vector<std::byte> answer(size);
    question(fds, answer.data());
    return ::write(kept, answer.data(), size) == static_cast<ssize_t>(size) ? 0 : 1;
}

}  // namespace

const char* name(Who who) {
    switch (who) {
        case Who::root:
            return "root";
        case Who::bare_root:
            return "root without capabilities";
        case Who::monitor:
            return "a user with CAP_PERFMON";
        case Who::user:
            return "a user";
        case Who::container:
            return "root of a user namespace";
    }
    return "?";
}

int refusal(Who who) {
    return end(start([who] {
        try {
            become(who);
            return 0;
        } catch (const std::system_error& error) {
            return error.code().value();
        }
    }));
}

void detail::ask(Who who, std::span<const int> given, const Question& question, void* answer,
                 std::size_t size) {
    std::array<int, 2> pair{};
    check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), "socketpair");
    Fd here(pair[0]);
    Fd there(pair[1]);
    const pid_t child = start([&] { return answer_to(there.get(), who, question, size); });
    check(child, "fork");
    there.reset();
    send_fds(here.get(), given);
    const ssize_t got = ::read(here.get(), answer, size);
    here.reset();
    if (end(child) != 0 || got != static_cast<ssize_t>(size))
        throw std::runtime_error(std::string("no answer of ") + name(who));
}

}  // namespace metagroup::test
