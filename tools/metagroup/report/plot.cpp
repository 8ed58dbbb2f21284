// SPDX-License-Identifier: MIT
#include "report/plot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <metagroup/detail/unique_fd.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "common/text.hpp"
#include "report/page.hpp"

namespace tool {
namespace {

// Dimensions of the picture.
constexpr double kSvgWidth = 1000;
constexpr double kLeft = 80;
constexpr double kInner = 800;
constexpr double kTitle = 50;
constexpr double kLines = 110;
constexpr double kGap = 90;  // between heat maps, for titles and times

// From low to high: perceptually uniform, also in greyscale.
constexpr std::array<std::array<double, 3>, 5> kColours{
    {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
constexpr std::size_t kShades = 32;

constexpr auto kQuantiles = std::to_array<std::pair<double, const char*>>(
    {{1, "#d1495b"}, {0.99, "#edae49"}, {0.9, "#66a182"}, {0.5, "#2e4057"}});

std::string name_of_quantile(double part) {
    return part == 1 ? "max of CPUs" : fmt::format("p{:.0f} of CPUs", 100 * part);
}

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

// Dimensions of a heat map.
double height_of(const Timeline& timeline) {
    return std::clamp(16.0 * static_cast<double>(timeline.places().size()), 48.0, 320.0);
}

std::string title_of(const Timeline& timeline, std::size_t number) {
    const Figure& figure = timeline.figures()[number];
    const auto [counted, all] = timeline.cpus(number);
    return fmt::format("{}, {}{}", figure.name, figure.unit,
                       counted < all ? fmt::format(" ({} of {} CPUs)", counted, all) : "");
}

void draw_map(std::string& svg, const Timeline& timeline, std::size_t figure, double top) {
    const double map = height_of(timeline);
    const double highest = timeline.highest(figure);
    const std::size_t steps = timeline.steps();
    const std::size_t cpus = timeline.places().size();
    const double height = map / static_cast<double>(cpus);
    // In units of cells, to keep the coordinates short.
    put(svg,
        "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"#ddd\"/>\n"
        "<g transform=\"translate({0} {1}) scale({4} {5})\" shape-rendering=\"crispEdges\">\n",
        kLeft, top, kInner, map, kInner / static_cast<double>(steps), height);
    const auto shade_of = [&](std::size_t step, std::size_t cpu) {
        const double number = timeline.at(figure, step, cpu);
        if (number < 0) return kShades;  // none
        const double part = highest > 0 ? number / highest : 0;
        return static_cast<std::size_t>(std::lround(part * (kShades - 1)));
    };
    std::array<std::string, kShades> paths;
    for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
        for (std::size_t step = 0, end = 0; step < steps; step = end) {
            const std::size_t shade = shade_of(step, cpu);
            for (end = step + 1; end < steps && shade_of(end, cpu) == shade;)
                ++end;
            if (shade < kShades)
                put(paths[shade], "M{} {}h{}v1h-{}z", step, cpu, end - step, end - step);
        }
    }
    for (std::size_t shade = 0; shade < kShades; ++shade)
        if (!paths[shade].empty())
            put(svg, "<path fill=\"{}\" d=\"{}\"/>\n", colour(shade), paths[shade]);
    svg += "</g>\n";

    // As many names as fit.
    const auto every = static_cast<std::size_t>(std::ceil(14 / height));
    for (std::size_t cpu = 0; cpu < cpus; cpu += every)
        put_text(svg, kLeft - 6, top + (static_cast<double>(cpu) + 0.5) * height + 4, "end",
                 timeline.places()[cpu].name);
    const double step = map / kShades;
    for (std::size_t shade = 0; shade < kShades; ++shade)
        put(svg, "<rect x=\"{}\" y=\"{:.2f}\" width=\"14\" height=\"{:.2f}\" fill=\"{}\"/>\n",
            kLeft + kInner + 12, top + step * static_cast<double>(kShades - 1 - shade), step + 0.5,
            colour(shade));
    put_text(svg, kLeft + kInner + 32, top + 10, "start", short_number(highest));
    put_text(svg, kLeft + kInner + 32, top + map, "start", "0");
}

void draw_lines(std::string& svg, const Timeline& timeline, std::size_t figure, double top) {
    const double highest = timeline.highest(figure);
    const std::size_t steps = timeline.steps();
    const double inner = kLines - 10;
    put(svg, "<path d=\"M{0} {1}v{2}h{3}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft, top, inner,
        kInner);
    put_text(svg, kLeft - 6, top + 8, "end", short_number(highest));
    put_text(svg, kLeft - 6, top + inner, "end", "0");
    double label = top + 10;
    std::vector<double> known;
    for (const auto& [part, stroke] : kQuantiles) {
        std::string path;
        bool gap = true;
        for (std::size_t step = 0; step < steps; ++step) {
            known.clear();
            for (std::size_t cpu = 0; cpu < timeline.places().size(); ++cpu)
                if (const double number = timeline.at(figure, step, cpu); number >= 0)
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
                kLeft + kInner * (static_cast<double>(step) + 0.5) / static_cast<double>(steps),
                top + inner * (1 - height));
        }
        put(svg, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
            stroke);
        put(svg, "<g fill=\"{}\">", stroke);
        put_text(svg, kLeft + kInner + 12, label, "start", name_of_quantile(part));
        svg += "</g>\n";
        label += 16;
    }
}

void draw_times(std::string& svg, const Timeline& timeline, double bottom) {
    constexpr int ticks = 5;
    const double seconds = timeline.interval() * static_cast<double>(timeline.steps());
    for (int i = 0; i <= ticks; ++i) {
        const double part = static_cast<double>(i) / ticks;
        put_text(svg, kLeft + kInner * part, bottom + 6, "middle",
                 fmt::format("{:.4g} s", seconds * part));
    }
}

void draw(std::string& svg, const Timeline& timeline, std::size_t figure, double top) {
    const double map = height_of(timeline);
    put(svg, "<g font-size=\"14\" font-weight=\"bold\">");
    put_text(svg, kLeft, top + 14, "start", title_of(timeline, figure));
    svg += "</g>\n";
    draw_map(svg, timeline, figure, top + 22);
    draw_lines(svg, timeline, figure, top + map + 32);
    draw_times(svg, timeline, top + map + 32 + kLines);
}

}  // namespace

std::string svg_of(const Timeline& timeline, std::string_view title) {
    const double panel = height_of(timeline) + kLines + kGap;
    const double height = kTitle + panel * static_cast<double>(timeline.figures().size());
    std::string svg;
    put(svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n<g font-size=\"18\">\n",
        kSvgWidth, height, kSvgWidth, height);
    put_text(svg, kLeft, 28, "start", title);
    svg += "</g>\n";
    for (std::size_t i = 0; i < timeline.figures().size(); ++i)
        draw(svg, timeline, i, kTitle + panel * static_cast<double>(i));
    return svg + "</svg>\n";
}

std::string page_of(const Timeline& timeline, std::string_view title) {
    // Thousandths of the highest value are short, yet finer than the colours.
    constexpr double parts = 1000;
    nlohmann::ordered_json data{
        {"parts", parts}, {"interval", timeline.interval()}, {"steps", timeline.steps()}};
    for (const Place& place : timeline.places())
        data["cpus"].push_back(place.name);
    for (std::size_t shade = 0; shade < kShades; ++shade)
        data["shades"].push_back(colour(shade));
    for (const auto& [part, stroke] : kQuantiles)
        data["quantiles"].push_back(
            nlohmann::ordered_json::array({part, stroke, name_of_quantile(part)}));
    for (std::size_t i = 0; i < timeline.figures().size(); ++i) {
        const double highest = timeline.highest(i);
        nlohmann::ordered_json values =
            nlohmann::ordered_json::array();  // all CPUs of a step, then of the next
        for (std::size_t step = 0; step < timeline.steps(); ++step) {
            for (std::size_t cpu = 0; cpu < timeline.places().size(); ++cpu) {
                const double value = timeline.at(i, step, cpu);
                const double part = highest > 0 ? value / highest : 0;
                values.push_back(value < 0 ? -1 : std::lround(part * parts));
            }
        }
        data["figures"].push_back(
            {{"name", title_of(timeline, i)}, {"highest", highest}, {"values", std::move(values)}});
    }
    std::string text = data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    // An event name must not end the script.
    for (std::size_t at = 0; (at = text.find('<', at)) != text.npos;)
        text.replace(at, 1, "\\u003c");
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{0}</title>\n{1}"
        "<h1>{0}</h1>\n<script>\nconst data = {2};\n{3}</script>\n</html>\n",
        escaped(title), kPageStyle, text, kPageScript);
}

void write_png(const std::string& svg, const std::string& file) {
    const metagroup::detail::UniqueFd input(::memfd_create("plot.svg", MFD_CLOEXEC));
    if (!input) throw std::system_error(errno, std::generic_category(), "memfd_create");
    Output(fmt::format("/proc/self/fd/{}", input.get())).write(svg);
    std::string program = "rsvg-convert";
    std::string option = "--output=" + file;
    const std::array<char*, 3> arguments{program.data(), option.data(), nullptr};
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    pid_t child = -1;
    const int error =
        ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::runtime_error(
            fmt::format("cannot draw {}: cannot run rsvg-convert: {}; install librsvg2-bin, or use "
                        "a file name that ends with .svg",
                        file, std::generic_category().message(error)));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) throw std::runtime_error("cannot draw " + file + ": rsvg-convert failed");
}

}  // namespace tool
