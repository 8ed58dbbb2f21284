#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""tests/report and tests/matrix-table count what ctest's log says, and fail when they should."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
MARKS = ("<!-- tested: written by tests/matrix-table --publish, do not edit -->",
         "<!-- end of tested -->")
BOOTING = "tests/vm/run: booting {0} ({0}.0-9-amd64), 2 CPUs, tcg (about 5 s) ...\n"
SKIP = "file_test.cpp:224: SKIPPED:\nexplicitly with message:\n  no userfaultfd\n"


def test(name: str, output: str, result: str = "Passed", command: str = '"run"') -> str:
    return (f'1/9 Testing: {name}\n1/9 Test: {name}\nCommand: {command}\nOutput:\n----\n{output}'
            f'<end of output>\nTest time =   2.50 sec\n----\nTest {result}.\n\n')


def not_run(name: str) -> str:
    """As ctest logs it: passed, after a line that looks like output of the test before."""
    return "Failed test dependencies: fetch\n" + test(name, "", command='""')


class TableTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_on(self, script: str, *tests: str, options: tuple[str, ...] = (),
               status: int = 0) -> str:
        log = self.directory / "log"
        log.write_text("".join(tests))
        done = subprocess.run([TESTS / script, log, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env=os.environ | {"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def last_line(self, script: str, *tests: str, status: int = 0) -> str:
        return self.run_on(script, *tests, status=status).splitlines()[-1]


class Report(TableTest):
    def test_cases_of_a_program_are_counted_one_by_one(self) -> None:
        output = "All tests passed (90 assertions in 12 test cases)\n"
        self.assertEqual(self.last_line("report", test("uapi: 6.1, 2 CPUs", output)),
                         "12 passed, 0 failed, 0 skipped")

    def test_cases_that_failed_or_were_skipped_are_counted(self) -> None:
        output = SKIP + "test cases: 12 | 9 passed | 2 failed | 1 skipped\n"
        text = self.run_on("report", test("uapi: 6.1, 2 CPUs", output, "Failed"), status=1)
        self.assertEqual(text.splitlines()[-1], "9 passed, 2 failed, 1 skipped")
        self.assertIn("skipped: uapi: 6.1, 2 CPUs: no userfaultfd\n", text)

    def test_a_test_that_did_not_run_failed(self) -> None:
        self.assertEqual(self.last_line("report", test("lint: shell", ""), not_run("lint: python"),
                                        status=1),
                         "1 passed, 1 failed, 0 skipped")

    def test_a_test_that_skips_as_a_whole_did_not_pass(self) -> None:
        self.assertEqual(self.last_line("report", test("lint: shell", ""),
                                        test("lint: man-pages", "skipped: no mandoc\n")),
                         "1 passed, 0 failed, 1 skipped")

    def test_a_test_that_skips_by_its_status_alone_did_not_pass(self) -> None:
        junit = self.directory / "junit.xml"
        junit.write_text('\t<testcase name="lint: A &amp; B" classname="" status="run"/>\n'
                         '\t<testcase name="lint: B&apos;s" classname="" status="notrun">\n'
                         '\t\t<skipped message="SKIP_RETURN_CODE=77"/>\n'
                         '\t\t<system-out>\nskipped: cut off\n')
        log = self.directory / "log"
        log.write_text(test("lint: A & B", "") + test("lint: B's", ""))
        done = subprocess.run([TESTS / "report", "--junit", junit, log], capture_output=True,
                              text=True, check=False)
        self.assertIn("skipped: lint: B's: no reason given\n", done.stdout)
        self.assertNotIn("cut off", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 1 skipped")

    def test_a_test_that_skips_by_what_it_prints_did_not_pass(self) -> None:
        ended = "Test Passed.\n", "Test Pass Reason:\nSkip regular expression found in output.\n"
        text = test("lint: fish", "test_it ... skipped 'not installed'\nRan 1 test in 0s\n")
        self.assertEqual(self.last_line("report", test("lint: shell", ""), text.replace(*ended)),
                         "1 passed, 0 failed, 1 skipped")

    def guest(self, *summary: str, result: str = "Passed", again: bool = False) -> str:
        first = "tier: uapi\nAll tests passed (9 assertions in 3 test cases)\n"
        output = (BOOTING.format("6.1") + first +
                  ("the emulator failed: once more from the beginning ...\n" + first) * again +
                  "tier: tools\n" + SKIP + "test cases: 12 | 9 passed | 2 failed | 1 skipped\n" +
                  "".join(f"tests/vm/run: {line}\n" for line in summary))
        return test("guest: 6.1, 2 CPUs", output, result)

    def test_every_tier_of_a_guest_has_a_row(self) -> None:
        for again in (False, True):
            text = self.run_on("report", self.guest("uapi: status 0, 5 s", "tools: status 1, 7 s",
                                                    result="Failed", again=again), status=1)
            self.assertRegex(text, r"(?m)^uapi: 6.1, 2 CPUs +3 +0 +0 +5.0$")
            self.assertRegex(text, r"(?m)^tools: 6.1, 2 CPUs +9 +2 +1 +7.0$")
            self.assertIn("skipped: tools: 6.1, 2 CPUs: no userfaultfd\n", text)
            self.assertEqual(text.splitlines()[-1], "12 passed, 2 failed, 1 skipped")

    def test_a_tier_of_a_guest_that_did_not_run_failed(self) -> None:
        text = self.run_on("report", self.guest("uapi: status 0, 5 s", "unit: not run",
                                                result="Failed"), status=1)
        self.assertRegex(text, r"(?m)^unit: 6.1, 2 CPUs +0 +1 +0 +0.0$")

    def test_a_guest_that_ends_without_results_failed(self) -> None:
        self.assertEqual(self.last_line("report", self.guest(result="Failed"), status=1),
                         "9 passed, 2 failed, 1 skipped")
        self.assertEqual(self.last_line("report", test("guest: 6.1, 2 CPUs", "tier: uapi\n",
                                                       "Failed"), status=1),
                         "0 passed, 1 failed, 0 skipped")

    def test_a_run_of_nothing_fails(self) -> None:
        self.assertEqual(self.last_line("report", status=1), "0 passed, 0 failed, 0 skipped")


class Matrix(TableTest):
    PASSED = test("uapi: 6.1, 2 CPUs", BOOTING.format("6.1") + SKIP +
                  "test cases: 12 | 11 passed | 1 skipped\n")
    OTHER = test("integration: 6.12, 2 CPUs", BOOTING.format("6.12") +
                 "All tests passed (9 assertions in 3 test cases)\n")

    def row(self, text: str, kernel: str) -> list[str]:
        return next(line.split() for line in text.splitlines() if line.startswith(kernel + " "))

    def test_a_kernel_has_a_row_and_a_tier_a_column(self) -> None:
        text = self.run_on("matrix-table", self.PASSED, self.OTHER)
        self.assertEqual(self.row(text, "6.1"), "6.1 amd64 11/0/1 2 s -".split())
        self.assertEqual(self.row(text, "6.12"), "6.12 amd64 - 3/0/0 2 s".split())
        self.assertEqual(text.splitlines()[-1], "14 passed, 0 failed, 1 skipped")

    def test_a_tier_that_one_kernel_alone_runs_with_more_cpus_has_no_column(self) -> None:
        passed = "All tests passed (9 assertions in 3 test cases)\n"
        text = self.run_on("matrix-table", *(test(f"uapi: {guest}", passed) for guest in (
            "6.1, 2 CPUs", "6.12, 2 CPUs", "5.10, 2 CPUs", "6.1, 5 CPUs")))
        self.assertNotIn("5 CPUs", text)
        self.assertEqual(text.splitlines()[-1], "12 passed, 0 failed, 0 skipped")

    def test_every_skip_has_its_reason_and_its_guests(self) -> None:
        other = test("uapi: 6.12, 5 CPUs", "All tests passed (9 assertions in 3 test cases)\n")
        self.assertIn("skipped: uapi: no userfaultfd: 6.1 (2 CPUs)\n",
                      self.run_on("matrix-table", self.PASSED, other))
        self.assertIn("skipped: uapi: no userfaultfd: everywhere\n",
                      self.run_on("matrix-table", self.PASSED, self.OTHER))

    def test_a_download_that_failed_fails_and_so_do_the_tests_that_need_it(self) -> None:
        text = self.run_on("matrix-table", self.PASSED, test("fetch 6.12", "", "Failed"),
                           not_run("uapi: 6.12, 2 CPUs"), status=1)
        self.assertEqual(text.splitlines()[-1], "11 passed, 2 failed, 1 skipped")

    def test_a_run_without_guests_fails(self) -> None:
        self.run_on("matrix-table", test("lint: shell", ""), status=1)

    def test_what_was_run_again_counts_once(self) -> None:
        text = self.run_on("matrix-table", self.OTHER, options=(str(self.directory / "log"),))
        self.assertEqual(text.splitlines()[-1], "3 passed, 0 failed, 0 skipped")

    def published(self, *tests: str, status: int = 0) -> str:
        (self.directory / "VERSION").write_text("1.2.3\n")
        (self.directory / "docs").mkdir()
        readme = self.directory / "README.md"
        readme.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
        self.run_on("matrix-table", *tests, options=("--publish", str(self.directory)),
                    status=status)
        return readme.read_text()

    def test_the_table_is_published_between_the_marks(self) -> None:
        text = self.published(self.PASSED, self.OTHER)
        self.assertTrue(text.startswith(f"before\n{MARKS[0]}\n\nTest cases of version 1.2.3 "))
        self.assertTrue(text.endswith(f"\n\n{MARKS[1]}\nafter\n"))
        self.assertIn("\n| 6.1.0-9-amd64 | amd64 | 11 (1 skipped) | not run |\n", text)
        self.assertNotIn("old", text)

    def test_what_was_skipped_is_published_on_a_page_of_its_own(self) -> None:
        self.assertNotIn("userfaultfd", self.published(self.PASSED))
        page = (self.directory / "docs/skipped-tests.md").read_text()
        self.assertIn("\n- uapi: no userfaultfd: everywhere\n", page)

    def test_a_run_that_failed_is_not_published(self) -> None:
        self.assertIn("old", self.published(self.PASSED, not_run("uapi: 6.12, 2 CPUs"), status=1))


if __name__ == "__main__":
    unittest.main()
