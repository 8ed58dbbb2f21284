// SPDX-License-Identifier: MIT
#include "calls.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace fuzz {
namespace {

// No access, read and write, no access, a read-only page, no access.
constexpr std::size_t kAll = kPage + Arena::kSize + 3 * kPage;
constexpr unsigned char kCanary = 0xC5;

void allow(unsigned char* at, std::size_t size, int protection) {
    if (::mprotect(at, size, protection))
        throw std::system_error(errno, std::generic_category(), "mprotect");
}

// Another size than that of this version. `bytes` gets it, unless it is too small or too large.
std::uint32_t resize(std::vector<unsigned char>& bytes, Random& random, std::size_t least,
                     Errnos& must) {
    const std::size_t known = bytes.size();
    switch (random.below(6)) {
        case 0: {  // too small
            const std::uint32_t sizes[] = {0, 1, 4, static_cast<std::uint32_t>(least - 1)};
            must |= {EINVAL};
            return random.pick(sizes);
        }
        case 1: {  // too large
            const std::uint32_t sizes[] = {kPage + 1, 0x7FFFFFFF, 0xFFFFFFFF};
            must |= {E2BIG};
            return random.pick(sizes);
        }
        case 2:  // of a later version, with unknown fields set
            bytes.resize(known + 1 + random.below(kPage - known));
            bytes[known + random.below(bytes.size() - known)] = 1;
            must |= {E2BIG};
            break;
        case 3:  // of an earlier version
            bytes.resize(least + random.below(known - least + 1));
            break;
        default:  // of a later version
            bytes.resize(known + random.below(kPage - known + 1));
    }
    return static_cast<std::uint32_t>(bytes.size());
}

}  // namespace

Arena::Arena() {
    void* const at =
        ::mmap(nullptr, kAll, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    all_ = static_cast<unsigned char*>(at);
    begin_ = all_ + kPage;
    end_ = begin_ + kSize;
    read_only_ = end_ + kPage;
    allow(begin_, kSize, PROT_READ | PROT_WRITE);
    allow(read_only_, kPage, PROT_READ);
}

Arena::~Arena() {
    ::munmap(all_, kAll);
}

unsigned char* Arena::guarded(std::size_t size) const {
    std::fill_n(begin_ + size, kGuard, kCanary);
    return begin_;
}

bool Arena::guard_intact(std::size_t size) const {
    return std::all_of(begin_ + size, begin_ + size + kGuard,
                       [](unsigned char byte) { return byte == kCanary; });
}

void Arena::fill(unsigned char* at, std::span<const unsigned char> bytes) const {
    if (at == read_only_) allow(read_only_, kPage, PROT_READ | PROT_WRITE);
    std::copy(bytes.begin(), bytes.end(), at);
    if (at == read_only_) allow(read_only_, kPage, PROT_READ);
}

std::uint64_t Arena::invalid(Random& random) {
    static constexpr std::uint64_t kAddresses[] = {
        0,
        8,
        0x00007FFFFFFFF000,  // the last page of user space, and what follows
        0x00007FFFFFFFFFFC,
        0x0000800000000000,  // not canonical
        0xFFFF888000000000,  // the kernel's
        0xFFFFFFFF81000000,
        0xFFFFFFFFFFFFF000,
        0xFFFFFFFFFFFFFFFF,
    };
    return random.pick(kAddresses);
}

Placed place(Fuzzer& fuzzer, Random& random, std::vector<unsigned char> bytes, std::size_t least,
             bool written) {
    Placed placed;
    auto size = static_cast<std::uint32_t>(bytes.size());
    if (random.one_in(10)) size = resize(bytes, random, least, placed.must);
    placed.size = size;
    std::memcpy(bytes.data(), &size, sizeof(size));

    const Arena& arena = fuzzer.arena;
    const unsigned where = random.below(40);
    if (where == 0) {
        placed.address = Arena::invalid(random);
        placed.must |= {EFAULT};
        return placed;
    }
    unsigned char* at = arena.at_end(bytes.size());
    if (where == 1 && bytes.size() <= kPage) {
        at = arena.read_only();
        if (written) placed.must |= {EFAULT};
    } else if (where == 2) {
        // Its end is beyond the end of memory.
        const std::size_t cut = 1 + random.below(bytes.size() - 1);
        bytes.resize(cut);
        at = arena.at_end(cut);
        placed.must |= {EFAULT};
    } else if (where < 20) {
        at = arena.guarded(bytes.size());
        placed.guarded = bytes.size();
    }
    arena.fill(at, bytes);
    placed.address = reinterpret_cast<std::uintptr_t>(at);
    return placed;
}

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
        {Call::open_set,
         "OPEN_SET",
         {EBADF, EINVAL, EBUSY, E2BIG, ENODEV, ENOENT, EOPNOTSUPP, ENOSPC, ENOMEM, EINTR}},
        {Call::control_sets, "CONTROL", {EBADF, EINTR}},
        {Call::set_events,
         "SET_EVENTS",
         {EBADF, EINVAL, EBUSY, E2BIG, ENODEV, ENOENT, EOPNOTSUPP, ENOMEM, EINTR}},
        {Call::get_events, "GET_EVENTS", {EBADF, EINVAL, ENOENT, ENOSPC, E2BIG, EINTR}},
        {Call::publish, "PUBLISH", {EBADF, EINVAL, EEXIST, ENOSPC, ENODEV, EBUSY, ENOMEM, EINTR}},
        {Call::join, "JOIN", {EBADF, ENOENT, ENODEV, EBUSY, E2BIG, ENOSPC, ENOMEM, EINTR}},
        {Call::unpublish, "UNPUBLISH", {EBADF, ENOENT, EINTR}},
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
