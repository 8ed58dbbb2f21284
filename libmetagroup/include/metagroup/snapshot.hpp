// SPDX-License-Identifier: MIT
/// \file
/// Snapshot: all records of one sweep.
#pragma once

#include <linux/perf_metagroup.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <metagroup/export.hpp>
#include <metagroup/payload.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace metagroup {

/// What a record says of its member; the values of `perf_metagroup_record.status`.
enum class Status : std::uint32_t {
    ok = PERF_METAGROUP_OK,              ///< running; read on the member's CPU
    inactive = PERF_METAGROUP_INACTIVE,  ///< enabled, not on the PMU now; payload complete
    off = PERF_METAGROUP_OFF,            ///< disabled; payload complete
    error = PERF_METAGROUP_ERROR,        ///< pinned and could not be put on the PMU; no payload
    offline = PERF_METAGROUP_OFFLINE,    ///< its CPU went offline; the last counts
    revoked = PERF_METAGROUP_REVOKED,    ///< its PMU was unregistered; the last counts
    stale = PERF_METAGROUP_STALE,        ///< could not be read this time; no payload
};

/// `ok`, `inactive`, … ; `unknown` for a value that a later kernel may send.
METAGROUP_API std::string_view to_string(Status status) noexcept;

/// The count for the whole time enabled, had the event been on the PMU all the time: count *
/// enabled / running. An estimate unless enabled == running. Nothing if running is 0: the event was
/// not counted.
METAGROUP_API std::optional<double> scale_count(std::uint64_t count, std::uint64_t enabled,
                                                std::uint64_t running) noexcept;

/// A view of one record. Valid until its Snapshot is read into again, or ends.
class METAGROUP_API MemberView {
  public:
    /// Number of the member in its meta-group; never used again for another one.
    [[nodiscard]] std::uint32_t member() const noexcept { return record_.member; }
    [[nodiscard]] int cpu() const noexcept { return static_cast<int>(record_.cpu); }
    [[nodiscard]] Status status() const noexcept { return Status{record_.status}; }
    /// When the member was read: CLOCK_MONOTONIC in nanoseconds, taken on its CPU if it was
    /// running. The per_fd backend takes it on the reader's CPU after each read.
    [[nodiscard]] std::uint64_t time_ns() const noexcept { return record_.time; }
    [[nodiscard]] std::uint64_t read_format() const noexcept { return record_.read_format; }
    /// The bytes that read(2) of the leader would have returned; none if it failed.
    [[nodiscard]] std::span<const std::byte> payload_bytes() const noexcept { return bytes_; }
    /// The payload decoded; nothing if there is none or it cannot be decoded.
    [[nodiscard]] const std::optional<Payload>& payload() const noexcept { return payload_; }
    /// Number of events in the payload; 0 if there is none.
    [[nodiscard]] std::size_t nr() const noexcept { return payload_ ? payload_->nr() : 0; }

    /// Nanoseconds for which the member was enabled; nothing if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept;
    /// Nanoseconds for which the member was on the PMU; nothing if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept;
    /// The count of event `i` as the kernel gave it; nothing if the payload has no such event.
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept;
    /// The estimate of scale_count() for event `i`; nothing if there is no count, the format
    /// lacks the times, or the event was never on the PMU.
    [[nodiscard]] std::optional<double> scaled(std::size_t i) const noexcept;
    /// The kernel's identifier of event `i`; nothing if not in the payload.
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const noexcept;
    /// Samples that event `i` lost; nothing if not in the payload.
    [[nodiscard]] std::optional<std::uint64_t> lost(std::size_t i) const noexcept;

  private:
    friend class Snapshot;
    MemberView(const perf_metagroup_record& record, std::span<const std::byte> bytes) noexcept
        : record_(record), bytes_(bytes), payload_(Payload::parse(bytes, record.read_format)) {}

    perf_metagroup_record record_;
    std::span<const std::byte> bytes_;
    std::optional<Payload> payload_;
};

/// A buffer for FRAMED reads and the views of what is in it. Meant to be used again and again: it
/// allocates only to grow. Copies are independent.
class METAGROUP_API Snapshot {
  public:
    /// Walks the records in the order of attaching.
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = MemberView;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = MemberView;
        Iterator() = default;
        MemberView operator*() const { return (*snapshot_)[index_]; }
        Iterator& operator++() {
            ++index_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator old = *this;
            ++index_;
            return old;
        }
        friend bool operator==(const Iterator&, const Iterator&) = default;

      private:
        friend class Snapshot;
        Iterator(const Snapshot* snapshot, std::size_t index) noexcept
            : snapshot_(snapshot), index_(index) {}
        const Snapshot* snapshot_ = nullptr;
        std::size_t index_ = 0;
    };

    /// An empty snapshot.
    Snapshot() = default;
    Snapshot(const Snapshot&) = default;
    Snapshot& operator=(const Snapshot&) = default;
    /// Moving leaves an empty snapshot behind.
    Snapshot(Snapshot&& other) noexcept { swap(other); }
    Snapshot& operator=(Snapshot&& other) noexcept {
        Snapshot(std::move(other)).swap(*this);
        return *this;
    }
    ~Snapshot() = default;
    /// Exchanges contents and buffers; allocates nothing. For taking turns between two snapshots.
    void swap(Snapshot& other) noexcept;

    /// A buffer of at least `bytes` bytes to read into. What the snapshot held is lost. Allocates
    /// if it must grow.
    std::span<std::byte> prepare(std::size_t bytes);
    /// Bytes of the buffer: a sweep that needs no more does not allocate.
    [[nodiscard]] std::size_t capacity() const noexcept { return buffer_.size(); }
    /// Makes the first `bytes` bytes of the buffer, a FRAMED read, the contents.
    /// \throws std::system_error (EBADMSG) saying what is wrong if they are not one; the snapshot
    ///         is empty then.
    void commit(std::size_t bytes);

    /// Number of records.
    [[nodiscard]] std::size_t size() const noexcept { return header_.count; }
    [[nodiscard]] bool empty() const noexcept { return header_.count == 0; }
    /// Record `i`, in the order of attaching. \throws std::out_of_range if i >= size().
    [[nodiscard]] MemberView operator[](std::size_t i) const;
    [[nodiscard]] Iterator begin() const noexcept { return {this, 0}; }
    [[nodiscard]] Iterator end() const noexcept { return {this, size()}; }
    /// The record of that member number; nothing if it is not in this snapshot.
    [[nodiscard]] std::optional<MemberView> find(std::uint32_t member) const noexcept;

    /// Sweeps of this meta-group so far, from 1; 0 if the snapshot was never read into.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return header_.sequence; }
    /// Start of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t begin_ns() const noexcept { return header_.begin; }
    /// End of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t end_ns() const noexcept { return header_.end; }
    /// Newest minus oldest record time in nanoseconds, of the records that have a payload.
    [[nodiscard]] std::uint64_t skew_ns() const noexcept;
    /// The FRAMED bytes as they were read.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept;

  private:
    [[nodiscard]] perf_metagroup_record record(std::size_t i) const noexcept;
    [[nodiscard]] MemberView view(std::size_t i) const noexcept;

    std::vector<std::byte> buffer_;
    std::size_t used_ = 0;
    perf_metagroup_snapshot header_{};
};

}  // namespace metagroup
