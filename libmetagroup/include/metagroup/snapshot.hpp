// SPDX-License-Identifier: MIT
/// \file
/// Snapshot: all records of one sweep in a buffer; SnapshotView: the same in any memory.
#pragma once

#include <linux/perf_metagroup.h>

#include <concepts>
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

/// The state of a member in a record; the values of `perf_metagroup_record.status`.
enum class Status : std::uint32_t {
    ok = PERF_METAGROUP_OK,              ///< running; read on the member's CPU
    inactive = PERF_METAGROUP_INACTIVE,  ///< enabled, not on the PMU now; payload complete
    off = PERF_METAGROUP_OFF,            ///< disabled; payload complete
    error = PERF_METAGROUP_ERROR,        ///< pinned and could not be put on the PMU; no payload
    offline = PERF_METAGROUP_OFFLINE,    ///< its CPU went offline; the last counts
    revoked = PERF_METAGROUP_REVOKED,    ///< its PMU was unregistered; the last counts
    stale = PERF_METAGROUP_STALE,        ///< could not be read this time; no payload
    idle = PERF_METAGROUP_IDLE,          ///< its CPU is idle (quiet mode); read as it became idle
    skipped = PERF_METAGROUP_SKIPPED,    ///< its CPU is isolated and not interrupted; no payload
};

/// `ok`, `inactive`...; `unknown` for a value of a later kernel.
METAGROUP_API std::string_view to_string(Status status) noexcept;

/// The count for the whole time enabled, had the event been on the PMU all the time: count *
/// enabled / running. An estimate unless enabled == running. No value if running is 0: the event
/// was not counted.
inline std::optional<double> scale_count(std::uint64_t count, std::uint64_t enabled,
                                         std::uint64_t running) noexcept {
    if (running == 0) return std::nullopt;
    // Not an estimate: keep it free of rounding.
    if (enabled == running) return static_cast<double>(count);
    return static_cast<double>(count) * static_cast<double>(enabled) / static_cast<double>(running);
}

/// A view of one record. Valid as long as the bytes that it is a view of.
class METAGROUP_API MemberView {
  public:
    /// Number of the member in its meta-group; never used again for another one.
    [[nodiscard]] std::uint32_t member() const noexcept { return record_.member; }
    [[nodiscard]] int cpu() const noexcept { return static_cast<int>(record_.cpu); }
    [[nodiscard]] Status status() const noexcept { return Status{record_.status}; }
    /// When the member was read: CLOCK_MONOTONIC in nanoseconds, taken on its CPU if it was
    /// running. The per-fd backend takes it on the reader's CPU after each read.
    [[nodiscard]] std::uint64_t time_ns() const noexcept { return record_.time; }
    [[nodiscard]] std::uint64_t read_format() const noexcept { return record_.read_format; }
    /// How often the events of a member of a set have been opened anew, for example because its CPU
    /// was offline; 0 for a group.
    [[nodiscard]] std::uint32_t generation() const noexcept {
        return bytes_.data() == nullptr ? 0 : generation_before(bytes_.data(), record_.header);
    }
    /// The bytes that read(2) of the leader would have returned; none if it failed.
    [[nodiscard]] std::span<const std::byte> payload_bytes() const noexcept { return bytes_; }
    /// The payload decoded; no value if there is none or it cannot be decoded.
    [[nodiscard]] std::optional<Payload> payload() const noexcept { return payload_; }
    /// Number of events in the payload; 0 if there is none.
    [[nodiscard]] std::size_t nr() const noexcept { return payload_ ? payload_->nr() : 0; }

