// SPDX-License-Identifier: MIT

#include <metagroup/payload.hpp>
#include <stdexcept>

#include "formatted.hpp"

namespace metagroup {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

// Both layouts, in 64-bit words (perf_event_open(2)):
//   with group:    nr [enabled] [running] ( value [id] [lost] )*
//   without group: value [enabled] [running] [id] [lost]
// Either way one word, then the times, so that the times have the same place in both.

// Processors of old have no instruction that counts bits.
std::size_t words(std::uint64_t format, std::uint64_t one, std::uint64_t other) noexcept {
    return ((format & one) != 0 ? 1U : 0U) + ((format & other) != 0 ? 1U : 0U);
}

std::size_t time_words(std::uint64_t format) noexcept {
    return words(format, ReadFormat::total_time_enabled, ReadFormat::total_time_running);
}

std::size_t event_words(std::uint64_t format) noexcept {
    return 1 + words(format, ReadFormat::id, ReadFormat::lost);
}

}  // namespace

std::size_t payload_size(std::uint64_t read_format, std::size_t nr_events) noexcept {
    const bool group = (read_format & ReadFormat::group) != 0;
    return word_size * (time_words(read_format) + (group ? 1 + nr_events * event_words(read_format)
                                                         : event_words(read_format)));
}

// The value of an event is followed by its other fields, unless the times stand between.
Payload::Payload(std::span<const std::byte> bytes, std::uint64_t format) noexcept
    : bytes_(bytes),
      format_(format),
      first_(has(ReadFormat::group) ? 1 + time_words(format) : 0),
      stride_(event_words(format)),
      fields_(1 + time_words(format) + (has(ReadFormat::group) ? 1 : 0)) {}

std::optional<Payload> Payload::parse(std::span<const std::byte> bytes,
                                      std::uint64_t read_format) noexcept {
    if ((read_format & ~ReadFormat::all) != 0) return std::nullopt;
    Payload payload(bytes, read_format);
    if (payload.has(ReadFormat::group)) {
        if (bytes.size() < word_size) return std::nullopt;
        const std::uint64_t nr = payload.word(0);
        // Bounded by the bytes before it is multiplied by anything.
        if (nr == 0 || nr > bytes.size() / word_size) return std::nullopt;
        payload.nr_ = static_cast<std::size_t>(nr);
    }
    if (bytes.size() != payload_size(read_format, payload.nr_)) return std::nullopt;
    return payload;
}

std::optional<std::uint64_t> Payload::time_enabled() const noexcept {
    if (!has(ReadFormat::total_time_enabled)) return std::nullopt;
    return word(1);
}

std::optional<std::uint64_t> Payload::time_running() const noexcept {
    if (!has(ReadFormat::total_time_running)) return std::nullopt;
    return word(has(ReadFormat::total_time_enabled) ? 2 : 1);
}

void Payload::refuse(std::size_t i) const {
    throw std::out_of_range(detail::formatted("event {} of a payload of {} events", i, nr_));
}

// One that follows the value; they stand in the order of their bits.
std::optional<std::uint64_t> Payload::field(std::size_t i, std::uint64_t bit) const {
    if (i >= nr_) refuse(i);
    if (!has(bit)) return std::nullopt;
    const bool second = bit == ReadFormat::lost && has(ReadFormat::id);
    return word(fields_ + i * stride_ + (second ? 1 : 0));
}

std::optional<std::uint64_t> Payload::id(std::size_t i) const {
    return field(i, ReadFormat::id);
}

std::optional<std::uint64_t> Payload::lost(std::size_t i) const {
    return field(i, ReadFormat::lost);
}

}  // namespace metagroup
