// SPDX-License-Identifier: MIT
// The ring of samples that the kernel writes for a perf event.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bench {

class Ring {
  public:
    // `fd` is an open event. Throws std::system_error if its ring cannot be mapped.
    explicit Ring(int fd) : Ring(fd, default_bytes(), 0) {}
    // The ring of `bytes` at `offset` of a file.
    Ring(int fd, std::size_t bytes, std::uint64_t offset);
    Ring(Ring&& other) noexcept
        : memory_(std::exchange(other.memory_, {})), data_(other.data_), tail_(other.tail_) {}
    Ring& operator=(Ring&&) = delete;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring();

    static std::size_t default_bytes();
    std::size_t bytes() const { return memory_.size(); }
    std::size_t data_bytes() const { return data_.size(); }
    // Bytes of all records that were visited so far.
    std::uint64_t visited() const { return tail_; }
    // Bytes of those that were not released.
    std::size_t unreleased() const { return tail_ - released_; }

    // Consumes all records: calls `body` with the header and the position of each.
    template <typename Body>
    void drain(const Body& body) {
        visit(body);
        release();
    }
    // The same in two steps: the memory of the records stays as it is until release().
    template <typename Body>
    void visit(const Body& body) {
        const std::uint64_t head = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
        const std::uint64_t mask = data_.size() - 1;
        while (tail_ != head) {
            // A header does not cross the end of the ring: records are multiples of its size.
            const auto& header =
                *reinterpret_cast<const perf_event_header*>(data_.data() + (tail_ & mask));
            body(header, tail_);
            tail_ += header.size;
        }
    }
    void release() {
        __atomic_store_n(&page().data_tail, tail_, __ATOMIC_RELEASE);
        released_ = tail_;
    }
    // Copies bytes of a record that was visited and not released.
    void copy(std::uint64_t from, std::span<std::byte> to) const;

  private:
    perf_event_mmap_page& page() {
        return *reinterpret_cast<perf_event_mmap_page*>(memory_.data());
    }

    std::span<std::byte> memory_;
    std::span<const std::byte> data_;
    std::uint64_t tail_ = 0;
    std::uint64_t released_ = 0;
};

}  // namespace bench
