// SPDX-License-Identifier: MIT
// Files that report reads, and its errors for others.
#include "program.hpp"

TEST_CASE("Without a name report reads perf.data", "[no-module]") {
    const Recorded recorded;
    const std::string change = "cd " + recorded.tree.path() + " && ";
    CHECK_THAT(run_program(change + METAGROUP_TOOL " report").text,
               ContainsSubstring("cannot open recording \"perf.data\": No such file"));
    const Outcome outcome =
        run_program(change + "cp recording perf.data && " METAGROUP_TOOL " report");
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.text, ContainsSubstring("cycles"));
}

TEST_CASE("report reads a file that is standard input, and refuses a pipe", "[no-module]") {
    const Recorded recorded;
    CHECK_THAT(tool_output("report -i - <" + recorded.path), ContainsSubstring("cycles"));
    const Outcome outcome =
        run_program("cat " + recorded.path + " | " METAGROUP_TOOL " report -i -");
    CHECK(outcome.status == kFailure);
    CHECK_THAT(outcome.text, ContainsSubstring("not a regular file") &&
                                 ContainsSubstring("redirect standard input"));
}

TEST_CASE("report does not wait for the writer of a FIFO", "[no-module]") {
    const metagroup::test::TempTree tree;
    run_program("mkfifo " + tree.path("fifo"));
    tool_fails("report " + tree.path("fifo"), {"not a regular file"});
}

TEST_CASE("report names a file that it cannot read", "[no-module]") {
    tool_fails("report /no/such/file", {"No such file"});
    tool_fails("report /etc/passwd", {"not a perf.data file"});
    tool_fails("report /etc", {"not a regular file"});
}
