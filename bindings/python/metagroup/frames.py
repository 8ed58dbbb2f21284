# SPDX-License-Identifier: MIT
"""Counts as pandas tables, and a plot of them."""

import itertools
import os
import time

from . import _metagroup

TIMES = ("time_enabled", "time_running")


def read(path):
    """The counts of a recording made by `metagroup record` or `perf record -e '{a,b}:S'`.

    Returns a DataFrame with a row for each sample, indexed by time in ns and CPU, and a column for
    each event: uint64, or UInt64 where counts are missing, as in samples of another group. After
    the events of a group, the columns `time_enabled` and `time_running` have the time in ns for
    which they were enabled and on the PMU; both are the time of the sample if the recording lacks
    them. attrs has `period_ns` (or None), `finished`, `lost` (the number of lost samples),
    `remarks` on data that could not be read, `recorded_cpus` (also those without a sample, if
    known), their `topology`, and `events`: by column, the `unit` of `scale` times the count,
    whether it is a `reading`, a state such as a temperature, and the `cpus` that count the event.
    """
    import pandas

    def column(values, missing):
        return pandas.arrays.IntegerArray(values, missing) if len(missing) else values

    raw = _metagroup.read_recording(os.fsencode(path))
    index = pandas.MultiIndex(levels=[raw.pop("times"), raw.pop("cpus")],
                              codes=[raw.pop("time_codes"), raw.pop("cpu_codes")],
                              names=["time", "cpu"], verify_integrity=False)
    groups = raw.pop("groups")
    columns = {}
    raw["events"] = {}
    for names, (events, *times) in zip(
            _names([[name for name, *_ in events] for events, *_ in groups]), groups):
        parts = [part for *_, part in events] + times
        columns.update((name, column(*part)) for name, part in zip(names, parts))
        raw["events"].update((name, about) for name, (_, about, _) in zip(names, events))
    frame = pandas.DataFrame(columns, index=index, copy=False)
    frame.attrs = raw
    return frame


def _names(groups):
    """The column names of each group: its events, then its times."""
    seen = set()
    for number, events in enumerate(groups, 1):
        names = []
        for event in [*events, *TIMES]:
            copies = (f"{event} (group {number}, {copy})" for copy in itertools.count(2))
            choice = itertools.chain([event, f"{event} (group {number})"], copies)
            names.append(next(name for name in choice if name not in seen))
            seen.add(names[-1])
        yield names


def _groups(frame):
    """The event columns and the time columns of each group."""
    events = []
    names = iter(frame.columns)
    for name in names:
        if not name.startswith(TIMES[0]):
            events.append(name)
            continue
        yield events, [name, next(names, None)]
        events = []
    if events:
        raise ValueError(f"{events[-1]!r} needs the columns {' and '.join(TIMES)} after it: keep "
                         "those of its group")


def sample(events, duration, period=1e-3, **options):
    """Samples all CPUs for `duration` seconds. Returns a frame like that of read().

    `options` are passed to MetaGroup.
    """
    import numpy
    import pandas

    with _metagroup.MetaGroup(events, **options) as group:
        names, members = group.events, group.members
        descriptions = group._descriptions
        parts = []
        with _metagroup.Stream(group, period) as stream:
            end = time.monotonic() + duration
            while (left := end - time.monotonic()) > 0:
                parts.append(stream.read(min(left, 1.0)))
            lost = stream.stop()
            parts.append(stream.read(0))
        period_ns = stream.period_ns
    frame = None
    about = {}
    for number, (of_group, columns) in enumerate(zip(names, _names(names))):
        cpus = sorted({cpu for cpu, group in members if group == number})
        about.update((column, {**one, "cpus": cpus})
                     for column, one in zip(columns, descriptions[number]))
        mine = [member for member, (_, group) in enumerate(members) if group == number]
        tables = []
        for part in parts:
            rows = (part["lost"] == 0) & numpy.isin(part["member"], mine)
            values = [*part["counts"][rows].T[:len(of_group)],
                      *(part[name][rows] for name in TIMES)]
            tables.append(pandas.DataFrame(
                dict(zip(columns, values)),
                index=pandas.MultiIndex.from_arrays([part["time"][rows], part["cpu"][rows]],
                                                    names=["time", "cpu"])))
        table = pandas.concat(tables).sort_index()
        if len(names) > 1:
            table = table.astype("UInt64")  # or join() converts to double
        frame = table if frame is None else frame.join(table, how="outer")
    if frame.empty:
        raise RuntimeError("no samples: the duration is too short for this period")
    lost += int(sum(part["lost"].sum() for part in parts))
    frame.attrs = {"period_ns": period_ns, "finished": True, "lost": lost, "remarks": [],
                   "recorded_cpus": sorted({cpu for cpu, _ in members}), "events": about}
    return frame


