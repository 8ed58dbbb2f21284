# SPDX-License-Identifier: MIT
"""report.json: all figures for programs; schema.json says what is in it."""

from dataclasses import asdict
from typing import Any

from .comparison import Row, compare
from .environment import Environment
from .goals import Judgement
from .measurements import LATE_LIMIT, Results

SCHEMA_VERSION = 1


def document(results: Results, environment: Environment,
             judgements: list[Judgement]) -> dict[str, Any]:
    return {
        "schema": SCHEMA_VERSION,
        "environment": environment.values,
        "proof": environment.proof,
        "late_limit": LATE_LIMIT,
        "goals": [_goal(judgement) for judgement in judgements],
        "measurements": [_measurement(row) for condition in results.conditions()
                         for row in compare(results, condition)],
        "problems": results.problems,
    }


def _goal(judgement: Judgement) -> dict[str, Any]:
    goal = judgement.goal
    return {
        "title": goal.title,
        "value": judgement.value,
        "sense": "at least" if goal.at_least else "at most",
        "must": goal.must,
        "aim": goal.aim,
        "verdict": judgement.verdict.value,
        "reason": judgement.reason,
    }


def _measurement(row: Row) -> dict[str, Any]:
    m = row.measurement
    return {
        "way": m.way,
        **asdict(m.condition),
        "status": m.status.value,
        "reason": m.reason,
        "late_repetitions": m.late_repetitions,
        "time_seconds": asdict(m.time) if m.time else None,
        "counters": {name: asdict(spread) for name, spread in m.counters.items()},
        "per_fd_over_this": row.speedup,
        "this_over_floor": row.over_floor,
        "samples_per_second": row.samples_per_second,
    }
