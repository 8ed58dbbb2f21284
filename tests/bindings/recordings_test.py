#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings with known counts as data frames, and their sums."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import metagroup
from recording_file import File, words


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

    def test_each_complete_record_is_read_wherever_the_file_ends(self):
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
            # A crash may leave zeros where the last records were to be; those of a record's last
            # word may be its own.
            with open(self.path, "ab") as part:
                part.write(bytes(4096))
            padded = metagroup.read(self.path)
            self.assertFalse(padded.attrs["finished"])
            self.assertIn(len(padded) - len(frame), (0, 1))
            self.assertTrue((padded.iloc[:len(frame)] == frame).all(axis=None))

    def test_the_path_may_be_an_object(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        self.assertEqual(len(metagroup.read(pathlib.Path(self.path))), 1)

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

    def test_of_two_samples_at_the_same_time_the_later_is_kept(self):
        file = File([[1]])
        for count in (5, 7):
            file.sample(1000, 0, {1: count})
        file.write(self.path)
        self.assertEqual(metagroup.read(self.path)["event 0"].tolist(), [7])

    def test_groups_without_common_times_have_separate_rates(self):
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

    def test_sums_do_not_depend_on_the_order_of_rows(self):
        file = File([[1, 2]])
        for tick in range(1, 20):
            for cpu in (0, 1):
                file.sample(tick * 1000, cpu, {1 + cpu: tick * tick})
        file.write(self.path)
        frame = metagroup.read(self.path)
        mixed = frame.sample(frac=1, random_state=1)
        self.assertTrue(metagroup.totals(mixed).equals(metagroup.totals(frame)))
        self.assertTrue(metagroup.rates(mixed).equals(metagroup.rates(frame)))

    def test_reading_a_recording_takes_little_more_memory_than_its_arrays(self):
        file = File([[1]])
        for tick in range(200_000):
            file.sample(1000 + tick, 0, {1: tick})
        file.write(self.path)
        count = ("import resource, sys, metagroup, pandas\n"
                 "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
                 "before = peak()\n"
                 "raw = metagroup._metagroup.read_recording(sys.argv[1])\n"
                 "parts = [raw['times'], raw['time_codes'], raw['cpu_codes']]\n"
                 "for events, *times in raw['groups']:\n"
                 "    parts += [part[0] for *_, part in events] + [part[0] for part in times]\n"
                 "print(sum(part.nbytes for part in parts), peak() - before)")
        arrays, memory = map(int, subprocess.run(
            ["/usr/bin/python3", "-c", count, self.path], check=True, capture_output=True,
            text=True).stdout.split())
        self.assertGreater(arrays, 200_000 * 8 * 3)
        # And what does not depend on the length: buffers, and the code that runs first.
        self.assertLess(memory, 1.2 * arrays + (2 << 20))

    def test_rates_without_the_times_of_the_events_raise_an_error(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        with self.assertRaisesRegex(ValueError, "'event 0' needs the columns time_enabled"):
            metagroup.rates(metagroup.read(self.path)[["event 0"]])

    def test_a_sum_has_the_number_of_its_cpus(self):
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

    def test_a_cpu_whose_count_is_known_for_a_short_time_is_not_counted(self):
        file = File([[1, 2]])
        for tick in range(1, 12):
            for cpu in range(2 if tick < 5 else 1):
                file.sample(tick * 1_000_000, cpu, {1 + cpu: tick})
        file.write(self.path)
        totals = metagroup.totals(metagroup.read(self.path)).loc["event 0"]
        self.assertEqual((totals["count"], totals["counted"], totals["counters"]), (13, 1, 2))
        self.assertEqual(self.report()["event 0"]["counters-missing"], 1)

    def test_sums_are_of_the_places_of_the_recorded_machine(self):
        file = File([[1, 2, 3]])
        for tick in range(10):
            for cpu in (0, 1):  # CPU 2 never has a sample
                file.sample(1000 + tick, cpu, {1 + cpu: tick * (2**55 + 1)})
        file.write(self.path, sockets=[0, 1, 1])
        frame = metagroup.read(self.path)
        count = 9 * (2**55 + 1)
        totals = metagroup.totals(frame, by="socket").droplevel("event")
        self.assertEqual(totals["count"].to_dict(), {"S0": count, "S1": count})
        self.assertEqual(totals["counted"].to_dict(), {"S0": 1, "S1": 1})
        self.assertEqual(totals["counters"].to_dict(), {"S0": 1, "S1": 2})
        by_core = metagroup.totals(frame, by="core").droplevel("event")
        self.assertEqual(by_core["counted"].to_dict(),
                         {"S0-D0-C0": 1, "S1-D0-C1": 1, "S1-D0-C2": 0})
        self.assertTrue(by_core.loc["S1-D0-C2", ["count", "value", "rate"]].isna().all())
        intervals = metagroup.totals(frame, interval=3e-9)
        self.assertEqual(intervals.index.get_level_values("time").tolist(), [1003, 1006, 1009])
        for interval in intervals.itertuples():
            self.assertEqual((interval.counted, interval.counters), (2, 3))
        whole = metagroup.totals(frame)
        self.assertEqual(whole["count"].tolist(), [2 * count])
        self.assertEqual((whole["counted"].tolist(), whole["counters"].tolist()), ([2], [3]))

    def report(self, *options):
        """The counts that the command shows for the same recording, by event."""
        text = subprocess.run([os.environ["METAGROUP_TOOL"], "report", "-j", *options, self.path],
                              check=True, capture_output=True, text=True).stdout
        lines = [json.loads(line) for line in text.splitlines()]
        return {line["event"]: line for line in lines if "event" in line}

    def test_values_have_the_unit_and_the_scale_of_the_event(self):
        file = File([[1], [11]])
        file.record(73, words(0))  # another record, as perf writes it before the updates
        file.update(File.NAME, 1, b"energy\0")
        file.update(File.UNIT, 1, b"Joules\0")
        file.update(File.SCALE, 1, struct.pack("<d", 2**-32))
        for tick in range(11):
            file.sample((1 + tick) * 1_000_000, 0, {1: tick << 33, 11: tick})
        file.write(self.path)
        frame = metagroup.read(self.path)
        row = metagroup.totals(frame).loc["energy"]
        self.assertEqual((row["count"], row["value"], row["rate"], row["unit"]),
                         (10 << 33, 20, 2000, "Joules"))
        self.assertEqual(metagroup.rates(frame)["energy"].tolist(), [2000] * 10)
        shown = self.report()["energy"]
        self.assertEqual((shown["counter-value"], shown["metric-value"], shown["unit"]),
                         (row["value"], row["rate"], row["unit"]))
        self.assertEqual(frame.attrs["events"]["energy"],
                         {"unit": "Joules", "scale": 2**-32, "reading": False, "cpus": [0]})

    def test_an_event_that_one_cpu_counts_for_all_is_complete(self):
        file = File([[1]], [[2, 3]])
        file.kinds[0] = (1, 0)  # a clock
        file.update(File.NAME, 1, b"duration_time\0")
        file.update(File.UNIT, 1, b"ns\0")
        for tick in range(1, 12):
            file.sample(tick * 1_000_000, 0, {1: tick * 1_000_000})
            for cpu in (0, 1):
                file.sample(tick * 1_000_000, cpu, {2 + cpu: tick})
        file.write(self.path, sockets=[0, 0])
        frame = metagroup.read(self.path)
        self.assertEqual(frame.attrs["events"]["duration_time"]["cpus"], [0])
        totals = metagroup.totals(frame)
        self.assertEqual(totals["counted"].tolist(), [1, 2])
        self.assertEqual(totals["counters"].tolist(), [1, 2])
        self.assertEqual(totals["unit"].tolist(), ["ns", ""])
        shown = self.report()["duration_time"]
        self.assertEqual((shown["counter-value"], shown["unit"], shown["counters"]),
                         (10_000_000, "ns", 1))
        self.assertEqual((shown["metric-value"], shown["metric-unit"]), (1e9, "/sec"))
        self.assertNotIn("counters-missing", shown)
        by_cpu = metagroup.totals(frame, by="cpu")
        self.assertEqual(by_cpu["counters"].unstack("event")["duration_time"].to_dict(),
                         {"CPU0": 1, "CPU1": 0})

    def test_a_clock_has_nanoseconds(self):
        file = File([[1]])
        file.kinds[0] = (1, 1)
        file.update(File.UNIT, 1, b"msec\0")  # as perf writes it
        file.update(File.SCALE, 1, struct.pack("<d", 1e-6))
        for tick in (1, 2):
            file.sample(tick * 1_000_000, 0, {1: tick * 500_000})
        file.write(self.path)
        row = metagroup.totals(metagroup.read(self.path)).iloc[0]
        self.assertEqual((row["value"], row["unit"]), (500_000, "ns"))
        shown = self.report()["event 0"]
        self.assertEqual((shown["counter-value"], shown["unit"]), (0.5, "msec"))
        self.assertEqual((shown["metric-value"], shown["metric-unit"]), (0.5, "CPUs utilized"))

    def test_a_reading_is_not_subtracted(self):
        file = File([[1, 2]])
        file.update(File.UNIT, 1, b"C\0")
        file.update(File.READING, 1)
        for tick, degrees in enumerate((40, 41, 39, 38)):
            for cpu in (0, 1):
                file.sample((1 + tick) * 1_000_000, cpu, {1 + cpu: degrees + 10 * cpu})
        file.write(self.path)
        frame = metagroup.read(self.path)
        row = metagroup.totals(frame).loc["event 0"]
        self.assertEqual((row["value"], row["unit"], row["counted"]), (43, "C", 2))
        self.assertTrue(row[["rate"]].isna().all())
        self.assertTrue(metagroup.rates(frame)["event 0"].isna().all())
        intervals = metagroup.totals(frame, interval=1e-3)
        self.assertEqual(intervals["value"].tolist(), [46, 44, 43])
        shown = self.report()["event 0"]
        self.assertEqual((shown["counter-value"], shown["unit"]), (43, "C"))
        self.assertNotIn("metric-value", shown)

    def test_places_that_a_recording_does_not_know_are_an_error(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        frame = metagroup.read(self.path)
        with self.assertRaisesRegex(metagroup.Error, "topology of CPU 0 is unknown"):
            metagroup.totals(frame, by="socket")
        with self.assertRaisesRegex(ValueError, "unknown places 'row'"):
            metagroup.totals(frame, by="row")

    def test_an_event_that_the_first_sample_of_its_group_lacks_has_a_column(self):
        file = File([[1], [11]])
        file.sample(1000, 0, {1: 1})
        for tick in range(2, 5):
            file.sample(1000 * tick, 0, {1: tick, 11: 3 * tick})
        file.write(self.path)
        totals = metagroup.totals(metagroup.read(self.path))
        self.assertEqual(totals["count"].tolist(), [2, 6])

    def test_events_with_the_same_name_have_separate_columns(self):
        file = File([[1], [11]], [[2], [12]])
        for number in (1, 2):
            file.update(File.NAME, number, b"cycles\0")
        file.sample(1000, 0, {1: 1, 11: 2})
        file.sample(1000, 0, {2: 3, 12: 4})
        file.write(self.path)
        frame = metagroup.read(self.path)
        names = ["cycles", "event 1", "cycles (group 2)", "event 3"]
        self.assertEqual([name for name in frame.columns if "time" not in name], names)
        self.assertEqual(frame.loc[(1000, 0), names].tolist(), [1, 2, 3, 4])

    def test_a_name_that_is_not_utf_8_is_shown(self):
        file = File([[1]])
        file.update(File.NAME, 1, b"\xffname\0")
        file.update(File.UNIT, 1, b"\xfe\0")
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        frame = metagroup.read(self.path)
        self.assertEqual(frame.columns[0], r"\xffname")
        self.assertEqual(frame.attrs["events"][r"\xffname"]["unit"], r"\xfe")

    def test_a_frame_without_samples_has_no_rates_and_unknown_sums(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        one = metagroup.read(self.path)
        for frame in (one, one.iloc[:0]):
            self.assertEqual(len(metagroup.rates(frame)["event 0"].dropna()), 0)
            self.assertTrue(metagroup.totals(frame)["count"].isna().all())
            self.assertEqual(len(metagroup.totals(frame, interval=1)), 0)
            with self.assertRaisesRegex(ValueError, "no rates to plot"):
                metagroup.plot(frame)

    def test_an_interval_that_is_no_time_is_an_error(self):
        file = File([[1]])
        file.sample(1000, 0, {1: 1})
        file.write(self.path)
        frame = metagroup.read(self.path)
        for interval in (0, -1, 1e-12, 1e300, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "invalid interval"):
                metagroup.totals(frame, interval=interval)

    def test_a_signal_ends_each_step_that_takes_long(self):
        def longest(call):
            """From a signal to the end of the call, as a part of the whole call."""
            begin = time.monotonic()
            call()
            whole = time.monotonic() - begin
            longest = 0
            for part in range(1, 6):
                signal.setitimer(signal.ITIMER_REAL, whole * part / 6)
                begin = time.monotonic()
                try:
                    call()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    longest = max(longest, time.monotonic() - begin - whole * part / 6)
            return longest / whole

        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        others = File([[1]])
        others.record(73, words(0))
        others.data *= 1_000_000
        others.write(self.path)
        with self.subTest("records that are not samples"):
            self.assertLess(longest(lambda: metagroup.read(self.path)), 0.6)
        round_ = File([[1]])
        for tick in range(100_000):
            round_.sample(1000 + tick * 7919 % 100_003, 0, {1: tick})
        round_.write(self.path)
        with self.subTest("a round"):
            self.assertLess(longest(lambda: metagroup._metagroup.read_recording(self.path)), 0.6)
        frame = metagroup.read(self.path)

        def sums():
            return metagroup.frames._add_up(frame, "all", 3e-9)[0].sums()
        with self.subTest("sums"):
            self.assertLess(longest(sums), 0.6)

    def test_losses_and_unknown_samples_are_reported(self):
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
