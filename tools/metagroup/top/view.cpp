// SPDX-License-Identifier: MIT
#include "top/view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "top/clip.hpp"
#include "top/graph.hpp"
#include "top/help.hpp"
#include "top/interval.hpp"
#include "top/number.hpp"

namespace tool {
namespace {

constexpr int kCompactRows = 10;

std::string name_of(const Model& model, std::size_t row) {
    if (row == model.total()) return "total";
    const Place& place = model.places()[row];
    const std::size_t online = model.online(row);
    if (online == 0 || online == place.cpus) return place.name;
    return fmt::format("{} {}/{}", place.name, online, place.cpus);
}

std::string sorting(const Model& model) {
    const std::size_t by = model.sorted_by();
    return fmt::format("by {}{}", by == Model::kByPlace ? "place" : model.series()[by - 1].name,
                       model.descending() ? ", falling" : "");
}

}  // namespace

void View::draw(Screen& screen, const Model& model, const About& about) {
    screen.erase();
    if (help_) {
        draw_help(screen);
        screen.show();
        return;
    }
    place(screen, model);
    draw_header(screen, about);
    if (!compact_) draw_extent(screen, model, about);
    draw_headings(screen, model);
    int line = compact_ ? 2 : 4;
    draw_row(screen, model, line++, model.total());
    for (std::size_t i = first_row_; i < std::min(first_row_ + window_, model.order().size()); ++i)
        draw_row(screen, model, line++, model.order()[i]);
    if (!compact_)
        screen.put(screen.rows() - 1, 0,
                   "q quit  h help  space pause  + - interval  left right r sort  up down scroll",
                   Style::weak);
    screen.show();
}

// What of the model is to be seen.
void View::place(const Screen& screen, const Model& model) {
    compact_ = screen.rows() < kCompactRows;
    const int around = compact_ ? 3 : 6;  // lines that are no rows
    window_ = static_cast<std::size_t>(std::max(0, screen.rows() - around));
    first_row_ = scroll_to(first_row_, model.order().size(), window_);

    name_width_ = 6;
    for (std::size_t row = 0; row < model.total(); ++row)
        name_width_ = std::max(name_width_, name_of(model, row).size());
    const auto width = static_cast<std::size_t>(screen.columns());
    const std::size_t wanted =
        model.sorted_by() == Model::kByPlace ? layout_.first : model.sorted_by() - 1;
    layout_ =
        Layout(width - std::min(width, name_width_), model.series().size(), layout_.first, wanted);
    peaks_.clear();
    for (std::size_t i = 0; i < layout_.shown; ++i)
        peaks_.push_back(model.peak(layout_.first + i, layout_.graph));
}

void View::draw_header(Screen& screen, const About& about) const {
    std::string text = fmt::format("{} | sweep {} | own CPU {:.2f} % | ticks missed: {} | every {}",
                                   about.backend, with_unit(about.sweep), 100 * about.cpu_use,
                                   about.missed, with_unit(about.interval));
    screen.put(0, 0, text, Style::strong);
    if (about.paused) screen.put(0, std::max(0, screen.columns() - 6), "PAUSED", Style::warning);
}

void View::draw_extent(Screen& screen, const Model& model, const About& about) const {
    if (!about.problem.empty()) {
        screen.put(1, 0, about.problem, Style::warning);
        return;
    }
    std::string text = sorting(model);
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
        const std::size_t room = width - columns_of(mark);
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
    // Said at the edges too, where there is no other line for it.
    if (layout_.first > 0) screen.put(line, static_cast<int>(name_width_), "<", Style::strong);
    if (layout_.first + layout_.shown < model.series().size())
        screen.put(line, screen.columns() - 1, ">", Style::strong);
}

void View::draw_row(Screen& screen, const Model& model, int line, std::size_t row) const {
    const bool total = row == model.total();
    const bool offline = !total && model.online(row) == 0;
    screen.put(line, 0, name_of(model, row),
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
