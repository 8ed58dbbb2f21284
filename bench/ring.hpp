// SPDX-License-Identifier: MIT
// The ring of samples that the kernel writes for a perf event or a stream. Unlike that of the
// library it does not check what it reads, so that its reader costs as little as it can.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

namespace bench {

class Ring {
  public:
    // Of an open event, with four pages for data. Throws std::system_error.
    explicit Ring(int fd) : Ring(fd, 5 * page_size(), 0) {}
    // The ring of `bytes` at `offset` of a file.
    Ring(int fd, std::size_t bytes, std::uint64_t offset) {
        void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                              static_cast<off_t>(offset));
        if (memory == MAP_FAILED)
            throw std::system_error(
                errno, std::generic_category(),
                "cannot map a ring of samples (see /proc/sys/kernel/perf_event_mlock_kb)");
        memory_ = {static_cast<std::byte*>(memory), bytes};
        data_ = memory_.subspan(page_size());
    }
    Ring(Ring&& other) noexcept
        : memory_(std::exchange(other.memory_, {})), data_(other.data_), tail_(other.tail_) {}
    Ring& operator=(Ring&&) = delete;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() {
        if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
    }

    std::size_t data_bytes() const { return data_.size(); }
    // Bytes of all records that were visited so far, and of those that were not released.
    std::uint64_t visited() const { return tail_; }
    std::size_t unreleased() const { return tail_ - released_; }

    // Calls `body` with the header and the position of each record. The memory of the records
    // stays as it is until release().
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
    // Copies bytes of a record, which may wrap around, that was visited and not released.
    void copy(std::uint64_t from, std::span<std::byte> to) const {
        const std::size_t begin = from % data_.size();
        const std::size_t first = std::min(to.size(), data_.size() - begin);
        std::memcpy(to.data(), data_.data() + begin, first);
        std::memcpy(to.data() + first, data_.data(), to.size() - first);
    }
    std::uint64_t word(std::uint64_t from) const {
        std::uint64_t word = 0;
        copy(from, std::as_writable_bytes(std::span(&word, 1)));
        return word;
    }

  private:
    static std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
    perf_event_mmap_page& page() {
        return *reinterpret_cast<perf_event_mmap_page*>(memory_.data());
    }

    std::span<std::byte> memory_;
    std::span<const std::byte> data_;
    std::uint64_t tail_ = 0;
    std::uint64_t released_ = 0;
};

// Bytes of all rings that were visited since the last call.
inline std::uint64_t newly_visited(std::span<const Ring> rings, std::uint64_t& before) {
    std::uint64_t now = 0;
    for (const Ring& ring : rings)
        now += ring.visited();
    return now - std::exchange(before, now);
}

}  // namespace bench
