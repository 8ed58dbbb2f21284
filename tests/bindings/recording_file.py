# SPDX-License-Identifier: MIT
"""Recordings with known counts."""

import struct


def words(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


class File:
    """A perf.data file of groups, each a list of lists: the identifiers of an event, by CPU."""

    UNIT, SCALE, NAME, READING = 0, 1, 2, 1 << 32

    def __init__(self, *groups):
        self.events = [ids for group in groups for ids in group]
        self.kinds = {}  # type and config of an event, by number; by default, cycles
        self.data = bytearray()

    def record(self, kind, contents=b""):
        self.data += struct.pack("<IHH", kind, 0, 8 + len(contents)) + contents

    def update(self, what, number, value=b""):
        """Says what the event with this identifier is."""
        self.record(78, words(what, number) + value.ljust((len(value) + 7) // 8 * 8, b"\0"))

    def sample(self, time, cpu, values, enabled=None, running=None):
        """Values by identifier, the leader's first. By default, they are of the whole time."""
        enabled = time if enabled is None else enabled
        running = enabled if running is None else running
        counts = b"".join(words(value, number) for number, value in values.items())
        self.record(9, words(next(iter(values)), time, cpu, len(values), enabled, running) + counts)

    def write(self, path, sockets=()):
        """With the sockets of the CPUs; without them, as a writer that was killed leaves it."""
        begin = 104 + 144 * len(self.events)
        attrs, ids = b"", b""
        for event, numbers in enumerate(self.events):
            kind, config = self.kinds.get(event, (0, 0))
            attr = struct.pack("<IIQ4QQ", kind, 128, config, 0, 1 << 16 | 4 | 1 << 7 | 16, 15,
                               1 << 18 | 1 << 25, 0).ljust(92, b"\0") + struct.pack("<i", 1)
            attrs += attr.ljust(128, b"\0") + words(begin + len(ids), 8 * len(numbers))
            ids += words(*numbers)
        begin += len(ids)
        features = {}
        if sockets:
            places = [number for place in enumerate(sockets) for number in place]
            features = {7: struct.pack("<2I", len(sockets), len(sockets)),
                        13: struct.pack(f"<{2 + len(places)}I", 0, 0, *places)}
        at = begin + len(self.data) + 16 * len(features)
        sections, contents = b"", b"".join(features.values())
        for feature in features.values():
            sections += words(at, len(feature))
            at += len(feature)
        with open(path, "wb") as file:
            file.write(words(0x32454c4946524550, 104, 144, 104, len(attrs), begin, len(self.data),
                             0, 0, sum(1 << bit for bit in features), 0, 0, 0) +
                       attrs + ids + self.data + sections + contents)
