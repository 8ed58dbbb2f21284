// SPDX-License-Identifier: MIT
#include <metagroup/suggestion.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

namespace metagroup {
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

std::vector<std::string> similar_words(std::string_view word,
                                       std::span<const std::string> candidates) {
    constexpr std::size_t most = 3;
    // Up to a third of the letters may be wrong.
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const std::string& candidate : candidates) {
        const bool extends = word.size() >= 3 && candidate.size() > word.size() &&
                             std::equal(word.begin(), word.end(), candidate.begin(), same_letter);
        // The distance is at least the difference in length: a cheap test for thousands of
        // candidates.
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
    // Stable: of two equally similar names, the first one wins.
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto& match : found) {
        std::string& name = match.second;
        // libpfm4 has many names that differ only in case.
        const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& other) {
            return edit_distance(other, name) == 0;
        });
        if (!known) names.push_back(std::move(name));
        if (names.size() == most) break;
    }
    return names;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::string otherwise) {
    const auto names = similar_words(word, candidates);
    if (names.empty()) return otherwise;
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
        list += '"' + names[i] + '"';
    }
    return "did you mean " + list + '?';
}

}  // namespace metagroup