def rates(frame):
    """Events per second on each CPU between each sample and the previous one, in the event's unit.

    Scaled to the time for which the event was enabled if it was multiplexed. Missing where unknown:
    the event was not on the PMU, its counter decreased, as after a reset, or it is a reading.
    """
    import pandas

    _, columns = _add_up(frame)
    return pandas.DataFrame(columns).sort_index()


def totals(frame, by="all", interval=None):
    """Sums the counts of a frame from read() or sample() into a DataFrame.

    It has a row for each event, or for each place and event: `by` is as for Accumulator, with the
    places of the recorded machine. With `interval`, in seconds, it has these rows for each
    interval, and the first index level is the end of the interval in ns. For the columns see
    Accumulator.totals(); a recorded CPU without samples is one that is not `counted`.
    """
    import pandas

    if interval is not None and not 1e-9 <= interval <= 1e9:
        raise ValueError(f"invalid interval {interval}: it must be from 1e-9 to 1e9 seconds")
    sums, _ = _add_up(frame, by, interval)
    tables = {end: _table(one) for end, one in sums.sums()}
    if interval is None:
        return next(iter(tables.values()))
    if not tables:
        return pandas.concat({0: totals(frame, by)}, names=["time"]).iloc[:0]
    return pandas.concat(tables, names=["time"])


class Accumulator(_metagroup.Accumulator):
    """Sums the counts in snapshots of a meta-group: Accumulator(group, by="all").

    `by` is all, cpu, core, cache, die, socket or node. add(snapshot) adds the counts since the
    previous snapshot. CPUs may be missing from a snapshot or go offline, and events may be replaced
    or reset: no count is added twice, and sums never decrease.
    """

    def totals(self):
        """A DataFrame with a row for each event, or for each place and event.

        `count` is exact; `value` is an estimate for the time for which the event was enabled, in
        `unit`; `rate` is the value per second of wall time. Unknown ones are missing. They cover
        `counted` out of `counters` counters: CPUs that were offline, or whose event was not on the
        PMU, are not included. `time_enabled` and `time_running`, in ns, are summed over CPUs.
        """
        return _table(self.sums())


def _table(sums):
    import pandas

    places, events = sums.pop("places"), sums.pop("events")
    index = pandas.MultiIndex.from_product([places, events], names=["place", "event"])
    if places == [""]:
        index = index.droplevel("place")
    unknown = ~sums.pop("known")
    sums["unit"] = sums.pop("units") * len(places)
    frame = pandas.DataFrame(sums, index=index)
    frame["count"] = pandas.arrays.IntegerArray(frame["count"].to_numpy(), unknown)
    return frame


def _add_up(frame, by="all", interval=None):
    """The sums of a frame, and the rates of its rows by event name."""
    import pandas

    if not frame.index.is_monotonic_increasing:
        frame = frame.sort_index()
    groups = list(_groups(frame))
    times = frame.index.get_level_values("time")
    about = frame.attrs.get("events", {})
    cpus = frame.index.unique("cpu").tolist()

    def described(event):
        one = about.get(event, {})
        return event, one.get("unit", ""), one.get("scale", 1), one.get("reading", False)

    sums = _metagroup.TableSums([([described(event) for event in events],
                                  about.get(events[0] if events else None, {}).get("cpus", cpus))
                                 for events, _ in groups],
                                frame.attrs.get("topology"), by,
                                (int(times[0]), int(times[-1])) if len(times) else (0, 0),
                                None if interval is None else round(interval * 1e9))
    columns = {}
    for number, (events, names) in enumerate(groups):
        part = frame[[*events, *names]].dropna()
        # Exact: a double cannot represent all counts above 2**53.
        *counts, enabled, running = (part[name].to_numpy("uint64") for name in part.columns)
        found = sums.add(number, *(part.index.get_level_values(name).to_numpy()
                                   for name in ("time", "cpu")), enabled, running, counts)
        for event, of_event in zip(events, found.T):
            columns[event] = pandas.Series(of_event, index=part.index).dropna()
    return sums, columns


def plot(frame, event=None, axes=None):
    """Plots the rate of an event (default: the first) by CPU and time. Returns the axes."""
    import matplotlib.pyplot

    event = event or next(iter(frame.columns), None)
    table = frame if frame.empty else rates(frame)[event].dropna()
    if table.empty:
        raise ValueError("there are no rates to plot")
    table = table.unstack("cpu").sort_index()
    begin = table.index[0]
    axes = axes or matplotlib.pyplot.gca()
    mesh = axes.pcolormesh((table.index - begin) / 1e9, range(len(table.columns)),
                           table.T.to_numpy(dtype=float), shading="nearest")
    axes.set_yticks(range(len(table.columns)), table.columns)
    axes.set(xlabel="time (s)", ylabel="CPU")
    axes.figure.colorbar(mesh, ax=axes, label=f"{event}/s")
    return axes
