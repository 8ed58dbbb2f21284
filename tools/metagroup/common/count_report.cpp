// SPDX-License-Identifier: MIT
#include "common/count_report.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "common/command_line.hpp"

namespace tool {

void CountOutput::add_options(CLI::App& app, const std::string& lines) {
    CLI::Option* csv = app.add_option("-x,--field-separator", separator, "CSV with this separator")
                           ->check(not_empty());
    app.add_flag("-j,--json", json, "a line of JSON for each " + lines)->excludes(csv);
    app.add_option("-o,--output", file, "write to a file")->check(not_empty())->type_name("FILE");
}

std::unique_ptr<Report> CountOutput::make_report(Output& output, Subject subject) const {
    if (json) return make_json_report(output, std::move(subject));
    if (separator) return make_csv_report(output, std::move(subject), *separator);
    return make_text_report(output, std::move(subject));
}

}  // namespace tool
