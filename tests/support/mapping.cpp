// SPDX-License-Identifier: MIT
#include "mapping.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace metagroup::test {

Mapping::Mapping(const Meta& meta, std::size_t size, int flags)
    : size_(size ? size : meta.info().framed_size) {
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

const perf_metagroup_snapshot& Mapping::head() const {
    return *reinterpret_cast<const perf_metagroup_snapshot*>(bytes_);
}

unsigned Mapping::version() const {
    return __atomic_load_n(&head().version, __ATOMIC_ACQUIRE);
}

bool Mapping::moved() const {
    return __atomic_load_n(&head().flags, __ATOMIC_RELAXED) & PERF_METAGROUP_SNAPSHOT_MOVED;
}

std::optional<Bytes> Mapping::copy() const {
    Bytes copy;
    for (;;) {
        const unsigned before = version();
        if (before % 2 != 0) {
            std::this_thread::yield();
            continue;
        }
        perf_metagroup_snapshot now;
        std::memcpy(&now, bytes_, sizeof(now));
        const std::size_t whole = now.size + std::size_t{now.count} * now.stride;
        copy.assign(bytes_, bytes_ + std::min(whole, size_));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&head().version, __ATOMIC_RELAXED) != before) continue;
        if (whole > size_) return {};
        return copy;
    }
}

Framed Mapping::framed() const {
    const auto now = copy();
    if (!now) throw std::runtime_error("the snapshot is larger than was mapped");
    return take_apart(*now);
}

long try_to_map(int fd, std::size_t size, int protection, int flags, off_t offset) {
    void* const at = ::mmap(nullptr, size, protection, flags, fd, offset);
    if (at == MAP_FAILED) return -errno;
    ::munmap(at, size);
    return 0;
}

}  // namespace metagroup::test
