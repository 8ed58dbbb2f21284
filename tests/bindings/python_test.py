#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package, on software events, which any machine can count.

usage: python_test.py METAGROUP   the program; PYTHONPATH leads to the package

METAGROUP_BACKEND names the backend to open groups with, see guest_test.py.
"""

import errno
import os
import subprocess
import sys
import tempfile
import unittest

import numpy

import metagroup

PROGRAM = sys.argv.pop(1)
EVENTS = "{cpu-clock,context-switches}"
BACKEND = os.environ.get("METAGROUP_BACKEND", "automatic")


def open_group(events=EVENTS, **options):
    return metagroup.MetaGroup(events, backend=BACKEND, **options)


class Snapshots(unittest.TestCase):
    def test_counts_have_a_row_for_each_cpu_and_a_column_for_each_event(self):
        with open_group() as group:
            self.assertEqual(group.events, [["cpu-clock", "context-switches"]])
            older, newer = group.read(), group.read()
            self.assertEqual(older.counts().shape, (len(group.cpus()), 2))
            self.assertEqual(older.counts().dtype, numpy.uint64)
            self.assertTrue((newer.counts()[:, 0] > older.counts()[:, 0]).all())
            self.assertEqual(list(newer.cpus()), group.cpus())
            self.assertTrue((newer.times() >= newer.begin_ns).all())
            self.assertTrue((newer.enabled() > older.enabled()).all())

    def test_counts_are_a_view_that_keeps_its_snapshot_and_cannot_be_written(self):
        with open_group() as group:
            counts = group.read().counts()
            self.assertFalse(counts.flags.owndata)
            before = counts.copy()
            for _ in range(50):
                group.read()
        self.assertTrue((counts == before).all())
        with self.assertRaises(ValueError):
            counts[0, 0] = 1

    def test_groups_of_different_sizes_have_counts_of_their_own(self):
        with open_group("{cpu-clock,context-switches},{task-clock}") as group:
            snapshot = group.read()
            self.assertEqual(snapshot.counts(0).shape, (len(group.cpus()), 2))
            self.assertEqual(snapshot.counts(1).shape, (len(group.cpus()), 1))
            with self.assertRaises(IndexError):
                snapshot.counts(2)

    def test_a_disabled_group_does_not_count_and_a_closed_one_is_an_error(self):
        group = open_group("cpu-clock", cpus="0", start_disabled=True)
        self.assertEqual(group.read().counts().tolist(), [[0]])
        self.assertEqual(group.read().status(), ["off"])
        group.enable()
        self.assertGreater(group.read().counts()[0, 0], 0)
        group.close()
        with self.assertRaises(ValueError):
            group.read()


class Errors(unittest.TestCase):
    def test_an_unknown_event_is_an_oserror_that_lists_similar_ones(self):
        with self.assertRaises(metagroup.Error) as caught:
            metagroup.MetaGroup("cpu-clok")
        self.assertIsInstance(caught.exception, OSError)
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        self.assertIn("cpu-clock", str(caught.exception))

    def test_an_unknown_backend_is_a_value_error(self):
        with self.assertRaises(ValueError):
            metagroup.MetaGroup("cpu-clock", backend="fast")


class Frames(unittest.TestCase):
    def check(self, frame):
        self.assertEqual(list(frame.columns), ["cpu-clock", "context-switches"])
        self.assertEqual(frame.index.names, ["time", "cpu"])
        by_cpu = frame["cpu-clock"].groupby(level="cpu")
        # Without the module an idle CPU may have few samples, or none: perf throttles its timers.
        cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        common = BACKEND == "module"
        self.assertIn(len(by_cpu), [cpus] if common else range(1, cpus + 1))
        for _, counts in by_cpu:
            self.assertGreater(len(counts), 5 if common else 0)
            self.assertTrue(counts.is_monotonic_increasing)

    def test_sample_gives_the_counts_of_all_cpus_at_common_deadlines(self):
        frame = metagroup.sample(EVENTS, 1, period=5e-3, backend=BACKEND)
        self.check(frame)
        times = frame.index.get_level_values("time")
        self.assertTrue((times % 5_000_000 == 0).all())

    def test_a_recording_is_read_and_plotted(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "perf.data")
            subprocess.run([PROGRAM, "record", "-e", EVENTS, "-I", "5ms", "-o", path, "--",
                            "sleep", "1"], check=True, capture_output=True)
            frame = metagroup.read(path)
            self.check(frame)
            self.assertTrue(frame.attrs["finished"])
            # cpu-clock counts the nanoseconds of its CPU.
            rates = metagroup.rates(frame)["cpu-clock"]
            self.assertAlmostEqual(rates.median() / 1e9, 1, places=1)

            import matplotlib
            matplotlib.use("svg")
            picture = os.path.join(directory, "plot.svg")
            metagroup.plot(frame).figure.savefig(picture)
            with open(picture, encoding="utf-8") as file:
                self.assertIn("cpu-clock/s", file.read())


if __name__ == "__main__":
    unittest.main()
