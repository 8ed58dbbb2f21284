// SPDX-License-Identifier: MIT
// Child processes: with other credentials, and with descriptors that were sent to them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <functional>
#include <metagroup/detail/unique_fd.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace metagroup::test {

using Fd = ::metagroup::detail::UniqueFd;

// Descriptors in messages over Unix sockets. Both throw if the socket fails. A message may have no
// descriptors.
void send_fds(int socket, std::span<const int> fds);
std::vector<Fd> receive_fds(int socket);

// The exit status of a child, once it has ended; 255 if it was killed.
int exit_status(pid_t child);

// That of a child that runs `body`; 255 if that throws or the child is killed.
int in_child(const std::function<int()>& body);

enum class Identity {
    root,
    bare_root,  // uid 0 without capabilities, now or ever: the bounding set is empty
    monitor,    // the user nobody, with CAP_PERFMON
    user,       // the user nobody
    container,  // root of a user namespace, with all capabilities there; `nobody` outside
};

inline constexpr std::array kIdentities = {Identity::root, Identity::bare_root, Identity::monitor,
                                           Identity::user, Identity::container};

const char* name(Identity identity);

// The errno with which the kernel refuses to change to that identity, or 0.
int identity_error(Identity identity);

namespace detail {
using Action = std::function<void(std::span<const int> fds, void* result)>;
void run_as(Identity identity, std::span<const int> fds, const Action& action, void* result,
            std::size_t size);
}  // namespace detail

// Returns the result of `action`, called in a child with that identity and no other descriptors
// than copies of `fds`, which it received over a Unix socket. Throws if `action` does.
template <typename Action>
auto run_as(Identity identity, std::span<const int> fds, const Action& action) {
    using Result = std::invoke_result_t<Action, std::span<const int>>;
    static_assert(std::is_trivially_copyable_v<Result>, "it goes through a socket");
    Result result{};
    detail::run_as(
        identity, fds,
        [&action](std::span<const int> received, void* out) {
            *static_cast<Result*>(out) = action(received);
        },
        &result, sizeof(result));
    return result;
}

}  // namespace metagroup::test
