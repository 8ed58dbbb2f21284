// SPDX-License-Identifier: MIT
// What subcommands do whose output cannot be written, or is not wanted any more.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

// All that print and need no module.
const std::vector<std::string> kPrinting{
    "list",
    "info",
    "stat -e dummy --timeout 10ms",
    "stat -e dummy --timeout 10ms -j",
    "stat -e dummy -I 10ms --count 2 -x ,",
    "--help",
    "--version",
    "stat --help",
    "complete -- stat --per-",
};

void check_failure(const std::string& command, const std::string& why) {
    const Outcome outcome = run_program("(" + command + ")");
    CAPTURE(command, outcome.text);
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.text, ContainsSubstring("standard output") && ContainsSubstring(why));
}

}  // namespace

TEST_CASE("A full disk is no success") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >/dev/full", "No space left");
}

TEST_CASE("A closed standard output is no success, whatever is opened then") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >&-", "Bad file descriptor");
}

TEST_CASE("A full disk and a closed standard output are no success of compare", "[module]") {
    check_failure(METAGROUP_TOOL " compare --sweeps 10 >/dev/full", "No space left");
    check_failure(METAGROUP_TOOL " compare --sweeps 10 -j >&-", "Bad file descriptor");
}

TEST_CASE("Errors are no output: they do not go where standard error would have been") {
    const Outcome outcome = run_program("(" METAGROUP_TOOL " stat -e no-such-event 2>&-)");
    CHECK(outcome.status == 1);
    CHECK(outcome.text.empty());
}

TEST_CASE("The tool is quiet when its reader leaves") {
    for (const std::string& arguments : kPrinting) {
        const Outcome outcome = run_program("(" METAGROUP_TOOL " " + arguments + " | head -n 1)");
        CAPTURE(arguments);
        CHECK(split(outcome.text, '\n').size() == 1);
    }
}
