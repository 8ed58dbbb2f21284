// SPDX-License-Identifier: MIT
// The terminal: a full screen to draw on, its keys, and signals.
#pragma once

#include <memory>
#include <string_view>

#include "common/process.hpp"

namespace tool {

// Results of Screen::key() that are not characters.
namespace key {
constexpr int none = -1;
constexpr int up = 0x100, down = 0x101, left = 0x102, right = 0x103;
constexpr int page_up = 0x104, page_down = 0x105, home = 0x106, end = 0x107;
constexpr int other = 0x108;
}  // namespace key

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
    // Text that does not fit is cut.
    void put(int row, int column, std::string_view text, Style style = Style::plain);
    void show();

    // The next key, or key::none. Does not wait.
    int key();

    // After SIGWINCH.
    void resize();
    // Before the process is stopped, and when it goes on.
    void suspend();
    void resume();

  private:
    struct Terminal;
    std::unique_ptr<Terminal> terminal_;
    bool utf8_ = false;
};

}  // namespace tool
