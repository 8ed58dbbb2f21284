// SPDX-License-Identifier: MIT
// What the screen shows, and in which order: knows neither counters nor terminals.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "places.hpp"
#include "top/history.hpp"

namespace tool {

// A column: an event's rate, or a ratio.
struct Series {
    std::string name;
    std::string unit;
};

struct Cell {
    std::optional<double> value;
    bool estimated = false;  // was not on the PMU all the time
};

// What one update brings.
struct Frame {
    std::vector<Cell> cells;          // by place and series; the last row is the total
    std::vector<std::size_t> online;  // CPUs of each place
};

class Model {
  public:
    // A column to sort by.
    static constexpr std::size_t kByPlace = 0;  // then the series, from 1

    Model(std::vector<Place> places, std::vector<Series> series);

    void update(const Frame& frame);

    // The largest number first, places from the first one on. The same column again: backwards.
    void sort_by(std::size_t column);
    // The column before or behind; stays at the ends.
    void sort_left();
    void sort_right();
    void reverse();
    std::size_t sorted_by() const { return sorted_by_; }
    bool descending() const { return descending_; }
    // Places from top to bottom. What is not known is at the bottom in any order.
    const std::vector<std::size_t>& order() const { return order_; }

    const std::vector<Place>& places() const { return places_; }
    std::size_t online(std::size_t place) const { return online_[place]; }
    const std::vector<Series>& series() const { return series_; }
    // The row behind all places.
    std::size_t total() const { return places_.size(); }
    const Cell& cell(std::size_t row, std::size_t series) const {
        return cells_[row * series_.size() + series];
    }
    const History& history(std::size_t row, std::size_t series) const {
        return histories_[row * series_.size() + series];
    }
    // The highest value of all places in the newest part of history: by it rows can be compared.
    double peak(std::size_t series, std::size_t length) const;

  private:
    void sort();

    std::vector<Place> places_;
    std::vector<Series> series_;
    std::vector<std::size_t> online_;
    std::vector<Cell> cells_;
    std::vector<History> histories_;
    std::vector<std::size_t> order_;
    std::size_t sorted_by_ = kByPlace;
    bool descending_ = false;
};

}  // namespace tool
