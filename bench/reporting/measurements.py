# SPDX-License-Identifier: MIT
"""Measurements, one method under one condition, from the JSON of Google Benchmark; and the
environment of the run."""

import json
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A repetition is invalid if the host was late by more than this fraction of the time.
LATE_LIMIT = 0.05

COUNTERS = ("syscalls", "ipis", "wakeups", "reader_insns", "target_insns", "all_insns",
            "skew_ns", "late_p50_ns", "late_p99_ns", "late_max_ns", "max_rate", "lost", "overruns")
VALID, LATE, SKIPPED = "valid", "invalid", "skipped"  # late: the host was too slow

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NAME = re.compile(r"(?P<method>\w+)/(?P<targets>idle|busy)/cpus:(?P<cpus>\d+)"
                   r"/events:(?P<events>\d+)/groups:(?P<groups>\d+)(/.*)?")


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True, order=True)
class Condition:
    cpus: int
    targets: str
    events: int
    groups: int

    @property
    def name(self) -> str:
        """Of files."""
        return f"{self.cpus}-{self.targets}-{self.events}-{self.groups}"

    def __str__(self) -> str:
        return (f"{plural(self.cpus, 'CPU')}, {self.targets}, {plural(self.events, 'event')}, "
                f"{plural(self.groups, 'group')} per CPU")


@dataclass(frozen=True)
class Spread:
    """Of a figure over the valid repetitions."""
    median: float
    p10: float
    p90: float
    cv: float

    @staticmethod
    def of(values: list[float]) -> "Spread":
        if len(values) == 1:
            return Spread(values[0], values[0], values[0], 0.0)
        mean = statistics.fmean(values)
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        return Spread(statistics.median(values), tenths[0], tenths[-1],
                      statistics.stdev(values) / abs(mean) if mean else 0.0)


@dataclass(frozen=True)
class Method:
    """A row of the table in bench/methods/methods.cpp, which every file of results contains."""
    name: str
    role: str = "existing"
    summary: str = ""

    @property
    def is_sweep(self) -> bool:
        """Its time can be compared with that of other methods."""
        return self.role in ("existing", "module", "floor")

    @property
    def plotted(self) -> bool:
        return self.role in ("existing", "module")


@dataclass(frozen=True)
class Measurement:
    method: Method
    condition: Condition
    status: str
    reason: str = ""  # why there are no figures
    figures: dict[str, Spread] = field(default_factory=dict)  # `time` in seconds, and counters
    late_repetitions: int = 0  # left out of the figures

    def figure(self, name: str) -> float | None:
        """The median, if there is one."""
        if name == "max_rate" and name not in self.figures and self.figure("time"):
            return 1 / self.figures["time"].median  # one sweep after the other
        return self.figures[name].median if name in self.figures else None

    def over(self, other: "Measurement | None") -> float | None:
        """The time of this divided by that of another."""
        mine, its = (m.figure("time") if m and m.method.is_sweep else None for m in (self, other))
        return mine / its if mine and its else None


@dataclass
class Results:
    """All measurements, and the errors in reading them."""
    measurements: dict[tuple[Condition, str], Measurement] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    methods: dict[str, Method] = field(default_factory=dict)  # in the order of tables
    environment: dict[str, str] = field(default_factory=dict)
    kernel: str = ""
    rate: float = 0  # instructions per second in slow motion

    def conditions(self) -> list[Condition]:
        return sorted({condition for condition, _ in self.measurements})

    def of(self, condition: Condition) -> dict[str, Measurement]:
        return {name: self.measurements[condition, name] for name in self.methods
                if (condition, name) in self.measurements}

    @property
    def title(self) -> str:
        """The heading of tables and plots."""
        mode = self.environment.get("mode", "unknown environment")
        if self.rate:
            mode += f" at {self.rate / 1e6:g} M instructions/s"
        return f"Linux {self.kernel}, {mode}"


def read_results(files: Iterable[Path], environment: Path | None = None) -> Results:
    """Reads what is valid; errors become problems."""
    results = Results()
    for path in files:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            _add(results, document["context"], document["benchmarks"])
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            results.problems.append(f"{path}: {type(error).__name__}: {error}; "
                                    "measure this condition again")
    if environment:
        try:
            results.environment = json.loads(environment.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            results.problems.append(f"{environment}: {error}; the report does not say where and "
                                    "how was measured")
    return results


def _add(results: Results, context: dict[str, Any], benchmarks: list[dict[str, Any]]) -> None:
    results.kernel = context.get("kernel", "unknown")
    results.rate = float(context.get("instructions_per_second", 0))
    for line in context.get("methods", "").splitlines():
        method = Method(*line.split("\t"))
        results.methods.setdefault(method.name, method)
    repetitions: dict[str, list[dict[str, Any]]] = {}
    for run in benchmarks:
        if run["run_type"] != "aggregate":  # aggregates include invalid repetitions
            repetitions.setdefault(run["run_name"], []).append(run)
    if not repetitions:
        raise ValueError("no repetitions of any benchmark")
    found = [_measurement(results, name, runs) for name, runs in repetitions.items()]
    results.measurements |= {(m.condition, m.method.name): m for m in found}


def _measurement(results: Results, name: str, runs: list[dict[str, Any]]) -> Measurement:
    match = _NAME.fullmatch(name)
    if not match:
        raise ValueError(f"the name {name} is not METHOD/TARGETS/cpus:N/events:E/groups:G")
    method = results.methods.setdefault(match["method"], Method(match["method"]))
    condition = Condition(int(match["cpus"]), match["targets"], int(match["events"]),
                          int(match["groups"]))
    for run in runs:
        if run.get("error_occurred"):
            return Measurement(method, condition, SKIPPED, run["error_message"])
    valid = [run for run in runs if run.get("late", 0) <= LATE_LIMIT]
    late = len(runs) - len(valid)
    if late * 2 > len(runs):
        worst = max(run["late"] for run in runs)
        return Measurement(method, condition, LATE, f"the host was late by up to {worst:.0%} in "
                           f"{late} of {len(runs)} repetitions", late_repetitions=late)
    figures = {"time": Spread.of([run["real_time"] * _SECONDS[run["time_unit"]] for run in valid])}
    for counter in COUNTERS:
        if values := [float(run[counter]) for run in valid if counter in run]:
            figures[counter] = Spread.of(values)
    return Measurement(method, condition, VALID, "", figures, late)
