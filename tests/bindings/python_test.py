#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package, on software events, which any machine can count.

usage: python_test.py METAGROUP   the program; PYTHONPATH leads to the package

METAGROUP_BACKEND names the backend to open groups with, see guest_test.py, and SLOW_CALLS the
library of slow_calls.cpp.
"""

import errno
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy

import metagroup

PROGRAM = sys.argv.pop(1)
EVENTS = "{cpu-clock,context-switches}"
BACKEND = os.environ.get("METAGROUP_BACKEND", "automatic")
TIMES = ["time_enabled", "time_running"]


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

    def test_a_reset_takes_nothing_away(self):
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

    def test_what_was_not_counted_is_missing_and_not_0(self):
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


class Threads(unittest.TestCase):
    def run_script(self, script):
        """In a process of its own, as a crash would end all tests."""
        done = subprocess.run([sys.executable, "-c", SCRIPT + script, EVENTS, BACKEND],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_group_may_be_closed_while_other_threads_read_it(self):
        self.run_script("""
end = time.monotonic() + 2
while time.monotonic() < end:
    group = open_group()
    with use_until_closed(lambda: group.read().counts(), lambda: group.reset()):
        time.sleep(0.002)
        group.close()
""")

    def test_a_stream_may_be_stopped_while_another_thread_reads_it(self):
        self.run_script("""
for _ in range(5):
    with open_group() as group:
        stream = metagroup.Stream(group, 1e-3)
        reader = threading.Thread(target=lambda: [stream.read(60) for _ in range(2)])
        reader.start()
        time.sleep(0.1)
        stream.stop()
        reader.join()
""")

    def test_a_stream_outlives_its_group_that_is_closed(self):
        with open_group() as group:
            stream = metagroup.Stream(group, 1e-3)
        stream.read(0.01)
        stream.stop()

    def test_calls_of_a_closed_group_are_value_errors(self):
        group = open_group()
        group.close()
        group.close()
        for call in (group.read, group.enable, group.disable, group.reset, group.cpus,
                     lambda: group.events, lambda: group.members, lambda: group.backend,
                     lambda: group.backend_reason, lambda: metagroup.Stream(group, 1e-3)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_a_signal_ends_the_wait_for_a_stream(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        for timeout in (20, -1):
            with open_group() as group, metagroup.Stream(group, 10) as stream:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                begin = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    stream.read(timeout)
                self.assertLess(time.monotonic() - begin, 5)


class Interrupts(unittest.TestCase):
    """Ctrl-C while a system call waits."""

    @unittest.skipUnless("SLOW_CALLS" in os.environ, "slow calls are for the backend per-fd")
    def test_it_ends(self):
        for name, call in (("open", "open_group()"), ("read", "group.read()"),
                           ("a wait for another thread", "wait_for_thread()")):
            with self.subTest(name):
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT + INTERRUPTED.replace("CALL", call), EVENTS,
                     "per-fd"],
                    env=os.environ | {"LD_PRELOAD": os.environ["SLOW_CALLS"]},
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertLess(float(done.stdout), 0.1)

    def test_it_ends_a_search_for_many_events(self):
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.assertRaises(KeyboardInterrupt):
            while True:
                try:
                    metagroup.MetaGroup("*:*,no-such-event")
                except metagroup.Error:
                    pass
        self.assertLess(time.monotonic() - begin, 0.15)


# Prints the seconds from the signal, which comes 0.3 s after the call, to its end.
INTERRUPTED = """
import ctypes, os, signal

slow = ctypes.c_int.in_dll(ctypes.CDLL(os.environ["LD_PRELOAD"]), "slow_calls")

def wait_for_thread():
    thread = threading.Thread(target=group.read)
    thread.start()
    time.sleep(0.1)
    group.read()

group = open_group()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
begin = time.monotonic()
slow.value = 3
try:
    CALL
except KeyboardInterrupt:
    print(time.monotonic() - begin - 0.3)
slow.value = 0
"""

SCRIPT = """
import contextlib, sys, threading, time
import metagroup

def open_group():
    return metagroup.MetaGroup(sys.argv[1], backend=sys.argv[2])

