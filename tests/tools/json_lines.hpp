// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : split(text, '\n'))
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}
