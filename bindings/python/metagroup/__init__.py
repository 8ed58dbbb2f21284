# SPDX-License-Identifier: MIT
"""Read the performance counters of all CPUs with one call.

    import metagroup

    with metagroup.MetaGroup("{cycles,instructions}") as group:
        before = group.read().counts()
        ...
        after = group.read().counts()       # one row per CPU, one column per event
        print(after - before)

Counts are numpy arrays. Those of a snapshot are views of it, not copies. Times are CLOCK_MONOTONIC
in nanoseconds, periods and timeouts are in seconds. System errors raise metagroup.Error, an OSError
whose text has the failed operation, the reason and the remedy.

Threads may share objects. A signal, such as that of Ctrl-C, ends any call within 0.1 s, except a
sweep that waits for another CPU, for example one with interrupts disabled: it continues until that
CPU responds. A signal handler that uses the object of the call that it interrupted may get a
RuntimeError. In a child process of os.fork(), meta-groups can be read, and streams have ended.
"""

from ._metagroup import Error, MetaGroup, Snapshot, Stream, __version__
from .frames import Accumulator, plot, rates, read, sample, totals

__all__ = ["Accumulator", "Error", "MetaGroup", "Snapshot", "Stream", "__version__",
           "plot", "rates", "read", "sample", "totals"]
