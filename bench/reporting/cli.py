# SPDX-License-Identifier: MIT
"""The command line of bench/report."""

import argparse
import json
import sys
from pathlib import Path

from .document import document
from .environment import Environment, read_environment
from .goals import EVENTS, GROUPS, JUDGED_WAYS, Judgement, Verdict, judge_all
from .measurements import Results, Status, read_results
from .page import page, write_page
from .plots import make_plots, render
from .publish import PublishError, publish
from .terminal import goal_lines, legend, table

PROJECT = Path(__file__).resolve().parents[2]
# Exit statuses; 77 is what ctest takes for skipped.
MISSED, NOTHING, NOT_JUDGED = 1, 2, 77


def main() -> int:
    options = _parser().parse_args()
    files = options.files or sorted(set(options.raw.glob("*.json")) -
                                    {options.raw / "proof.json"})
    if options.list_late:
        return _list_late(files)
    results = read_results(files)
    if not results.measurements:
        for problem in results.problems:
            _say(problem)
        _say(f"no measurements in {options.raw}; measure with make bench or bench/run")
        return NOTHING
    environment = read_environment(options.raw, results.problems)
    judgements = judge_all(results)
    try:
        _write(options.out, results, environment, judgements)
        if options.publish:
            publish(options.publish, options.out, results, environment, judgements)
    except (OSError, PublishError) as error:
        _say(str(error))
        return NOTHING
    _print(options.all, results, environment, judgements)
    print(f"\nthe whole report: {options.out / 'report.md'}")
    return _check(results, judgements) if options.check else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/report", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Make a report of what bench/run measured: a table on the terminal, and\n"
                    "report.md, report.json and plots in a directory.",
        epilog="Exit status: 0 the report is written; 2 there is nothing to report. With --check\n"
               "also 1 if a figure misses what it must reach or could not be read, and 77 if none\n"
               "does but some could not be judged, because the host was too slow or a way did not\n"
               "run. What nobody asked to measure is no failure.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE",
                        help="what Google Benchmark wrote (all *.json of --raw)")
    parser.add_argument("--raw", type=Path, default=PROJECT / "build/bench/raw", metavar="DIR",
                        help="where `environment` and `proof.json` are (build/bench/raw)")
    parser.add_argument("--out", type=Path, default=PROJECT / "build/bench/report", metavar="DIR",
                        help="where the report goes (build/bench/report)")
    parser.add_argument("--all", action="store_true",
                        help="print the tables of all conditions, not only of "
                             f"{EVENTS} events and {GROUPS} group")
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    parser.add_argument("--publish", type=Path, nargs="?", const=PROJECT, metavar="PROJECT",
                        help="also copy the main plot to docs/ and the ratios into README.md")
    parser.add_argument("--list-late", action="store_true",
                        help="write no report; print which FILEs have figures not to be "
                             "believed, of a way that a goal is about")
    return parser


def _list_late(files: list[Path]) -> int:
    for path in files:
        if any(m.way in JUDGED_WAYS for m in read_results([path]).with_status(Status.LATE)):
            print(path)
    return 0


def _write(out: Path, results: Results, environment: Environment,
           judgements: list[Judgement]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    plots = render(make_plots(results, environment), out, results.problems)
    write_page(out / "report.md", page(results, environment, judgements, plots))
    text = json.dumps(document(results, environment, judgements), indent=2, ensure_ascii=False)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")


def _print(everything: bool, results: Results, environment: Environment,
           judgements: list[Judgement]) -> None:
    if environment.title:
        print(environment.title)
    for condition in results.conditions():
        if everything or (condition.events, condition.groups) == (EVENTS, GROUPS):
            print("\n" + table(results, condition))
    print("\n" + legend(environment))
    print("\n" + goal_lines(judgements))
    for problem in results.problems:
        _say(problem)


def _check(results: Results, judgements: list[Judgement]) -> int:
    if results.problems or any(j.verdict is Verdict.MISSED and not j.goal.beyond
                               for j in judgements):
        return MISSED
    unjudged = [j for j in judgements if j.verdict is Verdict.NOT_JUDGED]
    for judgement in unjudged:
        print(f"skipped: {judgement.goal.title}: {judgement.reason}")
    return NOT_JUDGED if unjudged else 0


def _say(problem: str) -> None:
    sys.stdout.flush()
    print(f"bench/report: error: {problem}", file=sys.stderr)