    /// Nanoseconds for which the member was enabled; no value if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept {
        return payload_ ? payload_->time_enabled() : std::nullopt;
    }
    /// Nanoseconds for which the member was on the PMU; no value if not known.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept {
        return payload_ ? payload_->time_running() : std::nullopt;
    }
    /// The count of event `i` as the kernel gave it; no value if the payload has no such event.
    [[nodiscard]] std::optional<std::uint64_t> raw(std::size_t i) const noexcept {
        if (i >= nr()) return std::nullopt;
        return payload_->value(i);
    }
    /// The estimate of scale_count() for event `i`; no value if there is no count, the format
    /// lacks the times, or the event was never on the PMU.
    [[nodiscard]] std::optional<double> scaled(std::size_t i) const noexcept;
    /// The kernel's identifier of event `i`; no value if not in the payload.
    // NOLINTNEXTLINE(bugprone-exception-escape): the index is checked
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const noexcept;
    /// Samples that event `i` lost; no value if not in the payload.
    // NOLINTNEXTLINE(bugprone-exception-escape): the index is checked
    [[nodiscard]] std::optional<std::uint64_t> lost(std::size_t i) const noexcept;

  private:
    friend class MemberDelta;
    friend class SnapshotView;
    MemberView(const perf_metagroup_record& record, std::span<const std::byte> bytes) noexcept
        : record_(record), bytes_(bytes), payload_(Payload::parse(bytes, record.read_format)) {}
    // Of the record of so many bytes that ends at the payload.
    static std::uint32_t generation_before(const std::byte* payload, std::size_t header) noexcept {
        perf_metagroup_set_record record{};
        if (header >= sizeof(record)) std::memcpy(&record, payload - header, sizeof(record));
        return record.generation;
    }

    perf_metagroup_record record_;
    std::span<const std::byte> bytes_;
    std::optional<Payload> payload_;
};

class Snapshot;

/// A view of the bytes of a FRAMED read. Valid as long as they are. Never reads beyond them,
/// whatever they contain, even if they change meanwhile, as in a Mapping.
class METAGROUP_API SnapshotView {
  public:
    /// Walks the records in the order of attaching.
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using iterator_concept = std::forward_iterator_tag;
        using value_type = MemberView;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = MemberView;
        Iterator() = default;
        MemberView operator*() const { return snapshot_->view_at(offset_); }
        Iterator& operator++() {
            offset_ = snapshot_->next(offset_);
            ++index_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
            return a.snapshot_ == b.snapshot_ && a.index_ == b.index_;
        }

