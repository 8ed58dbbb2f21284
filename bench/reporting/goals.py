# SPDX-License-Identifier: MIT
"""The goals of the project: for a figure a threshold and a target."""

from dataclasses import dataclass

from .measurements import VALID, Condition, Results

EVENTS, GROUPS, CPUS = 4, 1, 32
MET, TARGET_MET, MISSED = "met", "target met", "MISSED"
NOT_MEASURED = "not measured"  # the run did not include that condition
NOT_JUDGED = "not judged"  # the run included it and has no valid figure


@dataclass(frozen=True)
class Goal:
    """The median of a figure (the time or a counter), or its ratio for two methods. It is the
    largest where several methods or states of the targets are named."""
    title: str
    figure: str
    methods: str
    over: str  # the divisor, if any
    threshold: float
    target: float
    targets: str = "idle"
    cpus: int = CPUS
    over_cpus: int = 0  # if not the same
    at_least: bool = False  # else at most
    digits: int = 2  # figures are judged as they are printed
    # The method in whose place the figure would be what it is at best: that of the divisor if it
    # is to be at least the threshold.
    floor: str = ""
    # A threshold that is missed today: a figure beyond this is worse than that.
    known: float | None = None
    full_speed: bool = False  # means nothing in slow motion

    def reached(self, value: float, limit: float) -> bool:
        return value >= limit if self.at_least else value <= limit

    def limit(self, value: float) -> str:
        return f"{'≥' if self.at_least else '≤'} {value:g}"


GOALS = (
    Goal("time of per-fd / FRAMED, idle", "time", "per_fd", "framed", 9, 12, at_least=True),
    Goal("time of FRAMED / floor, idle", "time", "framed", "floor", 1.2, 1.12),
    Goal("time of mapped / floor, idle", "time", "mapped", "floor", 1.06, 1.03),
    # Both formats share the sweep, and neither may slow it down for the other.
    Goal("time of RAW / FRAMED, idle", "time", "raw", "framed", 1.15, 1.05),
    # Instructions on a target matter where it has other work.
    Goal("target's instructions, FRAMED / per-fd, busy", "target_insns", "framed", "per_fd",
         0.8, 0.72, "busy", floor="floor"),
    Goal("target's instructions, FRAMED / sampling, busy", "target_insns", "framed", "sampling",
         0.7, 0.5, "busy", floor="floor"),
    # A sweep of a stream drains one deadline of all CPUs.
    Goal("time of FRAMED / stream, busy", "time", "framed", "stream", 4, 8, "busy", at_least=True),
    Goal("max rate of stream / FRAMED, busy", "max_rate", "stream", "framed", 4, 8, "busy",
         at_least=True),
    Goal("sweeps that found a full ring, stream", "overruns", "stream stream_10", "", 0, 0,
         "idle busy", digits=0),
    Goal("reader's instructions, 64 at once, stream / FRAMED, busy", "reader_insns", "stream",
         "framed", 0.17, 0.08, "busy"),
    Goal("reader's instructions on 8 CPUs, stream / FRAMED, busy", "reader_insns", "stream",
         "framed", 0.1, 0.05, "busy", 8),
    Goal("reader's instructions, 10 at once, stream / FRAMED, busy", "reader_insns",
         "stream_10", "framed", 0.17, 0.08, "busy", known=0.36),
    Goal("reader's instructions, stream_library / FRAMED, busy", "reader_insns",
         "stream_library", "framed", 0.17, 0.08, "busy", known=1.6),
    Goal("target's instructions, stream / sampling, busy", "target_insns", "stream", "sampling",
         0.55, 0.45, "busy", floor="timer_floor"),
    Goal("target's instructions, stream / sampling, idle", "target_insns", "stream", "sampling",
         0.6, 0.5, floor="timer_floor", known=0.72),
    Goal("target's instructions, quiet stream / sampling, idle", "target_insns", "stream_quiet",
         "sampling", 0.1, 0.05),
    Goal("system calls per deadline, stream", "syscalls", "stream", "", 0.32, 0.03, "idle busy"),
    Goal("reader's instructions on 8 CPUs, record / perf record", "reader_insns", "record",
         "perf_record", 0.5, 0.25, "idle", 8),
    Goal("time of FRAMED on 64 CPUs / on 8, idle", "time", "framed", "framed", 5, 3, cpus=64,
         over_cpus=8),
    Goal("idle CPUs woken per sweep, quiet", "wakeups", "quiet", "", 0, 0, digits=1),
    # Instructions are those of opening and closing.
    Goal("reader's instructions of opening, descriptors / set, idle", "reader_insns", "open_fds",
         "open_set", 5, 10, at_least=True),
    Goal("instructions of all CPUs, descriptors / shared set, idle", "all_insns", "open_fds",
         "open_shared", 5, 10, at_least=True),
    Goal("instructions of all CPUs, descriptors / set, idle", "all_insns", "open_fds", "open_set",
         5, 10, at_least=True, floor="open_bare", known=0.9),
    # These hold at full speed too, which hosts with 2 CPUs can measure.
    Goal("time of per-fd / RAW and FRAMED, busy, 2 CPUs", "time", "per_fd", "raw framed",
         1.54, 1.8, "busy", 2, at_least=True),
    Goal("system calls per sweep, RAW and FRAMED, 2 CPUs", "syscalls", "raw framed", "", 1, 1,
         "idle busy", 2),
    Goal("IPIs per sweep, RAW and FRAMED, 2 CPUs", "ipis", "raw framed", "", 2, 1, "idle busy", 2,
         digits=1),
    Goal("skew, stream / FRAMED, busy, 2 CPUs", "skew_ns", "stream", "framed", 1, 0.5, "busy", 2,
         full_speed=True),
)

