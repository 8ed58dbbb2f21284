// SPDX-License-Identifier: MIT
/// \file
/// SnapshotView: all records of one sweep, wherever they lie.
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
    idle = PERF_METAGROUP_IDLE,          ///< its CPU sleeps (quiet mode); read as it fell asleep
    spared = PERF_METAGROUP_SPARED,      ///< its CPU is isolated and not interrupted; no payload
};

/// `ok`, `inactive`, … ; `unknown` for a value that a later kernel may send.
METAGROUP_API std::string_view to_string(Status status) noexcept;

/// The count for the whole time enabled, had the event been on the PMU all the time: count *
/// enabled / running. An estimate unless enabled == running. Nothing if running is 0: the event was
/// not counted.
METAGROUP_API std::optional<double> scale_count(std::uint64_t count, std::uint64_t enabled,
                                                std::uint64_t running) noexcept;

/// A view of one record. Valid as long as the bytes that it is a view of.
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
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept {
        if (i >= nr()) return std::nullopt;
        return payload_->value(i);
    }
    /// The estimate of scale_count() for event `i`; nothing if there is no count, the format
    /// lacks the times, or the event was never on the PMU.
    [[nodiscard]] std::optional<double> scaled(std::size_t i) const noexcept;
    /// The kernel's identifier of event `i`; nothing if not in the payload.
    // NOLINTNEXTLINE(bugprone-exception-escape): the index is checked
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const noexcept;
    /// Samples that event `i` lost; nothing if not in the payload.
    // NOLINTNEXTLINE(bugprone-exception-escape): the index is checked
    [[nodiscard]] std::optional<std::uint64_t> lost(std::size_t i) const noexcept;

  private:
    friend class SnapshotView;
    MemberView(const perf_metagroup_record& record, std::span<const std::byte> bytes) noexcept
        : record_(record), bytes_(bytes), payload_(Payload::parse(bytes, record.read_format)) {}

    perf_metagroup_record record_;
    std::span<const std::byte> bytes_;
    std::optional<Payload> payload_;
};

/// A view of the bytes of a FRAMED read. Valid as long as they are. Nothing in them can make it
/// look beyond them, even if they change meanwhile, as in a Mapping.
class METAGROUP_API SnapshotView {
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
        friend class SnapshotView;
        Iterator(const SnapshotView* snapshot, std::size_t index) noexcept
            : snapshot_(snapshot), index_(index) {}
        const SnapshotView* snapshot_ = nullptr;
        std::size_t index_ = 0;
    };

    /// An empty snapshot.
    SnapshotView() = default;
    /// Of bytes that begin with a whole snapshot; more may follow. Looks at the header only: a
    /// record that contradicts it shows as one without payload.
    /// \throws std::system_error (EBADMSG) saying what is wrong with the header.
    explicit SnapshotView(std::span<const std::byte> bytes);

    /// Number of records.
    [[nodiscard]] std::size_t size() const noexcept { return header_.count; }
    [[nodiscard]] bool empty() const noexcept { return header_.count == 0; }
    /// Record `i`, in the order of attaching. \throws std::out_of_range if i >= size().
    [[nodiscard]] MemberView operator[](std::size_t i) const;
    [[nodiscard]] Iterator begin() const noexcept { return {this, 0}; }
    [[nodiscard]] Iterator end() const noexcept { return {this, size()}; }
    /// The record of that member number; nothing if it is not in this snapshot.
    [[nodiscard]] std::optional<MemberView> find(std::uint32_t member) const noexcept;

    /// Sweeps of this meta-group so far, from 1; 0 if there was none.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return header_.sequence; }
    /// Start of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t begin_ns() const noexcept { return header_.begin; }
    /// End of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t end_ns() const noexcept { return header_.end; }
    /// Newest minus oldest record time in nanoseconds, of the records that this sweep has read:
    /// not of those without payload, and not of those on CPUs that sleep.
    [[nodiscard]] std::uint64_t skew_ns() const noexcept;
    /// The FRAMED bytes: header and records.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  protected:
    [[nodiscard]] perf_metagroup_record record(std::size_t i) const noexcept;
    /// The same at another address.
    void move_to(const std::byte* bytes) noexcept { bytes_ = {bytes, bytes_.size()}; }

  private:
    // Whether a record and its payload end before the next one.
    [[nodiscard]] bool fits(const perf_metagroup_record& record) const noexcept;
    [[nodiscard]] MemberView view(std::size_t i) const noexcept;

    std::span<const std::byte> bytes_;
    perf_metagroup_snapshot header_{};
};

}  // namespace metagroup
