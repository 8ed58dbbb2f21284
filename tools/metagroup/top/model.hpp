// SPDX-License-Identifier: MIT
// The numbers on the screen, and the order of their rows.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/aggregation.hpp"

namespace tool {

// A column: an event's rate, or a ratio.
struct Series {
    std::string name;
    std::string unit;
};

struct Cell {
    std::optional<double> value;
    bool estimated = false;  // the event was not on the PMU all the time
};

struct Update {
    std::vector<Cell> cells;          // by place and series; the last row is the total
    std::vector<std::size_t> online;  // CPUs of each place
};

// The newest values of a cell, in a ring.
class History {
  public:
    // The columns of the widest graph.
    static constexpr std::size_t kLength = 32;

    void add(std::optional<double> value);
    // 0 is the newest. Nothing if the value was unknown then, or is too old.
    std::optional<double> ago(std::size_t steps) const;
    // The highest of the newest values; 0 if none is known.
    double peak(std::size_t length = kLength) const;

  private:
    std::array<std::optional<double>, kLength> values_{};
    std::size_t newest_ = 0;
};

class Model {
  public:
    // Columns to sort by are 0 for places, then the series from 1.
    static constexpr std::size_t kByPlace = 0;

    Model(std::vector<Place> places, std::vector<Series> series);

    void update(const Update& update);

    // Sorts numbers from the largest, places from the first. The same column again reverses.
    void sort_by(std::size_t column);
    // Sorts by the next column to the left or right, if there is one.
    void sort_left();
    void sort_right();
    void reverse();
    std::size_t sorted_by() const { return sorted_by_; }
    bool descending() const { return descending_; }
    // Places from top to bottom. Unknown values are at the bottom in either direction.
    const std::vector<std::size_t>& order() const { return order_; }

    const std::vector<Place>& places() const { return places_; }
    std::size_t online(std::size_t place) const { return online_[place]; }
    const std::vector<Series>& series() const { return series_; }
    // The row of the total, after all places.
    std::size_t total() const { return places_.size(); }
    const Cell& cell(std::size_t row, std::size_t series) const {
        return cells_[row * series_.size() + series];
    }
    const History& history(std::size_t row, std::size_t series) const {
        return histories_[row * series_.size() + series];
    }
    // The highest of the newest `length` values of all places, by which graphs are scaled.
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
