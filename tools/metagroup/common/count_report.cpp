// SPDX-License-Identifier: MIT
#include "common/count_report.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "common/command_line.hpp"

namespace tool {
namespace {

// Converts a backslash and a t to a tab. \return the reason if `text` cannot be a separator.
std::string separator_of(std::string& text) {
    const auto of_numbers = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view(".+-%\"\n\r").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (text.empty()) return "must not be empty";
    if (text == "\\t") text = "\t";
    if (std::ranges::none_of(text, of_numbers)) return "";
    return fmt::format("\"{}\" may be part of a number; use , or ; or \\t", text);
}

}  // namespace

void CountOutput::add_options(CLI::App& app, const std::string& lines) {
    CLI::Option* csv =
        app.add_option("-x,--field-separator", separator, "print CSV with this separator")
            ->transform(CLI::Validator(separator_of, ""))
            ->type_name("SEPARATOR");
    app.add_flag("-j,--json", json, "print one line of JSON per " + lines)->excludes(csv);
    CLI::Option* output = app.add_option("-o,--output", file, "write to a file")
                              ->check(not_empty())
                              ->type_name("FILE");
    app.add_flag("--append", append, "append to the file")->needs(output);
}

std::unique_ptr<Report> CountOutput::make_report(Output& output, Subject subject) const {
    if (metric_only) return make_metric_report(output, std::move(subject), json, separator);
    if (json) return make_json_report(output, std::move(subject));
    if (separator) return make_csv_report(output, std::move(subject), *separator);
    return make_text_report(output, std::move(subject));
}

}  // namespace tool
