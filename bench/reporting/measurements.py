# SPDX-License-Identifier: MIT
"""Measurements, one method under one condition, from the JSON of Google Benchmark; and the
environment of the run."""

import json
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

# A repetition is invalid if the host was late by more than this fraction of the time.
LATE_LIMIT = 0.05

COUNTERS = ("syscalls", "ipis", "wakeups", "reader_insns", "target_insns", "skew_ns",
            "late_p50_ns", "late_p99_ns", "late_max_ns", "max_rate", "lost", "overruns",
            "memory_bytes", "late")

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NAME = re.compile(r"(?P<method>\w+)/(?P<targets>idle|busy)/cpus:(?P<cpus>\d+)"
                   r"/events:(?P<events>\d+)/groups:(?P<groups>\d+)(/.*)?")


@dataclass(frozen=True, order=True)
class Condition:
    cpus: int
    targets: str
    events: int
    groups: int

    def __str__(self) -> str:
        return (f"{plural(self.cpus, 'CPU')}, {self.targets}, {plural(self.events, 'event')}, "
                f"{plural(self.groups, 'group')} per CPU")


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True)
class Spread:
    """Of a figure over the valid repetitions."""
    median: float
    p10: float
    p90: float
    cv: float
    count: int

    @staticmethod
    def of(values: list[float]) -> "Spread":
        mean = statistics.fmean(values)
        if len(values) == 1:
            return Spread(values[0], values[0], values[0], 0.0, 1)
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        cv = statistics.stdev(values) / abs(mean) if mean else 0.0
        return Spread(statistics.median(values), tenths[0], tenths[-1], cv, len(values))


class Status(Enum):
    VALID = "valid"
    LATE = "late"  # the host was too slow: there are no figures
    SKIPPED = "skipped"  # not available on this machine


@dataclass(frozen=True)
class Method:
    """A row of the table in bench/methods/methods.cpp, which every file of results contains."""
    name: str
    role: str = "existing"  # or module, floor, reference, setup
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
    method: str
    condition: Condition
    status: Status
    reason: str = ""  # why there are no figures
    time: Spread | None = None  # seconds for a sweep of all CPUs
    counters: dict[str, Spread] = field(default_factory=dict)
    late_repetitions: int = 0  # left out of the figures

    def figure(self, name: str) -> float | None:
        """The median of `time` or of a counter, if there is one."""
        spread = self.time if name == "time" else self.counters.get(name)
        if name == "max_rate" and not spread and self.time and self.time.median:
            return 1 / self.time.median  # one sweep after the other
        return spread.median if spread else None


@dataclass
class Results:
    """All measurements, and the errors in reading them."""
    measurements: dict[tuple[Condition, str], Measurement] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    methods: dict[str, Method] = field(default_factory=dict)  # in the order of tables
    kernel: str = ""
    slow_motion: bool = False

    def add(self, measurement: Measurement, source: str) -> None:
        key = (measurement.condition, measurement.method)
        if key in self.measurements:
            self.problems.append(f"{source}: {measurement.method} was measured before with "
                                 f"{measurement.condition}; the first figures are kept")
            return
        self.measurements[key] = measurement

    def get(self, condition: Condition, method: str) -> Measurement | None:
        return self.measurements.get((condition, method))

    def conditions(self) -> list[Condition]:
        return sorted({condition for condition, _ in self.measurements})

    def of(self, condition: Condition) -> dict[str, Measurement]:
        return {method: m for (c, method), m in self.measurements.items() if c == condition}

    def with_status(self, status: Status) -> list[Measurement]:
        return [m for m in self.measurements.values() if m.status is status]


def read_results(files: Iterable[Path]) -> Results:
    """Reads what is valid; errors become problems with a remedy."""
    results = Results()
    for path in files:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            runs = _runs(document)
            _add_context(results, document.get("context", {}))
        except OSError as error:
            results.problems.append(f"{path}: {error.strerror}; measure this condition again")
            continue
        except (ValueError, TypeError, AttributeError) as error:
            results.problems.append(f"{path}: not what Google Benchmark writes as JSON ({error}); "
                                    "measure this condition again")
            continue
        if not runs:
            results.problems.append(f"{path}: has no repetitions of any benchmark; measure again, "
                                    "without --benchmark_report_aggregates_only")
        for name, repetitions in runs.items():
            _add(results, str(path), name, repetitions)
    return results


