#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Print a table of a ctest run, from its Testing/Temporary/LastTest.log: test cases passed, failed
and skipped; then the goals of the benchmark, the reasons for skips, and the failures with the end
of their output.

A ctest test that runs a whole program counts as all of its test cases. A guest has one row for each
tier that it ran. Cases that ctest finds in a program share a row."""

import argparse
import html
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

END_LINES = 25


@dataclass
class Row:
    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    release: str = ""  # of the kernel that was booted
    reasons: list[tuple[str, str]] = field(default_factory=list)  # test and reason of each skip
    failures: list[tuple[str, str]] = field(default_factory=list)  # test and case of each

    def add(self, other: "Row") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.reasons += other.reasons
        self.failures += other.failures


@dataclass
class Log:
    rows: list[Row]
    goals: list[str]  # of the benchmark, with what it gave
    ends: list[str]  # of the output of tests that failed


def read(path: Path, junit: Path | None = None) -> Log:
    """The log does not show which tests were skipped by exit status; ctest --output-junit does."""
    skipped = skipped_tests(junit) if junit else set()
    text = path.read_text(encoding="utf-8", errors="replace")
    parts = re.split(r"(?m)^\d+/\d+ Testing: (.*)\n", text)
    rows: dict[str, Row] = {}
    ends = []
    for name, block in zip(parts[1::2], parts[2::2]):
        rows_of_block = rows_of_test(name, block, name in skipped)
        if any(row.failed for row in rows_of_block):
            output = block.rpartition("<end of output>")[0].rstrip().splitlines()
            ends.append("\n".join([f"the end of the output of {name}:"] + output[-END_LINES:]))
        for row in rows_of_block:
            row.name = re.sub(r"^(unit|tools):[^ ].*", r"\1", row.name)
            if row.name in rows:
                rows[row.name].add(row)
            else:
                rows[row.name] = row
    return Log(list(rows.values()), re.findall(r"(?m)^goal: .*$", text), ends)


def skipped_tests(junit: Path) -> set[str]:
    # The output in it is truncated and may not be valid XML.
    text = junit.read_text(encoding="utf-8", errors="replace")
    return {html.unescape(name) for name in re.findall(
        r'<testcase name="([^"]*)"[^>]*>\s*<skipped message="SKIP_', text)}


def rows_of_test(name: str, block: str, skipped: bool) -> list[Row]:
    output, _, end = block.rpartition("<end of output>")
    seconds = re.search(r"(?m)^Test time = +([\d.]+)", end)
    time = float(seconds[1]) if seconds else 0.0
    # A test that was not started because a fixture failed has "passed".
    passed = bool(re.search(r"(?m)^Test Pass(ed\.| Reason:)", end)) and 'Command: ""\n' not in block
    # A guest in which the emulator failed was started again.
    output = output.rpartition("starting the run again")[2]
    release = re.search(r"(?m)^tests/vm/run: booting \S+ \((\S+)\), ", block)
    tiers = re.findall(r"(?m)^tests/vm/run: (.*): (?:status (\d+), (\S+) s|not run)$", output)
    if not tiers:
        row = count(name, name, output, passed)
        row.seconds, row.release = time, release[1] if release else ""
        if passed and skipped and not row.skipped:
            row.passed, row.skipped, row.reasons = 0, 1, [(name, "no reason given")]
        return [row]
    rows = [row_of_tier(name, output, *tier) for tier in tiers]
    if not passed and not any(row.failed for row in rows):
        rows.append(Row(name, failed=1, failures=[(name, "")]))
    for row in rows:
        row.release = release[1] if release else ""
    return rows


def row_of_tier(test: str, output: str, tier: str, status: str, seconds: str) -> Row:
    part = output.partition(f"tier: {tier}\n")[2].partition("\ntier: ")[0]
    name = f"{tier}: {test.partition(': ')[2]}"
    row = count(name, name, part, status == "0")
    row.seconds = float(seconds) if seconds.isdigit() else 0.0
    return row


def count(name: str, test: str, output: str, passed: bool) -> Row:
    row = Row(name)
    if match := re.search(r"(?m)^All tests passed \(.* in (\d+) test case", output):
        row.passed = int(match[1])
    if match := re.search(r"(?m)^test cases: .*", output):  # by Catch2
        row.passed, row.failed, row.skipped = (
            int(found[1]) if (found := re.search(rf"(\d+) {word}", match[0])) else 0
            for word in ("passed", "failed", "skipped"))
    row.reasons = [(test, reason) for reason in re.findall(
        r"(?m): SKIPPED:\n(?:explicitly with messages?:\n)?\s*(.*)$", output)]
    alone = re.findall(r"(?m)^skipped: (.*)$|.* \.\.\. skipped '(.*)'?$", output)
    row.skipped += len(alone)
    row.reasons += [(test, (one or other).rstrip("'")) for one, other in alone]
    if match := re.search(r"(?m)^Ran (\d+) tests? in ", output):  # by Python
        if bad := re.search(r"(?m)^FAILED \((.*)\)$", output):
            numbers = re.findall(r"(?:failures|errors)=(\d+)", bad[1])
            row.failed = sum(int(number) for number in numbers)
        row.passed = int(match[1]) - row.failed - len(alone)
    if not passed and not row.failed:
        row.failed = 1
    if row.failed:  # a case of Catch2 has its name between two lines
        line = f"^{'-' * 79}\n"
        row.failures = [(test, case) for case, block in re.findall(
            rf"(?ms){line}(.*?)\n(?:.*?\n)??{line}(.*?)(?={line}|\Z)", output)
            if ": FAILED:" in block] or [(test, "")]
    if passed and not row.passed and not row.skipped:
        row.passed = 1
    return row


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tests/report.py", description=(__doc__ or "").partition("\n\n")[0],
        epilog="Exit status: 0 if tests passed, 1 if one failed or none ran.")
    parser.add_argument("log", type=Path, metavar="LOG")
    parser.add_argument("--junit", type=Path, metavar="FILE",
                        help="of ctest --output-junit, which says what skipped by its exit status")
    options = parser.parse_args()
    log = read(options.log, options.junit)
    print(f"\n{'tests':42} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    total = Row("")
    for row in log.rows:
        print(f"{row.name:42} {row.passed:7} {row.failed:7} {row.skipped:8} {row.seconds:8.1f}")
        total.add(row)
    print("\n".join(log.goals + [f"skipped: {test}: {reason}"
                                 for test, reason in dict.fromkeys(total.reasons)]
                    + log.ends
                    + [f"failed: {test}" + f": {case}" * bool(case)
                       for test, case in dict.fromkeys(total.failures)]))
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
