# SPDX-License-Identifier: MIT
"""Scripts for gnuplot that hold their data and write NAME.svg and NAME.png beside themselves."""

import math
from dataclasses import dataclass

from .units import count
from .ways import Role, Way

FONT = "DejaVu Sans"
_INK, _GRID = "#222222", "#DDDDDD"
# Height of a label in parts of the plot: labels keep this distance.
_LABEL_STEP = 0.042


@dataclass(frozen=True)
class Line:
    way: Way
    points: list[tuple[float, float]]  # CPUs and value, ascending


@dataclass(frozen=True)
class Bar:
    way: Way
    value: float


def line_chart(name: str, title: str, conditions: str, axis: str, lines: list[Line]) -> str:
    """Both axes logarithmic, each line named at its end in its own colour."""
    values = [value for line in lines for _, value in line.points]
    cpus = sorted({x for line in lines for x, _ in line.points})
    low, high = min(values) / 1.5, max(values) * 1.5
    script = _head(title, conditions) + [
        "set logscale x 2", "set logscale y 10", "set rmargin 15",
        f"set xrange [{cpus[0] / 1.15:g}:{cpus[-1] * 1.15:g}]", f"set yrange [{low:g}:{high:g}]",
        "set xlabel 'CPUs'", f"set ylabel {_quote(axis)}",
        "set xtics (" + ", ".join(f"'{x:g}' {x:g}" for x in cpus) + ")",
        f"set grid xtics ytics lt 1 lw 0.6 lc rgb '{_GRID}'",
    ]
    # Ours over the rivals, and the line of the floor over all.
    order = [Role.RIVAL, Role.OURS, Role.FLOOR]
    drawn = sorted(lines, key=lambda line: order.index(line.way.role))
    places = _spread([line.points[-1][1] for line in drawn], low, high)
    for line, place in zip(drawn, places):
        script.append(f"set label {_label(line.way, line.way.name)} at graph 1.015, "
                      f"graph {place:.4f} left textcolor rgb '{line.way.colour}'")
    plots = []
    for index, line in enumerate(drawn):
        script += [f"$way{index} << EOD", *(f"{x:g} {y:g}" for x, y in line.points), "EOD"]
        plots.append(_curve(f"$way{index}", line.way))
        if line.way.role is Role.FLOOR:
            plots.insert(0, f"$way{index} using 1:2:({low:g}) with filledcurves "
                            "fs solid 1.0 noborder lc rgb '#EEEEEE' notitle")
    return _finish(name, script, plots)


def bar_chart(name: str, title: str, conditions: str, axis: str, bars: list[Bar]) -> str:
    """One bar for each way, from top to bottom, with its value at its end."""
    top = max(max(bar.value for bar in bars), 1.0)
    script = _head(title, conditions) + [
        f"set xrange [0:{top * 1.12:g}]", f"set yrange [{len(bars) - 0.4:g}:-0.6]",
        "set lmargin 13", "set rmargin 4", f"set xlabel {_quote(axis)}",
        f"set grid xtics lt 1 lw 0.6 lc rgb '{_GRID}'", "set ytics scale 0 noenhanced",
        "set ytics (" + ", ".join(f"{_quote(bar.way.name)} {row}"
                                  for row, bar in enumerate(bars)) + ")",
        "set format x '%.0s %c'", "set style fill solid 1.0 noborder",
    ]
    plots = []
    for row, bar in enumerate(bars):
        # Value, place, and the sides of the box.
        value = max(bar.value, 0.0)
        script += [f"$way{row} << EOD", f"{value / 2:g} {row} 0 {value:g} {row - .34:g} "
                   f"{row + .34:g}", "EOD"]
        plots.append(f"$way{row} using 1:2:3:4:5:6 with boxxyerror "
                     f"lc rgb '{bar.way.colour}' notitle")
        script.append(f"set label {_label(bar.way, count(bar.value))} at first {value:g}, "
                      f"first {row} left offset 0.7,0 textcolor rgb '{_INK}'")
    return _finish(name, script, plots)


def _curve(data: str, way: Way) -> str:
    colour = f"lc rgb '{way.colour}'"
    if way.role is Role.FLOOR:
        return f"{data} with lines dt 2 lw 1.5 {colour} notitle"
    width, size = (2.4, 1.0) if way.role is Role.OURS else (1.4, 0.8)
    return f"{data} with linespoints lw {width} pt {way.point} ps {size} {colour} notitle"


def _spread(values: list[float], low: float, high: float) -> list[float]:
    """Heights for labels, near the values (logarithmic) and not over each other."""
    span = math.log(high / low)
    wanted = [math.log(value / low) / span for value in values]
    order = sorted(range(len(values)), key=lambda i: wanted[i])
    # Labels that touch form a block around their mean; blocks that touch become one.
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([index])
        while len(blocks) > 1 and _bottom(blocks[-1], wanted) < _top(blocks[-2], wanted):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [0.0] * len(values)
    for block in blocks:
        for step, index in enumerate(block):
            places[index] = _bottom(block, wanted) + (step + 0.5) * _LABEL_STEP
    return places


def _bottom(block: list[int], wanted: list[float]) -> float:
    return sum(wanted[i] for i in block) / len(block) - len(block) * _LABEL_STEP / 2


def _top(block: list[int], wanted: list[float]) -> float:
    return _bottom(block, wanted) + len(block) * _LABEL_STEP


def _head(title: str, conditions: str) -> list[str]:
    return [
        "# Written by bench/report. To draw it again: gnuplot THIS-FILE",
        "set encoding utf8",
        f"set title \"{{/:Bold=15 {_escape(title)}}}\\n{{/=11 {_escape(conditions)}}}\" "
        f"textcolor rgb '{_INK}'",
        f"set border 3 lw 0.8 lc rgb '{_INK}'", "set tics nomirror out", "unset key",
        "set bmargin 4",
    ]


def _finish(name: str, script: list[str], plots: list[str]) -> str:
    plot = "plot " + ", \\\n     ".join(plots)
    return "\n".join(script + [
        f"set terminal svg size 900,560 font '{FONT},12' background '#ffffff' enhanced",
        f"set output '{name}.svg'", plot,
        f"set terminal pngcairo size 1350,840 font '{FONT},12' fontscale 1.5 background '#ffffff'"
        " enhanced linewidth 1.5 pointscale 1.5",
        f"set output '{name}.png'", plot, "unset output"]) + "\n"


def _label(way: Way, text: str) -> str:
    return f'"{{/:Bold {_escape(text)}}}"' if way.role is Role.OURS else f'"{_escape(text)}"'


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escape(text: str) -> str:
    """For gnuplot's enhanced text within double quotes."""
    return "".join("\\\\" + letter if letter in "_^{}@&~\\" else letter
                   for letter in text.replace('"', "''"))
