// SPDX-License-Identifier: MIT
// The memory of a ring, and a writer of it: what the kernel does, and what it should not do.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/payload.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "support/frame_builder.hpp"

namespace metagroup::test {

/// The fields that records end with, or samples begin with.
struct Id {
    std::uint64_t id = 0;
    std::uint64_t time = 0;
    std::uint32_t cpu = 0;
};

inline Bytes record(std::uint32_t type, const Bytes& body) {
    perf_event_header header{};
    header.type = type;
    header.size = static_cast<__u16>(sizeof(header) + body.size());
    Bytes bytes;
    append(bytes, header);
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
}

inline Bytes sample(const Id& id, const Bytes& payload) {
    Bytes body;
    append(body, id.id);
    append(body, id.time);
    append(body, std::uint64_t{id.cpu});
    body.insert(body.end(), payload.begin(), payload.end());
    return record(PERF_RECORD_SAMPLE, body);
}

/// With fields before the common ones, such as `lost`.
inline Bytes other(std::uint32_t type, const Id& id, const std::vector<std::uint64_t>& fields) {
    Bytes body;
    for (const std::uint64_t field : fields)
        append(body, field);
    append(body, id.time);
    append(body, std::uint64_t{id.cpu});
    append(body, id.id);
    return record(type, body);
}

inline Bytes lost_samples(const Id& id, std::uint64_t lost) {
    return other(PERF_RECORD_LOST_SAMPLES, id, {lost});
}

/// A file with a page and `size` bytes of data.
class FakeRing {
  public:
    /// The first record is written at `start`.
    explicit FakeRing(std::size_t size = page, std::uint64_t start = 0)
        : fd_(::memfd_create("ring", MFD_CLOEXEC)), bytes_(page + size) {
        if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0)
            throw std::runtime_error("memfd_create failed");
        void* const memory =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
        memory_ = static_cast<std::byte*>(memory);
        head().data_offset = page;
        head().data_size = size;
        head().data_head = head().data_tail = start;
    }
    FakeRing(FakeRing&& other) noexcept
        : fd_(std::move(other.fd_)),
          bytes_(other.bytes_),
          memory_(std::exchange(other.memory_, nullptr)) {}
    FakeRing(const FakeRing&) = delete;
    FakeRing& operator=(const FakeRing&) = delete;
    FakeRing& operator=(FakeRing&&) = delete;
    ~FakeRing() {
        if (memory_ != nullptr) ::munmap(memory_, bytes_);
    }

    static constexpr std::size_t page = 4096;

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] perf_event_mmap_page& head() const {
        return *reinterpret_cast<perf_event_mmap_page*>(memory_);
    }

    /// False, and nothing written, if the reader has not made space.
    bool write(const Bytes& record) const {
        const std::uint64_t at = head().data_head;
        if (at + record.size() - head().data_tail > head().data_size) return false;
        put(at, record);
        __atomic_store_n(&head().data_head, at + record.size(), __ATOMIC_RELEASE);
        return true;
    }
    void write_backward(const Bytes& record) const {
        const std::uint64_t at = head().data_head - record.size();
        put(at, record);
        __atomic_store_n(&head().data_head, at, __ATOMIC_RELEASE);
    }
    void put(std::uint64_t at, const Bytes& record) const {
        for (std::size_t i = 0; i < record.size(); ++i)
            memory_[page + (at + i) % head().data_size] = record[i];
    }

  private:
    detail::UniqueFd fd_;
    std::size_t bytes_;
    std::byte* memory_ = nullptr;
};

}  // namespace metagroup::test
