# SPDX-License-Identifier: MIT
"""Counts as tables of pandas, and a plot of them."""

import time

from . import _metagroup

TIMES = ("time_enabled", "time_running")


def read(path):
    """The counts of a recording by `metagroup record` or `perf record -e '{a,b}:S'`.

    A DataFrame with a row for each sample, by time in ns and CPU, and a column for each event:
    uint64, or UInt64 where counts are missing, as in the samples of another group. Behind the
    events of a group, `time_enabled` and `time_running` say for how long, in ns, they had been
    enabled and on the PMU; both are the time of the sample if the recording does not know. attrs
    has `period_ns`, or None, `finished`, `lost`, the number of samples, `remarks` on what could not
    be read, `recorded_cpus`, also those without a sample, if they are known, and their `topology`.
    """
    import pandas

    def column(values, missing):
        return pandas.arrays.IntegerArray(values, missing) if len(missing) else values

    raw = _metagroup.read_recording(path)
    index = pandas.MultiIndex(levels=[raw.pop("times"), raw.pop("cpus")],
                              codes=[raw.pop("time_codes"), raw.pop("cpu_codes")],
                              names=["time", "cpu"], verify_integrity=False)
    groups = raw.pop("groups")
    columns = {}
    for names, (events, *times) in zip(
            _names([[name for name, _ in events] for events, *_ in groups]), groups):
        parts = [part for _, part in events] + times
        columns.update((name, column(*part)) for name, part in zip(names, parts))
    frame = pandas.DataFrame(columns, index=index, copy=False)
    frame.attrs = raw
    return frame


def _names(groups):
    """The names of the columns of each group: of its events, and of its times."""
    seen = set()
    for number, events in enumerate(groups, 1):
        names = []
        for name in [*events, *TIMES]:
            names.append(name if name not in seen else f"{name} (group {number})")
            seen.add(name)
        yield names


def _groups(frame):
    """The names of the events of each group, and of its times."""
    events = []
    names = iter(frame.columns)
    for name in names:
        if not name.startswith(TIMES[0]):
            events.append(name)
            continue
        yield events, [name, next(names, None)]
        events = []
    if events:
        raise ValueError(f"{events[-1]!r} needs the columns {' and '.join(TIMES)} behind it: keep "
                         "those of its group")


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
    frame = None
    for number, (of_group, columns) in enumerate(zip(names, _names(names))):
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
            table = table.astype("UInt64")  # a gap makes no double of it
        frame = table if frame is None else frame.join(table, how="outer")
    if frame.empty:
        raise RuntimeError("no sample within this duration: it is too short for the period")
    lost += int(sum(part["lost"].sum() for part in parts))
    frame.attrs = {"period_ns": period_ns, "finished": True, "lost": lost, "remarks": [],
                   "recorded_cpus": sorted({cpu for cpu, _ in members})}
    return frame


def rates(frame):
    """Events per second on each CPU between each sample and the one before.

    Scaled to the time for which the event was enabled if it shared the PMU. There is none where
    that is not known: where the event was not on the PMU, or a counter went back, as after a reset.
    """
    import pandas

    _, columns = _add_up(frame)
    return pandas.DataFrame(columns).sort_index()


def totals(frame, by="all", interval=None):
    """Adds up the counts of a frame of read() or sample(), into a DataFrame.

    It has a row for each event, or place and event: `by` is as for Accumulator, with the places of
    the machine that was recorded. With an `interval`, in seconds, these for each of them, whose
    end, in ns, is the first level of the index then. Columns: see Accumulator.totals(); a CPU that
    was recorded and has no sample is one that is not `counted`.
    """
    import pandas

    sums, _ = _add_up(frame, by, interval)
    tables = {end: _table(one) for end, one in sums.sums()}
    if interval is None:
        return next(iter(tables.values()))
    return pandas.concat(tables, names=["time"])


class Accumulator(_metagroup.Accumulator):
    """Adds up the counts of snapshots of a meta-group: Accumulator(group, by="all").

    `by` is all, cpu, core, cache, die, socket or node. add(snapshot) adds what was counted since
    the snapshot before, which for a CPU may be an older one: if it could not be read, is back from
    being offline, or its events were replaced or reset. No count is added twice or goes back.
    """

    def totals(self):
        """A DataFrame with a row for each event, or place and event.

        `count` is exact, `value` an estimate, in `unit`, for the time for which the event was
        enabled, and `rate` that per second of wall time. Each is missing where it is not known.
        They are of `counted` of `counters`: a CPU that was offline, or whose event was not on the
        PMU, is not counted. `time_enabled` and `time_running` are the sums of all CPUs in ns.
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
    """The sums of a frame, and the rates of its rows, by name of the event."""
    import pandas

    if not frame.index.is_monotonic_increasing:
        frame = frame.sort_index()
    groups = list(_groups(frame))
    times = frame.index.get_level_values("time")
    cpus = frame.index.unique("cpu").union(frame.attrs.get("recorded_cpus", []))
    sums = _metagroup.TableSums([events for events, _ in groups], cpus.tolist(),
                                frame.attrs.get("topology"), by,
                                (int(times[0]), int(times[-1])),
                                None if interval is None else round(interval * 1e9))
    columns = {}
    for number, (events, names) in enumerate(groups):
        part = frame[[*events, *names]].dropna()
        # Exact: a double holds no count above 2**53.
        *counts, enabled, running = (part[name].to_numpy("uint64") for name in part.columns)
        found = sums.add(number, *(part.index.get_level_values(name).to_numpy()
                                   for name in ("time", "cpu")), enabled, running, counts)
        for event, of_event in zip(events, found.T):
            columns[event] = pandas.Series(of_event, index=part.index).dropna()
    return sums, columns


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
