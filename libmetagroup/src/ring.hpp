// SPDX-License-Identifier: MIT
// Ring: the records that one CPU writes for perf events, in the format of perf_event_open(2).
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/records.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace metagroup::detail {

/// Bytes of a sample besides its payload.
inline constexpr std::size_t sample_head = sizeof(perf_event_header) + 24;

/// A sample, or a number of lost samples, of `sample_type` IDENTIFIER, TIME, CPU and READ, with
/// `sample_id_all`.
struct RingRecord {
    std::uint64_t id = 0;                     ///< of the leader
    std::uint64_t time = 0;                   ///< ns
    int cpu = -1;                             ///< where it was written
    std::uint64_t lost = 0;                   ///< 0 for a sample
    std::span<const std::byte> payload = {};  ///< of a sample: its READ part
};

/// Reads one ring, oldest record first. Whatever the memory contains, only the ring is read, and
/// invalid records are rejected.
///
/// Records are not copied, except one that wraps around the end of the ring. Mapping the data twice
/// in a row cannot avoid that: the kernel maps the ring of a perf event only as a whole, and does
/// not allow part of that mapping to be replaced.
class Ring {
  public:
    enum class Order {
        forward,   ///< the writer stops at data_tail, which release() moves
        backward,  ///< the newest record is at data_head; for rings whose writer has stopped
    };

    /// Maps `bytes` at `offset` in the file. `name` is for errors: `the ring of CPU 3`. Throws
    /// Error, with the errno of mmap(2) or if this is not a ring.
    Ring(int fd, std::uint64_t offset, std::size_t bytes, Order order, std::string name);
    Ring(Ring&& other) noexcept;
    Ring& operator=(Ring&&) = delete;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring();

    /// Makes new records available to front(); if backward, only the first call does. Throws Error
    /// if they are invalid.
    void update();
    /// The oldest record not yet removed; null if there is none. Its payload is valid until
    /// release().
    [[nodiscard]] const RingRecord* front() const noexcept {
        return has_front_ ? &front_ : nullptr;
    }
    /// Removes front(). Skips records of unknown type. Throws Error if the next one is bad.
    void pop() {
        begin_ = end_;
        if (!pop_usual()) pop_any();
    }
    /// Removes all records, oldest first, whatever their type. Adds them to `pieces`, which are
    /// valid until release(). Calls update().
    void take_all(std::vector<Records>& pieces);
    /// Returns the space of removed records to the writer.
    void release() noexcept {
        if (order_ == Order::backward || released_ == begin_) return;
        released_ = begin_;
        // Pairs with the writer's load of data_tail: the records are read before this store.
        __atomic_store_n(&page().data_tail, begin_, __ATOMIC_RELEASE);
    }
    /// Leaves the memory mapped. Only the destructor may follow.
    void forget() noexcept { memory_ = {}; }
    /// True if records not yet removed fill half of the ring or more.
    [[nodiscard]] bool half_full() const noexcept { return head_ - begin_ >= size_ / 2; }
    /// Time of the newest sample up to the last update(), removed or not; 0 if there was none.
    /// Forward only.
    [[nodiscard]] std::uint64_t newest_time();

  private:
    [[nodiscard]] perf_event_mmap_page& page() const noexcept {
        return *reinterpret_cast<perf_event_mmap_page*>(memory_.data());
    }
    template <typename Number>
    static Number number(std::span<const std::byte> bytes, std::size_t offset) noexcept {
        Number value{};
        std::memcpy(&value, bytes.data() + offset, sizeof(value));
        return value;
    }
    // `bytes` has at least sample_head bytes.
    static RingRecord sample(std::span<const std::byte> bytes) noexcept {
        return {.id = number<std::uint64_t>(bytes, Records::id_at),
                .time = number<std::uint64_t>(bytes, Records::time_at),
                .cpu = number<int>(bytes, 24),
                .payload = bytes.subspan(sample_head)};
    }
    // Handles a contiguous sample, as nearly all records are. Leaves everything else, and all
    // errors, to pop_any().
    bool pop_usual() noexcept {
        const auto begin = static_cast<std::size_t>(end_ & (size_ - 1));
        const auto left = static_cast<std::size_t>(std::min(head_ - end_, size_ - begin));
        const auto rest = data_.subspan(begin, left);  // backward: none
        const perf_event_header next = Records::whole_header(rest);
        if (next.type != PERF_RECORD_SAMPLE || next.size < sample_head) return false;
        front_ = sample(rest.first(next.size));
        end_ += next.size;
        has_front_ = true;
        newest_ = front_.time;
        return true;
    }
    void pop_any();
    void copy(std::uint64_t at, std::span<std::byte> to) const noexcept;
    [[nodiscard]] perf_event_header header(std::uint64_t at) const;
    [[nodiscard]] std::span<const std::byte> record(std::uint64_t at, std::size_t size);
    [[nodiscard]] std::optional<RingRecord> parse(std::uint64_t at, perf_event_header header);
    [[nodiscard]] perf_event_header whole(std::uint64_t at) const;
    [[nodiscard]] std::optional<RingRecord> take(std::uint64_t& at);
    void list_backward();
    [[noreturn]] void refuse(std::string reason) const;

    std::span<std::byte> memory_;
    std::span<const std::byte> data_;  // in memory_; a power of two
    std::uint64_t size_ = 0;           // of data_
    Order order_;
    std::string name_;
    // Positions, which only grow: a byte is at offset position % size_.
    std::uint64_t head_ = 0;   // end of what can be read
    std::uint64_t begin_ = 0;  // of front(), or head_
    std::uint64_t end_ = 0;    // of front(), or head_
    std::uint64_t released_ = 0;
    bool listed_ = false;                   // backward: positions_ was filled
    std::vector<std::uint64_t> positions_;  // backward: of records not removed, newest first
    std::uint64_t newest_ = 0;              // time of the last sample removed, or of front()
    bool has_front_ = false;
    RingRecord front_;
    std::vector<std::byte> wrapped_;  // a record that wraps around
    std::vector<std::byte> ordered_;  // backward: for take_all()
};

}  // namespace metagroup::detail
