// SPDX-License-Identifier: MIT
// "Did you mean …?"
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

/// The candidates nearest to `word`, nearest first, three at most; none that share too little.
std::vector<std::string> near_matches(std::string_view word,
                                      std::span<const std::string> candidates);

/// `; did you mean "a" or "b"?`, or nothing if there is no near match.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace metagroup::detail
