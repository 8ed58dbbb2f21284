// SPDX-License-Identifier: MIT
/// \file
/// Similar words, for errors about unknown names.
#pragma once

#include <cstddef>
#include <metagroup/export.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, ignoring
/// case.
METAGROUP_API std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates most similar to `word`, most similar first, three at most.
METAGROUP_API std::vector<std::string> similar_words(std::string_view word,
                                                     std::span<const std::string> candidates);

/// The remedy `did you mean "a" or "b"?`, or `otherwise` if there is no similar candidate.
METAGROUP_API std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates,
                                       std::string otherwise);

}  // namespace metagroup
