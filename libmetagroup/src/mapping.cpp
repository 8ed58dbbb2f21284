// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <metagroup/mapping.hpp>

#include "system.hpp"

namespace metagroup {
namespace {

// The kernel may write at any time: read each field with a single load.
const perf_metagroup_map& head(std::span<const std::byte> memory) noexcept {
    return *reinterpret_cast<const perf_metagroup_map*>(memory.data());
}

template <typename Field>
Field load(const Field& field) noexcept {
    return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

[[noreturn]] void fail() {
    detail::throw_error(detail::Call::map_device, errno, "cannot map the meta-group");
}

}  // namespace

Mapping::Mapping(const Device& device) : fd_(::fcntl(device.fd(), F_DUPFD_CLOEXEC, 0)) {
    if (!fd_) fail();
    map();
}

Mapping::Mapping(Mapping&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, {})),
      index_(std::move(other.index_)),
      layout_(other.layout_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    if (this != &other) {
        unmap();
        fd_ = std::move(other.fd_);
        memory_ = std::exchange(other.memory_, {});
        index_ = std::move(other.index_);
        layout_ = other.layout_;
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

// If the snapshot grows before it is mapped, moved() is true immediately.
void Mapping::map() {
    perf_metagroup_info info{};
    info.size = sizeof(info);
    if (detail::uninterrupted([&] { return ::ioctl(fd_.get(), PERF_METAGROUP_IOC_INFO, &info); }) !=
        0)
        fail();
    const auto size = static_cast<std::size_t>(info.map_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) fail();
    unmap();
    memory_ = {static_cast<std::byte*>(memory), size};
}

bool Mapping::moved() const noexcept {
    return (load(head(memory_).flags) & PERF_METAGROUP_MAP_MOVED) != 0;
}

// The memory of copy `version % 2`, which begins with a snapshot.
std::span<const std::byte> Mapping::copy(std::uint32_t version) const noexcept {
    const std::uint64_t offset = load(head(memory_).offset[version % 2]);
    return std::span<const std::byte>(memory_).subspan(
        std::min<std::size_t>(static_cast<std::size_t>(offset), memory_.size()));
}

SnapshotView Mapping::view() & {
    while (moved())
        map();
    const __u32 version = __atomic_load_n(&head(memory_).version, __ATOMIC_ACQUIRE);
    SnapshotView view(copy(version));
    if (view.wants_index()) {
        update_index(view, version);
        view.use_index(index_);
    }
    return view;
}

void Mapping::update_index(const SnapshotView& view, std::uint32_t version) {
    if (layout_ != 0 && layout_ == view.header_.layout && index_.size() == view.size()) return;
    index_.resize(view.size());
    view.make_index(index_);
    // As in read(): later sweeps may have overwritten the frames meanwhile.
    std::atomic_thread_fence(std::memory_order_acquire);
    layout_ = load(head(memory_).version) == version ? view.header_.layout : 0;
}

void Mapping::read(Snapshot& snapshot) {
    for (;;) {
        while (moved())
            map();
        const __u32& version = head(memory_).version;
        // Pairs with the release when the module publishes a sweep.
        const __u32 before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
        const std::span<const std::byte> from = copy(before);
        const std::uint64_t bytes =
            load(reinterpret_cast<const perf_metagroup_snapshot*>(from.data())->bytes);
        if (bytes <= from.size()) {
            const auto size = static_cast<std::size_t>(bytes);
            std::memcpy(snapshot.prepare(size).data(), from.data(), size);
        }
        // Pairs with the module's barrier after publishing: a reader that has seen a byte of the
        // sweep after next also sees the version of the next one.
        std::atomic_thread_fence(std::memory_order_acquire);
        if (load(version) == before && !moved())
            return snapshot.commit(static_cast<std::size_t>(bytes));
    }
}

}  // namespace metagroup
