// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace bench {
namespace {

std::size_t page_size() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::size_t Ring::default_bytes() {
    return 5 * page_size();  // one for the header, four for data
}

Ring::Ring(int fd, std::size_t bytes, std::uint64_t offset) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                          static_cast<off_t>(offset));
    if (memory == MAP_FAILED)
        throw std::system_error(
            errno, std::generic_category(),
            "cannot map a ring of samples (see /proc/sys/kernel/perf_event_mlock_kb)");
    memory_ = {static_cast<std::byte*>(memory), bytes};
    data_ = memory_.subspan(page_size());
}

Ring::~Ring() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

// Records wrap around at the end of the ring.
void Ring::copy(std::uint64_t from, std::span<std::byte> to) const {
    const std::size_t begin = from % data_.size();
    const std::size_t first = std::min(to.size(), data_.size() - begin);
    std::memcpy(to.data(), data_.data() + begin, first);
    std::memcpy(to.data() + first, data_.data(), to.size() - first);
}

}  // namespace bench
