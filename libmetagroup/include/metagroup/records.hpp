// SPDX-License-Identifier: MIT
/// \file
/// Records: the records that a CPU has written to its ring.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace metagroup {

/// Complete records from one ring, oldest first, in the format of perf_event_open(2) with
/// IDENTIFIER, TIME, CPU and READ. A view.
class Records {
  public:
    /// Offsets in bytes of a sample's identifier and time.
    static constexpr std::size_t id_at = sizeof(perf_event_header);
    static constexpr std::size_t time_at = id_at + sizeof(std::uint64_t);

    Records() = default;
    /// The complete records at the start of `bytes`.
    explicit Records(std::span<const std::byte> bytes) noexcept {
        std::span<const std::byte> first;
        std::span<const std::byte> last;
        const std::size_t whole =
            walk(bytes, [&](std::uint32_t type, std::span<const std::byte> record) {
                if (type != PERF_RECORD_SAMPLE || record.size() < time_at + sizeof(first_)) return;
                if (first.data() == nullptr) first = record;
                last = record;
            });
        bytes_ = bytes.first(whole);
        first_ = number_at(first, time_at);
        last_ = number_at(last, time_at);
    }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
    /// Time of the first sample, in nanoseconds on the stream's clock; 0 if there is no sample with
    /// a time.
    [[nodiscard]] std::uint64_t first_ns() const noexcept { return first_; }
    /// Time of the last sample; 0 if there is no sample with a time.
    [[nodiscard]] std::uint64_t last_ns() const noexcept { return last_; }

    /// Calls `visit` with the type (PERF_RECORD_SAMPLE...) and the bytes of each record.
    template <typename Visit>
    void for_each(Visit visit) const {
        walk(bytes_, visit);
    }
    /// The number at `offset` in a record; 0 if the record is too short.
    [[nodiscard]] static std::uint64_t number_at(std::span<const std::byte> record,
                                                 std::size_t offset) noexcept {
        std::uint64_t number = 0;
        if (record.size() >= offset + sizeof(number))
            std::memcpy(&number, record.data() + offset, sizeof(number));
        return number;
    }
    /// The header of the record at the start of `bytes`; its size is 0 if the record is incomplete.
    /// A copy, since the memory of a ring may change between check and use.
    [[nodiscard]] static perf_event_header whole_header(std::span<const std::byte> bytes) noexcept {
        perf_event_header next{};
        if (bytes.size() < sizeof(next)) return {};
        std::memcpy(&next, bytes.data(), sizeof(next));
        if (next.size < sizeof(next) || next.size > bytes.size() ||
            next.size % sizeof(std::uint64_t) != 0)
            return {};
        return next;
    }

  private:
    template <typename Visit>
    static std::size_t walk(std::span<const std::byte> bytes, Visit&& visit) {
        auto rest = bytes;
        for (perf_event_header next{}; (next = whole_header(rest)).size > 0;
             rest = rest.subspan(next.size))
            visit(next.type, rest.first(next.size));
        return bytes.size() - rest.size();
    }

    std::span<const std::byte> bytes_;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

}  // namespace metagroup