@contextlib.contextmanager
def use_until_closed(*calls):
    def repeat(call):
        try:
            while True:
                call()
        except ValueError:
            pass
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()
"""


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

    def test_sample_gives_the_counts_of_all_cpus_at_common_deadlines(self):
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


def words(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


class File:
    """A perf.data file of groups, each a list of lists: the identifiers of an event, by CPU."""

    def __init__(self, *groups):
        self.events = [ids for group in groups for ids in group]
        self.data = bytearray()

    def record(self, kind, contents=b""):
        self.data += struct.pack("<IHH", kind, 0, 8 + len(contents)) + contents

    def sample(self, time, cpu, values, enabled=None, running=None):
        """Values by identifier, the leader's first. By default, they are of the whole time."""
        enabled = time if enabled is None else enabled
        running = enabled if running is None else running
        counts = b"".join(words(value, number) for number, value in values.items())
        self.record(9, words(next(iter(values)), time, cpu, len(values), enabled, running) + counts)

    def write(self, path):
        attr = struct.pack("<II5QQ", 0, 128, 0, 0, 1 << 16 | 4 | 1 << 7 | 16, 15, 1 << 18 | 1 << 25,
                           0).ljust(92, b"\0") + struct.pack("<i", 1)
        begin = 104 + 144 * len(self.events)
        attrs, ids = b"", b""
        for numbers in self.events:
            attrs += attr.ljust(128, b"\0") + words(begin + len(ids), 8 * len(numbers))
            ids += words(*numbers)
        with open(path, "wb") as file:
            file.write(words(0x32454c4946524550, 104, 144, 104, len(attrs), begin + len(ids),
                             len(self.data), 0, 0, 0, 0, 0, 0) + attrs + ids + self.data)


