# SPDX-License-Identifier: MIT
"""report.md: the whole of a run on a page."""

from pathlib import Path
from typing import Any

from .comparison import COLUMNS, LEGEND, compare, reason
from .environment import KEYS, Environment
from .goals import CPUS, EVENTS, GROUPS, Judgement
from .measurements import LATE_LIMIT, Condition, Measurement, Results, Status, plural
from .plots import Plot
from .terminal import limit, value_of
from .units import percent, ratio, seconds
from .ways import Role, in_order


def page(results: Results, environment: Environment, judgements: list[Judgement],
         plots: list[Plot]) -> str:
    main = [c for c in results.conditions() if _is_main(c)]
    other = [c for c in results.conditions() if not _is_main(c)]
    sections = [
        "# What a sweep of the counters of all CPUs costs",
        f"{environment.title or 'Conditions unknown'}. {_slow_motion(environment)}",
        "## In short", ratios_over_cpus(results) or "FRAMED was not measured beside per-fd.",
        "## Goals", _goals(judgements),
        "## Plots", _plots(plots),
        "## The ways", _ways(results),
        "## Figures", LEGEND, *(_condition(results, condition) for condition in main),
        *_folded("Other numbers of events and groups", results, other),
        "## Without figures", _left_out(results),
        "## Where and how", _environment(environment),
        "## What is missing", _list(results.problems) or "Nothing.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def ratios_over_cpus(results: Results) -> str:
    """How the ways stand to per_fd as CPUs become more: the short form of it all."""
    rows = []
    for condition in filter(_is_main, results.conditions()):
        by_name = {row.way.name: row for row in compare(results, condition) if row.valid}
        if "framed" not in by_name or by_name["framed"].speedup is None:
            continue
        framed, mapped = by_name["framed"], by_name.get("mapped")
        rows.append([str(condition.cpus), condition.targets,
                     f"**{ratio(framed.speedup)}**", ratio(framed.over_floor),
                     ratio(mapped.speedup if mapped else None),
                     ratio(mapped.over_floor if mapped else None)])
    return markdown_table(["CPUs", "they are", "per-fd / FRAMED", "FRAMED / floor",
                           "per-fd / mapped", "mapped / floor"], rows, "rlrrrr") if rows else ""


def markdown_table(header: list[str], rows: list[list[str]], align: str) -> str:
    rules = {"l": "---", "r": "--:"}
    lines = [header, [rules[letter] for letter in align]] + rows
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
                     for line in lines)


def _is_main(condition: Condition) -> bool:
    return (condition.events, condition.groups) == (EVENTS, GROUPS)


def _slow_motion(environment: Environment) -> str:
    if not environment.slow_motion:
        return ""
    return ("Slow motion: every virtual CPU executes that many instructions per second of the "
            "guest's time, so a time is the number of instructions on the critical path. It "
            "compares ways; it says nothing of caches, memory or the cost of a real interrupt.")


def _goals(judgements: list[Judgement]) -> str:
    rows = []
    for judgement in judgements:
        goal, verdict = judgement.goal, judgement.verdict.value
        rows.append([goal.title, value_of(judgement), limit(goal, goal.must),
                     limit(goal, goal.aim),
                     f"{verdict}: {judgement.reason}" if judgement.reason else verdict])
    conditions = (f"With {CPUS} CPUs, {plural(EVENTS, 'event')}, {plural(GROUPS, 'group')} per "
                  "CPU; ratios of medians.")
    return conditions + "\n\n" + markdown_table(["figure", "value", "must", "aim", "verdict"],
                                                rows, "lrrrl")


def _plots(plots: list[Plot]) -> str:
    return "\n\n".join(f"![{plot.title}]({plot.name}.svg)" for plot in plots) or "There are none."


def _ways(results: Results) -> str:
    ways = in_order({way for _, way in results.measurements})
    names = {Role.OURS: "**{}**", Role.RIVAL: "{}"}
    return markdown_table(["way", "what it does"],
                          [[names.get(way.role, "*{}*").format(way.name), way.meaning]
                           for way in ways], "ll")


def _condition(results: Results, condition: Condition) -> str:
    header = ["way"] + [f"{first} {second}".strip() for first, second, _ in COLUMNS] + ["p10 – p90"]
    rows = []
    for row in compare(results, condition):
        time = row.measurement.time
        if time is None:
            rows.append([row.way.name, reason(row)] + [""] * len(COLUMNS))
        else:
            rows.append([row.way.name] + row.cells() +
                        [f"{seconds(time.p10)} – {seconds(time.p90)}"])
    return f"### {condition}\n\n" + markdown_table(header, rows, "l" + "r" * (len(COLUMNS) + 1))


def _folded(title: str, results: Results, conditions: list[Condition]) -> list[str]:
    if not conditions:
        return []
    return [f"<details><summary>{title}</summary>",
            *(_condition(results, condition) for condition in conditions), "</details>"]


def _left_out(results: Results) -> str:
    """Ways that could not run and figures that are not believed, once for each reason."""
    where: dict[tuple[str, str, str], list[Measurement]] = {}
    for status, word in ((Status.SKIPPED, "skipped"), (Status.LATE, "invalid")):
        for m in results.with_status(status):
            where.setdefault((m.way, word, m.reason), []).append(m)
    lines = [f"{way} {word}: {why} ({_places(found)})"
             for (way, word, why), found in sorted(where.items())]
    dropped = sum(m.late_repetitions for m in results.with_status(Status.VALID))
    if dropped:
        lines.append(f"{plural(dropped, 'repetition')} of measurements above left out: the host "
                     f"fell behind by more than {percent(LATE_LIMIT)}")
    return _list(lines) or "All ways ran under all conditions, and the host kept up."


def _places(found: list[Measurement]) -> str:
    return str(found[0].condition) if len(found) == 1 else plural(len(found), "condition")


def _environment(environment: Environment) -> str:
    rows = [[label, environment.values[key]] for key, label in KEYS.items()
            if environment.values.get(key)]
    text = markdown_table(["", ""], rows, "ll") if rows else "Not noted."
    return text + "\n\n" + _proof(environment.proof) if environment.proof else text


def _proof(proof: dict[str, Any]) -> str:
    rows = [[key, str(value)] for key, value in proof.items()
            if isinstance(value, (str, int, float))]
    return "The proof of slow motion:\n\n" + markdown_table(["", ""], rows, "ll")


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def write_page(path: Path, text: str) -> None:
    path.write_text("<!-- Written by bench/report. -->\n" + text, encoding="utf-8")
