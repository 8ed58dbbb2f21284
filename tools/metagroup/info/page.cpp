// SPDX-License-Identifier: MIT
#include "info/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/text.hpp"

namespace tool {
namespace {

constexpr std::size_t kWidth = 80;  // also on wider terminals, for reports that are pasted

std::string words(std::string name) {
    std::ranges::replace(name, '-', ' ');
    return name;
}

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

std::string facts(const Json& section) {
    std::size_t longest = 0;
    for (const auto& [name, value] : section.items())
        longest = std::max(longest, name.size());
    const Columns columns{.indent = 2, .text = longest + 4, .width = kWidth};
    std::string text;
    for (const auto& [name, value] : section.items())
        text += entry(words(name), cell(value), columns);
    return text;
}

std::string table(const Json& rows) {
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

std::string checks(const Json& all) {
    constexpr Columns columns{.indent = 2, .text = 10, .width = kWidth};
    std::string text;
    for (const Json& check : all) {
        const bool works = check.at("works");
        std::string what = check.at("what");
        if (!works) {
            what += ": " + check.at("why").get<std::string>();
            const std::string remedy = check.at("remedy");
            if (!remedy.empty()) what += "; remedy: " + remedy;
        }
        text += entry(works ? "works:" : "fails:", what, columns);
    }
    return text;
}

}  // namespace

std::string as_page(const Json& report) {
    std::string text;
    for (const auto& [name, section] : report.items()) {
        if (!text.empty()) text += '\n';
        text += words(name) + '\n';
        if (name == "checks")
            text += checks(section);
        else if (section.is_object())
            text += facts(section);
        else
            text += section.empty() ? "  none\n" : table(section);
    }
    return text;
}

}  // namespace tool
