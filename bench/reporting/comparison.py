# SPDX-License-Identifier: MIT
"""The methods of one condition compared with each other: the rows of all tables."""

from dataclasses import dataclass

from .measurements import Condition, Measurement, Method, Results, Status


def number(value: float | None, unit: str = "") -> str:
    """Three digits with a prefix, as 1.96 ms."""
    if value is None:
        return "–"
    prefixes = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
    if unit:
        prefixes = (("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9))
    prefix, scale = next(((name, scale) for name, scale in prefixes
                          if abs(value) >= scale * 0.9995), prefixes[-1])
    value /= scale
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    digits = "0" if abs(value) < 0.005 else f"{value:.{decimals}f}"  # no -0.00
    return f"{digits} {prefix}{unit}".strip()


def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


@dataclass(frozen=True)
class Row:
    method: Method
    measurement: Measurement
    speedup: float | None  # per_fd's time divided by this
    over_floor: float | None  # this divided by the floor's

    @property
    def valid(self) -> bool:
        return self.measurement.status is Status.VALID

    @property
    def samples_per_second(self) -> float | None:
        """A sample is one read of the groups of one CPU."""
        rate = self.measurement.figure("max_rate")
        return self.measurement.condition.cpus * rate if rate and self.method.is_sweep else None

    @property
    def reason(self) -> str:
        word = "invalid" if self.measurement.status is Status.LATE else "skipped"
        return f"{self.method.name} {word}: {self.measurement.reason}"

    def cells(self) -> list[str]:
        """Below HEADER."""
        m = self.measurement
        skew = m.figure("skew_ns")
        counters = ("syscalls", "ipis", "wakeups", "reader_insns", "target_insns")
        return [m.method, number(m.figure("time"), "s"), f"{m.time.cv:.1%}" if m.time else "–",
                ratio(self.speedup), ratio(self.over_floor),
                *(number(m.figure(counter)) for counter in counters),
                number(None if skew is None else skew * 1e-9, "s")]


HEADER = ["method", "time", "cv", "per_fd / this", "this / floor", "syscalls", "IPIs", "woken",
          "reader", "target", "skew"]
LEGEND = ("time: median time of a sweep of all CPUs; cv: standard deviation / mean of the "
          "repetitions; syscalls, IPIs, woken: system calls, "
          "inter-processor interrupts and exits from idle per sweep; reader: instructions on the "
          "reading CPU per sweep of the others; target: instructions on each of these per sample; "
          "skew: newest minus oldest sample.")


def compare(results: Results, condition: Condition) -> list[Row]:
    measurements = results.of(condition)
    per_fd, floor = (_time(measurements.get(name)) for name in ("per_fd", "floor"))
    rows = []
    for method in results.methods.values():
        if measurement := measurements.get(method.name):
            time = _time(measurement) if method.is_sweep else None
            rows.append(Row(method, measurement, per_fd / time if per_fd and time else None,
                            time / floor if floor and time else None))
    return rows


def _time(measurement: Measurement | None) -> float | None:
    return measurement.figure("time") if measurement else None


TIMER_HEADER = ["method", "full rings", "lost", "max rate/s", "late p50", "late p99", "late max"]
TIMER_LEGEND = ("full rings: sweeps that found one, for which samples are lost; lost: deadlines "
                "without samples for any reason; max rate: samples of each CPU per second of which "
                "none is lost; late: from the deadline to the sample.")


def timer_table(results: Results, condition: Condition) -> str:
    """Of the methods whose CPUs sample themselves."""
    rows = []
    for row in compare(results, condition):
        m = row.measurement
        if row.valid and any(m.counters.get(name) for name in ("overruns", "lost", "max_rate")):
            late = (m.figure(f"late_{name}_ns") for name in ("p50", "p99", "max"))
            rows.append([m.method, *(number(m.figure(name))
                                     for name in ("overruns", "lost", "max_rate")),
                         *(number(None if ns is None else ns * 1e-9, "s") for ns in late)])
    return table(TIMER_HEADER, rows, "lrrrrrr") if rows else ""


def table(header: list[str], rows: list[list[str]], align: str) -> str:
    """Markdown, with columns aligned for terminals. `align` has l or r for each column."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rules = ["-" * (width - 1) + (":" if side == "r" else "-")
             for width, side in zip(widths, align)]
    return "\n".join("| " + " | ".join(
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(line, widths, align)) + " |"
        for line in [cells[0], rules, *cells[1:]])


def condition_table(results: Results, condition: Condition) -> str:
    rows = [row.cells() for row in compare(results, condition) if row.valid]
    return table(HEADER, rows, "l" + "r" * (len(HEADER) - 1)) if rows else "No valid figures."
