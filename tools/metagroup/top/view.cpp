// SPDX-License-Identifier: MIT
#include "top/view.hpp"

#define NCURSES_NOMACROS 1  // the macros clash with names such as erase
#include <curses.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "common/text.hpp"

namespace tool {
namespace {

// The time to distinguish Escape from an arrow key. It may delay a tick.
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

constexpr int kCompactRows = 10;

constexpr auto kHelp = std::to_array<std::string_view>({
    "Keys of metagroup top",
    "",
    "  q             quit",
    "  space, p      pause reading; the same key continues",
    "  +, -          longer, shorter interval; for a recording, slower, faster",
    "  left, right   sort by the column to the left, right; scrolls columns",
    "  0 to 9        sort by place (0) or that column; again to reverse",
    "  r             reverse the order",
    "  f             fold rows to cores, caches, dies, sockets, nodes, and back to CPUs",
    "  /             filter rows: CPUs, e.g. 0-3,8, or part of a name; Enter keeps",
    "                it, Escape shows all rows",
    "  up, down      scroll by a row; PgUp, PgDn by a page; Home, End to the ends",
    "  h, ?          this help; any key returns",
    "",
    "Numbers are per second, for all tasks; k, M, G are a thousand,",
    "a million, a billion.",
    "  ~             estimated: the event was multiplexed, or CPUs are missing",
    "  3/4           numbers of a row that include 3 of its 4 CPUs",
    "  -             not counted",
    "  *             a CPU of the row was offline for a time",
    "Graphs show the last updates, newest on the right. All rows of a column",
    "have the same scale; the total has its own.",
});

constexpr std::size_t kLevels = 8;
using Levels = std::array<std::string_view, kLevels>;

constexpr Levels kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr Levels kAscii{"_", ".", ":", "-", "=", "+", "*", "#"};

// Only 0 has the lowest level, to distinguish small values from none.
std::size_t level(double value, double peak) {
    if (!(value > 0) || !(peak > 0)) return 0;
    const double part = std::min(1.0, value / peak);
    return static_cast<std::size_t>(std::ceil(part * static_cast<double>(kLevels - 1)));
}

std::string sorting(const Model& model) {
    const std::size_t by = model.sorted_by();
    return fmt::format("by {}{}", by == Model::kByPlace ? "place" : model.series()[by - 1].name,
                       model.descending() ? ", descending" : "");
}

void draw_help(Screen& screen) {
    for (std::size_t i = 0; i < kHelp.size(); ++i)
        screen.put(static_cast<int>(i), 0, kHelp[i], i == 0 ? Style::strong : Style::plain);
}

}  // namespace

struct Screen::Terminal {
    Terminal() : screen(::newterm(nullptr, stdout, stdin)) {
        const char* name = std::getenv("TERM");
        if (screen == nullptr)
            throw std::runtime_error(fmt::format(
                "unknown terminal {} (variable TERM): set another one, e.g. TERM=xterm, or use "
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
            "top needs a terminal: for files, pipes and scripts use --batch, or metagroup stat -A "
            "-I 1s");
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
    // Writing the last cell of the screen returns an error because the cursor cannot advance.
    ::wmove(stdscr, row, column);
    ::waddnstr(stdscr, fits.data(), static_cast<int>(fits.size()));
    ::wattrset(stdscr, static_cast<int>(A_NORMAL));
}

void Screen::show() {
    ::wrefresh(stdscr);
}

int Screen::key() {
    return ::wgetch(stdscr);
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

// A process stopped by SIGSTOP has not left the screen: leave it first.
void Screen::resume() {
    ::endwin();
    ::clearok(stdscr, true);
    resize();
    show();
}

Layout::Layout(std::size_t width, std::size_t series, std::size_t from, std::size_t wanted)
    : first(from) {
    constexpr std::size_t kBare = kGap + kNumber + 1;
    constexpr std::size_t kMostGraph = 24;
    static_assert(kMostGraph <= History::kLength);
    shown = std::min(series, width / (kBare + kLeastGraph));
    // At least one number, without a graph.
    if (shown == 0 && series > 0 && width >= kGap + kNumber) shown = 1;
    if (shown == 0) return;
    graph = std::min(kMostGraph, std::max(width / shown, kBare) - kBare);
    first = std::min(first, series - shown);
    if (wanted < first) first = wanted;
    if (wanted >= first + shown) first = wanted + 1 - shown;
}

std::size_t scroll_to(std::size_t first, std::size_t rows, std::size_t window) {
    return std::min(first, rows > window ? rows - window : 0);
}

std::string graph(const History& history, std::size_t width, double peak, bool utf8) {
    const Levels& levels = utf8 ? kBlocks : kAscii;
    std::string text;
    for (std::size_t steps = width; steps-- > 0;) {
        const std::optional<double> value = history.ago(steps);
        text += value ? levels[level(*value, peak)] : " ";
    }
    return text;
}

void View::draw(Screen& screen, const Model& model, const Status& status) {
    screen.erase();
    if (help_) {
        draw_help(screen);
        screen.show();
        return;
    }
    place(screen, model);
    draw_header(screen, status);
    if (!compact_) draw_extent(screen, model, status);
    draw_headings(screen, model);
    int line = compact_ ? 2 : 4;
    draw_row(screen, model, line++, model.total());
    for (std::size_t i = first_row_; i < std::min(first_row_ + window_, model.order().size()); ++i)
        draw_row(screen, model, line++, model.order()[i]);
    if (status.typing)
        screen.put(screen.rows() - 1, 0, fmt::format("filter: {}_", model.filter()), Style::strong);
    else if (!compact_)
        screen.put(screen.rows() - 1, 0,
                   "q quit  h help  space pause  + - interval  left right r sort  up down scroll",
                   Style::weak);
    screen.show();
}

// Computes the visible part of the model.
void View::place(const Screen& screen, const Model& model) {
    compact_ = screen.rows() < kCompactRows;
    const int around = compact_ ? 3 : 6;  // lines above and below the rows
    window_ = static_cast<std::size_t>(std::max(0, screen.rows() - around));
    first_row_ = scroll_to(first_row_, model.order().size(), window_);

    name_width_ = 6;
    for (std::size_t row = 0; row <= model.total(); ++row)
        name_width_ = std::max(name_width_, model.name_of(row).size());
    const auto width = static_cast<std::size_t>(screen.columns());
    const std::size_t wanted =
        model.sorted_by() == Model::kByPlace ? layout_.first : model.sorted_by() - 1;
    layout_ =
        Layout(width - std::min(width, name_width_), model.series().size(), layout_.first, wanted);
    peaks_.clear();
    for (std::size_t i = 0; i < layout_.shown; ++i)
        peaks_.push_back(model.peak(layout_.first + i, layout_.graph));
}

void View::draw_header(Screen& screen, const Status& status) const {
    std::string text = fmt::format("{} | {} | own CPU {:.2f} % | ticks missed: {} | every {}",
                                   status.source, status.progress, 100 * status.cpu_use,
                                   status.missed, with_unit(status.interval));
    screen.put(0, 0, text, Style::strong);
    if (status.paused) screen.put(0, std::max(0, screen.columns() - 6), "PAUSED", Style::warning);
}

void View::draw_extent(Screen& screen, const Model& model, const Status& status) const {
    if (!status.problem.empty()) {
        screen.put(1, 0, status.problem, Style::warning);
        return;
    }
    std::string text = sorting(model);
    if (!model.filter().empty()) text += fmt::format(" | filter {}", model.filter());
    const std::size_t rows = model.order().size();
    if (window_ < rows)
        text += fmt::format(" | rows {}-{} of {}", first_row_ + 1, first_row_ + window_, rows);
    const std::size_t columns = model.series().size();
    if (layout_.shown < columns)
        text += fmt::format(" | columns {}-{} of {}", layout_.first + 1,
                            layout_.first + layout_.shown, columns);
    screen.put(1, 0, text, Style::weak);
}

int View::column_of(std::size_t series) const {
    const std::size_t width = layout_.width() + Layout::kGap;
    return static_cast<int>(name_width_ + (series - layout_.first) * width + Layout::kGap);
}

void View::draw_headings(Screen& screen, const Model& model) const {
    const int line = compact_ ? 1 : 2;
    const std::string arrow =
        screen.utf8() ? (model.descending() ? "▼" : "▲") : (model.descending() ? "v" : "^");
    const auto heading = [&](int column, std::size_t width, std::size_t sort,
                             const std::string& name) {
        const std::string mark = sort == model.sorted_by() ? arrow : "";
        const std::size_t room = width - display_width(mark);
        screen.put(line, column, fmt::format("{}{:.{}}", mark, name, room),
                   mark.empty() ? Style::plain : Style::strong);
    };
    heading(0, name_width_, Model::kByPlace, "place");
    for (std::size_t i = layout_.first; i < layout_.first + layout_.shown; ++i) {
        heading(column_of(i), layout_.width(), i + 1, model.series()[i].name);
        if (!compact_)
            screen.put(line + 1, column_of(i),
                       fmt::format("{:>6.{}}", model.series()[i].unit, layout_.width()),
                       Style::weak);
    }
    // The only sign of hidden columns on a compact screen.
    if (layout_.first > 0) screen.put(line, static_cast<int>(name_width_), "<", Style::strong);
    if (layout_.first + layout_.shown < model.series().size())
        screen.put(line, screen.columns() - 1, ">", Style::strong);
}

void View::draw_row(Screen& screen, const Model& model, int line, std::size_t row) const {
    const bool total = row == model.total();
    const bool offline = model.is_offline(row);
    screen.put(line, 0, model.name_of(row),
               total     ? Style::strong
               : offline ? Style::bad
                         : Style::plain);
    if (offline) {
        screen.put(line, column_of(layout_.first), "offline", Style::bad);
        return;
    }
    for (std::size_t i = layout_.first; i < layout_.first + layout_.shown; ++i)
        draw_cell(screen, model, line, row, i);
}

void View::draw_cell(Screen& screen, const Model& model, int line, std::size_t row,
                     std::size_t series) const {
    const Cell& cell = model.cell(row, series);
    const History& history = model.history(row, series);
    const bool total = row == model.total();
    const double peak = total ? history.peak(layout_.graph) : peaks_[series - layout_.first];
    const std::string number =
        cell.value ? (cell.estimated ? "~" : "") + short_number(*cell.value) : "-";
    screen.put(line, column_of(series),
               fmt::format("{:>6} {}", number, graph(history, layout_.graph, peak, screen.utf8())),
               total ? Style::strong : Style::plain);
}

}  // namespace tool
