#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The figures, goals, output, files and exit status of bench/report."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sample

PROJECT = Path(__file__).resolve().parents[2]
REPORT = PROJECT / "bench/report"
sys.path.insert(0, str(PROJECT / "bench"))

from reporting.goals import Judgement, judge_all  # noqa: E402
from reporting.measurements import Condition, Measurement, Results, read_results  # noqa: E402


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.raw = Path(directory.name) / "raw"
        self.out = Path(directory.name) / "out"
        self.files = sample.write_run(self.raw)

    def report(self, *arguments: object, status: int = 0,
               plots: bool = False) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([REPORT, "--raw", self.raw, "--out", self.out,
                               *([] if plots else ["--no-plots"]), *map(str, arguments)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def change(self, method: str, figures: dict[str, Any], file: str = "32-idle-4-1.json") -> None:
        """Other figures for all repetitions of a method; None removes one."""
        path = self.raw / file
        document = json.loads(path.read_text())
        for run in document["benchmarks"]:
            if run["run_type"] == "iteration" and run["name"].startswith(method + "/"):
                run |= figures
                for key in [key for key, value in figures.items() if value is None]:
                    del run[key]
        path.write_text(json.dumps(document))

    def results(self) -> Results:
        return read_results(sorted(self.raw.glob("*-*-*-*.json")))

    def goal(self, title: str) -> Judgement:
        found = [judgement for judgement in judge_all(self.results())
                 if judgement.goal.title.startswith(title)]
        self.assertEqual(len(found), 1)
        return found[0]

    def outcome(self, title: str) -> str:
        return self.goal(title).outcome

    def measurement(self, method: str, cpus: int = 32, targets: str = "idle") -> Measurement:
        return self.results().of(Condition(cpus, targets, 4, 1))[method]


class Figures(ReportTest):
    def test_the_table_has_medians_spreads_and_ratios(self) -> None:
        lines = self.report().stdout.split("32 CPUs, idle")[1].splitlines()
        row = next(line for line in lines if line.startswith("| framed"))
        self.assertEqual([cell.strip() for cell in row.split("|")][1:-1],
                         ["framed", "1.96 ms", "1.6%", "11.46", "1.15", "1.00", "31.0", "31.0",
                          "5.88 k", "1.60 k", "980 µs"])

    def test_the_table_fits_a_terminal_of_120_columns(self) -> None:
        self.change("framed", {"error_occurred": True, "error_message": "long " * 40})
        for line in self.report().stdout.splitlines():
            if line.startswith("|"):
                self.assertLessEqual(len(line), 120, line)

    def test_the_median_and_the_tenths_are_over_the_repetitions(self) -> None:
        time = self.measurement("framed").figures["time"]
        nominal = 1.96e-3
        self.assertAlmostEqual(time.median, nominal)
        self.assertAlmostEqual(time.p10, nominal * 0.984)
        self.assertAlmostEqual(time.p90, nominal * 1.016)

    def test_streams_have_a_table_of_losses_rates_and_lateness(self) -> None:
        lines = self.report().stdout.split("32 CPUs, busy")[1].splitlines()
        row = [line for line in lines if line.startswith("| stream ")][1]
        self.assertEqual([cell.strip() for cell in row.split("|")][1:-1],
                         ["stream", "0", "0", "4.13 k", "10.0 µs", "20.0 µs", "100 µs"])

    def test_a_method_that_is_not_in_the_table_is_shown(self) -> None:
        runs = sample.runs(32, "idle")
        for run in runs:
            run["name"] = run["run_name"] = run["name"].replace("io_uring/", "pigeon/")
        sample.write(self.raw / "32-idle-4-1.json", runs)
        self.report()
        self.assertRegex((self.out / "report.md").read_text(), r"\| pigeon +\| .* ms ")

    def test_a_suffix_of_google_benchmark_does_not_belong_to_the_condition(self) -> None:
        runs = sample.runs(32, "idle")
        for run in runs:
            run["run_name"] += "/repeats:5/real_time"
        sample.write(self.raw / "32-idle-4-1.json", runs)
        self.assertEqual(self.measurement("framed").status, "valid")


class Goals(ReportTest):
    def test_thresholds_and_targets_are_compared(self) -> None:
        self.report("--check")
        for title, outcome in (("time of per-fd / FRAMED", "met"),
                               ("target's instructions, FRAMED / per-fd", "target met"),
                               ("time of RAW / FRAMED", "target met"),
                               ("idle CPUs woken", "target met")):
            self.assertEqual(self.outcome(title), outcome, title)
        self.assertEqual(self.goal("time of per-fd / FRAMED").value, 11.46)

    def test_a_missed_goal_fails_only_a_report_with_check(self) -> None:
        idle, busy, few = "32-idle-4-1.json", "32-busy-4-1.json", "8-busy-4-1.json"
        for title, method, figures, file in (
                ("time of per-fd / FRAMED", "per_fd", {"real_time": 9000.0}, idle),
                ("time of FRAMED / floor", "floor", {"real_time": 1600.0}, idle),
                ("time of mapped / floor", "mapped", {"real_time": 1830.0}, idle),
                ("time of RAW / FRAMED", "raw", {"real_time": 2280.0}, idle),
                ("target's instructions, FRAMED / per-fd", "per_fd", {"target_insns": 1960.0},
                 busy),
                ("target's instructions, FRAMED / sampling", "sampling", {"target_insns": 2200.0},
                 busy),
                ("time of FRAMED / stream", "stream", {"real_time": 500.0}, busy),
                ("max rate of stream", "stream", {"max_rate": 2000.0}, busy),
                ("sweeps that found a full ring", "stream_10", {"overruns": 1.0}, idle),
                ("reader's instructions, 64 at once, stream / FRAMED", "stream",
                 {"reader_insns": 1040.0}, busy),
                ("reader's instructions, 10 at once, stream / FRAMED", "stream_10",
                 {"reader_insns": 2200.0}, busy),
                ("reader's instructions, stream_library", "stream_library",
                 {"reader_insns": 33200.0}, busy),
                ("reader's instructions on 8 CPUs, stream / FRAMED", "stream",
                 {"reader_insns": 420.0}, few),
                ("target's instructions, stream / sampling, busy", "stream",
                 {"target_insns": 1610.0}, busy),
                ("target's instructions, stream / sampling, idle", "stream",
                 {"target_insns": 2120.0}, idle),
                ("target's instructions, quiet stream / sampling, idle", "stream_quiet",
                 {"target_insns": 2120.0}, idle),
                ("reader's instructions on 8 CPUs, record", "record", {"reader_insns": 140.0},
                 "8-idle-4-1.json"),
                ("system calls per deadline", "stream", {"syscalls": 0.33}, busy),
                ("idle CPUs woken", "quiet", {"wakeups": 1.0}, idle)):
            with self.subTest(title):
                sample.write_run(self.raw)
                self.change(method, figures, file)
                self.report()
                self.assertRegex(self.report("--check", status=1).stdout,
                                 f"goal: {title}.* MISSED")
                self.assertEqual(self.outcome(title), "MISSED")

    def test_a_known_miss_is_shown_and_fails_the_check_when_it_gets_worse(self) -> None:
        title = "target's instructions, stream / sampling, idle"
        for insns, status, text in (
                (1700.0, 0, "is no longer missed"),
                (2030.0, 0, r"MISSED \(known: it is not worse than 0.72\)"),
                (2120.0, 1, r"MISSED \(worse than 0.72, which is known\)")):
            with self.subTest(insns):
                self.change("stream", {"target_insns": insns})
                self.assertRegex(self.report("--check", status=status).stdout,
                                 f"goal: {title}.*{text}")
                self.assertIn(title + ": ", (self.out / "report.md").read_text())

    def test_goals_show_the_cost_of_the_interrupt_alone(self) -> None:
        for title, floor in (("target's instructions, stream / sampling, idle", 870 / 2900),
                             ("target's instructions, FRAMED / per-fd", 700 / 2400)):
            self.assertAlmostEqual(self.goal(title).floor or 0, floor)
            self.assertRegex(self.report().stdout, f"goal: {title}.* floor {floor:.2f} ")

    def test_a_goal_without_its_floor_is_judged(self) -> None:
        self.change("timer_floor", {"error_occurred": True, "error_message": "no module"})
        self.report("--check")
        self.assertIsNone(self.goal("target's instructions, stream / sampling, idle").floor)

    def test_the_skew_of_streams_is_judged_only_at_full_speed(self) -> None:
        title = "skew, stream / FRAMED"
        sample.write_run(self.raw, (2,))
        for targets in ("idle", "busy"):
            for method in ("raw", "framed"):
                self.change(method, {"real_time": 800.0}, f"2-{targets}-4-1.json")
        self.assertEqual(self.outcome(title), "not measured")
        for path in self.raw.glob("*-*-*-*.json"):
            document = json.loads(path.read_text())
            del document["context"]["instructions_per_second"]
            path.write_text(json.dumps(document))
        self.change("framed", {"skew_ns": 1000.0}, "2-busy-4-1.json")
        self.change("stream", {"skew_ns": 500.0}, "2-busy-4-1.json")
        self.assertEqual(self.outcome(title), "target met")
        self.change("stream", {"skew_ns": 1010.0}, "2-busy-4-1.json")
        self.assertEqual(self.outcome(title), "MISSED")

    def test_figures_are_judged_as_they_are_printed(self) -> None:
        self.change("quiet", {"wakeups": 0.04})
        self.report("--check")
        self.change("quiet", {"wakeups": -0.001})  # what is left of a background
        self.assertNotIn("-0.0", self.report("--check").stdout)
        self.change("quiet", {"wakeups": 0.06})
        self.report("--check", status=1)

    def test_a_goal_without_its_condition_is_not_measured(self) -> None:
        self.report("--check")
        goal = self.goal("time of FRAMED on 64 CPUs")
        self.assertEqual((goal.outcome, goal.value), ("not measured", None))
        self.assertIn("no run with 64 CPUs", goal.reason)

    def test_the_goal_over_two_numbers_of_cpus_is_judged_when_both_were_run(self) -> None:
        sample.write_run(self.raw, (64,))
        self.assertEqual(self.outcome("time of FRAMED on 64 CPUs"), "target met")

    def test_goals_of_several_methods_judge_the_worst_one(self) -> None:
        for method, figures, file, title in (
                ("raw", {"real_time": 1400.0}, "2-busy-4-1.json",
                 "time of per-fd / RAW and FRAMED"),
                ("raw", {"syscalls": 1.01}, "2-idle-4-1.json", "system calls per sweep"),
                ("framed", {"ipis": 2.1}, "2-busy-4-1.json", "IPIs per sweep")):
            with self.subTest(title):
                sample.write_run(self.raw, (2,))
                for targets in ("idle", "busy"):
                    self.change("raw", {"real_time": 800.0}, f"2-{targets}-4-1.json")
                    self.change("framed", {"real_time": 800.0}, f"2-{targets}-4-1.json")
                self.report("--check")
                self.assertNotEqual(self.outcome(title), "MISSED")
                self.change(method, figures, file)
                self.report("--check", status=1)
                self.assertEqual(self.outcome(title), "MISSED")

    def test_a_method_that_did_not_run_makes_the_check_a_skip(self) -> None:
        self.change("mapped", {"error_occurred": True, "error_message": "no mmap"})
        output = self.report("--check", status=77).stdout
        self.assertIn("\nskipped: time of mapped / floor, idle: mapped skipped: no mmap", output)

    def test_a_miss_takes_precedence_over_a_skip(self) -> None:
        self.change("mapped", {"error_occurred": True, "error_message": "no mmap"})
        self.change("framed", {"real_time": 9000.0})
        self.report("--check", status=1)

    def test_a_missing_counter_leaves_the_goal_open_and_the_rest_in_place(self) -> None:
        self.change("framed", {"target_insns": None}, "32-busy-4-1.json")
        self.report("--check", status=77)
        goal = self.goal("target's instructions, FRAMED / per-fd")
        self.assertEqual(goal.reason, "framed does not report target_insns")
        speedup = self.measurement("per_fd").over(self.measurement("framed"))
        self.assertAlmostEqual(speedup or 0, 11.46, places=2)


class LateHost(ReportTest):
    def test_a_late_measurement_has_no_figures(self) -> None:
        self.change("framed", {"late": 0.12})
        output = self.report("--check", status=77).stdout
        self.assertIn("framed invalid: the host was late by up to 12% in 5 of 5", output)
        measurement = self.measurement("framed")
        self.assertEqual((measurement.status, measurement.figures), ("invalid", {}))
        self.assertEqual(self.outcome("time of FRAMED / floor"), "not judged")
        self.assertIn("- framed invalid: the host", (self.out / "report.md").read_text())

    def test_late_repetitions_are_left_out_of_the_figures(self) -> None:
        path = self.raw / "32-idle-4-1.json"
        document = json.loads(path.read_text())
        run = next(run for run in document["benchmarks"] if run["name"].startswith("framed/"))
        run |= {"late": 0.5, "real_time": 1e9}
        path.write_text(json.dumps(document))
        self.report("--check")
        measurement = self.measurement("framed")
        self.assertEqual(measurement.late_repetitions, 1)
        self.assertAlmostEqual(measurement.figures["time"].p90, 1.96e-3 * 1.017)


class BrokenInput(ReportTest):
    def test_input_that_cannot_be_used_is_named_and_the_rest_is_reported(self) -> None:
        file = self.raw / "32-idle-4-1.json"
        misnamed = sample.runs(32, "idle")
        misnamed[0]["run_name"] = "framed/sleepy/cpus:2"
        again = "; measure this condition again"
        cases: dict[str, Callable[[], object]] = {
            f"JSONDecodeError: .*{again}": lambda: file.write_text(file.read_text()[:1000]),
            f"TypeError: .*{again}": lambda: file.write_text("[1, 2]"),
            f"no repetitions of any benchmark{again}": lambda: sample.write(file, []),
            f"the name framed/sleepy/cpus:2 is not METHOD/TARGETS/cpus:N/.*{again}":
                lambda: sample.write(file, misnamed),
            f"KeyError: 'real_time'{again}": lambda: self.change("framed", {"real_time": None}),
            "the report does not say where and how was measured":
                (self.raw / "environment.json").unlink,
        }
        for text, spoil in cases.items():
            with self.subTest(text):
                sample.write_run(self.raw)
                spoil()
                done = self.report("--check", status=1)
                page = (self.out / "report.md").read_text()
                self.assertRegex(done.stderr, f"bench/report: error: {self.raw}.*{text}")
                self.assertRegex(page, text)
                self.assertIn("| framed ", page.split("### 8 CPUs")[1])

    def test_without_measurements_there_is_no_report(self) -> None:
        for path in self.files:
            path.unlink()
        self.assertIn("measure with make bench", self.report(status=2).stderr)
        self.assertFalse(self.out.exists())


class Files(ReportTest):
    def test_plots_are_drawn(self) -> None:
        self.report(plots=True)
        for plot in ("sweep-time", "disturbance", "skew", "samples", "lateness"):
            for targets in ("idle", "busy"):
                name = f"{plot}-{targets}.png"
                self.assertTrue((self.out / name).read_bytes().startswith(b"\x89PNG"))
                self.assertIn(f"({name})", (self.out / "report.md").read_text())

    def test_the_page_has_goals_environment_and_skipped_methods(self) -> None:
        self.report()
        page = re.sub(" +", " ", (self.out / "report.md").read_text())
        for text in ("| time of per-fd / FRAMED, idle | 11.46 | ≥ 9 | ≥ 12 | – | met |",
                     "slow motion at 10 M instructions/s", "| QEMU | 10.0.2 |",
                     "- bpf skipped: no BTF of the kernel (4 conditions)",
                     "| 32 | idle | **11.46** | 1.15 |", "| framed | module | does framed |"):
            self.assertIn(text, page)

    def test_figures_are_published_between_the_marks_of_the_readme(self) -> None:
        project = self.raw.parent / "project"
        (project / "docs").mkdir(parents=True)
        (project / "bench").mkdir()
        original = (PROJECT / "bench/README.md").read_text()
        (project / "bench/README.md").write_text(original)
        for _ in range(2):  # the second time over the first
            self.report("--publish", project, plots=True)
        readme = (project / "bench/README.md").read_text()
        self.assertEqual(readme.count("**11.46**"), 2)  # idle and busy
        self.assertEqual(readme.split("<!-- measured")[0], original.split("<!-- measured")[0])
        self.assertEqual(readme.split("<!-- end of measured")[1],
                         original.split("<!-- end of measured")[1])
        self.assertTrue((project / "docs/sweep-time.png").read_bytes().startswith(b"\x89PNG"))

    def test_nothing_is_published_without_the_main_figures(self) -> None:
        self.files[2].unlink()
        self.files[0].unlink()
        done = self.report("--publish", self.raw.parent, status=2)
        self.assertIn("nothing to publish", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
