// SPDX-License-Identifier: MIT
#include <metagroup/payload.hpp>
#include <stdexcept>

#include "format.hpp"

namespace metagroup {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);

// Both layouts, in 64-bit words (perf_event_open(2)):
//   with group:    nr [enabled] [running] ( value [id] [lost] )*
//   without group: value [enabled] [running] [id] [lost]
// Either way one word, then the times, so that the times have the same place in both.

// By shifts: std::popcount() is slow for the x86-64 baseline, which lacks the instruction.
std::size_t time_words(std::uint64_t format) noexcept {
    static_assert(ReadFormat::total_time_enabled == 1U << 0 &&
                  ReadFormat::total_time_running == 1U << 1);
    return (format & 1U) + (format >> 1U & 1U);
}

std::size_t event_words(std::uint64_t format) noexcept {
    static_assert(ReadFormat::id == 1U << 2 && ReadFormat::lost == 1U << 4);
    return 1 + (format >> 2U & 1U) + (format >> 4U & 1U);
}

}  // namespace

std::size_t payload_size(std::uint64_t read_format, std::size_t nr_events) noexcept {
    const bool group = (read_format & ReadFormat::group) != 0;
    return word_size * (time_words(read_format) + (group ? 1 + nr_events * event_words(read_format)
                                                         : event_words(read_format)));
}

// The other fields of an event follow its value; without group, the times come between.
inline Payload::Payload(std::span<const std::byte> bytes, std::uint64_t format) noexcept
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
    // As payload_size(): the other fields of the last event end the payload.
    const std::size_t words = payload.fields_ - 1 + payload.nr_ * payload.stride_;
    if (bytes.size() != word_size * words) return std::nullopt;
    return payload;
}

void Payload::refuse(std::size_t i) const {
    throw std::out_of_range(detail::format("event {} of a payload of {} events", i, nr_));
}

}  // namespace metagroup
