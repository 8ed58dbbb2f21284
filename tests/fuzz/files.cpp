// SPDX-License-Identifier: MIT
// System calls on files and mappings.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "calls.hpp"

namespace fuzz {
namespace {

std::uint64_t number_of(Handle handle) {
    return static_cast<std::uint64_t>(handle.number);
}

// A buffer for a read, and how much of it is accessible.
struct Buffer {
    void* address;
    std::size_t size;
    std::size_t accessible;
    std::size_t guarded = 0;
};

Buffer any_buffer(Fuzzer& fuzzer, Random& random) {
    const Arena& arena = fuzzer.arena;
    const std::size_t limits[] = {1, 64, 4096, 65536, Arena::kSize - Arena::kGuard};
    std::size_t size = random.below(random.pick(limits) + 1);
    Buffer buffer{arena.at_end(size), size, size};
    switch (random.below(20)) {
        case 0:
            buffer.address = reinterpret_cast<void*>(Arena::invalid(random));
            buffer.accessible = 0;
            break;
        case 1:
            buffer.address = arena.read_only();
            buffer.accessible = 0;
            break;
        case 2:  // beyond the end
            buffer.accessible = random.below(size + 1);
            buffer.address = arena.at_end(buffer.accessible);
            break;
        case 3:
        case 4:
        case 5:
            buffer.address = arena.guarded(size);
            buffer.guarded = size;
            break;
        default:
            break;
    }
    return buffer;
}

Outcome read_into(Fuzzer& fuzzer, Call call, Handle handle, const Buffer& buffer, long got) {
    Outcome outcome{.call = call};
    outcome.arguments = {number_of(handle), reinterpret_cast<std::uintptr_t>(buffer.address),
                         buffer.size};
    outcome.result = got < 0 ? -errno : got;
    // Addresses of the kernel are refused for a size of 0, too.
    if (buffer.accessible < buffer.size || !buffer.size) outcome.may = {EFAULT};
    if (!handle.readable()) outcome.must = {EBADF};
    if (got > 0 && static_cast<std::size_t>(got) > buffer.accessible)
        outcome.broken = "more was read than there is room for";
    if (buffer.guarded && !fuzzer.arena.guard_intact(buffer.guarded))
        outcome.broken = "bytes after the buffer were written";
    return outcome;
}

long result(bool failed) {
    return failed ? -errno : 0;
}

std::uint64_t number_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

void forget(Fuzzer::Mapping& mapping) {
    if (mapping.address) ::munmap(mapping.address, mapping.size);
    mapping = {};
}

// One of the mappings, or an unmapped page if there is none.
Fuzzer::Mapping any_mapping(Fuzzer& fuzzer, Random& random) {
    const auto& mapping = random.pick(fuzzer.mappings);
    return mapping.address ? mapping : Fuzzer::Mapping{reinterpret_cast<void*>(kPage), kPage};
}

bool is_mapped(const Fuzzer::Mapping& mapping) {
    return number_of(mapping.address) != kPage;
}

Outcome read_once(Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    const Buffer buffer = any_buffer(fuzzer, random);
    const long got = ::read(handle.number, buffer.address, buffer.size);
    return read_into(fuzzer, Call::read, handle, buffer, got);
}

Outcome read_vector(Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    const Buffer buffer = any_buffer(fuzzer, random);
    const iovec parts[] = {{buffer.address, buffer.size}, {fuzzer.arena.at_end(8), 8}};
    const int count = random.one_in(2) ? 1 : 2;
    const long got = ::readv(handle.number, parts, count);
    Outcome outcome = read_into(fuzzer, Call::readv, handle, buffer, got);
    outcome.may = {EFAULT};
    if (count == 2) outcome.broken = nullptr;  // the second may have been filled
    return outcome;
}

Outcome read_at(Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    const Buffer buffer = any_buffer(fuzzer, random);
    const auto offset = static_cast<off_t>(random.one_in(2) ? random.below(100) : random.next());
    const long got = ::pread(handle.number, buffer.address, buffer.size, offset);
    Outcome outcome = read_into(fuzzer, Call::pread, handle, buffer, got);
    outcome.arguments[3] = static_cast<std::uint64_t>(offset);
    outcome.must = {ESPIPE};
    if (offset < 0) outcome.must |= {EINVAL};
    return outcome;
}

Outcome write_once(Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    const Buffer buffer = any_buffer(fuzzer, random);
    Outcome outcome{.call = Call::write, .must = {EINVAL}};
    outcome.arguments = {number_of(handle), reinterpret_cast<std::uintptr_t>(buffer.address),
                         buffer.size};
    const long got = ::write(handle.number, buffer.address, buffer.size);
    outcome.result = got < 0 ? -errno : got;
    return outcome;
}

Outcome seek(Fuzzer&, Random& random) {
    const Handle handle = any_handle(random);
    const auto offset = static_cast<off_t>(random.one_in(2) ? 0 : random.next());
    const int whence = static_cast<int>(random.below(7));  // two too many
    Outcome outcome{.call = Call::lseek, .must = {ESPIPE, EINVAL}};
    outcome.arguments = {number_of(handle), static_cast<std::uint64_t>(offset),
                         static_cast<std::uint64_t>(whence)};
    const off_t got = ::lseek(handle.number, offset, whence);
    outcome.result = got < 0 ? -errno : 0;
    return outcome;
}

Outcome poll_once(Fuzzer&, Random& random) {
    const Handle handle = any_handle(random);
    pollfd entry{.fd = handle.number, .events = static_cast<short>(random.next()), .revents = 0};
    Outcome outcome{.call = Call::poll};
    outcome.arguments = {number_of(handle), static_cast<std::uint16_t>(entry.events)};
    const int got = ::poll(&entry, 1, 0);
    outcome.result = got < 0 ? -errno : got;
    return outcome;
}

Outcome add_to_epoll(Fuzzer&, Random& random) {
    const Handle handle = any_handle(random);
    epoll_event event{.events = EPOLLIN, .data = {}};
    Outcome outcome{.call = Call::epoll};
    outcome.arguments = {number_of(handle)};
    const int got = ::epoll_ctl(other_epoll(), EPOLL_CTL_ADD, handle.number, &event);
    outcome.result = got < 0 ? -errno : got;
    return outcome;
}

Outcome control_file(Fuzzer&, Random& random) {
    static constexpr int kFlags[] = {0, O_NONBLOCK, O_APPEND, O_ASYNC, O_NOATIME, O_DIRECT};
    const Handle handle = any_handle(random);
    Outcome outcome{.call = Call::fcntl};
    long got = 0;
    const unsigned kind = random.below(4);
    if (kind == 0) {
        got = ::fcntl(handle.number, F_GETFL);
    } else if (kind == 1) {
        got = ::fcntl(handle.number, F_GETFD);
    } else if (kind == 2) {
        got = ::fcntl(handle.number, F_DUPFD_CLOEXEC, 800);
        if (got >= 0) ::close(static_cast<int>(got));
    } else {
        const int flags = random.pick(kFlags);
        got = ::fcntl(handle.number, F_SETFL, flags);
        if (flags == O_DIRECT) outcome.must = {EINVAL};
        if (!handle.callable()) outcome.must = {EBADF};
    }
    outcome.arguments = {number_of(handle), kind};
    outcome.result = got < 0 ? -errno : got;
    return outcome;
}

Outcome splice_away(Fuzzer&, Random& random) {
    const Handle handle = any_handle(random);
    Outcome outcome{.call = Call::splice, .must = {EINVAL}};
    outcome.arguments = {number_of(handle)};
    const long got = ::splice(handle.number, nullptr, other_pipe(), nullptr,
                              1 + random.below(10'000), SPLICE_F_NONBLOCK);
    outcome.result = got < 0 ? -errno : got;
    return outcome;
}

Outcome show_fdinfo(Fuzzer& fuzzer, Random& random) {
    const Handle handle = any_handle(random);
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", handle.number);
    Outcome outcome{.call = Call::fdinfo};
    outcome.arguments = {number_of(handle)};
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    long got = fd;
    if (fd >= 0) got = ::read(fd, fuzzer.arena.at_end(65536), 65536);
    outcome.result = got < 0 ? -errno : got;
    if (fd >= 0) ::close(fd);
    return outcome;
}

Outcome map(Fuzzer& fuzzer, Random& random) {
    static constexpr std::size_t kOddSizes[] = {
        0, 1, 3 * kPage, 1U << 20, std::size_t{1} << 46, SIZE_MAX};
    static constexpr off_t kOddOffsets[] = {1, kPage, -static_cast<off_t>(kPage), off_t{1} << 40};
    const Handle handle = any_handle(random);
    Outcome outcome{.call = Call::mmap};
    std::size_t size = kPage;
    if (random.one_in(4)) size = random.pick(kOddSizes);
    off_t offset = 0;
    if (random.one_in(10)) offset = random.pick(kOddOffsets);
    int protection = PROT_READ;
    if (random.one_in(6)) protection = static_cast<int>(random.below(4));
    int flags = random.one_in(3) ? MAP_PRIVATE : MAP_SHARED;
    if (random.one_in(6)) flags |= MAP_POPULATE;

    if (protection & PROT_WRITE) outcome.must |= {EPERM, EACCES};
    if (offset) outcome.must |= {EINVAL, ENODEV, EOVERFLOW};
    if (!size) outcome.must |= {EINVAL};
    if (size > std::size_t{1} << 40) outcome.must |= {ENOMEM, EINVAL, EOVERFLOW};
    if (!handle.readable()) outcome.must |= {handle.callable() ? EACCES : EBADF};

    auto& mapping = random.pick(fuzzer.mappings);
    forget(mapping);
    void* const at = ::mmap(nullptr, size, protection, flags, handle.number, offset);
    outcome.arguments = {
        static_cast<std::uint64_t>(handle.number), size,
        static_cast<std::uint64_t>(protection) << 32 | static_cast<std::uint64_t>(flags),
        static_cast<std::uint64_t>(offset)};
    outcome.result = result(at == MAP_FAILED);
    if (at != MAP_FAILED) mapping = {at, size};
    return outcome;
}

// The kernel must not depend on these bytes.
Outcome write_to_ring(Fuzzer&, Random& random) {
    const Handle handle = any_handle(random);
    const std::uint64_t stride = kPage + (kPage << random.below(4));
    const std::size_t size = random.one_in(4) ? kPage : 2 * kPage;
    const auto offset = static_cast<off_t>(PERF_METAGROUP_RINGS + random.below(5) * stride);
    Outcome outcome{.call = Call::map_ring};
    outcome.arguments = {number_of(handle), size, static_cast<std::uint64_t>(offset)};
    if (handle.access != Access::read_write) outcome.must = {handle.callable() ? EACCES : EBADF};
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, handle.number, offset);
    outcome.result = result(at == MAP_FAILED);
    if (at == MAP_FAILED) return outcome;
    auto* const page = static_cast<perf_event_mmap_page*>(at);
    page->data_tail = random.one_in(2) ? random.next() : page->data_head;
    auto* const words = static_cast<std::uint64_t*>(at);
    for (unsigned i = 0; i < 20; ++i)
        words[random.below(static_cast<unsigned>(size / sizeof(*words)))] = random.next();
    ::munmap(at, size);
    return outcome;
}

Outcome unmap(Fuzzer& fuzzer, Random& random) {
    auto& mapping = random.pick(fuzzer.mappings);
    Outcome outcome{.call = Call::munmap};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    if (mapping.address) outcome.result = result(::munmap(mapping.address, mapping.size) != 0);
    mapping = {};
    return outcome;
}

Outcome make_writable(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::mprotect};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    outcome.must = is_mapped(mapping) ? Errnos{EACCES} : Errnos{ENOMEM};
    const int protection = PROT_WRITE | (random.one_in(2) ? PROT_READ : 0);
    outcome.result = result(::mprotect(mapping.address, mapping.size, protection) != 0);
    return outcome;
}

Outcome enlarge(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::mremap, .must = {EFAULT}};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    outcome.result = result(::mremap(mapping.address, mapping.size, mapping.size + 16 * kPage,
                                     MREMAP_MAYMOVE) == MAP_FAILED);
    return outcome;
}

// The pages are mapped again when they are accessed.
Outcome drop_pages(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::madvise};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    if (!is_mapped(mapping)) outcome.must = {ENOMEM};
    outcome.result = result(::madvise(mapping.address, mapping.size, MADV_DONTNEED) != 0);
    return outcome;
}

// By a system call, which fails instead of a fault if there is no page.
Outcome peek(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::peek, .may = {EFAULT}};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    outcome.result = ::pwrite(other_file(), mapping.address, kPage, 0);
    if (outcome.result < 0) outcome.result = -errno;
    return outcome;
}

}  // namespace

std::span<const Generator> file_generators() {
    static constexpr Generator all[] = {
        {6, write_to_ring}, {20, read_once},    {3, read_vector}, {2, read_at},
        {2, write_once},    {2, seek},          {2, poll_once},   {1, add_to_epoll},
        {2, control_file},  {1, splice_away},   {1, show_fdinfo}, {6, map},
        {3, unmap},         {1, make_writable}, {1, enlarge},     {1, drop_pages},
        {2, peek},
    };
    return all;
}

}  // namespace fuzz
