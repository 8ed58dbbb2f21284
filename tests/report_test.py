#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""tests/report.py and tests/matrix-table count what ctest's log says, and fail when they should."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
BOOTING = "tests/vm/run: booting {0} ({0}.0-9-amd64), 2 CPUs, tcg (about 5 s) ...\n"
SKIP = "file_test.cpp:224: SKIPPED:\nexplicitly with message:\n  no userfaultfd\n"
TWELVE = "All tests passed (90 assertions in 12 test cases)\n"
THREE = "All tests passed (9 assertions in 3 test cases)\n"
LINE = "-" * 79 + "\n"
CASES = "".join(f"{LINE}{name}\n{LINE}a.cpp:1\n....\n\n{result}\n\n" for name, result in (
    ("Counts are true", "a.cpp:2: FAILED:\n  CHECK( 1 == 2 )"),
    ("Times are true\n  of an idle CPU", "a.cpp:3: FAILED:"),
    ("Others", "a.cpp:4: SKIPPED:")))
FAILED = SKIP + "test cases: 12 | 9 passed | 2 failed | 1 skipped\n"


def test(name: str, output: str, result: str = "Passed", command: str = '"run"') -> str:
    return (f'1/9 Testing: {name}\n1/9 Test: {name}\nCommand: {command}\nOutput:\n----\n{output}'
            f'<end of output>\nTest time =   2.50 sec\n----\nTest {result}.\n\n')


def not_run(name: str) -> str:
    """As ctest logs it: passed, after a line that looks like output of the test before."""
    return "Failed test dependencies: fetch\n" + test(name, "", command='""')


def guest(*summary: str, result: str = "Passed", again: bool = False) -> str:
    """Of two tiers; with `again`, the emulator failed once."""
    first = "tier: uapi\n" + THREE
    return test("guest: 6.1, 2 CPUs", BOOTING.format("6.1") + first + (
        "the emulator failed: starting the run again ...\n" + first) * again +
        "tier: tools\n" + FAILED + "".join(f"tests/vm/run: {line}\n" for line in summary), result)


def both_tiers(again: bool) -> str:
    return guest("uapi: status 0, 5 s", "tools: status 1, 7 s", result="Failed", again=again)


UAPI_ROW = r"^uapi: 6.1, 2 CPUs +3 +0 +0 +5.0$"
TOOLS_ROW = r"^tools: 6.1, 2 CPUs +9 +2 +1 +7.0$"
TOOLS_SKIP = r"^skipped: tools: 6.1, 2 CPUs: no userfaultfd$"
SHELL = test("lint: shell", "")
ONE_SKIPPED = "1 passed, 0 failed, 1 skipped"
SKIP_EXPRESSION = "Test Pass Reason:\nSkip regular expression found in output.\n"

# Each: name, log, exit status, last line, other lines.
REPORTS: tuple[tuple[str, str, int, str, tuple[str, ...]], ...] = (
    ("cases of a program are counted one by one",
     test("uapi: 6.1, 2 CPUs", TWELVE), 0, "12 passed, 0 failed, 0 skipped", ()),
    ("cases that failed or were skipped are counted",
     test("uapi: 6.1, 2 CPUs", FAILED, "Failed"), 1, "9 passed, 2 failed, 1 skipped",
     (r"^skipped: uapi: 6.1, 2 CPUs: no userfaultfd$",)),
    ("cases that failed are named",
     test("uapi: 6.1, 2 CPUs", CASES + FAILED, "Failed"), 1, "9 passed, 2 failed, 1 skipped",
     (r"^failed: uapi: 6.1, 2 CPUs: Counts are true$",
      r"^failed: uapi: 6.1, 2 CPUs: Times are true\n\n9 passed")),
    ("a test that failed shows the end of its output, before the names of all",
     test("lint: python", "\n".join(f"line {i}" for i in range(50)), "Failed"), 1,
     "0 passed, 1 failed, 0 skipped",
     (r"^the end of the output of lint: python:\nline 25\n(line \d+\n)*line 49\n"
      r"failed: lint: python$",)),
    ("a test that did not run failed",
     SHELL + not_run("lint: python"), 1, "1 passed, 1 failed, 0 skipped",
     (r"^failed: lint: python$",)),
    ("a test that skips as a whole did not pass",
     SHELL + test("lint: man-pages", "skipped: no mandoc\n"), 0, ONE_SKIPPED, ()),
    ("a test that skips by what it prints did not pass",
     SHELL + test("lint: fish", "test_it ... skipped 'not installed'\nRan 1 test in 0s\n").replace(
         "Test Passed.\n", SKIP_EXPRESSION), 0, ONE_SKIPPED, ()),
    ("every tier of a guest has a row",
     both_tiers(False), 1, "12 passed, 2 failed, 1 skipped", (UAPI_ROW, TOOLS_ROW, TOOLS_SKIP)),
    ("a guest that was repeated counts once",
     both_tiers(True), 1, "12 passed, 2 failed, 1 skipped", (UAPI_ROW, TOOLS_ROW, TOOLS_SKIP)),
    ("a tier of a guest that did not run failed",
     guest("uapi: status 0, 5 s", "unit: not run", result="Failed"), 1,
     "3 passed, 1 failed, 0 skipped", (r"^unit: 6.1, 2 CPUs +0 +1 +0 +0.0$",)),
    ("a guest that ends without a summary failed",
     guest(result="Failed"), 1, "9 passed, 2 failed, 1 skipped", ()),
    ("a guest that ends without results failed",
     test("guest: 6.1, 2 CPUs", "tier: uapi\n", "Failed"), 1, "0 passed, 1 failed, 0 skipped", ()),
    ("a run of nothing fails", "", 1, "0 passed, 0 failed, 0 skipped", ()),
)

