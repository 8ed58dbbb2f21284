// SPDX-License-Identifier: MIT
// The terminal: draws a model on a full screen, and reads keys.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "top/source.hpp"

namespace tool {

enum class Style { plain, strong, weak, warning, bad };

// Takes the whole terminal; the destructor restores it.
class Screen {
  public:
    // \throws std::runtime_error if there is no terminal, or terminfo does not know it.
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    int rows() const;
    int columns() const;
    bool utf8() const { return utf8_; }

    void erase();
    // Text that does not fit is truncated.
    void put(int row, int column, std::string_view text, Style style = Style::plain);
    void show();

    // The next key as a curses code, or ERR. Does not wait.
    int key();

    // Call after SIGWINCH.
    void resize();
    // Call before the process is stopped, and when it continues.
    void suspend();
    void resume();

  private:
    struct Terminal;
    std::unique_ptr<Terminal> terminal_;
    bool utf8_ = false;
};

// The columns that fit on the screen, and the width of their graphs.
struct Layout {
    static constexpr std::size_t kGap = 2;
    static constexpr std::size_t kNumber = 6;  // ~12.3M
    static constexpr std::size_t kLeastGraph = 6;

    // `width` is the space for all columns; `wanted` is shown if any column is.
    Layout(std::size_t width, std::size_t series, std::size_t from, std::size_t wanted);

    std::size_t first = 0;
    std::size_t shown = 0;
    std::size_t graph = 0;

    // Width of a column, without the gap before it.
    std::size_t width() const { return kNumber + 1 + graph; }
};

// The first row to show: at most `first`, and such that the window is full if there are enough
// rows.
std::size_t scroll_to(std::size_t first, std::size_t rows, std::size_t window);

// One character for each of the newest `width` values, newest last, scaled to `peak`. Blank for
// unknown values. Uses UTF-8 block characters or plain ASCII.
std::string graph(const History& history, std::size_t width, double peak, bool utf8);

// The status shown in the header.
struct Status {
    std::string source;
    std::string progress;
    double cpu_use = 0;
    std::uint64_t missed = 0;
    std::chrono::nanoseconds interval{};
    bool paused = false;
    bool typing = false;  // into the filter
    std::string problem;  // empty if none
};

// Draws the visible part of a model.
class View {
  public:
    void draw(Screen& screen, const Model& model, const Status& status);

    void up(std::size_t rows) { first_row_ -= rows < first_row_ ? rows : first_row_; }
    void down(std::size_t rows) { first_row_ += rows; }
    void home() { first_row_ = 0; }
    void end() { first_row_ = SIZE_MAX / 2; }
    std::size_t page() const { return window_; }

    void show_help(bool on) { help_ = on; }
    bool shows_help() const { return help_; }

  private:
    void place(const Screen& screen, const Model& model);
    void draw_header(Screen& screen, const Status& status) const;
    void draw_extent(Screen& screen, const Model& model, const Status& status) const;
    void draw_headings(Screen& screen, const Model& model) const;
    void draw_row(Screen& screen, const Model& model, int line, std::size_t row) const;
    void draw_cell(Screen& screen, const Model& model, int line, std::size_t row,
                   std::size_t series) const;
    int column_of(std::size_t series) const;

    bool help_ = false;
    bool compact_ = false;  // a small screen shows rows instead of explanations
    std::size_t first_row_ = 0;
    std::size_t window_ = 0;  // rows of the model that fit
    std::size_t name_width_ = 0;
    Layout layout_{0, 0, 0, 0};
    std::vector<double> peaks_;  // by column on the screen
};

}  // namespace tool
