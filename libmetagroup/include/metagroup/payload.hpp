// SPDX-License-Identifier: MIT
/// \file
/// Payload: the decoder of what read(2) of a leader returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/export.hpp>
#include <optional>
#include <span>

namespace metagroup {

/// The bits of `perf_event_attr.read_format`, as perf_event_open(2) defines them. Repeated here
/// since older kernel headers lack the last.
struct ReadFormat {
    static constexpr std::uint64_t total_time_enabled = 1U << 0;
    static constexpr std::uint64_t total_time_running = 1U << 1;
    static constexpr std::uint64_t id = 1U << 2;
    static constexpr std::uint64_t group = 1U << 3;
    static constexpr std::uint64_t lost = 1U << 4;  ///< since Linux 6.0
    /// All bits that this library can decode.
    static constexpr std::uint64_t all = (1U << 5) - 1;
};

/// Bytes of the payload of a group of `nr_events` events. Without ReadFormat::group only the leader
/// is read, and `nr_events` does not matter.
METAGROUP_API std::size_t payload_size(std::uint64_t read_format, std::size_t nr_events) noexcept;

/// A view of one payload. Does not own the bytes; needs no alignment; never reads beyond them.
class METAGROUP_API Payload {
  public:
    /// Checks that `bytes` are exactly one payload of that format.
    /// \return no value if they are not: too short, too long, or a format with unknown bits.
    static std::optional<Payload> parse(std::span<const std::byte> bytes,
                                        std::uint64_t read_format) noexcept;

    /// Number of events with a value: all events of the group, or 1 without
    /// ReadFormat::group.
    [[nodiscard]] std::size_t nr() const noexcept { return nr_; }
    [[nodiscard]] std::uint64_t read_format() const noexcept { return format_; }
    /// Nanoseconds for which the leader was enabled; no value if the format lacks it.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept {
        if (!has(ReadFormat::total_time_enabled)) return std::nullopt;
        return word(1);
    }
    /// Nanoseconds for which the leader was on the PMU; no value if the format lacks it.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept {
        if (!has(ReadFormat::total_time_running)) return std::nullopt;
        return word(has(ReadFormat::total_time_enabled) ? 2 : 1);
    }
    /// The count of event `i`, as the kernel gave it. \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::uint64_t value(std::size_t i) const {
        if (i >= nr_) refuse(i);
        return word(first_ + i * stride_);
    }
    /// The kernel's identifier of event `i`; no value if the format lacks it.
    /// \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const {
        return field(i, ReadFormat::id);
    }
    /// Samples that event `i` lost; no value if the format lacks it.
    /// \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::optional<std::uint64_t> lost(std::size_t i) const {
        return field(i, ReadFormat::lost);
    }

  private:
    friend class MemberView;
    Payload(std::span<const std::byte> bytes, std::uint64_t format) noexcept;
    // parse(), which is fast if the bytes have the layout of `like`.
    static std::optional<Payload> parse_like(const std::optional<Payload>& like,
                                             std::span<const std::byte> bytes,
                                             std::uint64_t read_format) noexcept {
        if (!like || like->format_ != read_format || like->bytes_.size() != bytes.size())
            return parse(bytes, read_format);
        Payload payload = *like;
        payload.bytes_ = bytes;
        if (payload.has(ReadFormat::group) && payload.word(0) != payload.nr_)
            return parse(bytes, read_format);
        return payload;
    }
    [[nodiscard]] bool has(std::uint64_t bit) const noexcept { return (format_ & bit) != 0; }
    [[nodiscard]] std::uint64_t word(std::size_t index) const noexcept {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + index * sizeof(value), sizeof(value));
        return value;
    }
    // A field that follows the value. Fields are in the order of their bits.
    [[nodiscard]] std::optional<std::uint64_t> field(std::size_t i, std::uint64_t bit) const {
        if (i >= nr_) refuse(i);
        if (!has(bit)) return std::nullopt;
        const bool second = bit == ReadFormat::lost && has(ReadFormat::id);
        return word(fields_ + i * stride_ + (second ? 1 : 0));
    }
    [[noreturn]] void refuse(std::size_t i) const;

    std::span<const std::byte> bytes_;
    std::uint64_t format_;
    std::size_t nr_ = 1;
    // The value of event i is word first_ + i * stride_, its next field is word
    // fields_ + i * stride_.
    std::size_t first_;
    std::size_t stride_;
    std::size_t fields_;
};

}  // namespace metagroup
