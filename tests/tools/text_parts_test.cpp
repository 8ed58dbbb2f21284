// SPDX-License-Identifier: MIT
// How metagroup folds text and matches patterns.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "columns.hpp"
#include "list/pattern.hpp"

using metagroup::KnownEvent;
using tool::Columns;
using tool::entry;
using tool::fold;
using tool::Pattern;

using Lines = std::vector<std::string>;

TEST_CASE("Text is folded at blanks", "[no-module]") {
    CHECK(fold("one two three", 8) == Lines{"one two", "three"});
    CHECK(fold("  one \t two\n", 80) == Lines{"one two"});
    CHECK(fold("", 80).empty());
}

TEST_CASE("A word that is too long has a line of its own", "[no-module]") {
    CHECK(fold("a incomprehensible b", 8) == Lines{"a", "incomprehensible", "b"});
}

TEST_CASE("Characters of several bytes take one column", "[no-module]") {
    CHECK(fold("µµµ µµµ", 7) == Lines{"µµµ µµµ"});
}

TEST_CASE("The text of an entry begins in its column", "[no-module]") {
    const Columns columns{.indent = 2, .text = 10, .width = 31};
    CHECK(entry("name", "a text that is longer", columns) == "  name    a text that is longer\n");
    CHECK(entry("name", "a text that is longer still", columns) ==
          "  name    a text that is longer\n          still\n");
    CHECK(entry("name", "", columns) == "  name\n");
}

TEST_CASE("The text of a long name begins a line below", "[no-module]") {
    CHECK(entry("long-name", "text", {.indent = 2, .text = 10, .width = 31}) ==
          "  long-name\n          text\n");
}

TEST_CASE("A pattern without wildcards is a part of name, PMU or description", "[no-module]") {
    const KnownEvent event{"LS_DISPATCH:LD", "zen4", "Loads dispatched", "", "libpfm4"};
    CHECK(Pattern("dispatch").matches(event));
    CHECK(Pattern("ZEN").matches(event));
    CHECK(Pattern("loads d").matches(event));
    CHECK_FALSE(Pattern("stores").matches(event));
}

TEST_CASE("A pattern with wildcards is for the whole", "[no-module]") {
    const KnownEvent event{"sched:sched_switch", "tracepoint", "", "", "tracefs"};
    CHECK(Pattern("SCHED:*").matches(event));
    CHECK(Pattern("sched:sched_[st]witch").matches(event));
    CHECK_FALSE(Pattern("sched_*").matches(event));
    CHECK_FALSE(Pattern("sched:?").matches(event));
}

TEST_CASE("hw and sw stand for the PMUs hardware and software", "[no-module]") {
    const KnownEvent clock{"cpu-clock", "software", "by hw timers", "", "perf"};
    CHECK(Pattern("sw").matches(clock));
    CHECK_FALSE(Pattern("hw").matches(clock));
}
