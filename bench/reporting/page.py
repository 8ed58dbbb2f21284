# SPDX-License-Identifier: MIT
"""report.md, and the part of it that is published in README.md."""

from pathlib import Path
from shutil import copyfile
from typing import Any

from . import comparison, goals
from .comparison import compare, condition_table, ratio, table, timer_table
from .measurements import KEYS, LATE_LIMIT, Condition, Environment, Results, Status, plural

BEGIN = "<!-- measured: written by bench/report --publish, do not edit -->"
END = "<!-- end of measured -->"
SLOW_MOTION = ("Slow motion: each virtual CPU executes so many instructions per second of guest "
               "time, so a time is the number of instructions on the critical path. It compares "
               "methods, but does not include cache misses, memory or the latency of interrupts.")


def page(results: Results, environment: Environment, judgements: list[goals.Judgement],
         plots: dict[str, str]) -> str:
    conditions = results.conditions()
    main = [c for c in conditions if _is_main(c)]
    other = [_condition(results, c) for c in conditions if not _is_main(c)]
    sections = [
        "<!-- Written by bench/report. -->\n# Benchmarks",
        f"{environment.title or 'Unknown environment'}. "
        f"{SLOW_MOTION if environment.slow_motion else ''}",
        "## Summary", _ratios(results) or "FRAMED and per-fd were not measured together.",
        "## Goals", f"For {goals.conditions()} unless the goal says otherwise; {goals.LEGEND}",
        _goals(judgements),
        _list([f"{j.goal.title}: {j.comment}" for j in judgements if j.comment]),
        "## Plots", *(f"![{title}]({name}.png)" for name, title in plots.items()),
        "## Methods", _methods(results),
        "## Figures", f"{comparison.LEGEND} {comparison.TIMER_LEGEND}",
        *(_condition(results, c) for c in main),
        *(["<details><summary>Other numbers of events and groups</summary>", *other, "</details>"]
          if other else []),
        "## Left out", _left_out(results),
        "## Environment", _environment(environment),
        "## Problems", _list(results.problems) or "None.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


class PublishError(Exception):
    pass


def publish(project: Path, report: Path, results: Results, environment: Environment,
            judgements: list[goals.Judgement]) -> None:
    """Copies the main plot to docs/ and replaces the text between the marks in README.md."""
    plot, ratios = report / "sweep-time-idle.png", _ratios(results)
    if not ratios or not plot.exists():
        raise PublishError("nothing to publish: FRAMED, per-fd and idle CPUs were not measured "
                           "together; run make bench-full first")
    readme = project / "README.md"
    before, mark, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end_mark, after = rest.partition(END)
    if not mark or not end_mark:
        raise PublishError(f"{readme}: these lines, between which figures go, are missing\n"
                           f"  {BEGIN}\n  {END}")
    values = environment.values
    text = "\n\n".join(["", "![Time of a sweep over the number of CPUs](docs/sweep-time.png)",
                        f"{environment.title}, version {values.get('version', '?')}, "
                        f"{values.get('date', '')}.", ratios, _goals(judgements), ""])
    copyfile(plot, project / "docs" / "sweep-time.png")
    readme.write_text(before + BEGIN + text + END + after, encoding="utf-8")


def _ratios(results: Results) -> str:
    """The time of per-fd reads relative to the module, by number of CPUs."""
    rows = []
    for condition in filter(_is_main, results.conditions()):
        by_name = {row.method.name: row for row in compare(results, condition) if row.valid}
        framed, mapped = by_name.get("framed"), by_name.get("mapped")
        if framed and framed.speedup is not None:
            rows.append([str(condition.cpus), condition.targets,
                         f"**{ratio(framed.speedup)}**", ratio(framed.over_floor),
                         ratio(mapped.speedup if mapped else None),
                         ratio(mapped.over_floor if mapped else None)])
    return table(["CPUs", "CPU state", "per-fd / FRAMED", "FRAMED / floor", "per-fd / mapped",
                  "mapped / floor"], rows, "rlrrrr") if rows else ""


def _is_main(condition: Condition) -> bool:
    return (condition.events, condition.groups) == (goals.EVENTS, goals.GROUPS)


def _goals(judgements: list[goals.Judgement]) -> str:
    return table(goals.HEADER, [judgement.cells() for judgement in judgements], "lrrrrl")


def _methods(results: Results) -> str:
    return table(["method", "role", "a sweep is"],
                 [[m.name, m.role, m.summary] for m in results.methods.values()], "lll")


def _condition(results: Results, condition: Condition) -> str:
    tables = (condition_table(results, condition), timer_table(results, condition))
    return "\n\n".join([f"### {condition}", *filter(None, tables)])


def _left_out(results: Results) -> str:
    """Methods without valid figures, once for each reason."""
    where: dict[str, list[Condition]] = {}
    for condition in results.conditions():
        for row in compare(results, condition):
            if not row.valid:
                where.setdefault(row.reason, []).append(condition)
    lines = [f"{reason} ({found[0] if len(found) == 1 else plural(len(found), 'condition')})"
             for reason, found in sorted(where.items())]
    late = sum(m.late_repetitions for m in results.with_status(Status.VALID))
    if late:
        lines.append(f"{plural(late, 'repetition')} in which the host was late by more than "
                     f"{LATE_LIMIT:.0%} of the time")
    return _list(lines) or "Nothing."


def _environment(environment: Environment) -> str:
    rows = [[label, environment.values[key]] for key, label in KEYS.items()
            if environment.values.get(key)]
    proof: dict[str, Any] = environment.proof or {}
    rows += [[key, str(value)] for key, value in proof.items()
             if isinstance(value, (str, int, float))]
    return table(["", ""], rows, "ll") if rows else "Unknown."


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
