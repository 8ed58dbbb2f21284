// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "top/layout.hpp"
#include "top/model.hpp"
#include "top/screen.hpp"

namespace tool {

// What the monitor says of itself.
struct About {
    std::string backend;
    std::chrono::nanoseconds sweep{};
    double cpu_use = 0;
    std::uint64_t missed = 0;
    std::chrono::nanoseconds interval{};
    bool paused = false;
    std::string problem;  // shown if there is one
};

// Draws a model on a screen, and remembers which part of it is to be seen.
class View {
  public:
    void draw(Screen& screen, const Model& model, const About& about);

    void up(std::size_t rows) { first_row_ -= rows < first_row_ ? rows : first_row_; }
    void down(std::size_t rows) { first_row_ += rows; }
    void home() { first_row_ = 0; }
    void end() { first_row_ = SIZE_MAX / 2; }
    std::size_t page() const { return window_; }

    void show_help(bool on) { help_ = on; }
    bool shows_help() const { return help_; }

  private:
    void place(const Screen& screen, const Model& model);
    void draw_header(Screen& screen, const About& about) const;
    void draw_extent(Screen& screen, const Model& model, const About& about) const;
    void draw_headings(Screen& screen, const Model& model) const;
    void draw_row(Screen& screen, const Model& model, int line, std::size_t row) const;
    void draw_cell(Screen& screen, const Model& model, int line, std::size_t row,
                   std::size_t series) const;
    int column_of(std::size_t series) const;

    bool help_ = false;
    bool compact_ = false;  // a screen so low that rows come before words
    std::size_t first_row_ = 0;
    std::size_t window_ = 0;  // rows of the model on the screen
    std::size_t name_width_ = 0;
    Layout layout_{0, 0, 0, 0};
    std::vector<double> peaks_;  // by series on the screen
};

}  // namespace tool
