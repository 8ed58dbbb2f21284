# SPDX-License-Identifier: MIT
"""Plots of the conditions that the goals are about."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes

from .measurements import VALID, Measurement, Results
from .page import is_main, number

# Colours that most colour-blind people can tell apart (Okabe and Ito, and more), with markers for
# all others, by position in the table of methods. The second time the markers are not filled.
STYLES = [(color, marker, fill) for fill in ("full", "none") for color, marker in (
    ("#D55E00", "o"), ("#8C564B", "^"), ("#7F7F7F", "s"), ("#CC79A7", "D"), ("#E69F00", "v"),
    ("#B8A400", "P"), ("#56B4E9", "X"), ("#0072B2", "o"), ("#009E73", "s"), ("#332288", "^"))]
CURVES: dict[str, tuple[str, str, Callable[[Measurement], float]]] = {
    "sweep-time": ("Time of one sweep over all CPUs", "s", lambda m: m.figure("time") or 0),
    "disturbance": ("Instructions on a target CPU per sample", "",
                    lambda m: m.figure("target_insns") or 0),
    "skew": ("Skew: from the oldest to the newest sample", "s",
             lambda m: (m.figure("skew_ns") or 0) * 1e-9),
    "samples": ("Max samples/s of one reader", "",
                lambda m: (m.figure("max_rate") or 0) * m.condition.cpus),
    "lateness": ("Lateness of samples: p99", "s",
                 lambda m: (m.figure("late_p99_ns") or 0) * 1e-9),
}

matplotlib.use("agg")
matplotlib.rcParams.update({
    "figure.figsize": (9, 5.6), "axes.spines.top": False, "axes.spines.right": False,
    "savefig.dpi": 100})


def write_plots(results: Results, directory: Path) -> dict[str, str]:
    """Returns the title of each plot by the name of its files."""
    plots = {}
    for targets in ("idle", "busy"):
        found = [m for c in results.conditions() if c.targets == targets and is_main(c)
                 for m in results.of(c).values() if m.status == VALID]
        for name, (title, unit, value) in CURVES.items():
            figure, axes = pyplot.subplots()
            if _draw(axes, found, name == "sweep-time", unit, value):
                axes.set_title(f"{title}, {targets}\n{results.title}")
                figure.savefig(directory / f"{name}-{targets}.png", bbox_inches="tight")
                plots[f"{name}-{targets}"] = f"{title}, {targets}"
            pyplot.close(figure)
    return plots


def _draw(axes: Axes, found: list[Measurement], with_floor: bool, unit: str,
          value: Callable[[Measurement], float]) -> bool:
    names = list(dict.fromkeys(m.method.name for m in found if m.method.plotted))
    styles = dict(zip(names, STYLES * len(names)))
    lines: dict[str, list[tuple[int, float]]] = {}
    for m in found:
        shown = m.method.plotted or (with_floor and m.method.role == "floor")
        if shown and (figure := value(m)) > 0:
            lines.setdefault(m.method.name, []).append((m.condition.cpus, figure))
    for name, points in sorted(lines.items(), key=lambda line: -line[1][-1][1]):
        color, marker, fill = styles.get(name, ("#444444", "", "none"))
        axes.plot(*zip(*points), label=name, color=color, marker=marker, fillstyle=fill,
                  linestyle="-" if marker else "--")
    counts = sorted({m.condition.cpus for m in found})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(counts, map(str, counts))
    axes.set_xlabel("CPUs")
    axes.yaxis.set_major_formatter(lambda figure, _: number(figure, unit))
    axes.grid(linewidth=0.3)
    if lines:  # in the order in which they were drawn
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return bool(lines.keys() & styles.keys())
