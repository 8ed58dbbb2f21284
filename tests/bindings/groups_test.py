#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Meta-groups, snapshots and their sums, on software events, which any machine can count."""

import errno
import math
import os
import time
import unittest

import numpy

import metagroup
from package import BACKEND, open_group


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

    def test_groups_of_different_sizes_have_separate_counts(self):
        with open_group("{cpu-clock,context-switches},{task-clock}") as group:
            snapshot = group.read()
            self.assertEqual(snapshot.counts(0).shape, (len(group.cpus()), 2))
            self.assertEqual(snapshot.counts(1).shape, (len(group.cpus()), 1))
            with self.assertRaises(IndexError):
                snapshot.counts(2)

    def test_events_have_the_modifiers_of_their_group_in_their_names(self):
        with open_group("{page-faults,minor-faults}:u,{page-faults,minor-faults}:k") as group:
            self.assertEqual(group.events, [["page-faults:u", "minor-faults:u"],
                                            ["page-faults:k", "minor-faults:k"]])

    def test_a_disabled_group_does_not_count_and_a_closed_one_is_an_error(self):
        group = open_group("cpu-clock", cpus="0", start_disabled=True)
        self.assertEqual(group.read().counts().tolist(), [[0]])
        self.assertEqual(group.read().status(), ["off"])
        group.enable()
        self.assertGreater(group.read().counts()[0, 0], 0)
        group.close()
        with self.assertRaises(ValueError):
            group.read()

    def test_a_group_that_does_not_exist_is_an_error_that_names_it(self):
        with open_group() as group:
            snapshot = group.read()
            for get in (snapshot.counts, snapshot.times, snapshot.enabled, snapshot.running,
                        snapshot.cpus, snapshot.status, group.cpus):
                with self.assertRaisesRegex(IndexError, "no group 7, only 0 to 0"):
                    get(7)

    @unittest.skipIf(BACKEND == "module", "the module holds the events")
    def test_times_of_a_member_without_counts_are_an_error(self):
        with open_group("cpu-clock", cpus="0") as group:
            for descriptor in os.listdir("/proc/self/fd"):
                try:
                    if "perf_event" in os.readlink(f"/proc/self/fd/{descriptor}"):
                        os.close(int(descriptor))
                except OSError:
                    continue
            snapshot = group.read()
            for get in (snapshot.counts, snapshot.enabled, snapshot.running):
                with self.assertRaisesRegex(ValueError, "CPU 0 has no counts"):
                    get()


class Sums(unittest.TestCase):
    def test_they_are_those_of_all_snapshots(self):
        with open_group() as group:
            cpus = len(group.cpus())
            for by in ("all", "cpu"):
                sums = metagroup.Accumulator(group, by=by)
                snapshots = []
                for _ in range(3):
                    snapshots.append(group.read())
                    sums.add(snapshots[-1])
                    time.sleep(0.05)
                totals = sums.totals()
                clocks = totals.xs("cpu-clock", level="event", drop_level=False) if by == "cpu" \
                    else totals.loc[["cpu-clock"]]
                counted = snapshots[-1].counts()[:, 0] - snapshots[0].counts()[:, 0]
                self.assertEqual(clocks["count"].sum(), counted.sum())
                self.assertEqual(clocks["counted"].sum(), cpus)
                self.assertEqual(clocks["counters"].sum(), cpus)
                self.assertEqual(len(clocks), 1 if by == "all" else cpus)

    def test_a_reset_does_not_reduce_sums(self):
        with open_group("cpu-clock", cpus="0") as group:
            sums = metagroup.Accumulator(group)
            for _ in range(2):
                sums.add(group.read())
                time.sleep(0.01)
            before = sums.totals().loc["cpu-clock", "count"]
            self.assertGreater(before, 0)
            sums.add(group.read())
            later = sums.totals().loc["cpu-clock", "count"]
            group.reset()
            sums.add(group.read())
            self.assertEqual(sums.totals().loc["cpu-clock", "count"], later)
            sums.add(group.read())
            self.assertGreater(sums.totals().loc["cpu-clock", "count"], later)

    def test_counts_that_are_unknown_are_missing_and_not_0(self):
        with open_group(cpus="0", start_disabled=True) as group:
            sums = metagroup.Accumulator(group)
            for _ in range(2):
                sums.add(group.read())
            totals = sums.totals()
            self.assertTrue(totals[["count", "value", "rate"]].isna().all(axis=None))
            self.assertEqual(totals["counted"].tolist(), [0, 0])
            self.assertEqual(totals["counters"].tolist(), [1, 1])

    def test_snapshots_of_another_group_are_refused(self):
        with open_group() as group, open_group("cpu-clock", cpus="0") as other:
            sums = metagroup.Accumulator(group)
            with self.assertRaisesRegex(ValueError, "another meta-group"):
                sums.add(other.read())
            with self.assertRaisesRegex(ValueError, "unknown places 'row'"):
                metagroup.Accumulator(group, by="row")


class Errors(unittest.TestCase):
    def test_an_unknown_event_raises_oserror_with_similar_ones(self):
        with self.assertRaises(metagroup.Error) as caught:
            metagroup.MetaGroup("cpu-clok")
        self.assertIsInstance(caught.exception, OSError)
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        self.assertIn("cpu-clock", str(caught.exception))

    def test_a_time_that_is_not_a_number_raises_value_error(self):
        with open_group() as group:
            with self.assertRaisesRegex(ValueError, "NaN"):
                metagroup.Stream(group, math.nan)
            with metagroup.Stream(group, 1e-3) as stream:
                with self.assertRaisesRegex(ValueError, "NaN"):
                    stream.read(math.nan)
                stream.read(math.inf)

    def test_text_that_is_not_utf_8_is_shown_in_the_error(self):
        for call in (lambda: metagroup.MetaGroup(b"\xff"), lambda: metagroup.read(b"/no/\xff"),
                     lambda: metagroup.read("/no/\udcff")):
            with self.assertRaises(metagroup.Error) as caught:
                call()
            self.assertIn(r"\xff", str(caught.exception))

    def test_a_path_with_a_nul_does_not_exist(self):
        for call in (lambda: metagroup.MetaGroup("cpu-clock", cgroup="/\0x"),
                     lambda: metagroup.read("/etc/passwd\0x")):
            with self.assertRaises(metagroup.Error) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.ENOENT)

    def test_an_object_that_was_not_initialised_raises_an_error(self):
        for kind, use in ((metagroup.MetaGroup, "read"), (metagroup.Stream, "stop"),
                          (metagroup.Snapshot, "status"), (metagroup.Accumulator, "totals")):
            with self.assertRaisesRegex(RuntimeError, "__init__"):
                getattr(kind.__new__(kind), use)()

    def test_an_unknown_backend_raises_value_error(self):
        with self.assertRaises(ValueError):
            metagroup.MetaGroup("cpu-clock", backend="fast")


if __name__ == "__main__":
    unittest.main()
