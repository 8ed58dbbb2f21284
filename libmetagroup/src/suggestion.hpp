// SPDX-License-Identifier: MIT
// Suggests similar words in errors about unknown ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup::detail {

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into
/// `b`, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Up to three candidates similar to `word`, most similar first.
std::vector<std::string> similar_words(std::string_view word,
                                       std::span<const std::string> candidates);

/// The remedy `did you mean "a" or "b"?`, or `otherwise` if there is no similar candidate.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::string otherwise);

}  // namespace metagroup::detail
