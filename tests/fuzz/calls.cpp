// SPDX-License-Identifier: MIT
#include "calls.hpp"

#include <cerrno>

namespace fuzz {
namespace {

struct Rule {
    Call call;
    const char* name;
    Errnos explained;
    bool can_succeed = true;
    bool judged = true;
};

// EBADF: another thread may close a handle at any time.
const std::array<Rule, kCalls>& rules() {
    static const std::array<Rule, kCalls> all{{
        {Call::open, "open", {}},
        {Call::close, "close", {EBADF}},
        {Call::dup, "dup3", {EBADF}},
        {Call::open_perf, "perf_event_open", {}, true, false},
        {Call::close_perf, "close of a perf event", {}, true, false},
        {Call::control_perf, "ioctl of a perf event", {}, true, false},
        {Call::info, "INFO", {EBADF, EINTR}},
        {Call::attach, "ATTACH", {EBADF, EINVAL, EBUSY, E2BIG, ENOSPC, ENOMEM, EINTR}},
        {Call::detach, "DETACH", {EBADF, ENOENT, EINTR}},
        {Call::set_format, "SET_FORMAT", {EBADF}},
        {Call::get_member, "GET_MEMBER", {EBADF, ENOENT, EAGAIN, ENOMEM, EINTR}},
        {Call::set_mode, "SET_MODE", {EBADF, EUSERS, ENOMEM, EINTR}},
        {Call::sweep, "SWEEP", {EBADF, ENOSPC, EINTR, ENOMEM, E2BIG, EAGAIN}},
        {Call::stream, "STREAM", {EBADF, EBUSY, ENOSPC, EUSERS, ENOMEM, EINTR}},
        {Call::enable, "ENABLE", {EBADF, ENODEV, EINTR}},
        {Call::disable, "DISABLE", {EBADF, ENODEV, EINTR}},
        {Call::reset, "RESET", {EBADF, ENODEV, EINTR}},
        {Call::no_ioctl, "another ioctl", {EBADF}, false},
        {Call::read, "read", {EBADF, ENOSPC, EINTR, ENOMEM, E2BIG, EAGAIN}},
        {Call::readv, "readv", {EBADF, ENOSPC, EINTR, ENOMEM, E2BIG, EAGAIN}},
        {Call::pread, "pread", {EBADF}, false},
        {Call::write, "write", {EBADF}, false},
        {Call::lseek, "lseek", {EBADF}, false},
        {Call::mmap, "mmap", {EBADF, EINVAL, ENOMEM}},
        {Call::map_ring, "mmap of a ring", {EBADF, EINVAL, ENODEV, ENOMEM}},
        {Call::munmap, "munmap", {}},
        {Call::mprotect, "mprotect", {}, false},
        {Call::mremap, "mremap", {}, false},
        {Call::madvise, "madvise", {}},
        {Call::peek, "write from a mapping", {}},
        {Call::poll, "poll", {EINTR}},
        {Call::epoll, "epoll_ctl", {EBADF, EEXIST}},
        {Call::fcntl, "fcntl", {EBADF}},
        {Call::splice, "splice", {EBADF}, false},
        {Call::fdinfo, "read of fdinfo", {ENOENT}},
    }};
    return all;
}

const Rule& rule(Call call) {
    return rules().at(static_cast<std::size_t>(call));
}

}  // namespace

const char* name_of(Call call) {
    return rule(call).name;
}

const Errnos& explained(Call call) {
    return rule(call).explained;
}

bool can_succeed(Call call) {
    return rule(call).can_succeed;
}

const char* judge(const Outcome& outcome) {
    if (outcome.broken) return outcome.broken;
    if (!rule(outcome.call).judged) return nullptr;
    if (outcome.result >= 0)
        return outcome.must.empty() ? nullptr : "it succeeded, but had to fail";
    const auto error = static_cast<int>(-outcome.result);
    if (error >= Errnos::kEnd) return "an errno that user space does not know";
    if (outcome.must.has(error) || outcome.may.has(error) || explained(outcome.call).has(error))
        return nullptr;
    return "an error that is not documented for it";
}

}  // namespace fuzz
