# SPDX-License-Identifier: MIT
"""The ways of one condition beside each other: the rows of all tables."""

from dataclasses import dataclass

from .measurements import Condition, Measurement, Results, Status
from .units import count, percent, ratio, seconds
from .ways import Way, in_order


@dataclass(frozen=True)
class Row:
    way: Way
    measurement: Measurement
    speedup: float | None  # per_fd's time divided by this
    over_floor: float | None  # this divided by the floor's

    @property
    def valid(self) -> bool:
        return self.measurement.status is Status.VALID

    @property
    def samples_per_second(self) -> float | None:
        """The groups of one CPU, read once, are a sample."""
        time = self.measurement.figure("time")
        condition = self.measurement.condition
        return condition.cpus / time if time and self.way.compared else None

    def cells(self) -> list[str]:
        """Below COLUMNS, but for the name."""
        m = self.measurement
        return [seconds(m.figure("time")), percent(m.time.cv if m.time else None),
                ratio(self.speedup), ratio(self.over_floor), count(m.figure("syscalls")),
                count(m.figure("ipis")), count(m.figure("wakeups")),
                count(m.figure("monitor_insns")), count(m.figure("target_insns")),
                _nanoseconds(m.figure("skew_ns"))]


# A title of two lines, and the width on a terminal.
COLUMNS = (("", "time", 8), ("", "± cv", 7), ("per_fd", "/ this", 7), ("this /", "floor", 6),
           ("system", "calls", 7), ("", "IPIs", 6), ("idle", "woken", 6),
           ("reader's", "insns", 9), ("target's", "insns", 9), ("", "skew", 9))

LEGEND = ("time: of a sweep of all CPUs, median; cv: standard deviation / mean of the repetitions; "
          "IPIs, system calls, idle CPUs woken: per sweep; reader's insns: instructions of the "
          "reading CPU per sweep; target's insns: instructions one target CPU spends per sample; "
          "skew: between the first and the last CPU's sample.")


def compare(results: Results, condition: Condition) -> list[Row]:
    measurements = results.of(condition)
    per_fd, floor = (_time(measurements.get(name)) for name in ("per_fd", "floor"))
    rows = []
    for way in in_order(set(measurements)):
        measurement = measurements[way.name]
        time = _time(measurement) if way.compared else None
        rows.append(Row(way, measurement,
                        per_fd / time if per_fd and time else None,
                        time / floor if floor and time else None))
    return rows


def reason(row: Row) -> str:
    word = "invalid" if row.measurement.status is Status.LATE else "skipped"
    return f"{word}: {row.measurement.reason}"


def _time(measurement: Measurement | None) -> float | None:
    return measurement.figure("time") if measurement else None


def _nanoseconds(value: float | None) -> str:
    return seconds(None if value is None else value * 1e-9)
