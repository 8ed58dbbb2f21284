// SPDX-License-Identifier: MIT
// Invalid command lines: the message names the word, and nothing is counted.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "program.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

Outcome run_line(const std::string& arguments) {
    // A command line that is not refused may run without end.
    return run_program("timeout 10 " METAGROUP_TOOL " " + arguments);
}

void check_refused(const std::string& arguments, const std::string& what) {
    const Outcome outcome = run_line(arguments);
    CAPTURE(arguments, outcome.text);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring(what));
}

}  // namespace

TEST_CASE("An unknown subcommand is named, with a similar one or all") {
    check_refused("stta", "\"stta\"; did you mean \"stat\"?");
    check_refused("frobnicate", "\"frobnicate\"; there are stat, top, list");
    check_refused("frobnicate -e cycles -- sleep 1", "\"frobnicate\"");
}

TEST_CASE("An invalid value is named, also before a command") {
    check_refused("stat -I never -- true", "never");
}

TEST_CASE("An unknown option is named, with a similar one") {
    check_refused("--foo", "\"--foo\"");
    check_refused("--foo stat", "\"--foo\"");
    check_refused("stat --timout 10ms",
                  "stat: unknown option \"--timout\"; did you mean \"--timeout\"?");
    check_refused("top --per-cor=1", "did you mean \"--per-core\"");
    check_refused("list one two", "\"two\"");
}

TEST_CASE("Empty values are refused: mostly they are unset variables") {
    for (const char* option : {"--event", "--cpu", "--cgroup", "--device", "--output",
                               "--field-separator", "--interval", "--timeout"})
        check_refused(std::string("stat --timeout 10ms ") + option + " ''", "");
    check_refused("stat -e '' --timeout 10ms", "--event");
    check_refused("export --listen ''", "--listen");
}

TEST_CASE("Numbers are from 1 to 2^32-1") {
    for (const char* number :
         {"0", "-1", "4294967297", "18446744073709551615", "-18446744073709551615",
          "99999999999999999999", "1.5", "0x10", "many", "''"}) {
        check_refused(std::string("stat -e cpu-clock -I 10ms --count ") + number, "--count");
        check_refused(std::string("top -e cpu-clock --count ") + number, "--count");
    }
    CHECK(run_line("stat -e cpu-clock -I 10ms --timeout 30ms --count 4294967295").status == 0);
}

TEST_CASE("Times have a unit and a range") {
    for (const char* time :
         {"5parsecs", "nan", "inf", "-1", "0", "1e300s", "9us", "12days", "''"}) {
        check_refused(std::string("stat -e cpu-clock --timeout ") + time, "--timeout");
        check_refused(std::string("stat -e cpu-clock -I ") + time, "--interval");
        check_refused(std::string("top -e cpu-clock -d ") + time, "--delay");
    }
    CHECK(run_line("stat -e cpu-clock --timeout 0.01s").status == 0);
}

TEST_CASE("Options that exclude or need each other are refused") {
    check_refused("stat --count 3", "--interval");
    check_refused("stat -A --per-core", "");
    check_refused("stat -j -x ,", "");
    check_refused("stat --backend=guess", "guess");
    check_refused("stat --method=stream", "--interval");
    check_refused("stat -I 1ms --method=guess", "guess");
}

TEST_CASE("Ports are from 0 to 65535") {
    for (const char* port : {"65536", "-1", "4294967297", "http", ""})
        check_refused(std::string("export --listen 127.0.0.1:") + port, "--listen");
}

TEST_CASE("The options --version and --help succeed") {
    CHECK(run_line("--version").status == 0);
    CHECK(run_line("--help").status == 0);
    CHECK(run_line("stat --help").status == 0);
    check_refused("", "subcommand");
}
