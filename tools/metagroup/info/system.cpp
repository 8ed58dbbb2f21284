// SPDX-License-Identifier: MIT
#include "info/system.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace tool {

std::optional<std::string> System::read(const std::string& file) const {
    std::ifstream stream(path(file));
    if (!stream) return std::nullopt;
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (stream.bad()) return std::nullopt;
    text.erase(text.find_last_not_of(" \t\n") + 1);
    return text;
}

Json System::text(const std::string& file) const {
    const auto text = read(file);
    return text ? Json(*text) : Json(nullptr);
}

Json System::number(const std::string& file) const {
    const auto text = read(file);
    long number = 0;
    if (!text ||
        std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
        return nullptr;
    return number;
}

std::vector<std::string> System::list(const std::string& directory) const {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path(directory), error), end;
         !error && entry != end; entry.increment(error))
        names.push_back(entry->path().filename());
    std::ranges::sort(names);
    return names;
}

bool System::has(const std::string& file) const {
    std::error_code ignored;
    return std::filesystem::exists(path(file), ignored);
}

}  // namespace tool
