// SPDX-License-Identifier: MIT
#include "arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace fuzz {
namespace {

constexpr std::size_t kPage = 4096;
// No access, read and write, no access, a read-only page, no access.
constexpr std::size_t kAll = kPage + Arena::kSize + 3 * kPage;
constexpr unsigned char kCanary = 0xC5;

void allow(unsigned char* at, std::size_t size, int protection) {
    if (::mprotect(at, size, protection))
        throw std::system_error(errno, std::generic_category(), "mprotect");
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

}  // namespace fuzz
