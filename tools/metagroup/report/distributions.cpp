// SPDX-License-Identifier: MIT
#include "report/distributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/text.hpp"

namespace tool {

std::string distributions_as_csv(std::span<const Distribution> rows, const std::string& separator) {
    const auto line = [&](const auto&... fields) {
        return fmt::format(
            "{}\n", fmt::join(std::vector<std::string>{fmt::format("{}", fields)...}, separator));
    };
    std::string text =
        line("place", "cpus", "figure", "unit", "samples", "lost", "p50", "p90", "p99", "max");
    for (const Distribution& row : rows) {
        text += line(row.place, row.cpus, row.name, row.unit, row.values->count(),
                     row.lost ? std::to_string(*row.lost) : "", row.quantile(0.5),
                     row.quantile(0.9), row.quantile(0.99), row.max());
    }
    return text;
}

std::string distributions_as_json(std::span<const Distribution> rows) {
    using Object = nlohmann::ordered_json;
    std::string text;
    for (const Distribution& row : rows) {
        Object line;
        if (!row.place.empty()) line["place"] = row.place;
        line["cpus"] = row.cpus;
        line["figure"] = row.name;
        line["unit"] = row.unit;
        line["samples"] = row.values->count();
        if (row.lost) line["lost"] = *row.lost;
        line["p50"] = row.quantile(0.5);
        line["p90"] = row.quantile(0.9);
        line["p99"] = row.quantile(0.99);
        line["max"] = row.max();
        text += line.dump(-1, ' ', false, Object::error_handler_t::replace) + '\n';
    }
    return text;
}

std::string distributions_as_text(std::span<const Distribution> rows) {
    std::string text = fmt::format(" {:<12}{:<26}{:>12}{:>10}{:>10}{:>10}{:>10}  {}\n", "",
                                   "figure", "samples", "p50", "p90", "p99", "max", "unit");
    std::uint64_t deadlines = 0;
    std::uint64_t lost = 0;
    for (const Distribution& row : rows) {
        fmt::format_to(std::back_inserter(text), " {:<12}{:<26}{:>12}", row.place, row.name,
                       row.values->count());
        for (const double value :
             {row.quantile(0.5), row.quantile(0.9), row.quantile(0.99), row.max()})
            text += fmt::format("{:>10}", short_number(value));
        text += fmt::format("  {}\n", row.unit);
        if (!row.lost) continue;
        deadlines += row.values->count();
        lost += *row.lost;
    }
    if (deadlines > 0) text += fmt::format("\n deadlines lost: {} of {}\n", lost, deadlines + lost);
    return text + '\n';
}

}  // namespace tool