      private:
        friend class Delta;
        friend class SnapshotView;
        Iterator(const SnapshotView* snapshot, std::size_t index) noexcept
            : snapshot_(snapshot), index_(index), offset_(snapshot->header_.size) {}
        const SnapshotView* snapshot_ = nullptr;
        std::size_t index_ = 0;
        std::size_t offset_ = 0;
    };

    /// An empty snapshot.
    SnapshotView() = default;
    /// Of bytes that begin with a whole snapshot; more may follow. Reads the header only: a
    /// record that contradicts it shows as one without payload.
    /// \throws Error (Cause::bad_snapshot) naming the fault in the header.
    explicit SnapshotView(std::span<const std::byte> bytes);

    /// Not of a temporary Snapshot, which owns the bytes.
    SnapshotView(const Snapshot&&) = delete;
    template <std::same_as<Snapshot> Temporary>  // a template, so that `view = {}` compiles
    SnapshotView& operator=(const Temporary&&) = delete;

    /// Number of records.
    [[nodiscard]] std::size_t size() const noexcept { return header_.count; }
    [[nodiscard]] bool empty() const noexcept { return header_.count == 0; }
    /// Record `i`, in the order of attaching. At once; but in a view of bytes whose frames differ
    /// in size, made by SnapshotView(bytes), by walking through the frames before it: iterate
    /// there. \throws std::out_of_range if i >= size().
    [[nodiscard]] MemberView operator[](std::size_t i) const;
    [[nodiscard]] Iterator begin() const& noexcept { return {this, 0}; }
    [[nodiscard]] Iterator end() const& noexcept { return {this, size()}; }
    Iterator begin() const&& = delete;
    Iterator end() const&& = delete;
    /// The record of that member number; no value if it is not in this snapshot.
    [[nodiscard]] std::optional<MemberView> find(std::uint32_t member) const noexcept;

    /// Sweeps of this meta-group so far, from 1; 0 if there was none.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return header_.sequence; }
    /// Start of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t begin_ns() const noexcept { return header_.begin; }
    /// End of the sweep: CLOCK_MONOTONIC in nanoseconds.
    [[nodiscard]] std::uint64_t end_ns() const noexcept { return header_.end; }
    /// Newest minus oldest record time in nanoseconds, of the records that this sweep has read:
    /// not of those without payload, and not of those on idle CPUs.
    [[nodiscard]] std::uint64_t skew_ns() const noexcept;
    /// The FRAMED bytes: header and records.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  protected:
    [[nodiscard]] perf_metagroup_record record(std::size_t i) const noexcept {
        return record_at(offset(i));
    }
    /// The same snapshot at another address.
    void move_to(const std::byte* bytes) noexcept { bytes_ = {bytes, bytes_.size()}; }
    /// True if frames differ in size: without an index, record `i` is found by walking.
    [[nodiscard]] bool wants_index() const noexcept {
        return header_.stride == 0 && header_.count > 0;
    }
    /// Writes where each frame begins; `index` has size() elements.
    void make_index(std::span<std::uint64_t> index) const noexcept;
    /// Uses what make_index() wrote, for as long as this is a view of the same bytes.
    void use_index(std::span<const std::uint64_t> index) noexcept { index_ = index; }

  private:
    friend class Delta;
    friend class Mapping;
    friend class MemberDelta;
    // The offset of frame `i`: past the end if the frames before it leave no room for it.
    [[nodiscard]] std::size_t offset(std::size_t i) const noexcept;
    // The one after the frame at `offset`.
    [[nodiscard]] std::size_t next(std::size_t offset) const noexcept {
        return header_.stride != 0 ? offset + header_.stride : walk(offset);
    }
    [[nodiscard]] std::size_t walk(std::size_t offset) const noexcept;
    // Zero if it is not within the bytes.
    [[nodiscard]] perf_metagroup_record record_at(std::size_t offset) const noexcept {
        perf_metagroup_record record{};
        if (offset < bytes_.size() && bytes_.size() - offset >= sizeof(record))
            std::memcpy(&record, bytes_.data() + offset, sizeof(record));
        return record;
    }
    // The payload of `record`, which is a copy of that at `offset`: the bytes may be changing.
    // Empty if it is not within its frame.
    [[nodiscard]] std::span<const std::byte> payload_at(
        std::size_t offset, const perf_metagroup_record& record) const noexcept {
        if (record.header < sizeof(record)) return {};
        const std::size_t frame = header_.stride != 0 ? header_.stride : record.frame;
        const std::size_t end = std::size_t{record.header} + record.size;
        if (end > frame || end > bytes_.size() - offset) return {};
        return bytes_.subspan(offset + record.header, record.size);
    }
    [[nodiscard]] MemberView view_at(std::size_t offset) const noexcept {
        const perf_metagroup_record record = record_at(offset);
        return {record, payload_at(offset, record)};
    }

    std::span<const std::byte> bytes_;
    std::span<const std::uint64_t> index_;  // empty, or of each frame
    perf_metagroup_snapshot header_{};
};

/// A buffer for FRAMED reads and the view of its contents. Reuse it: it allocates only to grow.
/// Copies are independent.
class METAGROUP_API Snapshot : public SnapshotView {
  public:
    /// An empty snapshot.
    Snapshot() = default;
    Snapshot(const Snapshot& other)
        : SnapshotView(other), buffer_(other.buffer_), index_(other.index_) {
        move_to(buffer_.data());
        use_index(index_);
    }
    Snapshot& operator=(const Snapshot& other) {
        if (this != &other) Snapshot(other).swap(*this);
        return *this;
    }
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
    /// Size of the buffer in bytes: a sweep that needs no more does not allocate.
    [[nodiscard]] std::size_t capacity() const noexcept { return buffer_.size(); }
    /// Makes the first `bytes` bytes of the buffer, a FRAMED read, the contents. Checks only the
    /// header, as a view does.
    /// \throws Error (Cause::bad_snapshot) naming the fault in the header; the snapshot is empty
    ///         then.
    void commit(std::size_t bytes);

    // As in SnapshotView, but not of a temporary, which owns the bytes.
    [[nodiscard]] MemberView operator[](std::size_t i) const& {
        return SnapshotView::operator[](i);
    }
    [[nodiscard]] std::optional<MemberView> find(std::uint32_t member) const& noexcept {
        return SnapshotView::find(member);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const& noexcept {
        return SnapshotView::bytes();
    }
    MemberView operator[](std::size_t i) const&& = delete;
    std::optional<MemberView> find(std::uint32_t member) const&& = delete;
    std::span<const std::byte> bytes() const&& = delete;

  private:
    std::vector<std::byte> buffer_;
    std::vector<std::uint64_t> index_;  // of the frames, if they differ in size
};

}  // namespace metagroup
