// SPDX-License-Identifier: MIT
#include "top/screen.hpp"

#define NCURSES_NOMACROS 1  // they clash with names such as erase
#include <curses.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "common/text.hpp"

namespace tool {
namespace {

// The time to distinguish a lone Escape from an arrow key. It may delay a tick.
constexpr int kEscapeDelayMs = 25;
constexpr short kWarningPair = 1, kBadPair = 2;

bool environment_has(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

attr_t pair(short number) {
    return static_cast<attr_t>(COLOR_PAIR(number));
}

attr_t attributes(Style style, bool colours) {
    switch (style) {
        case Style::plain:
            return A_NORMAL;
        case Style::strong:
            return A_BOLD;
        case Style::weak:
            return A_DIM;
        case Style::warning:
            return A_BOLD | (colours ? pair(kWarningPair) : A_NORMAL);
        case Style::bad:
            return A_BOLD | (colours ? pair(kBadPair) : A_NORMAL);
    }
    return A_NORMAL;
}

constexpr auto kKeys = std::to_array<std::pair<int, int>>({
    {ERR, key::none},
    {KEY_UP, key::up},
    {KEY_DOWN, key::down},
    {KEY_LEFT, key::left},
    {KEY_RIGHT, key::right},
    {KEY_PPAGE, key::page_up},
    {KEY_NPAGE, key::page_down},
    {KEY_HOME, key::home},
    {KEY_END, key::end},
});

int translate(int code) {
    for (const auto& [from, to] : kKeys)
        if (code == from) return to;
    return code < 0x100 ? code : key::other;
}

}  // namespace

struct Screen::Terminal {
    Terminal() : screen(::newterm(nullptr, stdout, stdin)) {
        const char* name = std::getenv("TERM");
        if (screen == nullptr)
            throw std::runtime_error(fmt::format(
                "unknown terminal {} (variable TERM): set another one, as in TERM=xterm, or use "
                "metagroup stat -I 1s",
                name == nullptr || *name == '\0' ? "without a name" : name));
        ::set_term(screen);
    }
    ~Terminal() {
        ::endwin();
        ::delscreen(screen);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    SCREEN* screen;
    bool colours = false;
};

Screen::Screen() {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
        throw std::runtime_error(
            "top needs a terminal: for files, pipes and scripts use metagroup stat -A -I 1s");
    std::setlocale(LC_CTYPE, "");
    utf8_ = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
    terminal_ = std::make_unique<Terminal>();
    ::set_escdelay(kEscapeDelayMs);
    ::cbreak();
    ::noecho();
    ::nonl();
    ::nodelay(stdscr, true);
    ::keypad(stdscr, true);
    ::curs_set(0);
    if (!environment_has("NO_COLOR") && ::has_colors()) {
        ::start_color();
        const bool background = ::use_default_colors() == OK;
        const short behind = background ? short{-1} : short{COLOR_BLACK};
        ::init_pair(kWarningPair, COLOR_YELLOW, behind);
        ::init_pair(kBadPair, COLOR_RED, behind);
        terminal_->colours = true;
    }
}

Screen::~Screen() = default;

int Screen::rows() const {
    return ::getmaxy(stdscr);
}

int Screen::columns() const {
    return ::getmaxx(stdscr);
}

void Screen::erase() {
    ::werase(stdscr);
}

void Screen::put(int row, int column, std::string_view text, Style style) {
    if (row < 0 || row >= rows() || column < 0 || column >= columns()) return;
    const std::string_view fits = clip(text, static_cast<std::size_t>(columns() - column));
    ::wattrset(stdscr, static_cast<int>(attributes(style, terminal_->colours)));
    // Writing the last cell of the screen returns an error, since the cursor cannot advance.
    ::wmove(stdscr, row, column);
    ::waddnstr(stdscr, fits.data(), static_cast<int>(fits.size()));
    ::wattrset(stdscr, static_cast<int>(A_NORMAL));
}

void Screen::show() {
    ::wrefresh(stdscr);
}

int Screen::key() {
    return translate(::wgetch(stdscr));
}

void Screen::resize() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return;
    ::resizeterm(size.ws_row, size.ws_col);
}

void Screen::suspend() {
    ::endwin();
}

// A process that was stopped by SIGSTOP has not left the screen: leave it first.
void Screen::resume() {
    ::endwin();
    ::clearok(stdscr, true);
    resize();
    show();
}

}  // namespace tool
