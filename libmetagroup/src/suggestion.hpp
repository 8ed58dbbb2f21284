// SPDX-License-Identifier: MIT
// Similar words, for errors about unknown ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup::detail {

/// Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`; upper and
/// lower case are the same.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates most similar to `word`, most similar first, three at most.
std::vector<std::string> similar_words(std::string_view word,
                                       std::span<const std::string> candidates);

/// The remedy `did you mean "a" or "b"?`, or `otherwise` if there is no similar candidate.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates,
                         std::string otherwise);

}  // namespace metagroup::detail
