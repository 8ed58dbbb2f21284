// SPDX-License-Identifier: MIT
// Numbers from a fuzzer's bytes; zeros after their end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "targets.hpp"

namespace metagroup::fuzz {

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

}  // namespace metagroup::fuzz
