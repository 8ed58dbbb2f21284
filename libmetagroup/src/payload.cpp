// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <metagroup/payload.hpp>
#include <stdexcept>

namespace metagroup {
namespace {

constexpr std::size_t word_size = sizeof(std::uint64_t);
constexpr std::uint64_t times = ReadFormat::total_time_enabled | ReadFormat::total_time_running;

// Both layouts, in 64-bit words (perf_event_open(2)):
//   with group:    nr [enabled] [running] ( value [id] [lost] )*
//   without group: value [enabled] [running] [id] [lost]
// Either way one word, then the times, so that the times have the same place in both.

std::size_t time_words(std::uint64_t format) noexcept {
    return static_cast<std::size_t>(std::popcount(format & times));
}

std::size_t event_words(std::uint64_t format) noexcept {
    return 1 +
           static_cast<std::size_t>(std::popcount(format & (ReadFormat::id | ReadFormat::lost)));
}

}  // namespace

std::size_t payload_size(std::uint64_t read_format, std::size_t nr_events) noexcept {
    const bool group = (read_format & ReadFormat::group) != 0;
    return word_size * (time_words(read_format) + (group ? 1 + nr_events * event_words(read_format)
                                                         : event_words(read_format)));
}

std::optional<Payload> Payload::parse(std::span<const std::byte> bytes,
                                      std::uint64_t read_format) noexcept {
    if ((read_format & ~ReadFormat::all) != 0) return std::nullopt;
    Payload payload(bytes, read_format, 1);
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

std::uint64_t Payload::word(std::size_t index) const noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + index * word_size, word_size);
    return value;
}

std::optional<std::uint64_t> Payload::time_enabled() const noexcept {
    if (!has(ReadFormat::total_time_enabled)) return std::nullopt;
    return word(1);
}

std::optional<std::uint64_t> Payload::time_running() const noexcept {
    if (!has(ReadFormat::total_time_running)) return std::nullopt;
    return word(has(ReadFormat::total_time_enabled) ? 2 : 1);
}

// Index of the word that holds `field` of event `i`; field 0 is the value.
std::size_t Payload::event_word(std::size_t i, std::uint64_t field) const {
    if (i >= nr_) {
        throw std::out_of_range(fmt::format("event {} of a payload of {} events", i, nr_));
    }
    const std::uint64_t before =
        field == ReadFormat::id ? 0 : (field == ReadFormat::lost ? format_ & ReadFormat::id : 0);
    const std::size_t place = (field == 0 ? 0 : 1) + (before != 0 ? 1 : 0);
    if (has(ReadFormat::group)) return 1 + time_words(format_) + i * event_words(format_) + place;
    return field == 0 ? 0 : time_words(format_) + place;
}

std::uint64_t Payload::value(std::size_t i) const {
    return word(event_word(i, 0));
}

std::optional<std::uint64_t> Payload::id(std::size_t i) const {
    const std::size_t index = event_word(i, ReadFormat::id);
    if (!has(ReadFormat::id)) return std::nullopt;
    return word(index);
}

std::optional<std::uint64_t> Payload::lost(std::size_t i) const {
    const std::size_t index = event_word(i, ReadFormat::lost);
    if (!has(ReadFormat::lost)) return std::nullopt;
    return word(index);
}

}  // namespace metagroup
