# SPDX-License-Identifier: MIT
"""Tables, report.md, and the part of it that is published in bench/README.md."""

from pathlib import Path
from shutil import copyfile

from . import goals
from .measurements import LATE_LIMIT, VALID, Condition, Measurement, Results, plural

BEGIN = "<!-- measured: written by bench/report --publish, do not edit -->"
END = "<!-- end of measured -->"
SLOW_MOTION = ("Slow motion: each virtual CPU executes so many instructions per second of guest "
               "time, so a time is the number of instructions on the critical path. It compares "
               "methods, but does not include cache misses, memory or the latency of interrupts.")
HEADER = ["method", "time", "cv", "per_fd / this", "this / floor", "syscalls", "IPIs", "woken",
          "reader", "target", "skew"]
TIMER_HEADER = ["method", "full rings", "lost", "max rate/s", "late p50", "late p99", "late max"]
LEGEND = ("time: median time of a sweep of all CPUs; cv: standard deviation / mean of the "
          "repetitions; syscalls, IPIs, woken: system calls, "
          "inter-processor interrupts and exits from idle per sweep; reader: instructions on the "
          "reading CPU per sweep of the others; target: instructions on each of these per sample; "
          "skew: newest minus oldest sample. full rings: sweeps that found one, for which samples "
          "are lost; lost: deadlines without samples for any reason; max rate: samples of each CPU "
          "per second of which none is lost; late: from the deadline to the sample.")