class Recordings(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "perf.data")

    def test_an_unfinished_recording_has_the_counts_of_all_events(self):
        file = File([[1, 2], [11, 12]])
        for tick in range(1, 10):
            for cpu in (0, 1):
                file.sample(tick * 1000, cpu, {1 + cpu: tick, 11 + cpu: 10 * tick})
        file.write(self.path)
        frame = metagroup.read(self.path)
        self.assertFalse(frame.attrs["finished"])
        self.assertEqual(frame.loc[(3000, 1)].tolist(), [3, 30, 3000, 3000])
        self.assertEqual(len(frame), 18)

    def test_each_whole_record_is_read_wherever_the_file_ends(self):
        file = File([[1, 2], [11, 12]])
        ends = []
        for tick in range(1, 40):
            file.sample(tick * 1000, 0, {1: tick, 11: 10 * tick})
            ends.append(len(file.data))
        file.write(self.path)
        with open(self.path, "rb") as whole:
            contents = whole.read()
        begin = len(contents) - len(file.data)
        for end in range(len(contents) - 2048, len(contents)):
            with open(self.path, "wb") as part:
                part.write(contents[:end])
            frame = metagroup.read(self.path)
            self.assertEqual(len(frame), sum(1 for one in ends if begin + one <= end))
            self.assertTrue((frame["event 1"] == 10 * frame["event 0"]).all())

    def test_rings_that_follow_one_another_are_sorted_by_time(self):
        file = File([[1, 2]])
        for first in (0, 100):
            for cpu in (1, 0):
                for tick in range(first, first + 100):
                    file.sample(1000 + tick, cpu, {1 + cpu: tick})
            file.record(68)
        file.write(self.path)
        frame = metagroup.read(self.path)
        self.assertTrue(frame.index.is_monotonic_increasing)
        self.assertEqual(frame["event 0"].tolist(), [i // 2 for i in range(400)])

    def test_groups_without_common_times_have_rates_of_their_own(self):
        file = File([[1], [11]], [[2], [12]])
        for tick in range(1, 100):
            file.sample(tick * 1_000_000, 0, {1: 2000 * tick, 11: tick})
            file.sample(tick * 1_000_000 + 300, 0, {2: 2**60 + 1000 * tick, 12: tick})
        file.write(self.path)
        frame = metagroup.read(self.path)
        # Exact, although counts are missing.
        self.assertEqual(frame["event 2"].dropna().iloc[-1], 2**60 + 99_000)
        rates = metagroup.rates(frame)
        for name, rate in (("event 0", 2e6), ("event 1", 1e3), ("event 2", 1e6), ("event 3", 1e3)):
            self.assertEqual(rates[name].dropna().tolist(), [rate] * 98)

    def test_rates_are_exact_and_leave_out_a_counter_that_went_back(self):
        file = File([[1]])
        for tick, count in enumerate((2**60, 2**60 + 1000, 2**60 + 2000, 500, 1500)):
            file.sample((1 + tick) * 1_000_000, 0, {1: count})
        file.write(self.path)
        self.assertEqual(metagroup.rates(metagroup.read(self.path))["event 0"].tolist(), [1e6] * 3)

    def test_rates_of_events_that_share_the_pmu_are_those_of_the_whole_time(self):
        file = File([[1]], [[2]])
        for tick in range(1, 50):
            for number in (1, 2):
                file.sample(tick * 1_000_000, 0, {number: tick * 1000}, tick * 1_000_000,
                            tick * 1_000_000 // (2 * number))
        file.write(self.path)
        frame = metagroup.read(self.path)
        rates = metagroup.rates(frame)
        self.assertEqual(rates["event 0"].tolist(), [2e6] * 48)
        self.assertEqual(rates["event 1"].tolist(), [4e6] * 48)
        totals = metagroup.totals(frame)
        self.assertEqual(totals["count"].tolist(), [48_000] * 2)
        self.assertEqual(totals["value"].tolist(), [96_000, 192_000])
        self.assertEqual(totals["rate"].tolist(), [2e6, 4e6])

    def test_rates_without_the_times_of_the_events_are_an_error(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        with self.assertRaisesRegex(ValueError, "'event 0' needs the columns time_enabled"):
            metagroup.rates(metagroup.read(self.path)[["event 0"]])

    def test_a_sum_says_of_how_many_cpus_it_is(self):
        file = File([[1, 2]], [[11, 12]])
        for tick in range(1, 10):
            for cpu in (0, 1):
                time = tick * 1_000_000
                file.sample(time, cpu, {1 + cpu: 2**60 + tick})
                # Never on the PMU of CPU 1.
                file.sample(time, cpu, {11 + cpu: tick * (1 - cpu)}, time, time * (1 - cpu))
        file.write(self.path)
        frame = metagroup.read(self.path)
        totals = metagroup.totals(frame)
        self.assertEqual(totals["count"].tolist(), [16, 8])
        self.assertEqual(totals["counted"].tolist(), [2, 1])
        self.assertEqual(totals["counters"].tolist(), [2, 2])
        self.assertEqual(totals["rate"].tolist(), [2000, 1000])
        by_cpu = metagroup.totals(frame, by="cpu")
        self.assertTrue(by_cpu.isna().loc[("CPU1", "event 1"), ["count", "value", "rate"]].all())
        self.assertEqual(by_cpu.loc[("CPU0", "event 1"), "count"], 8)
        with self.assertRaisesRegex(ValueError, "all and cpu"):
            metagroup.totals(frame, by="core")

    def test_events_of_one_name_have_columns_of_their_own(self):
        file = File([[1], [11]], [[2], [12]])
        for number in (1, 2):
            file.record(78, words(2, number) + b"cycles\0\0")
        file.sample(1000, 0, {1: 1, 11: 2})
        file.sample(1000, 0, {2: 3, 12: 4})
        file.write(self.path)
        frame = metagroup.read(self.path)
        names = ["cycles", "event 1", "cycles (group 2)", "event 3"]
        self.assertEqual([name for name in frame.columns if "time" not in name], names)
        self.assertEqual(frame.loc[(1000, 0), names].tolist(), [1, 2, 3, 4])

    def test_what_cannot_be_read_is_said(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.sample(2000, 0, {77: 1})
        file.record(13, words(5, 3000, 0, 1))
        file.write(self.path)
        frame = metagroup.read(self.path)
        self.assertEqual(frame.attrs["lost"], 5)
        self.assertIn("77", frame.attrs["remarks"][0])

    def test_other_threads_run_while_a_recording_is_read(self):
        file = File([[1]])
        for tick in range(200_000):
            file.sample(1000 + tick, 0, {1: tick})
        file.write(self.path)
        times = []
        done = threading.Event()

        def tick():
            while not done.wait(0.001):
                times.append(time.monotonic())

        other = threading.Thread(target=tick)
        other.start()
        begin = time.monotonic()
        metagroup._metagroup.read_recording(self.path)
        end = time.monotonic()
        done.set()
        other.join()
        # Python lets no thread wait longer than 5 ms for another one's Python code.
        self.assertTrue(any(begin + 0.01 < one < end - 0.01 for one in times))


class Cpu:
    """A group of two events on a CPU, as in accumulator_model_test.cpp: what it has counted, and
    the truth about what its readings can say."""

    def __init__(self, random, multiplexed):
        self.random, self.multiplexed = random, multiplexed
        self.rates = [random.randrange(1000) << random.choice((0, 0, 0, 24)) for _ in range(2)]
        self.counts = [2**62 + 7, 9]
        self.enabled = self.running = 500
        self.last = None
        self.online = self.on_pmu = True
        self.back = False
        self.count, self.whole, self.wall = [0, 0], [0, 0], [0, 0]
        self.true_rates = [{}, {}]  # by time

    def run(self, ns):
        if self.random.randrange(8) == 0:
            self.online = not self.online
        if self.multiplexed:
            self.on_pmu = self.random.randrange(3) > 0
        if not self.online:
            return
        self.enabled += ns
        if self.on_pmu:
            self.running += ns
            self.counts = [count + rate * ns for count, rate in zip(self.counts, self.rates)]

    def reset(self):
        if self.running > self.last["running"] and 0 not in self.last["counts"]:
            self.counts = [0, 0]
            self.back = True

    def replace(self):
        self.counts = [0, 0]
        self.enabled = self.running = 0
        self.last = None

    def read(self, time):
        last = self.last
        waits = last and last["scaled"] != last["enabled"]
        stood_still = last and not waits and self.enabled == last["enabled"]
        counted = last and self.running > last["running"]
        for i in range(2) if counted and not self.back else ():
            whole = self.rates[i] * (self.enabled - last["scaled"])
            self.count[i] += self.counts[i] - last["counts"][i]
            self.whole[i] += whole
            self.wall[i] += time - last["from"]
            self.true_rates[i][time] = whole * 1e9 / (time - last["from"])
        if not last or counted or stood_still:
            self.last = {"counts": self.counts, "scaled": self.enabled, "from": time}
        if counted:
            self.back = False
        self.last |= {"running": self.running, "enabled": self.enabled}


class Model(unittest.TestCase):
    def check(self, seed, path):
        chance = random.Random(seed)
        cpus = [Cpu(chance, seed % 2 == 1) for _ in range(chance.randint(1, 4))]
        file = File([[1 + 10 * event + cpu for cpu in range(4)] for event in range(2)])
        now = 1_000_000
        for step in range(60):
            for number, cpu in enumerate(cpus):
                if step > 0 and chance.randrange(4) == 0:
                    continue  # lost
                if step > 0 and chance.randrange(20) == 0:
                    cpu.replace()
                elif step > 0 and chance.randrange(10) == 0:
                    cpu.reset()
                cpu.read(now)
                file.sample(now, number, {1 + 10 * event + number: cpu.counts[event]
                                          for event in range(2)}, cpu.enabled, cpu.running)
            ns = chance.randint(1, 30_000)
            now += ns
            for cpu in cpus:
                cpu.run(ns)
        file.write(path)
        frame = metagroup.read(path)
        rates = metagroup.rates(frame)
        totals = metagroup.totals(frame, by="cpu")
        intervals = metagroup.totals(frame, by="cpu", interval=10e-6)
        whole = metagroup.totals(frame)
        for i in range(2):
            event = f"event {i}"
            for number, cpu in enumerate(cpus):
                row = totals.loc[(f"CPU{number}", event)]
                parts = intervals.xs((f"CPU{number}", event), level=("place", "event"))
                found = rates[event].dropna()
                found = found[found.index.get_level_values("cpu") == number]
                self.assertEqual(found.index.get_level_values("time").tolist(),
                                 list(cpu.true_rates[i]))
                numpy.testing.assert_allclose(found, list(cpu.true_rates[i].values()), rtol=1e-9)
                if cpu.wall[i] == 0:
                    self.assertTrue(row[["count", "value", "rate"]].isna().all())
                    self.assertEqual(row["counted"], 0)
                    continue
                self.assertEqual(row["count"], cpu.count[i])
                self.assertEqual(parts["count"].sum(), cpu.count[i])
                numpy.testing.assert_allclose(row["value"], cpu.whole[i], rtol=1e-9, atol=1e-6)
                numpy.testing.assert_allclose(parts["value"].sum(), cpu.whole[i], rtol=1e-9,
                                              atol=1e-6)
                numpy.testing.assert_allclose(row["rate"], cpu.whole[i] * 1e9 / cpu.wall[i],
                                              rtol=1e-9, atol=1e-6)
            self.assertEqual(whole.loc[event, "counters"], len(cpus))
            if whole.loc[event, "counted"] > 0:
                self.assertEqual(whole.loc[event, "count"], sum(cpu.count[i] for cpu in cpus))

    def test_figures_of_random_schedules_are_those_of_the_model(self):
        with tempfile.TemporaryDirectory() as directory:
            for seed in range(40):
                with self.subTest(seed=seed):
                    self.check(seed, os.path.join(directory, "perf.data"))


if __name__ == "__main__":
    unittest.main()
