// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace tool {

// The last values of something, the oldest forgotten.
class History {
  public:
    // As many as a graph has columns at most.
    static constexpr std::size_t kLength = 32;

    void add(std::optional<double> value);
    // 0 is the newest. Nothing if it was not known then, or is forgotten.
    std::optional<double> ago(std::size_t steps) const;
    // Of the newest so many; 0 if none is known.
    double peak(std::size_t length = kLength) const;

  private:
    std::array<std::optional<double>, kLength> values_{};
    std::size_t newest_ = 0;
};

}  // namespace tool
