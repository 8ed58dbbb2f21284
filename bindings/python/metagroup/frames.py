# SPDX-License-Identifier: MIT
"""Counts as tables of pandas, and a plot of them."""

import time

from . import _metagroup


def read(path):
    """The counts of a recording by `metagroup record` or `perf record -e '{a,b}:S'`.

    A DataFrame with a row for each sample, by time in ns and CPU, and a column for each event:
    uint64, or UInt64 where counts are missing, as in the samples of another group. attrs has
    `period_ns`, or None, `finished`, `lost`, the number of samples, and `remarks` on what could not
    be read.
    """
    import pandas

    raw = _metagroup.read_recording(path)
    index = pandas.MultiIndex(levels=[raw.pop("times"), raw.pop("cpus")],
                              codes=[raw.pop("time_codes"), raw.pop("cpu_codes")],
                              names=["time", "cpu"], verify_integrity=False)
    events = raw.pop("events")
    columns = {}
    for name, (_, _, counts, missing) in zip(
            _distinct([event[:2] for event in events]), events):
        columns[name] = (pandas.arrays.IntegerArray(counts, missing) if len(missing) else counts)
    frame = pandas.DataFrame(columns, index=index, copy=False)
    frame.attrs = raw
    return frame


def _distinct(names):
    """Names of columns. `names` are pairs of a name and its group."""
    groups = sorted({group for _, group in names})
    seen = set()
    for name, group in names:
        column = name if name not in seen else f"{name} (group {groups.index(group) + 1})"
        seen.add(name)
        yield column


def sample(events, duration, period=1e-3, **options):
    """Samples all CPUs for `duration` seconds. Returns what read() returns for a recording.

    `options` are those of MetaGroup.
    """
    import numpy
    import pandas

    with _metagroup.MetaGroup(events, **options) as group:
        names, members = group.events, group.members
        parts = []
        with _metagroup.Stream(group, period) as stream:
            end = time.monotonic() + duration
            while (left := end - time.monotonic()) > 0:
                parts.append(stream.read(min(left, 1.0)))
            lost = stream.stop()
            parts.append(stream.read(0))
        period_ns = stream.period_ns
    columns = iter(list(_distinct([(name, number) for number, of_group in enumerate(names)
                                   for name in of_group])))
    frame = None
    for number, of_group in enumerate(names):
        mine = [member for member, (_, group) in enumerate(members) if group == number]
        tables = []
        for part in parts:
            rows = (part["lost"] == 0) & numpy.isin(part["member"], mine)
            tables.append(pandas.DataFrame(
                part["counts"][rows][:, :len(of_group)],
                index=pandas.MultiIndex.from_arrays([part["time"][rows], part["cpu"][rows]],
                                                    names=["time", "cpu"])))
        table = pandas.concat(tables).sort_index()
        table.columns = [next(columns) for _ in of_group]
        if len(names) > 1:
            table = table.astype("UInt64")  # a gap makes no double of it
        frame = table if frame is None else frame.join(table, how="outer")
    if frame.empty:
        raise RuntimeError("no sample within this duration: it is too short for the period")
    lost += int(sum(part["lost"].sum() for part in parts))
    frame.attrs = {"period_ns": period_ns, "finished": True, "lost": lost, "remarks": []}
    return frame


def rates(frame):
    """Events per second on each CPU between each sample and the one before.

    There is none where a counter went back, as after a reset.
    """
    import numpy
    import pandas

    columns = {}
    for name in frame.columns:
        counts = frame[name].dropna()
        index = counts.index
        times, cpus = (index.get_level_values(level).to_numpy()
                       for level in ("time", "cpu"))
        order = numpy.lexsort((times, cpus))
        times, cpus = times[order], cpus[order]
        # Exact: a double holds no count above 2**53.
        counts = counts.to_numpy("uint64")[order]
        steps = numpy.diff(counts)
        seconds = numpy.diff(times).astype("int64") / 1e9
        kept = (cpus[1:] == cpus[:-1]) & (counts[1:] >= counts[:-1]) & (seconds > 0)
        columns[name] = pandas.Series(steps[kept] / seconds[kept],
                                      index=index[order[1:][kept]])
    return pandas.DataFrame(columns).sort_index()


def plot(frame, event=None, axes=None):
    """A heat map, CPU by time, of the rate of an event, by default the first. Returns the axes."""
    import matplotlib.pyplot

    event = event or frame.columns[0]
    table = rates(frame)[event].dropna().unstack("cpu").sort_index()
    begin = table.index[0]
    axes = axes or matplotlib.pyplot.gca()
    mesh = axes.pcolormesh((table.index - begin) / 1e9, range(len(table.columns)),
                           table.T.to_numpy(dtype=float), shading="nearest")
    axes.set_yticks(range(len(table.columns)), table.columns)
    axes.set(xlabel="time (s)", ylabel="CPU")
    axes.figure.colorbar(mesh, ax=axes, label=f"{event}/s")
    return axes
