// SPDX-License-Identifier: MIT
#include "top/help.hpp"

#include <array>
#include <string_view>

namespace tool {
namespace {

constexpr auto kLines = std::to_array<std::string_view>({
    "Keys of metagroup top",
    "",
    "  q             quit",
    "  space, p      pause: nothing is read until the same key goes on",
    "  +, -          a longer, a shorter interval",
    "  left, right   sort by the column before, behind; what does not fit scrolls",
    "  0 to 9        sort by place (0) or that column; again: backwards",
    "  r             sort backwards",
    "  up, down      scroll by a row; PgUp, PgDn by a page; Home, End to the ends",
    "  h, ?          this; any key goes back",
    "",
    "Numbers are per second, of all that runs there; k, M, G are a thousand,",
    "a million, a billion.",
    "  ~             estimated: the event had to share the PMU with others",
    "  -             not counted",
    "A graph shows the last updates, the newest on the right. Those of a column",
    "have the same scale, but the total its own.",
});

}  // namespace

void draw_help(Screen& screen) {
    for (std::size_t i = 0; i < kLines.size(); ++i)
        screen.put(static_cast<int>(i), 0, kLines[i], i == 0 ? Style::strong : Style::plain);
}

}  // namespace tool