JUDGED_METHODS = sorted({method for goal in GOALS
                         for names in (goal.methods, goal.over, goal.floor)
                         for method in names.split()})


class _NoFigure(Exception):
    """The outcome and the reason."""


@dataclass(frozen=True)
class Judgement:
    goal: Goal
    outcome: str
    value: float | None = None
    floor: float | None = None
    reason: str = ""  # why there is no value

    @property
    def known(self) -> bool:
        """Missed, but not by more than before."""
        known = self.goal.known
        return (self.outcome == MISSED and self.value is not None and known is not None
                and self.goal.reached(self.value, known))

    @property
    def comment(self) -> str:
        if self.goal.known is None or self.value is None:
            return self.reason
        if self.known:
            return f"known: it is not worse than {self.goal.known:g}"
        if self.outcome == MISSED:
            return f"worse than {self.goal.known:g}, which is known"
        return "is no longer missed: remove `known` of this goal"

    def cells(self) -> list[str]:
        """Below HEADER."""
        value, floor = ("–" if number is None else f"{number:.{self.goal.digits}f}"
                        for number in (self.value, self.floor))
        return [self.goal.title, value, self.goal.limit(self.goal.threshold),
                self.goal.limit(self.goal.target), floor, self.outcome]


HEADER = ["goal", "value", "threshold", "target", "floor", "result"]
LEGEND = ("floor: what the value would be if the CPUs that are read were only interrupted, by an "
          "empty broadcast or an empty timer, or if the kernel's events were all that is opened.")


def judge_all(results: Results) -> list[Judgement]:
    return [_judge(goal, results) for goal in GOALS]


def _judge(goal: Goal, results: Results) -> Judgement:
    try:
        if goal.full_speed and results.rate:
            raise _NoFigure(NOT_MEASURED, "is measured at full speed only")
        value = _largest(goal, goal.methods, goal.cpus, results)
        over = _largest(goal, goal.over, goal.over_cpus or goal.cpus, results) if goal.over else 1
        if not over:
            raise _NoFigure(NOT_JUDGED, "the divisor is 0")
    except _NoFigure as error:
        outcome, reason = error.args
        return Judgement(goal, outcome, reason=reason)
    try:
        floor = _largest(goal, goal.floor, goal.cpus, results) if goal.floor else None
    except _NoFigure:
        floor = None
    if floor:
        floor = value / floor if goal.at_least else floor / over
    value = round(value / over, goal.digits) + 0.0  # no -0.0
    outcome = (TARGET_MET if goal.reached(value, goal.target) else
               MET if goal.reached(value, goal.threshold) else MISSED)
    return Judgement(goal, outcome, value, floor)


def _largest(goal: Goal, methods: str, cpus: int, results: Results) -> float:
    return max(_median(goal, results, Condition(cpus, targets, EVENTS, GROUPS), method)
               for targets in goal.targets.split() for method in methods.split())


def _median(goal: Goal, results: Results, condition: Condition, method: str) -> float:
    of = results.of(condition)
    if not of:
        raise _NoFigure(NOT_MEASURED, f"no run with {condition}")
    if method not in of:
        raise _NoFigure(NOT_MEASURED if goal.full_speed else NOT_JUDGED, f"{method} was not run")
    if of[method].status != VALID:
        raise _NoFigure(NOT_JUDGED, f"{method} {of[method].status}: {of[method].reason}")
    figure = of[method].figure(goal.figure)
    if figure is None:
        raise _NoFigure(NOT_JUDGED, f"{method} does not report {goal.figure}")
    return figure
