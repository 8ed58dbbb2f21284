# SPDX-License-Identifier: MIT
"""The performance counters of all CPUs with one read.

    import metagroup

    with metagroup.MetaGroup("{cycles,instructions}") as group:
        before = group.read().counts()
        ...
        after = group.read().counts()       # a row for each CPU, a column for each event
        print(after - before)

Counts are numpy arrays. Those of a snapshot are views of it: nothing is copied. Times are
CLOCK_MONOTONIC in nanoseconds, periods and timeouts are seconds. Errors of the system are
metagroup.Error, an OSError whose text names what failed, the reason and the remedy.

Threads may share objects. A signal, as of Ctrl-C, ends each call within 0.1 s; but a sweep that
waits for another CPU, for example one with interrupts off, goes on until that CPU has answered.
"""

from ._metagroup import Error, MetaGroup, Snapshot, Stream, __version__
from .frames import Accumulator, plot, rates, read, sample, totals

__all__ = ["Accumulator", "Error", "MetaGroup", "Snapshot", "Stream", "__version__",
           "plot", "rates", "read", "sample", "totals"]
