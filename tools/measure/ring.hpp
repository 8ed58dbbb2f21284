// SPDX-License-Identifier: MIT
// What the kernel writes for one perf event, without anybody asking.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace measure {

class Ring {
  public:
    // Of an open event. Throws std::system_error if it cannot be mapped.
    explicit Ring(int fd);
    Ring(Ring&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    Ring& operator=(Ring&&) = delete;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring();

    static std::size_t bytes();

    // Takes out all records: `body` is called with the header of each, and where it begins.
    template <typename Body>
    void drain(const Body& body) {
        const std::uint64_t head = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
        std::uint64_t tail = page().data_tail;
        while (tail < head) {
            perf_event_header header{};
            copy(tail, std::as_writable_bytes(std::span(&header, 1)));
            body(header, tail);
            tail += header.size;
        }
        __atomic_store_n(&page().data_tail, tail, __ATOMIC_RELEASE);
    }
    // Bytes of a record that is being taken out.
    void copy(std::uint64_t from, std::span<std::byte> to) const;

  private:
    perf_event_mmap_page& page() {
        return *reinterpret_cast<perf_event_mmap_page*>(memory_.data());
    }

    std::span<std::byte> memory_;
};

}  // namespace measure
