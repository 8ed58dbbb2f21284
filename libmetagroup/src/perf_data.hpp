// SPDX-License-Identifier: MIT
// The format of perf.data files: see tools/perf/Documentation/perf.data-file-format.txt in the
// kernel's source.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace metagroup::detail::perf_data {

constexpr std::uint64_t kMagic = 0x32454c4946524550;  // PERFILE2, little-endian

struct Section {
    std::uint64_t offset;
    std::uint64_t size;
};

// The file has a header, attributes and their identifiers, data, a Section per feature, features.
struct Header {
    std::uint64_t magic;
    std::uint64_t size;
    std::uint64_t attr_size;  // of an attribute plus the Section of its identifiers
    Section attrs;
    Section data;
    Section event_types;
    std::array<std::uint64_t, 4> features;  // one bit per Feature
};
static_assert(sizeof(Header) == 104);

enum class Feature : unsigned {
    hostname = 3,
    osrelease = 4,
    version = 5,
    arch = 6,
    nrcpus = 7,
    cpudesc = 8,
    cpuid = 9,
    total_mem = 10,
    cmdline = 11,
    event_desc = 12,
    cpu_topology = 13,
    numa_topology = 14,
    group_desc = 17,
    sample_time = 21,
    clockid = 23,
    clock_data = 29,
};

// Record types that perf adds to those of the kernel.
constexpr std::uint32_t kFinishedRound = 68;
constexpr std::uint32_t kIdIndex = 69;
constexpr std::uint32_t kAuxtrace = 71;
constexpr std::uint32_t kEventUpdate = 78;
constexpr std::uint32_t kCompressed = 81;
constexpr std::uint32_t kCompressed2 = 83;  // in newer kernels

// The first word of an event update. perf ignores those that it does not know; its own are small
// numbers.
enum class Update : std::uint64_t {
    unit = 0,
    scale = 1,
    name = 2,
    reading = std::uint64_t{1} << 32U,
};

// The sample_type of streams. perf record adds IP and TID to it.
constexpr std::uint64_t kStreamSample =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;

// A buffer to which numbers and texts are appended.
class Bytes {
  public:
    template <typename Number>
    void put(const Number& number) {
        const auto* const begin = reinterpret_cast<const std::byte*>(&number);
        bytes_.insert(bytes_.end(), begin, begin + sizeof(number));
    }
    void put(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    // The text, a NUL, and zeros up to a multiple.
    void put_padded(std::string_view text, std::size_t multiple) {
        put(std::as_bytes(std::span(text)));
        bytes_.resize(bytes_.size() + multiple - text.size() % multiple);
    }
    // As in features: length, text.
    void put_text(std::string_view text) {
        constexpr std::size_t multiple = 64;
        put(static_cast<std::uint32_t>(text.size() + multiple - text.size() % multiple));
        put_padded(text, multiple);
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] std::span<const std::byte> view() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace metagroup::detail::perf_data