def _runs(document: Any) -> dict[str, list[dict[str, Any]]]:
    """The repetitions of each benchmark. Its aggregates include invalid repetitions."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in document.get("benchmarks", []):
        if run.get("run_type") != "aggregate":
            runs.setdefault(str(run.get("run_name", run["name"])), []).append(run)
    return runs


def _add_context(results: Results, context: dict[str, Any]) -> None:
    results.kernel = results.kernel or str(context.get("kernel", ""))
    results.slow_motion |= "instructions_per_second" in context
    for line in str(context.get("methods", "")).splitlines():
        method = Method(*line.split("\t"))
        results.methods.setdefault(method.name, method)


def _add(results: Results, source: str, name: str, repetitions: list[dict[str, Any]]) -> None:
    match = _NAME.fullmatch(name)
    if not match:
        results.problems.append(f"{source}: the name {name} is not of the form "
                                "METHOD/TARGETS/cpus:N/events:E/groups:G; left out")
        return
    condition = Condition(int(match["cpus"]), match["targets"], int(match["events"]),
                          int(match["groups"]))
    try:
        results.methods.setdefault(match["method"], Method(match["method"]))
        results.add(_measurement(match["method"], condition, repetitions), source)
    except (KeyError, ValueError, TypeError) as error:
        results.problems.append(f"{source}: {name} has no usable figures ({error!r}); left out")


def _measurement(method: str, condition: Condition,
                 repetitions: list[dict[str, Any]]) -> Measurement:
    for run in repetitions:
        if run.get("error_occurred") or run.get("skipped"):
            reason = run.get("error_message") or run.get("skip_message") or "no reason given"
            return Measurement(method, condition, Status.SKIPPED, str(reason))
    valid = [run for run in repetitions if float(run.get("late", 0)) <= LATE_LIMIT]
    late = len(repetitions) - len(valid)
    if late * 2 > len(repetitions):
        worst = max(float(run["late"]) for run in repetitions)
        return Measurement(method, condition, Status.LATE,
                           f"the host was late by up to {worst:.0%} in {late} of "
                           f"{len(repetitions)} repetitions", late_repetitions=late)
    time = Spread.of([float(run["real_time"]) * _SECONDS[run["time_unit"]] for run in valid])
    counters = {}
    for name in COUNTERS:
        values = [float(run[name]) for run in valid if name in run]
        if values:
            counters[name] = Spread.of(values)
    return Measurement(method, condition, Status.VALID, "", time, counters, late)


# Keys of environment.json, in the order of the report.
KEYS = {
    "mode": "mode",
    "version": "version of the project",
    "date": "date",
    "resumed": "resumed",
    "qemu": "QEMU",
    "rate": "instructions per second of each CPU",
    "host_cpu": "host's CPU",
    "host_cpus": "host's CPUs",
    "host_kernel": "host's kernel",
    "host_load": "host's load before",
}


@dataclass(frozen=True)
class Environment:
    kernel: str = ""
    values: dict[str, str] = field(default_factory=dict)
    proof: dict[str, Any] | None = None

    @property
    def slow_motion(self) -> bool:
        return self.values.get("mode") == "slow motion"

    @property
    def title(self) -> str:
        """The heading of tables and plots."""
        kernel = f"Linux {self.kernel}" if self.kernel else ""
        mode = self.values.get("mode", "")
        if self.slow_motion and "rate" in self.values:
            mode += f" at {float(self.values['rate']) / 1e6:g} M instructions/s"
        return ", ".join(part for part in (kernel, mode) if part)


def read_environment(directory: Path, kernel: str, problems: list[str]) -> Environment:
    """A missing file is a problem, but no reason to write no report."""
    values = _read_object(directory / "environment.json", problems,
                          "the report does not say where and how was measured") or {}
    proof = None
    if values.get("mode") == "slow motion":
        proof = _read_object(directory / "proof.json", problems,
                             "nothing shows that slow motion was even")
    return Environment(kernel, values, proof)


def _read_object(path: Path, problems: list[str], missing: str) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(f"{path}: {error.strerror}; {missing}")
        return None
    except ValueError as error:
        problems.append(f"{path}: not JSON ({error}); measure again with bench/run")
        return None
    if not isinstance(document, dict):
        problems.append(f"{path}: not an object; measure again with bench/run")
        return None
    return document
