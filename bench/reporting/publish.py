# SPDX-License-Identifier: MIT
"""Puts the figures of a report where readers of the project meet them; none is typed by hand."""

from pathlib import Path
from shutil import copyfile

from .environment import Environment
from .goals import Judgement
from .measurements import Results
from .page import markdown_table, ratios_over_cpus
from .terminal import limit, value_of

BEGIN = "<!-- measured: written by bench/report --publish, do not edit -->"
END = "<!-- end of measured -->"


class PublishError(Exception):
    pass


def publish(project: Path, report: Path, results: Results, environment: Environment,
            judgements: list[Judgement]) -> None:
    """Copies the main plot to docs/ and writes what is between the marks in README.md."""
    plot = report / "sweep-time-idle.svg"
    ratios = ratios_over_cpus(results)
    if not ratios or not plot.exists():
        raise PublishError("nothing to publish: FRAMED, per-fd and idle CPUs were not measured "
                           "together; run make bench-full first")
    readme = project / "README.md"
    before, mark, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end_mark, after = rest.partition(END)
    if not mark or not end_mark:
        raise PublishError(f"{readme}: has no place for figures; it is between the lines\n"
                           f"  {BEGIN}\n  {END}")
    text = "\n\n".join(["", "![Time of a sweep over the number of CPUs](docs/sweep-time.svg)",
                        _caption(environment), ratios, _goals(judgements), ""])
    copyfile(plot, project / "docs" / "sweep-time.svg")
    readme.write_text(before + BEGIN + text + END + after, encoding="utf-8")


def _caption(environment: Environment) -> str:
    date = environment.values.get("date", "")
    return f"{environment.title}, version {environment.values.get('version', '?')}, {date}."


def _goals(judgements: list[Judgement]) -> str:
    return markdown_table(["goal", "value", "must", "aim", "verdict"],
                          [[j.goal.title, value_of(j), limit(j.goal, j.goal.must),
                            limit(j.goal, j.goal.aim), j.verdict.value] for j in judgements],
                          "lrrrl")
