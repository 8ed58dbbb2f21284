// SPDX-License-Identifier: MIT
#include "top/batch.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstddef>

#include "common/process.hpp"
#include "common/text.hpp"

namespace tool {
namespace {

std::string value_text(const Cell& cell, const std::string& unit) {
    if (!cell.value) return "not counted";
    const bool apart = !unit.empty() && !unit.starts_with('/');
    const std::string lack =
        cell.lacks_cpus() ? fmt::format(" ({} of {} CPUs)", cell.counted, cell.counters) : "";
    return fmt::format("{}{}{}{}{}", cell.estimated ? "about " : "", short_number(*cell.value),
                       apart ? " " : "", unit, lack);
}

void append_row(std::string& text, const Model& model, std::size_t row) {
    text += model.name_of(row);
    if (model.is_offline(row)) {
        text += ": offline\n";
        return;
    }
    for (std::size_t i = 0; i < model.series().size(); ++i) {
        const auto& [name, unit] = model.series()[i];
        text +=
            fmt::format("{} {} {}", i == 0 ? ":" : ",", name, value_text(model.cell(row, i), unit));
    }
    text += '\n';
}

}  // namespace

std::string plain_lines(const Model& model, const std::string& heading) {
    std::string text = heading + '\n';
    append_row(text, model, model.total());
    for (const std::size_t row : model.order())
        append_row(text, model, row);
    return text + '\n';
}

void run_batch(Source& source, Model& model, std::chrono::nanoseconds interval,
               std::optional<std::uint32_t> count) {
    Output output("");
    const Signals signals{SIGINT, SIGTERM, SIGHUP};
    Ticker ticker(source.restart(interval), Ticker::Clock::now());
    std::uint64_t shown = 0;
    const auto is_complete = [&] { return count && shown >= *count; };
    while (!is_complete() && ticker.wait(signals) == 0) {
        const bool batches = source.has_batches();
        const Update* update = source.sample();
        if (update == nullptr && !batches) return;
        for (; update != nullptr && !is_complete(); update = batches ? source.sample() : nullptr) {
            model.update(*update);
            std::string heading =
                fmt::format("{}: {}, {}", ++shown, source.name(), source.progress());
            if (!source.problem().empty()) heading += ", " + source.problem();
            output.write(plain_lines(model, heading));
        }
    }
}

}  // namespace tool
