#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package, on software events, which any machine can count.

usage: python_test.py METAGROUP   the program; PYTHONPATH leads to the package

METAGROUP_BACKEND names the backend to open groups with, see guest_test.py, and SLOW_CALLS the
library of slow_calls.cpp.
"""

import errno
import os
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

    @unittest.skipUnless("SLOW_CALLS" in os.environ, "slow calls are for the backend per_fd")
    def test_it_ends(self):
        for name, call in (("open", "open_group()"), ("read", "group.read()"),
                           ("a wait for another thread", "wait_for_thread()")):
            with self.subTest(name):
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT + INTERRUPTED.replace("CALL", call), EVENTS,
                     "per_fd"],
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
        # The counts are those of the sample's time, which is after its deadline.
        self.assertLess(metagroup.rates(frame)["cpu-clock"].max() / 1e9, 1.1)
        if BACKEND == "module":
            times = frame.index.get_level_values("time").to_series()
            self.assertLess((times // 5_000_000).nunique(), 1.1 * len(times) / len(
                frame.index.get_level_values("cpu").unique()) + 2)

    def test_groups_are_sampled_into_one_table(self):
        frame = metagroup.sample("{cpu-clock,page-faults},{page-faults,context-switches}", 0.3,
                                 backend=BACKEND)
        names = ["cpu-clock", "page-faults", "page-faults (group 2)", "context-switches"]
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

    def sample(self, time, cpu, values, enabled=1):
        """Values by identifier, the leader's first."""
        counts = b"".join(words(value, number) for number, value in values.items())
        self.record(9, words(next(iter(values)), time, cpu, len(values), enabled, enabled) + counts)

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
        self.assertEqual(frame.loc[(3000, 1)].tolist(), [3, 30])
        self.assertEqual(frame.shape, (18, 2))

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
        for tick, count in enumerate((2**63, 2**63 + 1000, 2**63 + 2000, 500, 1500)):
            file.sample((1 + tick) * 1_000_000, 0, {1: count})
        file.write(self.path)
        self.assertEqual(metagroup.rates(metagroup.read(self.path))["event 0"].tolist(), [1e6] * 3)

    def test_events_of_one_name_have_columns_of_their_own(self):
        file = File([[1], [11]], [[2], [12]])
        for number in (1, 2):
            file.record(78, words(2, number) + b"cycles\0\0")
        file.sample(1000, 0, {1: 1, 11: 2})
        file.sample(1000, 0, {2: 3, 12: 4})
        file.write(self.path)
        frame = metagroup.read(self.path)
        self.assertEqual(list(frame.columns), ["cycles", "event 1", "cycles (group 2)", "event 3"])
        self.assertEqual(frame.loc[(1000, 0)].tolist(), [1, 2, 3, 4])

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


if __name__ == "__main__":
    unittest.main()
