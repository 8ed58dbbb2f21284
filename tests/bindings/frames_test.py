#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples and recordings of this machine as data frames. METAGROUP_TOOL is the program."""

import os
import subprocess
import tempfile
import unittest

import metagroup
from package import BACKEND, EVENTS

TIMES = ["time_enabled", "time_running"]


class Frames(unittest.TestCase):
    def check(self, frame):
        self.assertEqual(list(frame.columns), ["cpu-clock", "context-switches", *TIMES])
        self.assertEqual(frame.index.names, ["time", "cpu"])
        by_cpu = frame["cpu-clock"].groupby(level="cpu")
        # Without the module an idle CPU may have few samples, or none: perf throttles its timers.
        cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        common = BACKEND == "module"
        self.assertIn(len(by_cpu), [cpus] if common else range(1, cpus + 1))
        for _, counts in by_cpu:
            self.assertGreater(len(counts), 5 if common else 0)
            self.assertTrue(counts.is_monotonic_increasing)

    def test_sample_returns_the_counts_of_all_cpus_at_common_deadlines(self):
        frame = metagroup.sample(EVENTS, 1, period=5e-3, backend=BACKEND)
        self.check(frame)
        # The counts are those of the sample's time, which is after its deadline.
        self.assertLess(metagroup.rates(frame)["cpu-clock"].max() / 1e9, 1.1)
        if BACKEND == "module":
            times = frame.index.get_level_values("time").to_series()
            self.assertLess((times // 5_000_000).nunique(), 1.1 * len(times) / len(
                frame.index.get_level_values("cpu").unique()) + 2)

    def test_groups_are_sampled_into_one_table(self):
        frame = metagroup.sample("{cpu-clock,page-faults},{page-faults,context-switches}", 0.3,
                                 backend=BACKEND)
        names = ["cpu-clock", "page-faults", *TIMES, "page-faults (group 2)", "context-switches",
                 *(f"{name} (group 2)" for name in TIMES)]
        self.assertEqual(list(frame.columns), names)
        for name in names:
            self.assertGreater(len(frame[name].dropna()), 10)

    def test_events_that_are_the_same_have_separate_columns(self):
        frame = metagroup.sample("cpu-clock,{cpu-clock,cpu-clock,cpu-clock}", 0.2, backend=BACKEND)
        names = ["cpu-clock", *TIMES, "cpu-clock (group 2)", "cpu-clock (group 2, 2)",
                 "cpu-clock (group 2, 3)", *(f"{name} (group 2)" for name in TIMES)]
        self.assertEqual(list(frame.columns), names)

    def test_rates_of_a_group_are_those_of_its_own_samples(self):
        frame = metagroup.sample("cpu-clock,page-faults", 0.5, period=5e-3, backend=BACKEND)
        rates = metagroup.rates(frame)
        for event in ("cpu-clock", "page-faults"):
            counts = frame[event].dropna()
            self.assertEqual(len(rates[event].dropna()),
                             len(counts) - len(counts.index.get_level_values("cpu").unique()))
        self.assertLess(rates["cpu-clock"].max() / 1e9, 1.1)

    def test_a_recording_is_read_and_plotted(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "perf.data")
            subprocess.run([os.environ["METAGROUP_TOOL"], "record", "-e", EVENTS, "-I", "5ms",
                            "-o", path, "--", "sleep", "1"], check=True, capture_output=True)
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
