// SPDX-License-Identifier: MIT
// The text formats of Prometheus, with exact numbers: counts may be above 2^53.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/accept.hpp"

namespace tool {

// Names and values.
using LabelSet = std::vector<std::pair<std::string, std::string>>;

// A value as it is written.
class Number {
  public:
    Number(std::uint64_t value);
    Number(double value);
    static Number seconds_of(std::uint64_t ns);

    const std::string& text() const { return text_; }

  private:
    Number() = default;

    std::string text_;
};

// A distribution of times, from the fastest sweep of few CPUs to far beyond the slowest of many.
class Times {
  public:
    struct Limit {
        std::uint64_t ns;
        std::string_view seconds;
    };
    static constexpr auto kLimits = std::to_array<Limit>({{5'000, "5e-06"},
                                                          {10'000, "1e-05"},
                                                          {20'000, "2e-05"},
                                                          {50'000, "5e-05"},
                                                          {100'000, "0.0001"},
                                                          {200'000, "0.0002"},
                                                          {500'000, "0.0005"},
                                                          {1'000'000, "0.001"},
                                                          {2'000'000, "0.002"},
                                                          {5'000'000, "0.005"},
                                                          {10'000'000, "0.01"},
                                                          {100'000'000, "0.1"},
                                                          {UINT64_MAX, "+Inf"}});

    void add(std::uint64_t ns);
    // By limit: so many times are not longer.
    const std::array<std::uint64_t, kLimits.size()>& counts() const { return counts_; }
    std::uint64_t sum() const { return sum_; }  // ns

  private:
    std::array<std::uint64_t, kLimits.size()> counts_{};
    std::uint64_t sum_ = 0;
};

class Exposition {
  public:
    enum class Type { counter, gauge, histogram };

    explicit Exposition(Format format) : format_(format) {}

    // The samples that follow are of this family. Names of counters end in _total.
    void begin(std::string name, Type type, std::string_view help);
    void add(const Number& value, const LabelSet& labels = {});
    void add(const Times& times);
    std::string finish() &&;

  private:
    void add(std::string_view suffix, const LabelSet& labels, std::string_view value);

    Format format_;
    std::string name_;
    std::string text_;
};

}  // namespace tool