PASSED = test("uapi: 6.1, 2 CPUs", BOOTING.format("6.1") + SKIP +
              "test cases: 12 | 11 passed | 1 skipped\n")
OTHER = test("integration: 6.12, 2 CPUs", BOOTING.format("6.12") + THREE)

MATRICES: tuple[tuple[str, str, int, str, tuple[str, ...]], ...] = (
    ("a kernel has a row and a tier a column; a skip has its reason",
     PASSED + OTHER, 0, "14 passed, 0 failed, 1 skipped",
     (r"^6.1 +amd64 +11/0/1 2 s +-$", r"^6.12 +amd64 +- +3/0/0 2 s$",
      r"^skipped: uapi: no userfaultfd: everywhere$")),
    ("a skip has its guests",
     PASSED + test("uapi: 6.12, 5 CPUs", THREE), 0, "14 passed, 0 failed, 1 skipped",
     (r"^skipped: uapi: no userfaultfd: 6.1 \(2 CPUs\)$",)),
    ("a tier that one kernel alone runs with more CPUs has no column",
     "".join(test(f"uapi: {name}", THREE) for name in (
         "6.1, 2 CPUs", "6.12, 2 CPUs", "5.10, 2 CPUs", "6.1, 5 CPUs")), 0,
     "12 passed, 0 failed, 0 skipped", (r"^ +2 CPUs$",)),
    ("a download that failed fails and so do the tests that need it",
     PASSED + test("fetch 6.12", "", "Failed") + not_run("uapi: 6.12, 2 CPUs"), 1,
     "11 passed, 2 failed, 1 skipped", ()),
    ("a run without guests fails", SHELL, 1, "0 passed, 0 failed, 0 skipped", ()),
)


class TableTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_on(self, script: str, text: str, *options: str | Path, status: int = 0) -> str:
        log = self.directory / "log"
        log.write_text(text)
        done = subprocess.run([TESTS / script, log, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env=os.environ | {"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_the_tables_count_what_the_log_says(self) -> None:
        for script, cases in (("report.py", REPORTS), ("matrix-table", MATRICES)):
            for what, log, status, last, lines in cases:
                with self.subTest(what):
                    text = self.run_on(script, log, status=status)
                    self.assertEqual(text.splitlines()[-1], last)
                    for line in lines:
                        self.assertRegex(text, "(?m)" + line)

    def test_a_test_that_skips_by_its_status_alone_did_not_pass(self) -> None:
        junit = self.directory / "junit.xml"
        junit.write_text('\t<testcase name="lint: A &amp; B" classname="" status="run"/>\n'
                         '\t<testcase name="lint: B&apos;s" classname="" status="notrun">\n'
                         '\t\t<skipped message="SKIP_RETURN_CODE=77"/>\n'
                         '\t\t<system-out>\nskipped: cut off\n')
        text = self.run_on("report.py", test("lint: A & B", "") + test("lint: B's", ""),
                           "--junit", junit)
        self.assertIn("skipped: lint: B's: no reason given\n", text)
        self.assertNotIn("cut off", text)
        self.assertEqual(text.splitlines()[-1], ONE_SKIPPED)

    def test_what_was_run_again_counts_once(self) -> None:
        text = self.run_on("matrix-table", OTHER, self.directory / "log")
        self.assertEqual(text.splitlines()[-1], "3 passed, 0 failed, 0 skipped")

    def published(self, log: str, status: int = 0) -> str:
        (self.directory / "VERSION").write_text("1.2.3\n")
        (self.directory / "docs").mkdir()
        page = self.directory / "docs/tested-kernels.md"
        page.write_text("old\n")
        self.run_on("matrix-table", log, "--publish", self.directory, status=status)
        return page.read_text()

    def test_the_table_and_the_reasons_of_skips_are_published(self) -> None:
        text = self.published(PASSED + OTHER)
        self.assertIn("\nTest cases of version 1.2.3 ", text)
        self.assertIn("\n| 6.1.0-9-amd64 | amd64 | 11 (1 skipped) | not run |\n", text)
        self.assertIn("\n- uapi: no userfaultfd: everywhere\n", text)
        self.assertNotIn("old", text)

    def test_a_run_that_failed_is_not_published(self) -> None:
        self.assertIn("old", self.published(PASSED + not_run("uapi: 6.12, 2 CPUs"), status=1))


if __name__ == "__main__":
    unittest.main()
