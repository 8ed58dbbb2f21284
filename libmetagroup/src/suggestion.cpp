// SPDX-License-Identifier: MIT
#include "suggestion.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "formatted.hpp"

namespace metagroup::detail {
namespace {

char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool same_letter(char a, char b) {
    return lower(a) == lower(b);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Optimal string alignment, three rows of the matrix at a time.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t differ = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + differ});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

std::vector<std::string> near_matches(std::string_view word,
                                      std::span<const std::string> candidates) {
    constexpr std::size_t most = 3;
    // A third of the letters wrong is a typing error; more is another word.
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const std::string& candidate : candidates) {
        const bool extends = word.size() >= 3 && candidate.size() > word.size() &&
                             std::equal(word.begin(), word.end(), candidate.begin(), same_letter);
        // No word is nearer than their lengths differ; there are thousands to look at.
        const bool in_reach =
            candidate.size() <= word.size() + limit && word.size() <= candidate.size() + limit;
        if (!extends && !in_reach) continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance <= limit) {
            found.emplace_back(distance, candidate);
        } else if (extends) {
            found.emplace_back(limit + distance, candidate);
        }
    }
    // Stable: of two equally near names the one that was offered first wins.
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto& match : found) {
        std::string& name = match.second;
        // The same name in capitals, as libpfm4 has many, is no further help.
        const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& other) {
            return edit_distance(other, name) == 0;
        });
        if (!known) names.push_back(std::move(name));
        if (names.size() == most) break;
    }
    return names;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
    const auto names = near_matches(word, candidates);
    if (names.empty()) return {};
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
        list += formatted("\"{}\"", names[i]);
    }
    return formatted("; did you mean {}?", list);
}

}  // namespace metagroup::detail
