# SPDX-License-Identifier: MIT
"""The goals of the project: a threshold that `--check` enforces, and a target."""

from dataclasses import dataclass
from enum import Enum

from .measurements import Condition, Results, Status, plural

EVENTS, GROUPS, CPUS = 4, 1, 32


@dataclass(frozen=True)
class Term:
    """The median of the time or of a counter; the largest where several words are given."""
    figure: str
    methods: str
    targets: str = "idle"
    cpus: int = CPUS

    def value(self, results: Results) -> float:
        return max(self._median(results, Condition(self.cpus, targets, EVENTS, GROUPS), method)
                   for targets in self.targets.split() for method in self.methods.split())

    def _median(self, results: Results, condition: Condition, method: str) -> float:
        if not results.of(condition):
            raise _NoFigure(Outcome.NOT_MEASURED, f"no run with {condition}")
        measurement = results.get(condition, method)
        if measurement is None:
            raise _NoFigure(Outcome.NOT_JUDGED, f"{method} was not run")
        if measurement.status is not Status.VALID:
            raise _NoFigure(Outcome.NOT_JUDGED,
                            f"{method} {measurement.status.value}: {measurement.reason}")
        figure = measurement.figure(self.figure)
        if figure is None:
            raise _NoFigure(Outcome.NOT_JUDGED, f"{method} does not report {self.figure}")
        return figure


@dataclass(frozen=True)
class Goal:
    title: str
    value: Term
    over: Term | None  # the divisor
    threshold: float
    target: float
    at_least: bool = False  # else at most
    digits: int = 2  # figures are judged as they are printed

    def reached(self, value: float, limit: float) -> bool:
        return value >= limit if self.at_least else value <= limit

    def limit(self, value: float) -> str:
        return f"{'≥' if self.at_least else '≤'} {value:g}"


GOALS = (
    Goal("time of per-fd / FRAMED, idle", Term("time", "per_fd"), Term("time", "framed"),
         threshold=9, target=12, at_least=True),
    Goal("time of FRAMED / floor, idle", Term("time", "framed"), Term("time", "floor"),
         threshold=1.2, target=1.12),
    Goal("time of mapped / floor, idle", Term("time", "mapped"), Term("time", "floor"),
         threshold=1.06, target=1.03),
    # Both formats share the sweep, and neither may slow it down for the other.
    Goal("time of RAW / FRAMED, idle", Term("time", "raw"), Term("time", "framed"),
         threshold=1.15, target=1.05),
    # Instructions on a target matter where it has other work.
    Goal("target's instructions, FRAMED / per-fd, busy",
         Term("target_insns", "framed", "busy"), Term("target_insns", "per_fd", "busy"),
         threshold=0.8, target=0.72),
    Goal("target's instructions, FRAMED / sampling, busy",
         Term("target_insns", "framed", "busy"), Term("target_insns", "sampling", "busy"),
         threshold=0.7, target=0.5),
    # A sweep of a stream drains one deadline of all CPUs.
    Goal("time of FRAMED / stream, busy",
         Term("time", "framed", "busy"), Term("time", "stream", "busy"),
         threshold=4, target=8, at_least=True),
    Goal("reader's instructions, stream / FRAMED, busy",
         Term("reader_insns", "stream", "busy"), Term("reader_insns", "framed", "busy"),
         threshold=0.17, target=0.08),
    Goal("reader's instructions on 8 CPUs, stream / FRAMED, busy",
         Term("reader_insns", "stream", "busy", 8), Term("reader_insns", "framed", "busy", 8),
         threshold=0.1, target=0.05),
    Goal("target's instructions, stream / sampling, busy",
         Term("target_insns", "stream", "busy"), Term("target_insns", "sampling", "busy"),
         threshold=0.55, target=0.45),
    Goal("target's instructions, stream / sampling, idle",
         Term("target_insns", "stream"), Term("target_insns", "sampling"),
         threshold=0.6, target=0.5),
    Goal("system calls per deadline, stream", Term("syscalls", "stream", "idle busy"), None,
         threshold=0.32, target=0.03),
    Goal("time of FRAMED on 64 CPUs / on 8, idle",
         Term("time", "framed", cpus=64), Term("time", "framed", cpus=8), threshold=5, target=3),
    Goal("idle CPUs woken per sweep, quiet", Term("wakeups", "quiet"), None,
         threshold=0, target=0, digits=1),
    # These hold at full speed too, which hosts with 2 CPUs can measure.
    Goal("time of per-fd / RAW and FRAMED, busy, 2 CPUs",
         Term("time", "per_fd", "busy", 2), Term("time", "raw framed", "busy", 2),
         threshold=1.54, target=1.8, at_least=True),
    Goal("system calls per sweep, RAW and FRAMED, 2 CPUs",
         Term("syscalls", "raw framed", "idle busy", 2), None, threshold=1, target=1),
    Goal("IPIs per sweep, RAW and FRAMED, 2 CPUs",
         Term("ipis", "raw framed", "idle busy", 2), None, threshold=2, target=1, digits=1),
)

JUDGED_METHODS = {method for goal in GOALS for term in (goal.value, goal.over) if term
                  for method in term.methods.split()}


class Outcome(Enum):
    MET = "met"
    TARGET_MET = "target met"
    MISSED = "MISSED"
    NOT_MEASURED = "not measured"  # the run did not include that condition
    NOT_JUDGED = "not judged"  # the run included it and has no valid figure


class _NoFigure(Exception):
    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True)
class Judgement:
    goal: Goal
    outcome: Outcome
    value: float | None = None
    reason: str = ""  # why there is no value

    def cells(self) -> list[str]:
        """Below HEADER."""
        value = "–" if self.value is None else f"{self.value:.{self.goal.digits}f}"
        return [self.goal.title, value, self.goal.limit(self.goal.threshold),
                self.goal.limit(self.goal.target), self.outcome.value]


HEADER = ["goal", "value", "threshold", "target", "result"]


def judge_all(results: Results) -> list[Judgement]:
    return [_judge(goal, results) for goal in GOALS]


def _judge(goal: Goal, results: Results) -> Judgement:
    try:
        value = goal.value.value(results) / (goal.over.value(results) if goal.over else 1)
    except _NoFigure as error:
        return Judgement(goal, error.outcome, reason=str(error))
    except ZeroDivisionError:
        return Judgement(goal, Outcome.NOT_JUDGED, reason="the divisor is 0")
    value = round(value, goal.digits) + 0.0  # no -0.0
    for limit, outcome in ((goal.target, Outcome.TARGET_MET), (goal.threshold, Outcome.MET)):
        if goal.reached(value, limit):
            return Judgement(goal, outcome, value)
    return Judgement(goal, Outcome.MISSED, value)


def conditions() -> str:
    return f"{CPUS} CPUs, {plural(EVENTS, 'event')}, {plural(GROUPS, 'group')} per CPU"
