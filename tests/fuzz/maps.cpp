// SPDX-License-Identifier: MIT
// Mappings of the snapshot, and what must not be possible with them.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "calls.hpp"
#include "descriptors.hpp"

namespace fuzz {
namespace {

constexpr std::size_t kPage = 4096;

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

// One that there is; if there is none, a place where none is.
Fuzzer::Mapping any_mapping(Fuzzer& fuzzer, Random& random) {
    const auto& mapping = random.pick(fuzzer.mappings);
    return mapping.address ? mapping : Fuzzer::Mapping{reinterpret_cast<void*>(kPage), kPage};
}

bool is_mapped(const Fuzzer::Mapping& mapping) {
    return number_of(mapping.address) != kPage;
}

}  // namespace

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
    if (offset) outcome.must |= {EINVAL, EOVERFLOW};
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

// After this there is nothing to be seen there, and nothing else either.
Outcome drop_pages(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::madvise};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    if (!is_mapped(mapping)) outcome.must = {ENOMEM};
    outcome.result = result(::madvise(mapping.address, mapping.size, MADV_DONTNEED) != 0);
    return outcome;
}

// By way of the kernel, which survives it if there is no page.
Outcome peek(Fuzzer& fuzzer, Random& random) {
    const auto mapping = any_mapping(fuzzer, random);
    Outcome outcome{.call = Call::peek, .may = {EFAULT}};
    outcome.arguments = {number_of(mapping.address), mapping.size};
    outcome.result = ::pwrite(stranger_file(), mapping.address, kPage, 0);
    if (outcome.result < 0) outcome.result = -errno;
    return outcome;
}

}  // namespace fuzz
