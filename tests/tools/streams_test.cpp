// SPDX-License-Identifier: MIT
// Subcommands whose standard streams are full, closed, or not read.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

// Everything that prints and needs no module.
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
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("standard output") && ContainsSubstring(why));
}

}  // namespace

TEST_CASE("A full disk is a failure") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >/dev/full", "No space left");
}

TEST_CASE("A closed standard output is a failure, also if a file is opened later") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >&-", "Bad file descriptor");
}

TEST_CASE("compare fails on a full disk and on a closed standard output", "[module]") {
    check_failure(METAGROUP_TOOL " compare --sweeps 10 >/dev/full", "No space left");
    check_failure(METAGROUP_TOOL " compare --sweeps 10 -j >&-", "Bad file descriptor");
}

TEST_CASE("Errors are not written to a file that takes the descriptor of standard error") {
    const Outcome outcome = run_program("(" METAGROUP_TOOL " stat -e no-such-event 2>&-)");
    CHECK(outcome.status == kFailure);
    CHECK(outcome.text.empty());
}

TEST_CASE("The tool is quiet when its reader leaves") {
    for (const std::string& arguments : kPrinting) {
        const Outcome outcome = run_program("(" METAGROUP_TOOL " " + arguments + " | head -n 1)");
        CAPTURE(arguments);
        CHECK(split(outcome.text, '\n').size() == 1);
    }
}
