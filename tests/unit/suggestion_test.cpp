// SPDX-License-Identifier: MIT
#include "suggestion.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using metagroup::detail::did_you_mean;
using metagroup::detail::edit_distance;
using metagroup::detail::similar_words;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("cycles", "cycles") == 0);
    CHECK(edit_distance("cycle", "cycles") == 1);
    CHECK(edit_distance("cyclees", "cycles") == 1);
    CHECK(edit_distance("cyclas", "cycles") == 1);
    CHECK(edit_distance("cycels", "cycles") == 1);
    CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("upper and lower case are no difference") {
    CHECK(edit_distance("CYCLES", "cycles") == 0);
}

TEST_CASE("the most similar names come first, dissimilar ones not at all") {
    const std::vector<std::string> names = {"instructions", "ref-cycles", "bicycles", "cycles"};
    CHECK(similar_words("cycels", names) == std::vector<std::string>{"cycles"});
    CHECK(similar_words("zzzzzz", names).empty());
}

TEST_CASE("no more than three names are suggested") {
    const std::vector<std::string> names = {"a1", "a2", "a3", "a4", "a5"};
    CHECK(similar_words("a0", names).size() == 3);
}

TEST_CASE("names that differ only in case are suggested once, the first one") {
    const std::vector<std::string> names = {"cycles", "CYCLES"};
    CHECK(similar_words("cycels", names) == std::vector<std::string>{"cycles"});
}

TEST_CASE("the beginning of a name suggests it") {
    const std::vector<std::string> names = {"context-switches"};
    CHECK(similar_words("context", names) == names);
}

TEST_CASE("a suggestion is a question, or nothing") {
    const std::vector<std::string> names = {"ab", "ac"};
    CHECK(did_you_mean("ad", names, {}) == "did you mean \"ab\" or \"ac\"?");
    CHECK(did_you_mean("something", names, "see there") == "see there");
}
