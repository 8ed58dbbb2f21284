// SPDX-License-Identifier: MIT
#include "common/fact_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/text.hpp"

namespace tool {
namespace {

std::string cell(const Json& value) {
    if (value.is_null()) return "unknown";
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_string())
        return value.get<std::string>().empty() ? "none" : value.get<std::string>();
    if (!value.is_structured()) return value.dump();
    std::vector<std::string> parts;
    for (const auto& [name, part] : value.items())
        parts.push_back(value.is_array() ? cell(part) : fmt::format("{}={}", name, cell(part)));
    return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace

std::string words(std::string name) {
    std::ranges::replace(name, '-', ' ');
    return name;
}

std::string text_of(const Json& section) {
    std::size_t longest = 0;
    for (const auto& [name, value] : section.items())
        longest = std::max(longest, name.size());
    const Columns columns{.indent = 2, .text = longest + 4, .width = kReportWidth};
    std::string text;
    for (const auto& [name, value] : section.items())
        text += entry(words(name), cell(value), columns);
    return text;
}

std::string table_of(const Json& rows) {
    std::vector<std::vector<std::string>> lines(1);
    for (const auto& [name, value] : rows.front().items())
        lines.front().push_back(words(name));
    for (const Json& row : rows) {
        lines.emplace_back();
        for (const Json& value : row)
            lines.back().push_back(value.is_null() ? "-" : cell(value));
    }
    std::string text;
    for (const auto& line : lines) {
        std::string row = " ";
        for (std::size_t column = 0; column < line.size(); ++column) {
            std::size_t width = 0;
            for (const auto& other : lines)
                width = std::max(width, other[column].size());
            row += fmt::format(" {:<{}} ", line[column], width);
        }
        text += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

Json set_fact(const metagroup::PublishedSet& set) {
    const passwd* const owner = ::getpwuid(set.uid);
    const group* const owning = ::getgrgid(set.gid);
    return {{"name", set.name},
            {"id", set.id},
            {"state", set.state},
            {"owner", owner != nullptr ? owner->pw_name : std::to_string(set.uid)},
            {"group", owning != nullptr ? owning->gr_name : std::to_string(set.gid)},
            {"mode", fmt::format("{:04o}", set.mode)},
            {"cpus", set.cpus.to_string()},
            {"events", set.events},
            {"users", set.users},
            {"sweeps", set.sweeps}};
}

Json set_facts() {
    Json sets = Json::array();
    for (const metagroup::PublishedSet& set : metagroup::published_sets())
        sets.push_back(set_fact(set));
    return sets;
}

}  // namespace tool
