# SPDX-License-Identifier: MIT
"""Counts as tables of pandas, and a plot of them."""

import time

from . import _metagroup


def read(path):
    """The counts of a recording by `metagroup record` or `perf record -e '{a,b}:S'`.

    A DataFrame with a row for each sample, by time in ns and CPU, and a column for each event.
    Counts of lost samples are missing. attrs has `period_ns`, or None, and `finished`.
    """
    import pandas

    raw = _metagroup.read_recording(path)
    table = pandas.DataFrame({"time": raw["time"], "cpu": raw["cpu"], "event": raw["event"],
                              "count": raw["count"]})[raw["lost"] == 0]
    frame = table.pivot_table(index=["time", "cpu"], columns="event", values="count",
                              aggfunc="last")
    frame.columns = [raw["events"][event] for event in frame.columns]
    frame.attrs = {"period_ns": raw["period_ns"], "finished": raw["finished"]}
    return frame


def sample(events, duration, period=1e-3, **options):
    """Samples all CPUs for `duration` seconds. Returns what read() returns for a recording.

    `options` are those of MetaGroup.
    """
    import pandas

    with _metagroup.MetaGroup(events, **options) as group:
        names, members = group.events, group.members
        parts = []
        with _metagroup.Stream(group, period) as stream:
            end = time.monotonic() + duration
            while (left := end - time.monotonic()) > 0:
                parts.append(stream.read(min(left, 1.0)))
            stream.stop()
            parts.append(stream.read(0))
        period_ns = stream.period_ns
    tables = []
    for part in parts:
        kept = part["lost"] == 0
        for number, (_, of_group) in enumerate(members):
            mine = kept & (part["member"] == number)
            if mine.any():
                tables.append(pandas.DataFrame(
                    part["counts"][mine][:, :len(names[of_group])], columns=names[of_group],
                    index=pandas.MultiIndex.from_arrays(
                        [part["deadline"][mine], part["cpu"][mine]], names=["time", "cpu"])))
    if not tables:
        raise RuntimeError("no sample within this duration: it is too short for the period")
    frame = pandas.concat(tables).groupby(level=["time", "cpu"]).first()
    frame.attrs = {"period_ns": period_ns, "finished": True}
    return frame


def rates(frame):
    """Events per second on each CPU between each sample and the one before."""
    by_cpu = frame.sort_index().groupby(level="cpu")
    seconds = frame.index.get_level_values("time").to_series(index=frame.index)
    seconds = seconds.sort_index().groupby(level="cpu").diff() / 1e9
    return by_cpu.diff().div(seconds, axis=0).dropna(how="all")


def plot(frame, event=None, axes=None):
    """A heat map, CPU by time, of the rate of an event, by default the first. Returns the axes."""
    import matplotlib.pyplot

    event = event or frame.columns[0]
    table = rates(frame)[event].unstack("cpu").sort_index()
    begin = table.index[0]
    axes = axes or matplotlib.pyplot.gca()
    mesh = axes.pcolormesh((table.index - begin) / 1e9, range(len(table.columns)),
                           table.T.to_numpy(dtype=float), shading="nearest")
    axes.set_yticks(range(len(table.columns)), table.columns)
    axes.set(xlabel="time (s)", ylabel="CPU")
    axes.figure.colorbar(mesh, ax=axes, label=f"{event}/s")
    return axes
