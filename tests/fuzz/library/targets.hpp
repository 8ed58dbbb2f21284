// SPDX-License-Identifier: MIT
// The fuzz targets. A target feeds its input to a part of the library and checks the rules of that
// part. A broken rule ends the program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "support/frame_builder.hpp"
#include "system.hpp"

namespace metagroup::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
    const char* name;
    void (*run)(Bytes input);
};
std::span<const Target> targets();

inline void demand(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "broken rule: %s\n", rule);
    std::abort();
}

inline std::string_view as_text(Bytes input) {
    return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// Numbers from a fuzzer's bytes; zeros after their end.
class Input {
  public:
    explicit Input(Bytes bytes) : bytes_(bytes) {}

    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    [[nodiscard]] Bytes rest() const { return bytes_; }

    template <typename Number>
    Number take() {
        Number number{};
        const std::size_t size = std::min(sizeof(number), bytes_.size());
        if (size > 0) std::memcpy(&number, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
        return number;
    }
    /// From 0 to `limit` - 1, which is 255 at most.
    std::uint8_t below(std::uint8_t limit) {
        return static_cast<std::uint8_t>(take<std::uint8_t>() % limit);
    }

  private:
    Bytes bytes_;
};

/// Reads the list on that system, or has it refused with a place in the text.
void read_events(std::string_view text, const detail::SystemPaths& paths);

/// Frames of members with rising numbers, as a kernel may return them.
std::vector<test::Frame> take_frames(Input& input);

/// Overwrites words in places that the rest of the input names.
void damage(test::Bytes& bytes, Input& input);

/// True if the numbers of the members rise, as they do unless damaged.
bool rising(const SnapshotView& view);

/// A target: any bytes as a perf.data file, which is read to its end or refused.
void recording(Bytes input);

/// Decodes the bytes as a FRAMED read in all ways, or checks that all refuse them.
void decode(Bytes bytes);

}  // namespace metagroup::fuzz
