// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <sys/mman.h>

#include <system_error>

namespace fuzz {
namespace {

constexpr std::size_t kPage = 4096;  // and the largest structure that the kernel accepts
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

}  // namespace fuzz