def number(value: float | None, unit: str = "") -> str:
    """Three digits with a prefix, as 1.96 ms."""
    if value is None:
        return "–"
    prefixes = (("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9)) if unit else (
        ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
    prefix, scale = next(((name, scale) for name, scale in prefixes
                          if abs(value) >= scale * 0.9995), prefixes[-1])
    value /= scale
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    digits = "0" if abs(value) < 0.005 else f"{value:.{decimals}f}"  # no -0.00
    return f"{digits} {prefix}{unit}".strip()


def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def table(header: list[str], rows: list[list[str]], align: str = "l") -> str:
    """Markdown, with columns aligned for terminals, to the right where `align` has no l."""
    align = align.ljust(len(header), "r")
    cells = [[cell.replace("|", "\\|") for cell in line] for line in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rules = ["-" * (width - (side != "l")) + ":" * (side != "l")
             for width, side in zip(widths, align)]
    return "\n".join("| " + " | ".join(
        cell.ljust(width) if side == "l" else cell.rjust(width)
        for cell, width, side in zip(line, widths, align)) + " |"
        for line in [cells[0], rules, *cells[1:]])


def _figures(m: Measurement, *names: str) -> list[str]:
    """A name that ends with _ns is a time."""
    return [number(None if (value := m.figure(name)) is None else value * 1e-9, "s")
            if name.endswith("_ns") else number(m.figure(name)) for name in names]


def condition_tables(results: Results, condition: Condition) -> str:
    """Of all methods, and of those whose CPUs sample themselves."""
    of = results.of(condition)
    per_fd, floor = of.get("per_fd"), of.get("floor")
    rows, timers = [], []
    for m in of.values():
        if m.status != VALID:
            continue
        rows.append([m.method.name, number(m.figure("time"), "s"), f"{m.figures['time'].cv:.1%}",
                     ratio(per_fd.over(m) if per_fd else None), ratio(m.over(floor)),
                     *_figures(m, "syscalls", "ipis", "wakeups", "reader_insns", "target_insns",
                               "skew_ns")])
        if any(name in m.figures for name in ("overruns", "lost", "max_rate")):
            timers.append([m.method.name, *_figures(m, "overruns", "lost", "max_rate",
                                                    "late_p50_ns", "late_p99_ns", "late_max_ns")])
    return "\n\n".join([table(HEADER, rows) if rows else "No valid figures.",
                        *([table(TIMER_HEADER, timers)] if timers else [])])


def reasons(results: Results) -> list[str]:
    """Methods without valid figures, once for each reason."""
    where: dict[str, list[Condition]] = {}
    for m in results.measurements.values():
        if m.status != VALID:
            where.setdefault(f"{m.method.name} {m.status}: {m.reason}", []).append(m.condition)
    return [f"{reason} ({found[0] if len(found) == 1 else plural(len(found), 'condition')})"
            for reason, found in sorted(where.items())]


def is_main(condition: Condition) -> bool:
    return (condition.events, condition.groups) == (goals.EVENTS, goals.GROUPS)


def page(results: Results, judgements: list[goals.Judgement], plots: dict[str, str]) -> str:
    conditions = results.conditions()
    main, other = ([f"### {c}\n\n{condition_tables(results, c)}" for c in conditions
                    if is_main(c) is wanted] for wanted in (True, False))
    late = sum(m.late_repetitions for m in results.measurements.values() if m.status == VALID)
    left_out = reasons(results) + ([
        f"{plural(late, 'repetition')} in which the host was late by more than {LATE_LIMIT:.0%} of "
        "the time"] if late else [])
    sections = [
        "<!-- Written by bench/report. -->\n# Benchmarks",
        f"{results.title}. {SLOW_MOTION if results.rate else ''}",
        "## Summary", _ratios(results) or "FRAMED and per-fd were not measured together.",
        "## Goals", f"For {goals.CPUS} CPUs, {goals.EVENTS} events, {goals.GROUPS} group per CPU "
        f"unless the goal says otherwise; {goals.LEGEND}", _goals(judgements),
        _list([f"{j.goal.title}: {j.comment}" for j in judgements if j.comment]),
        "## Plots", *(f"![{title}]({name}.png)" for name, title in plots.items()),
        "## Methods", table(["method", "role", "a sweep is"], [
            [m.name, m.role, m.summary] for m in results.methods.values()], "lll"),
        "## Figures", LEGEND, *main,
        *(["<details><summary>Other numbers of events and groups</summary>", *other, "</details>"]
          if other else []),
        "## Left out", _list(left_out) or "Nothing.",
        "## Environment", table(["", ""], [[*item] for item in results.environment.items()], "ll"),
        "## Problems", _list(results.problems) or "None.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


class PublishError(Exception):
    pass


def publish(project: Path, report: Path, results: Results,
            judgements: list[goals.Judgement]) -> None:
    """Copies the main plot to docs/ and replaces the text between the marks in bench/README.md."""
    plot, ratios = report / "sweep-time-idle.png", _ratios(results)
    if not ratios or not plot.exists():
        raise PublishError("nothing to publish: FRAMED, per-fd and idle CPUs were not measured "
                           "together; run make bench-full first")
    readme = project / "bench/README.md"
    before, mark, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end_mark, after = rest.partition(END)
    if not mark or not end_mark:
        raise PublishError(f"{readme}: these lines, between which figures go, are missing\n"
                           f"  {BEGIN}\n  {END}")
    text = "\n\n".join(["", "![Time of a sweep over the number of CPUs](../docs/sweep-time.png)",
                        f"{results.title}, version {results.environment.get('version', '?')}, "
                        f"{results.environment.get('date', '')}.", ratios, _goals(judgements), ""])
    copyfile(plot, project / "docs" / "sweep-time.png")
    readme.write_text(before + BEGIN + text + END + after, encoding="utf-8")


def _ratios(results: Results) -> str:
    """The time of per-fd reads relative to the module, by number of CPUs."""
    rows = []
    for condition in filter(is_main, results.conditions()):
        of = results.of(condition)
        per_fd, floor, framed, mapped = map(of.get, ("per_fd", "floor", "framed", "mapped"))
        if per_fd and framed and (speedup := per_fd.over(framed)):
            rows.append([str(condition.cpus), condition.targets, f"**{ratio(speedup)}**",
                         ratio(framed.over(floor)), ratio(per_fd.over(mapped)),
                         ratio(mapped.over(floor) if mapped else None)])
    return table(["CPUs", "CPU state", "per-fd / FRAMED", "FRAMED / floor", "per-fd / mapped",
                  "mapped / floor"], rows, "rl") if rows else ""


def _goals(judgements: list[goals.Judgement]) -> str:
    return table(goals.HEADER, [judgement.cells() for judgement in judgements], "lrrrrl")


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
