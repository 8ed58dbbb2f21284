# SPDX-License-Identifier: MIT
"""The ways to read the counters of all CPUs: their order, roles and looks everywhere."""

from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    RIVAL = "rival"
    OURS = "ours"
    FLOOR = "floor"
    REFERENCE = "reference"  # for scale, not a way to read counters
    SETUP = "setup"  # paid once, not per sweep


@dataclass(frozen=True)
class Way:
    name: str
    role: Role
    colour: str  # for people who see all colours and for those who do not (Okabe and Ito)
    point: int  # gnuplot's number of a shape, so that nothing hangs on colour alone
    meaning: str

    @property
    def compared(self) -> bool:
        """Whether it makes sense to divide its time by that of another way."""
        return self.role in (Role.RIVAL, Role.OURS, Role.FLOOR)

    @property
    def plotted(self) -> bool:
        return self.role in (Role.RIVAL, Role.OURS)


WAYS = (
    Way("per_fd", Role.RIVAL, "#D55E00", 7,
        "a read() of each group leader, one CPU after the other"),
    Way("migrating", Role.RIVAL, "#8C564B", 9,
        "the same, by a thread that moves to each CPU first"),
    Way("threads", Role.RIVAL, "#7F7F7F", 5,
        "a thread on each CPU reads its own, all at once"),
    Way("io_uring", Role.RIVAL, "#CC79A7", 13,
        "the read()s of per_fd in one submission to io_uring"),
    Way("sampling", Role.RIVAL, "#E69F00", 11,
        "a timer on each CPU samples (PERF_SAMPLE_READ); a sweep empties the buffers"),
    Way("bpf", Role.RIVAL, "#B8A400", 15,
        "a BPF program on each CPU reads the counters into a map"),
    Way("raw", Role.OURS, "#56B4E9", 4,
        "one read() of the module, what read(2) gives end to end"),
    Way("framed", Role.OURS, "#0072B2", 6,
        "one read() of the module, each record with its CPU and time"),
    Way("mapped", Role.OURS, "#009E73", 8,
        "one sweep of the module into memory that it shares"),
    Way("quiet", Role.OURS, "#332288", 12,
        "one sweep of the module that leaves idle CPUs asleep"),
    Way("floor", Role.FLOOR, "#444444", 0,
        "an empty function called on the same CPUs; no sweep that asks them can be faster"),
    Way("null_syscall", Role.REFERENCE, "#444444", 0,
        "a system call that does nothing"),
    Way("attach", Role.SETUP, "#444444", 0,
        "making the meta-group, once"),
)

_BY_NAME = {way.name: way for way in WAYS}
_ORDER = {way.name: place for place, way in enumerate(WAYS)}


def lookup(name: str) -> Way:
    """A way that is not in the table is shown all the same, as a rival."""
    return _BY_NAME.get(name) or Way(name, Role.RIVAL, "#999999", 1, "")


def in_order(names: set[str]) -> list[Way]:
    return [lookup(name) for name in sorted(names, key=lambda n: (_ORDER.get(n, len(WAYS)), n))]
