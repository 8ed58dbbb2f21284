// SPDX-License-Identifier: MIT
#include "measure/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace measure {
namespace {

std::size_t page_size() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::size_t Ring::bytes() {
    return 5 * page_size();  // the first is not of the ring
}

Ring::Ring(int fd) {
    void* memory =
        ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED)
        throw std::system_error(
            errno, std::generic_category(),
            "cannot map a ring of samples (see /proc/sys/kernel/perf_event_mlock_kb)");
    memory_ = {static_cast<std::byte*>(memory), bytes()};
}

Ring::~Ring() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

// Records go on at the beginning of the ring where it ends.
void Ring::copy(std::uint64_t from, std::span<std::byte> to) const {
    const auto data = memory_.subspan(page_size());
    const std::size_t begin = from % data.size();
    const std::size_t first = std::min(to.size(), data.size() - begin);
    std::memcpy(to.data(), data.data() + begin, first);
    std::memcpy(to.data() + first, data.data(), to.size() - first);
}

}  // namespace measure
