// SPDX-License-Identifier: MIT
/// \file
/// Payload: decodes the data that read(2) of a leader returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/export.hpp>
#include <optional>
#include <span>

namespace metagroup {

/// The bits of `perf_event_attr.read_format`, as perf_event_open(2) defines them. Repeated here
/// because older kernel headers lack the last one.
struct ReadFormat {
    static constexpr std::uint64_t total_time_enabled = 1U << 0;
    static constexpr std::uint64_t total_time_running = 1U << 1;
    static constexpr std::uint64_t id = 1U << 2;
    static constexpr std::uint64_t group = 1U << 3;
    static constexpr std::uint64_t lost = 1U << 4;  ///< since Linux 6.0
    /// All bits that this library can decode.
    static constexpr std::uint64_t all = (1U << 5) - 1;
};

namespace detail {

/// The offsets of a payload's fields in 64-bit words; 0 if the format lacks the field. Fields of
/// event i are `stride` * i words further on.
struct alignas(8) PayloadLayout {
    std::uint8_t time_enabled, time_running, value, id, lost;
    std::uint8_t stride;
    std::uint8_t fixed;  ///< words in addition to the `stride` words of each event

    [[nodiscard]] constexpr std::size_t bytes(std::size_t nr) const noexcept {
        return sizeof(std::uint64_t) * (fixed + nr * stride);
    }
};

// perf_event_open(2):
//   with group:    nr [enabled] [running] ( value [id] [lost] )*
//   without group: value [enabled] [running] [id] [lost]
constexpr PayloadLayout payload_layout(std::uint64_t format) noexcept {
    PayloadLayout layout{};
    std::uint8_t next = 1;
    if (format & ReadFormat::total_time_enabled) layout.time_enabled = next++;
    if (format & ReadFormat::total_time_running) layout.time_running = next++;
    if (format & ReadFormat::group) layout.value = next++;
    layout.stride = 1;
    if (format & ReadFormat::id) layout.id = next++, ++layout.stride;
    if (format & ReadFormat::lost) layout.lost = next++, ++layout.stride;
    layout.fixed = static_cast<std::uint8_t>(next - layout.stride);
    return layout;
}

// For all formats, so that decoding takes only a few instructions.
inline constexpr auto payload_layouts = [] {
    std::array<PayloadLayout, ReadFormat::all + 1> layouts{};
    for (std::size_t format = 0; format < layouts.size(); ++format)
        layouts[format] = payload_layout(format);
    return layouts;
}();

}  // namespace detail

/// Size in bytes of the payload of a group of `nr_events` events. Without ReadFormat::group only
/// the leader is read, and `nr_events` is ignored.
constexpr std::size_t payload_size(std::uint64_t read_format, std::size_t nr_events) noexcept {
    const bool group = (read_format & ReadFormat::group) != 0;
    return detail::payload_layout(read_format).bytes(group ? nr_events : 1);
}

/// A view of one payload. Does not own the bytes, requires no alignment, and never reads beyond
/// them.
class METAGROUP_API Payload {
  public:
    /// Parses `bytes`, which must be exactly one payload of that format.
    /// \return no value if they are too short or too long, or the format has unknown bits.
    static std::optional<Payload> parse(std::span<const std::byte> bytes,
                                        std::uint64_t read_format) noexcept {
        if (read_format > ReadFormat::all) return std::nullopt;
        Payload payload(bytes.data(), static_cast<std::uint32_t>(read_format));
        const std::size_t words = bytes.size() / sizeof(std::uint64_t);
        if (payload.has(ReadFormat::group)) {
            if (words == 0) return std::nullopt;
            const std::uint64_t nr = payload.word(0);
            // Bounds nr before it is multiplied by anything.
            if (nr == 0 || nr > words) return std::nullopt;
            payload.nr_ = static_cast<std::size_t>(nr);
        }
        if (bytes.size() != payload.layout().bytes(payload.nr_)) return std::nullopt;
        return payload;
    }

    /// Number of events with a value: all events of the group, or 1 without
    /// ReadFormat::group.
    [[nodiscard]] std::size_t nr() const noexcept { return nr_; }
    [[nodiscard]] std::uint64_t read_format() const noexcept { return format_; }
    /// Nanoseconds for which the leader was enabled; no value if the format lacks it.
    [[nodiscard]] std::optional<std::uint64_t> time_enabled() const noexcept {
        return field(layout().time_enabled);
    }
    /// Nanoseconds for which the leader was on the PMU; no value if the format lacks it.
    [[nodiscard]] std::optional<std::uint64_t> time_running() const noexcept {
        return field(layout().time_running);
    }
    /// The count of event `i`, as the kernel returned it. \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::uint64_t value(std::size_t i) const {
        if (i >= nr_) refuse(i);
        return word(layout().value + i * layout().stride);
    }
    /// The kernel's identifier of event `i`; no value if the format lacks it.
    /// \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::optional<std::uint64_t> id(std::size_t i) const {
        if (i >= nr_) refuse(i);
        return field(layout().id, i);
    }
    /// The number of samples that event `i` lost; no value if the format lacks it.
    /// \throws std::out_of_range if i >= nr().
    [[nodiscard]] std::optional<std::uint64_t> lost(std::size_t i) const {
        if (i >= nr_) refuse(i);
        return field(layout().lost, i);
    }

  private:
    friend class MemberDelta;
    Payload(const std::byte* data, std::uint32_t format) noexcept : data_(data), format_(format) {}
    [[nodiscard]] bool has(std::uint32_t bit) const noexcept { return (format_ & bit) != 0; }
    [[nodiscard]] const detail::PayloadLayout& layout() const noexcept {
        return detail::payload_layouts[format_];
    }
    static std::uint64_t word(const std::byte* data, std::size_t index) noexcept {
        std::uint64_t value = 0;
        std::memcpy(&value, data + index * sizeof(value), sizeof(value));
        return value;
    }
    [[nodiscard]] std::uint64_t word(std::size_t index) const noexcept {
        return word(data_, index);
    }
    [[nodiscard]] std::optional<std::uint64_t> field(std::size_t place,
                                                     std::size_t i = 0) const noexcept {
        if (place == 0) return std::nullopt;
        return word(place + i * layout().stride);
    }
    [[noreturn]] void refuse(std::size_t i) const;

    const std::byte* data_;
    std::size_t nr_ = 1;
    std::uint32_t format_;
};

}  // namespace metagroup
