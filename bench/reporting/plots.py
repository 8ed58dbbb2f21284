# SPDX-License-Identifier: MIT
"""Plots of the conditions that the goals are about."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes

from . import goals
from .comparison import Row, compare, number
from .measurements import Environment, Method, Results

# Colours that most colour-blind people can tell apart (Okabe and Ito, and more), with markers for
# all others, by position in the table of methods.
STYLES = (("#D55E00", "o"), ("#8C564B", "^"), ("#7F7F7F", "s"), ("#CC79A7", "D"), ("#E69F00", "v"),
          ("#B8A400", "P"), ("#56B4E9", "X"), ("#0072B2", "o"), ("#009E73", "s"), ("#332288", "^"))
CURVES: dict[str, tuple[str, str, Callable[[Row], float | None]]] = {
    "sweep-time": ("Time of one sweep over all CPUs", "s",
                   lambda row: row.measurement.figure("time")),
    "skew": ("Skew: from the oldest to the newest sample", "s",
             lambda row: (row.measurement.figure("skew_ns") or 0) * 1e-9),
    "samples": ("Max samples/s of one reader", "", lambda row: row.samples_per_second),
}

matplotlib.use("agg")
matplotlib.rcParams.update({
    "figure.figsize": (9, 5.6), "axes.spines.top": False, "axes.spines.right": False,
    "savefig.dpi": 100})


def write_plots(results: Results, environment: Environment, directory: Path) -> dict[str, str]:
    """Returns the title of each plot by the name of its files."""
    plots = {}
    for targets in ("idle", "busy"):
        rows = {c.cpus: [row for row in compare(results, c) if row.valid]
                for c in results.conditions()
                if (c.targets, c.events, c.groups) == (targets, goals.EVENTS, goals.GROUPS)}
        charts = {name: (title, _lines(rows, unit, value, name == "sweep-time"))
                  for name, (title, unit, value) in CURVES.items()}
        charts["lateness"] = ("Lateness of samples: p99, and from p50 to max", _late(rows))
        charts["disturbance"] = ("Instructions on a target CPU per sample", _bars(rows))
        for name, (title, draw) in charts.items():
            figure, axes = pyplot.subplots()
            if draw(axes):
                axes.set_title(f"{title}, {targets}\n{environment.title}")
                figure.savefig(directory / f"{name}-{targets}.png", bbox_inches="tight")
                plots[f"{name}-{targets}"] = f"{title}, {targets}"
            pyplot.close(figure)
    return plots


def _lines(rows: dict[int, list[Row]], unit: str, value: Callable[[Row], float | None],
           floor: bool) -> Callable[[Axes], bool]:
    def draw(axes: Axes) -> bool:
        lines: dict[Method, list[tuple[int, float]]] = {}
        for cpus, row in ((cpus, row) for cpus in rows for row in rows[cpus]):
            shown = row.method.plotted or (floor and row.method.role == "floor")
            if shown and (figure := value(row)):
                lines.setdefault(row.method, []).append((cpus, figure))
        for method, points in sorted(lines.items(), key=lambda line: -line[1][-1][1]):
            axes.plot(*zip(*points), label=method.name, **_style(method, rows))
        _over_cpus(axes, rows, unit, bool(lines))
        return any(method.plotted for method in lines)
    return draw


def _late(rows: dict[int, list[Row]]) -> Callable[[Axes], bool]:
    def draw(axes: Axes) -> bool:
        lines: dict[Method, list[tuple[float, ...]]] = {}
        for cpus, row in ((cpus, row) for cpus in rows for row in rows[cpus]):
            late = [row.measurement.figure(f"late_{name}_ns") for name in ("p50", "p99", "max")]
            if all(late):
                lines.setdefault(row.method, []).append(
                    (cpus, *(ns * 1e-9 for ns in late if ns is not None)))
        for method, points in lines.items():
            cpus_of, p50, p99, most = zip(*points)
            style = _style(method, rows)
            axes.plot(cpus_of, p99, label=method.name, **style)
            axes.fill_between(cpus_of, p50, most, color=style["color"], alpha=0.15)
        _over_cpus(axes, rows, "s", bool(lines))
        return bool(lines)
    return draw


def _over_cpus(axes: Axes, rows: dict[int, list[Row]], unit: str, legend: bool) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(rows), map(str, rows))
    axes.set_xlabel("CPUs")
    axes.yaxis.set_major_formatter(lambda figure, _: number(figure, unit))
    axes.grid(linewidth=0.3)
    if legend:  # in the order in which the lines were drawn
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _bars(rows: dict[int, list[Row]]) -> Callable[[Axes], bool]:
    def draw(axes: Axes) -> bool:
        cpus = goals.CPUS if goals.CPUS in rows else max(rows, default=0)
        bars = [(row.method, figure) for row in rows.get(cpus, []) if row.method.plotted
                and (figure := row.measurement.figure("target_insns")) is not None]
        drawn = axes.barh([method.name for method, _ in bars],
                          [max(figure, 0) for _, figure in bars],
                          color=[_style(method, rows)["color"] for method, _ in bars])
        axes.bar_label(drawn, [number(figure) for _, figure in bars], padding=4)
        axes.invert_yaxis()
        axes.set_xlabel(f"instructions, {cpus} CPUs")
        return bool(bars)
    return draw


def _style(method: Method, rows: dict[int, list[Row]]) -> dict[str, object]:
    if method.role == "floor":
        return {"color": "#444444", "linestyle": "--"}
    names = [row.method.name for some in rows.values() for row in some if row.method.plotted]
    color, marker = STYLES[list(dict.fromkeys(names)).index(method.name) % len(STYLES)]
    return {"color": color, "marker": marker, "linewidth": 2 if method.role == "module" else 1.2}
