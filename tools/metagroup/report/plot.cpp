// SPDX-License-Identifier: MIT
#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "common/text.hpp"

namespace tool {
namespace {

// Of the picture.
constexpr double kWidth = 1000;
constexpr double kLeft = 80;
constexpr double kInner = 800;
constexpr double kTitle = 50;
constexpr double kLines = 110;
constexpr double kGap = 90;  // between heat maps, for titles and times

// From low to high: equally far apart for the eye, and in shades of grey.
constexpr std::array<std::array<double, 3>, 5> kColours{
    {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
constexpr std::size_t kShades = 32;

constexpr auto kQuantiles = std::to_array<std::pair<double, const char*>>(
    {{1, "#d1495b"}, {0.99, "#edae49"}, {0.9, "#66a182"}, {0.5, "#2e4057"}});

std::string colour(std::size_t shade) {
    const double at = static_cast<double>(shade) * (kColours.size() - 1) / (kShades - 1);
    const auto below = std::min(static_cast<std::size_t>(at), kColours.size() - 2);
    const auto mix = [&](std::size_t part) {
        const double weight = at - static_cast<double>(below);
        return std::lround(kColours[below][part] * (1 - weight) +
                           kColours[below + 1][part] * weight);
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&' || c == '<' || c == '>' || c == '"')
            result += fmt::format("&#{};", static_cast<int>(c));
        else
            result += c >= ' ' && c <= '~' ? c : '?';
    }
    return result;
}

template <typename... Values>
void put(std::string& svg, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(svg), format, std::forward<Values>(values)...);
}

void put_text(std::string& svg, double x, double y, const char* anchor, std::string_view text) {
    put(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
        escaped(text));
}

// Zooms by the wheel, moves by dragging, shows all again by a double click.
constexpr const char* kScript = R"(
const svg = document.querySelector('svg');
const whole = svg.getAttribute('viewBox').split(' ').map(Number);
let view = [...whole], held = null;
const show = () => svg.setAttribute('viewBox', view.join(' '));
const place = event => {
  const box = svg.getBoundingClientRect();
  return [view[0] + (event.clientX - box.left) / box.width * view[2],
          view[1] + (event.clientY - box.top) / box.height * view[3]];
};
svg.addEventListener('wheel', event => {
  event.preventDefault();
  const factor = event.deltaY < 0 ? 0.8 : 1.25, [x, y] = place(event);
  view = [x + (view[0] - x) * factor, y + (view[1] - y) * factor,
          view[2] * factor, view[3] * factor];
  show();
}, {passive: false});
svg.onpointerdown = event => { held = place(event); svg.setPointerCapture(event.pointerId); };
svg.onpointermove = event => {
  if (!held) return;
  const [x, y] = place(event);
  view[0] += held[0] - x;
  view[1] += held[1] - y;
  show();
};
svg.onpointerup = () => { held = null; };
svg.ondblclick = () => { view = [...whole]; show(); };
)";

}  // namespace

Plot::Plot(const Aggregation& rows, const std::vector<Column>& columns, const Metrics& metrics,
           double interval, std::size_t steps)
    : rows_(rows), metrics_(metrics), interval_(interval), steps_(steps) {
    const std::vector<double> unknown(steps * rows.places().size(), -1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const char* unit = is_clock(columns[i].event) ? ", CPUs utilized" : ", /sec";
        panels_.push_back({columns[i].event + unit, i, false, unknown});
        if (const auto& ratio = metrics.ratio_of(i))
            panels_.push_back({fmt::format("{}, {}", ratio->name, ratio->unit), i, true, unknown});
    }
}

void Plot::add(double end, const Totals& totals) {
    const double at = std::ceil(end / interval_ - 1e-6) - 1;
    const auto step =
        static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(steps_ - 1)));
    const std::size_t cpus = rows_.places().size();
    for (Panel& panel : panels_) {
        for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
            const auto metric = panel.ratio ? metrics_.ratio(totals, cpu, panel.column)
                                            : metrics_.rate(totals, cpu, panel.column);
            if (metric && std::isfinite(metric->value))
                panel.values[step * cpus + cpu] = metric->value;
        }
    }
}

double Plot::map_height() const {
    return std::clamp(16.0 * static_cast<double>(rows_.places().size()), 48.0, 320.0);
}

std::string Plot::svg(std::string_view title) const {
    const double panel = map_height() + kLines + kGap;
    const double height = kTitle + panel * static_cast<double>(panels_.size());
    std::string svg;
    put(svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n<g font-size=\"18\">\n",
        kWidth, height, kWidth, height);
    put_text(svg, kLeft, 28, "start", title);
    svg += "</g>\n";
    for (std::size_t i = 0; i < panels_.size(); ++i)
        draw(svg, panels_[i], kTitle + panel * static_cast<double>(i));
    return svg + "</svg>\n";
}

std::string Plot::html(std::string_view title) const {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
        "<style>svg {{ width: 100%; cursor: grab }}</style>\n{}<script>{}</script>\n</html>\n",
        escaped(title), svg(title), kScript);
}

