# SPDX-License-Identifier: MIT
"""What is plotted: figures of one number of events and groups, for idle and for busy targets."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from .comparison import Row, compare
from .environment import Environment
from .gnuplot import FONT, Bar, Line, bar_chart, line_chart
from .goals import CPUS, EVENTS, GROUPS
from .measurements import Results, plural
from .ways import Role, Way


@dataclass(frozen=True)
class Plot:
    name: str  # of the files, without .svg and .png
    title: str
    script: str


@dataclass(frozen=True)
class _Curve:
    name: str
    title: str
    axis: str
    value: Callable[[Row], float | None]
    seconds: bool = True
    floor: bool = False


_CURVES = (
    _Curve("sweep-time", "Time of one sweep over all CPUs", "time of a sweep",
           lambda row: row.measurement.figure("time"), floor=True),
    _Curve("skew", "Skew: from the first to the last CPU's sample", "skew",
           lambda row: (row.measurement.figure("skew_ns") or 0) * 1e-9),
    _Curve("samples", "Samples of a CPU that one reader can take", "samples per second",
           lambda row: row.samples_per_second, seconds=False),
)


def make_plots(results: Results, environment: Environment) -> list[Plot]:
    plots = []
    for targets in ("idle", "busy"):
        conditions = [c for c in results.conditions()
                      if (c.targets, c.events, c.groups) == (targets, EVENTS, GROUPS)]
        if not conditions:
            continue
        rows = {c.cpus: [row for row in compare(results, c) if row.valid] for c in conditions}
        for curve in _CURVES:
            plots += _curve_plot(curve, targets, rows, environment)
        plots += _disturbance(targets, rows, environment)
    return plots


def render(plots: list[Plot], directory: Path, problems: list[str]) -> list[Plot]:
    """Writes script, SVG and PNG of each; returns those for which it worked."""
    if plots and not which("gnuplot"):
        problems.append("plots: gnuplot is missing; it is in the Debian package gnuplot-nox")
        return []
    return [plot for plot in plots if _render(plot, directory, problems)]


def _render(plot: Plot, directory: Path, problems: list[str]) -> bool:
    script = directory / f"{plot.name}.gp"
    script.write_text(plot.script, encoding="utf-8")
    done = subprocess.run(["gnuplot", script.name], cwd=directory, capture_output=True, text=True,
                          check=False)
    if done.returncode or done.stderr:
        problems.append(f"{script}: gnuplot failed: {done.stderr.strip()}")
        return False
    # Where that font is not, one of the same widths, so that nothing moves.
    svg = directory / f"{plot.name}.svg"
    svg.write_text(svg.read_text(encoding="utf-8").replace(
        f'font-family="{FONT}"', f'font-family="{FONT}, Verdana, sans-serif"'), encoding="utf-8")
    return True


def _curve_plot(curve: _Curve, targets: str, rows: dict[int, list[Row]],
                environment: Environment) -> list[Plot]:
    points: dict[Way, list[tuple[float, float]]] = {}
    for cpus, of_cpus in rows.items():
        for row in of_cpus:
            value = curve.value(row)
            shown = row.way.plotted or (curve.floor and row.way.role is Role.FLOOR)
            if shown and value:
                points.setdefault(row.way, []).append((cpus, value))
    if not any(way.plotted for way in points):
        return []
    scale, axis = 1.0, curve.axis
    if curve.seconds:
        most = max(value for values in points.values() for _, value in values)
        scale, unit = (1e3, "ms") if most >= 1e-3 else (1e6, "µs")
        axis += f" [{unit}]"
    lines = [Line(way, [(cpus, value * scale) for cpus, value in values])
             for way, values in points.items()]
    name, title = f"{curve.name}-{targets}", f"{curve.title}, {targets}"
    return [Plot(name, title, line_chart(name, title, _conditions(environment), axis, lines))]


def _disturbance(targets: str, rows: dict[int, list[Row]],
                 environment: Environment) -> list[Plot]:
    cpus = CPUS if CPUS in rows else max(rows)
    bars = [Bar(row.way, value) for row in rows[cpus]
            if row.way.plotted and (value := row.measurement.figure("target_insns")) is not None]
    if not bars:
        return []
    name = f"disturbance-{targets}"
    title = f"What a sample costs the CPU that is read, {targets}, {plural(cpus, 'CPU')}"
    return [Plot(name, title, bar_chart(name, title, _conditions(environment),
                                        "instructions on the target per sample", bars))]


def _conditions(environment: Environment) -> str:
    what = f"{plural(EVENTS, 'event')}, {plural(GROUPS, 'group')} per CPU"
    return ", ".join(part for part in (what, environment.title) if part)
