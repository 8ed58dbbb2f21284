# SPDX-License-Identifier: MIT
"""The report in 100 columns of a terminal."""

import textwrap

from .comparison import COLUMNS, LEGEND, Row, compare, reason
from .environment import Environment
from .goals import Goal, Judgement
from .measurements import Condition, Results
from .units import NOTHING

WIDTH = 100
_NAME_WIDTH = 13


def table(results: Results, condition: Condition) -> str:
    lines = [f"{condition}", "", _line("", [title for title, _, _ in COLUMNS]),
             _line("way", [title for _, title, _ in COLUMNS])]
    return "\n".join(lines + [_row(row) for row in compare(results, condition)])


def legend(environment: Environment) -> str:
    text = LEGEND
    if environment.slow_motion:
        text += (" Times are the guest's in slow motion: they compare ways and say nothing of "
                 "real microseconds.")
    return textwrap.fill(text, WIDTH)


def goal_lines(judgements: list[Judgement]) -> str:
    """Each begins with `goal:`, by which tests/report finds them."""
    return "\n".join(_goal_line(judgement) for judgement in judgements)


def limit(goal: Goal, value: float) -> str:
    return f"{goal.sign} {value:g}"


def value_of(judgement: Judgement) -> str:
    value = judgement.value
    return NOTHING if value is None else f"{value:.{judgement.goal.digits}f}"


def _goal_line(judgement: Judgement) -> str:
    goal = judgement.goal
    line = (f"goal: {goal.title:<46} {value_of(judgement):>6}  must {limit(goal, goal.must):<7} "
            f"aim {limit(goal, goal.aim):<7} {judgement.verdict.value}")
    indent = "      "
    return line + ("\n" + textwrap.fill(judgement.reason, WIDTH, initial_indent=indent,
                                        subsequent_indent=indent) if judgement.reason else "")


def _row(row: Row) -> str:
    if row.valid:
        return _line(row.way.name, row.cells())
    text = f"{row.way.name:<{_NAME_WIDTH}}{reason(row)}"
    return text if len(text) <= WIDTH else text[:WIDTH - 4] + " ..."


def _line(name: str, cells: list[str]) -> str:
    aligned = (f"{cell:>{width}}" for cell, (_, _, width) in zip(cells, COLUMNS))
    return (f"{name:<{_NAME_WIDTH}}" + " ".join(aligned)).rstrip()
