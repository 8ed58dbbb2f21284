// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/perf_metagroup.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <metagroup/mapping.hpp>
#include <utility>

#include "error.hpp"

namespace metagroup {
namespace {

// The kernel may write while we look: every field by one load of its own.
const perf_metagroup_snapshot& header(std::span<const std::byte> memory) noexcept {
    return *reinterpret_cast<const perf_metagroup_snapshot*>(memory.data());
}

template <typename Field>
Field load(const Field& field) noexcept {
    return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

}  // namespace

Mapping::Mapping(const Device& device) : fd_(::fcntl(device.fd(), F_DUPFD_CLOEXEC, 0)) {
    if (!fd_) detail::throw_errno(errno, "cannot map the meta-group");
    map();
}

Mapping::Mapping(Mapping&& other) noexcept
    : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    if (this != &other) {
        unmap();
        fd_ = std::move(other.fd_);
        memory_ = std::exchange(other.memory_, {});
    }
    return *this;
}

Mapping::~Mapping() {
    unmap();
}

void Mapping::unmap() noexcept {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
    memory_ = {};
}

// All that the snapshot needs now. It may grow before it is mapped: then it is outgrown at once.
void Mapping::map() {
    perf_metagroup_info info{};
    info.size = sizeof(info);
    if (::ioctl(fd_.get(), PERF_METAGROUP_IOC_INFO, &info) != 0) {
        detail::throw_errno(errno, "cannot ask the meta-group for its size");
    }
    void* const memory = ::mmap(nullptr, info.framed_size, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) {
        detail::throw_errno(errno, errno == ENODEV ? "the loaded module perf_metagroup cannot map "
                                                     "snapshots: install a newer one"
                                                   : "cannot map the meta-group");
    }
    unmap();
    memory_ = {static_cast<std::byte*>(memory), info.framed_size};
}

// Bytes of the snapshot, or nothing if this memory is no longer, or not all, that it is in.
std::size_t Mapping::size() const noexcept {
    const perf_metagroup_snapshot& head = header(memory_);
    if ((load(head.flags) & PERF_METAGROUP_SNAPSHOT_MOVED) != 0) return 0;
    const std::size_t size = load(head.size) + std::size_t{load(head.count)} * load(head.stride);
    return size <= memory_.size() ? size : 0;
}

SnapshotView Mapping::view() {
    while (size() == 0)
        map();
    return SnapshotView(memory_);
}

void Mapping::read(Snapshot& snapshot) {
    for (;;) {
        const __u32& version = header(memory_).version;
        // Pairs with the release at the end of the module's sweep.
        const __u32 before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
        if (before % 2 != 0) {
            ::sched_yield();
            continue;
        }
        const std::size_t bytes = size();
        if (bytes > 0) std::memcpy(snapshot.prepare(bytes).data(), memory_.data(), bytes);
        // Pairs with the barrier at the begin of the module's sweep: whoever has seen a byte of it
        // sees its version too.
        std::atomic_thread_fence(std::memory_order_acquire);
        if (load(version) != before) continue;
        if (bytes > 0) return snapshot.commit(bytes);
        map();
    }
}

}  // namespace metagroup
