// SPDX-License-Identifier: MIT
#include "mapping.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace metagroup::test {

Mapping::Mapping(const Meta& meta, std::size_t size, int flags)
    : size_(size ? size : meta.info().map_size) {
    void* const at = ::mmap(nullptr, size_, PROT_READ, flags, meta.fd(), 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    bytes_ = static_cast<unsigned char*>(at);
    size_ = (size_ + 4095) / 4096 * 4096;
}

Mapping::Mapping(Mapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
}

void Mapping::unmap() {
    if (bytes_) ::munmap(std::exchange(bytes_, nullptr), size_);
}

const perf_metagroup_map& Mapping::head() const {
    return *reinterpret_cast<const perf_metagroup_map*>(bytes_);
}

unsigned Mapping::version() const {
    return __atomic_load_n(&head().version, __ATOMIC_ACQUIRE);
}

bool Mapping::moved() const {
    return __atomic_load_n(&head().flags, __ATOMIC_RELAXED) & PERF_METAGROUP_MAP_MOVED;
}

std::optional<Bytes> Mapping::copy() const {
    Bytes copy;
    for (;;) {
        const unsigned before = version();
        const std::size_t offset = head().offset[before % 2];
        perf_metagroup_snapshot now{};
        if (offset + sizeof(now) <= size_) std::memcpy(&now, bytes_ + offset, sizeof(now));
        const bool fits = now.bytes > 0 && now.bytes <= size_ - offset;
        if (fits) copy.assign(bytes_ + offset, bytes_ + offset + now.bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&head().version, __ATOMIC_RELAXED) != before) continue;
        if (!fits) return {};
        return copy;
    }
}

Framed Mapping::framed() const {
    const auto now = copy();
    if (!now) throw std::runtime_error("the snapshot is larger than was mapped");
    return take_apart(*now, false);
}

long try_to_map(int fd, std::size_t size, int protection, int flags, off_t offset) {
    void* const at = ::mmap(nullptr, size, protection, flags, fd, offset);
    if (at == MAP_FAILED) return -errno;
    ::munmap(at, size);
    return 0;
}

}  // namespace metagroup::test
