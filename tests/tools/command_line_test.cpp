// SPDX-License-Identifier: MIT
// Invalid command lines: the message names the word, and nothing is counted. Standard streams that
// are full, closed, or not read. Missing permission. Tag [machine]: changes the machine, so it runs
// in guests only.
#include "program.hpp"
#include "support/settings.hpp"

namespace {

// Everything that prints and needs no module.
const std::vector<std::string> kPrinting{
    "list", "info", "--help", "--version", "stat --help", "complete -- stat --per-",
};

void check_failure(const std::string& command, const std::string& why) {
    const Outcome outcome = run_program("(" + command + ")");
    CAPTURE(command, outcome.text);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("standard output") && ContainsSubstring(why));
}

}  // namespace

TEST_CASE("An unknown subcommand is named, with a similar one or with all of them") {
    tool_fails("stta", {"\"stta\"; did you mean \"stat\"?"});
    tool_fails("frobnicate", {"\"frobnicate\"; the subcommands are stat, top, list"});
    tool_fails("frobnicate -e cycles -- sleep 1", {"\"frobnicate\""});
}

TEST_CASE("An invalid value is named, even before a command") {
    tool_fails("stat -I never -- true", {"\"never\" is not a time"});
}

TEST_CASE("An unknown option is named, with a similar one") {
    tool_fails("--foo", {"\"--foo\""});
    tool_fails("--foo stat", {"\"--foo\""});
    tool_fails("stat --timout 10ms",
               {"stat: unknown option \"--timout\"; did you mean \"--timeout\"?"});
    tool_fails("top --per-cor=1", {"did you mean \"--per-core\""});
    tool_fails("list one two", {"\"two\""});
}

TEST_CASE("Options that choose tasks are refused with the remedy") {
    for (const char* option : {"-p 1", "--pid=1", "-t 1", "-u root"})
        for (const char* subcommand : {"stat", "record"})
            tool_fails(std::string(subcommand) + " -e dummy " + option + " -- true",
                       {"all tasks", "-G CGROUP", "perf stat"});
    tool_fails("top -p 1", {"all tasks"});
    CHECK_THAT(tool_output("stat --help"), !ContainsSubstring("--pid"));
    CHECK_THAT(tool_output("complete -- stat --pi"), !ContainsSubstring("--pid"));
}

TEST_CASE("Options after the name of a command belong to the command") {
    for (const char* words : {"stat -e dummy printf '%s,' -a --json -I x",
                              "stat -ae dummy --backend=per-fd printf '%s,' -a --json -I x",
                              "stat --event dummy -C 0 -- printf '%s,' -a --json -I x"})
        CHECK_THAT(tool_output(words), ContainsSubstring("-a,--json,-I,x,"));
}

TEST_CASE("Words of a command in brackets are passed unchanged") {
    for (const char* words : {"stat -e dummy -o /dev/null printf '%s;' '[a,b]' '[]' '' = '{}'",
                              "stat -e dummy -o /dev/null -- printf '%s;' '[a,b]' '[]' '' = '{}'",
                              "record -e dummy -o /dev/null printf '%s;' '[a,b]' '[]' '' = '{}'"})
        CHECK_THAT(tool_output(words), ContainsSubstring("[a,b];[];;=;{};"));
}

TEST_CASE("An option without its value, or given twice, is named") {
    for (const char* words : {"stat -e", "stat -C", "record -o"})
        tool_fails(words, {"metagroup: --", " needs a value; see --help"});
    tool_fails("stat -G a -G b", {"metagroup: --cgroup is given twice; see --help"});
}

TEST_CASE("Empty values are refused, because most are unset variables") {
    for (const char* option :
         {"--event", "-e", "--cgroup", "--device", "--output", "--field-separator"})
        tool_fails(std::string("stat --timeout 10ms ") + option + " ''", {"must not be empty"});
    for (const char* option : {"--interval", "--timeout"})
        tool_fails(std::string("stat -e dummy ") + option + " ''", {"\"\" is not a time"});
    tool_fails("stat --timeout 10ms --cpu ''", {"CPU list \"\""});
    tool_fails("export --listen ''", {"needs an address and a port"});
}

TEST_CASE("Numbers must be from 1 to 2^32-1") {
    for (const char* number :
         {"0", "-1", "4294967297", "18446744073709551615", "-18446744073709551615",
          "99999999999999999999", "1.5", "0x10", "many", "''"}) {
        tool_fails(std::string("stat -e cpu-clock -I 10ms --count ") + number,
                   {"is not a number from 1"});
        tool_fails(std::string("top -e cpu-clock --count ") + number, {"is not a number from 1"});
    }
    tool_output("stat -e cpu-clock -I 10ms --timeout 30ms --count 4294967295");
}

TEST_CASE("Times have a unit and a range") {
    for (const char* time :
         {"5parsecs", "nan", "inf", "-1", "0", "1e300s", "9us", "12days", "''"}) {
        tool_fails(std::string("stat -e cpu-clock --timeout ") + time, {"--timeout: "});
        tool_fails(std::string("stat -e cpu-clock -I ") + time, {"--interval: "});
        tool_fails(std::string("top -e cpu-clock -d ") + time, {"--delay: "});
    }
    tool_output("stat -e cpu-clock --timeout 0.01s");
}