void Plot::draw(std::string& svg, const Panel& panel, double top) const {
    const double highest = *std::ranges::max_element(panel.values);
    put(svg, "<g font-size=\"14\" font-weight=\"bold\">");
    put_text(svg, kLeft, top + 14, "start", panel.name);
    svg += "</g>\n";
    draw_map(svg, panel, top + 22, highest);
    draw_lines(svg, panel, top + map_height() + 32, highest);
    draw_times(svg, top + map_height() + 32 + kLines);
}

void Plot::draw_map(std::string& svg, const Panel& panel, double top, double highest) const {
    const std::size_t cpus = rows_.places().size();
    const double height = map_height() / static_cast<double>(cpus);
    // In units of cells, so that the coordinates are short.
    put(svg,
        "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"#ddd\"/>\n"
        "<g transform=\"translate({0} {1}) scale({4} {5})\" shape-rendering=\"crispEdges\">\n",
        kLeft, top, kInner, map_height(), kInner / static_cast<double>(steps_), height);
    const auto shade_of = [&](std::size_t step, std::size_t cpu) {
        const double number = value(panel, step, cpu);
        if (number < 0) return kShades;  // none
        const double part = highest > 0 ? number / highest : 0;
        return static_cast<std::size_t>(std::lround(part * (kShades - 1)));
    };
    std::array<std::string, kShades> paths;
    for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
        for (std::size_t step = 0, end = 0; step < steps_; step = end) {
            const std::size_t shade = shade_of(step, cpu);
            for (end = step + 1; end < steps_ && shade_of(end, cpu) == shade;)
                ++end;
            if (shade < kShades)
                put(paths[shade], "M{} {}h{}v1h-{}z", step, cpu, end - step, end - step);
        }
    }
    for (std::size_t shade = 0; shade < kShades; ++shade)
        if (!paths[shade].empty())
            put(svg, "<path fill=\"{}\" d=\"{}\"/>\n", colour(shade), paths[shade]);
    svg += "</g>\n";

    // As many names as there is room for.
    const auto every = static_cast<std::size_t>(std::ceil(14 / height));
    for (std::size_t cpu = 0; cpu < cpus; cpu += every)
        put_text(svg, kLeft - 6, top + (static_cast<double>(cpu) + 0.5) * height + 4, "end",
                 rows_.places()[cpu].name);
    const double step = map_height() / kShades;
    for (std::size_t shade = 0; shade < kShades; ++shade)
        put(svg, "<rect x=\"{}\" y=\"{:.2f}\" width=\"14\" height=\"{:.2f}\" fill=\"{}\"/>\n",
            kLeft + kInner + 12, top + step * static_cast<double>(kShades - 1 - shade), step + 0.5,
            colour(shade));
    put_text(svg, kLeft + kInner + 32, top + 10, "start", short_number(std::max(highest, 0.0)));
    put_text(svg, kLeft + kInner + 32, top + map_height(), "start", "0");
}

void Plot::draw_lines(std::string& svg, const Panel& panel, double top, double highest) const {
    const double inner = kLines - 10;
    put(svg, "<path d=\"M{0} {1}v{2}h{3}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft, top, inner,
        kInner);
    put_text(svg, kLeft - 6, top + 8, "end", short_number(std::max(highest, 0.0)));
    put_text(svg, kLeft - 6, top + inner, "end", "0");
    double label = top + 10;
    std::vector<double> known;
    for (const auto& [part, stroke] : kQuantiles) {
        std::string path;
        bool gap = true;
        for (std::size_t step = 0; step < steps_; ++step) {
            known.clear();
            for (std::size_t cpu = 0; cpu < rows_.places().size(); ++cpu)
                if (const double number = value(panel, step, cpu); number >= 0)
                    known.push_back(number);
            if (std::exchange(gap, known.empty()) || known.empty()) {
                if (known.empty()) continue;
                path += 'M';
            } else {
                path += 'L';
            }
            const auto last = static_cast<double>(known.size());
            const auto rank = static_cast<std::ptrdiff_t>(std::ceil(part * last)) - 1;
            std::nth_element(known.begin(), known.begin() + rank, known.end());
            const double height = highest > 0 ? known[static_cast<std::size_t>(rank)] / highest : 0;
            put(path, "{:.1f} {:.1f}",
                kLeft + kInner * (static_cast<double>(step) + 0.5) / static_cast<double>(steps_),
                top + inner * (1 - height));
        }
        put(svg, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
            stroke);
        put(svg, "<g fill=\"{}\">", stroke);
        put_text(svg, kLeft + kInner + 12, label, "start",
                 part == 1 ? "max of CPUs" : fmt::format("p{:.0f} of CPUs", 100 * part));
        svg += "</g>\n";
        label += 16;
    }
}

void Plot::draw_times(std::string& svg, double bottom) const {
    constexpr int ticks = 5;
    const double seconds = interval_ * static_cast<double>(steps_);
    for (int i = 0; i <= ticks; ++i) {
        const double part = static_cast<double>(i) / ticks;
        put_text(svg, kLeft + kInner * part, bottom + 6, "middle",
                 fmt::format("{:.4g} s", seconds * part));
    }
}

}  // namespace tool
