# SPDX-License-Identifier: MIT
"""What the project wants to reach, and whether it does."""

from dataclasses import dataclass
from enum import Enum

from .measurements import Condition, Results, Status

EVENTS, GROUPS, CPUS = 4, 1, 32


@dataclass(frozen=True)
class Term:
    """A median: the time or a counter of one way."""
    figure: str
    way: str
    targets: str = "idle"
    cpus: int = CPUS

    @property
    def condition(self) -> Condition:
        return Condition(self.cpus, self.targets, EVENTS, GROUPS)


@dataclass(frozen=True)
class Goal:
    title: str
    value: Term
    over: Term | None  # what it is divided by
    must: float
    aim: float
    at_least: bool = False  # else at most
    digits: int = 2  # figures are judged as they are printed
    beyond: str = ""  # why it cannot be reached; missing it then fails nothing

    @property
    def sign(self) -> str:
        return "≥" if self.at_least else "≤"

    def reached(self, value: float, limit: float) -> bool:
        return value >= limit if self.at_least else value <= limit


GOALS = (
    Goal("time of per-fd / FRAMED, idle", Term("time", "per_fd"), Term("time", "framed"),
         must=9, aim=12, at_least=True),
    Goal("time of FRAMED / floor, idle", Term("time", "framed"), Term("time", "floor"),
         must=1.35, aim=1.15),
    Goal("time of mapped / floor, idle", Term("time", "mapped"), Term("time", "floor"),
         must=1.2, aim=1.08),
    # What is taken from a target hurts where it has work to do.
    Goal("target's instructions, FRAMED / per-fd, busy",
         Term("target_insns", "framed", "busy"), Term("target_insns", "per_fd", "busy"),
         must=0.9, aim=0.7,
         beyond="of a sample, two thirds are the interrupt itself and the PMU's read(); per-fd "
                "leaves the writing of the payload to the reader, where it delays all other CPUs"),
    Goal("target's instructions, FRAMED / sampling, busy",
         Term("target_insns", "framed", "busy"), Term("target_insns", "sampling", "busy"),
         must=0.7, aim=0.5),
    Goal("time of FRAMED on 64 CPUs / on 8, idle",
         Term("time", "framed", cpus=64), Term("time", "framed", cpus=8), must=5, aim=3),
    Goal("idle CPUs woken per sweep, quiet", Term("wakeups", "quiet"), None,
         must=0, aim=0, digits=1),
)


JUDGED_WAYS = {term.way for goal in GOALS for term in (goal.value, goal.over) if term}


class Verdict(Enum):
    MET = "met"
    AIM_MET = "aim met"
    MISSED = "MISSED"
    NOT_MEASURED = "not measured"  # nobody asked for that condition
    NOT_JUDGED = "not judged"  # the condition was run and gave no figure to be believed


@dataclass(frozen=True)
class Judgement:
    goal: Goal
    verdict: Verdict
    value: float | None = None
    reason: str = ""


def judge_all(results: Results) -> list[Judgement]:
    return [judge(goal, results) for goal in GOALS]


def judge(goal: Goal, results: Results) -> Judgement:
    try:
        value = _figure(goal.value, results)
        if goal.over:
            value /= _figure(goal.over, results)
    except _NoFigure as why:
        return Judgement(goal, why.verdict, reason=str(why))
    except ZeroDivisionError:
        return Judgement(goal, Verdict.NOT_JUDGED, reason="what it is divided by is 0")
    value = round(value, goal.digits) + 0.0  # no -0.0
    if not goal.reached(value, goal.must):
        return Judgement(goal, Verdict.MISSED, value, goal.beyond)
    if goal.reached(value, goal.aim):
        return Judgement(goal, Verdict.AIM_MET, value)
    return Judgement(goal, Verdict.MET, value)


class _NoFigure(Exception):
    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict


def _figure(term: Term, results: Results) -> float:
    if not results.of(term.condition):
        raise _NoFigure(Verdict.NOT_MEASURED, f"no run with {term.condition}")
    measurement = results.get(term.condition, term.way)
    if measurement is None:
        raise _NoFigure(Verdict.NOT_JUDGED, f"{term.way} was not run")
    if measurement.status is not Status.VALID:
        raise _NoFigure(Verdict.NOT_JUDGED,
                        f"{term.way} {measurement.status.value}: {measurement.reason}")
    figure = measurement.figure(term.figure)
    if figure is None:
        raise _NoFigure(Verdict.NOT_JUDGED, f"{term.way} does not report {term.figure}")
    return figure