TEST_CASE("Options that exclude or need each other are refused") {
    tool_fails("stat --count 3", {"--interval"});
    tool_fails("stat -A --per-core", {"at most 1"});
    tool_fails("stat -j -x ,", {"excludes"});
    tool_fails("stat --backend=guess", {"guess not in {auto,module,per-fd,percpu}"});
    tool_fails("stat --method=stream", {"--interval"});
    tool_fails("stat -I 1ms --method=guess", {"guess not in {"});
}

TEST_CASE("Ports must be from 0 to 65535") {
    for (const char* port : {"65536", "-1", "4294967297", "http", ""})
        tool_fails(std::string("export --listen 127.0.0.1:") + port,
                   {"needs an address and a port"});
}

TEST_CASE("The options --version and --help succeed") {
    tool_output("--version");
    tool_output("--help");
    tool_output("stat --help");
    tool_fails("", {"subcommand"});
}

TEST_CASE("Help has a line for each option, with aligned descriptions") {
    for (const char* subcommand :
         {"", "stat", "top", "list", "info", "compare", "record", "report", "export", "set",
          "set create", "set show", "set list", "set remove"}) {
        const std::string text = tool_output(std::string(subcommand) + " --help");
        CAPTURE(text);
        CHECK_THAT(text, !ContainsSubstring("Excludes") && !ContainsSubstring("Needs:") &&
                             !ContainsSubstring("Option Group"));
        std::size_t column = 0;
        for (const std::string& line : split(text, '\n')) {
            CAPTURE(line);
            CHECK(line.size() <= 100);
            CHECK(line.find("UINT") == line.npos);
            if (!line.starts_with("  -") && !line.starts_with("      --")) continue;
            const std::size_t begin = line.find("  ", line.find("--"));
            REQUIRE(begin != std::string::npos);
            const std::size_t found = line.find_first_not_of(' ', begin);
            if (column == 0) column = found;
            CHECK(found == column);
        }
        CHECK(column > 0);
        CHECK(text.find("-h, --help") == text.rfind("-h, --help"));
    }
    CHECK_THAT(tool_output("stat --help"),
               ContainsSubstring("\n  -e, --event EVENTS ") &&
                   ContainsSubstring("\n      --backend auto|module|per-fd|percpu "));
}

TEST_CASE("A full disk makes the command fail") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >/dev/full", "No space left");
}

TEST_CASE("stat fails if standard error, to which it writes, is closed or its disk is full") {
    for (const char* options : {"", "-j", "-I 5ms -x ,"}) {
        const std::string stat =
            std::string(METAGROUP_TOOL " stat -e dummy --timeout 10ms ") + options;
        CAPTURE(options);
        CHECK(run_program("(" + stat + " 2>/dev/full)").status == kFailure);
        CHECK(run_program("(" + stat + " 2>&-)").status == kFailure);
        const std::string first = run_program("(" + stat + " 2>&1 | head -n 1)").text;
        CHECK(split(first, '\n').size() == 1);
    }
}

TEST_CASE("A closed standard output makes the command fail, even if a file is opened later") {
    for (const std::string& arguments : kPrinting)
        check_failure(METAGROUP_TOOL " " + arguments + " >&-", "Bad file descriptor");
}

TEST_CASE("A command that counts nothing does not truncate its output file", "[no-module]") {
    const metagroup::test::TempTree tree;
    const std::string file = tree.path("results");
    std::ofstream(file) << "earlier results";
    for (const char* words : {"stat -e no-such-event -o ", "stat --replay /nonexistent -o ",
                              "report /nonexistent -o ", "compare -e '{cpu-clock}' -o "}) {
        CAPTURE(words);
        CHECK(run_tool(words + file).status == kFailure);
        CHECK(contents_of(file) == "earlier results");
    }
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

TEST_CASE("The tool prints no error when its reader exits") {
    for (const std::string& arguments : kPrinting) {
        const Outcome outcome = run_program("(" METAGROUP_TOOL " " + arguments + " | head -n 1)");
        CAPTURE(arguments);
        CHECK(split(outcome.text, '\n').size() == 1);
    }
}

TEST_CASE("In a user namespace the remedy points outside of it") {
    if (run_program("unshare -r true").status != 0) SKIP("user namespaces cannot be made here");
    const Outcome outcome =
        run_program("unshare -r " METAGROUP_TOOL " stat -e cpu-clock --timeout 10ms");
    if (outcome.status == 0) SKIP("all users may count here");
    CAPTURE(outcome.text);
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text,
               ContainsSubstring("initial user namespace") && !ContainsSubstring("setcap"));
}

TEST_CASE("Without permission, subcommands that count fail and name the remedy", "[machine]") {
    const metagroup::test::Paranoid paranoid(2);
    for (const char* arguments :
         {"stat -e cpu-clock --timeout 10ms", "stat -e cpu-clock --timeout 10ms --backend=per-fd",
          "compare -e '{cpu-clock}' --sweeps 10", "export -e cpu-clock --listen 127.0.0.1:0"}) {
        const Outcome outcome =
            run_program(std::string(METAGROUP_TOOL " ") + arguments, Who::nobody);
        CAPTURE(arguments, outcome.text);
        CHECK(outcome.status == kFailure);
        CHECK_THAT(outcome.text,
                   ContainsSubstring("perf_event_paranoid") && ContainsSubstring("CAP_PERFMON"));
    }
}

TEST_CASE("A file named - is standard output, which cannot hold a recording") {
    CHECK_THAT(run_tool("stat -e dummy --timeout 10ms -x , -o - 2>/dev/null").text,
               ContainsSubstring("dummy"));
    tool_fails("record -e dummy -o - -- true", {"cannot be written to a stream"});
}
