#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""bench/run with fake guests and a fake benchmark: conditions, repeated runs, exit status."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

# Runs the command here, and moves the results from a directory of its own.
GUEST_RUN = """#!/bin/bash
set -e
printf '%s\\n' "$0" "$@" >>{root}/arguments
while [[ $1 != -- ]]; do
    case $1 in --cpus) echo "$2" >>{root}/boots ;; --get) result=${{2#*:}} ;; esac
    shift
done
shift
mkdir -p {root}/tmp.$$
status=0
"${{@/#--benchmark_out=*/--benchmark_out={root}/tmp.$$/${{result##*/}}}}" || status=$?
mv {root}/tmp.$$/* "$result" || true
exit $status
"""
PROVE = """#!/bin/bash
echo "the proof: $PROOF_STATUS"
while (($#)); do [[ $1 != --json ]] || echo '{"even": true}' >"$2"; shift; done
exit "$PROOF_STATUS"
"""
# Is late as often as the file `late` has lines, and fails under the conditions in `fails`.
BENCHMARK = """#!/usr/bin/python3 -B
import sys
import time
sys.path.insert(0, {tests!r})
import sample
from pathlib import Path
root = Path({root!r})
options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
cpus = int(options["cpus"].split("-")[1]) + 1
runs = sample.runs(cpus, options["targets"], int(options["events"]), int(options["groups"]))
methods = options.get("methods")
if methods:
    runs = [run for run in runs if run["name"].split("/")[0] in methods.split(",")]
late = (root / "late").read_text().splitlines()
if late and options["targets"] == "idle":
    (root / "late").write_text("\\n".join(late[1:]))
    for run in runs:
        if "late" in run:
            run["late"] = 0.5
out = Path(options["benchmark_out"])
if (root / "hangs").exists():
    time.sleep(1000)
if out.stem in (root / "fails").read_text().split():
    sys.exit("no such counter")
sample.write(out, runs)
"""


class RunTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = root = Path(directory.name)
        self.environment = dict(os.environ)
        self.raw = root / "build/bench/raw"
        shutil.copytree(PROJECT / "bench", root / "bench", ignore=shutil.ignore_patterns("slowmo"))
        shutil.copytree(PROJECT / "kmod", root / "kmod")
        shutil.copytree(PROJECT / "tests/testpmu", root / "tests/testpmu")
        shutil.copy(PROJECT / "VERSION", root)
        for path in ("tests/vm", "build/bench", "bench/slowmo"):
            (root / path).mkdir(parents=True)
        shutil.copy(PROJECT / "tests/vm/kernels", root / "tests/vm")
        self.program("tests/vm/fetch-qemu", "#!/bin/sh\necho " + str(root / "qemu"))
        self.program("qemu", "#!/bin/sh\necho QEMU emulator version 10.0.2")
        for path in ("bench/slowmo/run", "tests/vm/run"):
            self.program(path, GUEST_RUN.format(root=root))
        self.program("bench/slowmo/prove", PROVE)
        self.program("build/bench/metagroup_bench",
                     BENCHMARK.format(tests=str(PROJECT / "tests/bench"), root=str(root)))
        # Plots take longer than all else.
        self.program("bench/reporting/plots.py", "def write_plots(*_: object):\n    return {}\n")
        (root / "late").write_text("")
        (root / "fails").write_text("")

    def program(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def run_bench(self, *arguments: str, status: int = 0,
                  proof: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([self.root / "bench/run", *arguments], capture_output=True, text=True,
                              env=self.environment | {"PROOF_STATUS": str(proof)},
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def boots(self) -> list[int]:
        """The numbers of CPUs of all guests; several run at once, in no particular order."""
        return sorted(int(cpus) for cpus in (self.root / "boots").read_text().split())

    def test_a_quick_run_measures_the_main_conditions_and_reports(self) -> None:
        done = self.run_bench("--check")
        self.assertEqual({path.name for path in self.raw.glob("*.json")},
                         {"proof.json", "environment.json", "8-idle-4-1.json",
                          "8-busy-4-1.json", "32-idle-4-1.json",
                          "32-busy-4-1.json"})
        self.assertRegex(done.stdout, "goal: time of per-fd / FRAMED, idle +11.46 ")
        self.assertTrue((self.root / "build/bench/report/report.md").exists())
        environment = json.loads((self.raw / "environment.json").read_text())
        expected = {"mode": "slow motion", "QEMU": "10.0.2", "even": "True"}
        self.assertEqual(environment, environment | expected)
        self.assertIn("date", environment)

    def test_the_build_directory_may_be_relative(self) -> None:
        self.run_bench("--build", os.path.relpath(self.root / "build"))
        arguments = (self.root / "arguments").read_text().splitlines()
        self.assertIn(str(self.root / "build/bench/slowmo/throttle.so"), arguments)
        self.assertIn(str(self.root / "build/bench/metagroup_bench"), arguments)

    def test_a_full_run_boots_for_each_condition_and_prints_its_progress(self) -> None:
        done = self.run_bench("--full")
        self.assertEqual(self.boots(), sorted([2, 8, 16, 32, 64] * 12))
        self.assertEqual(len(list(self.raw.glob("*-*.json"))), 60)
        self.assertIn("60 of 60: 64 CPUs, busy, 8 events, 4 groups per CPU ...", done.stderr)
        self.assertEqual(re.findall("goal: (.*?) +–.*not measured", done.stdout),
                         ["skew, stream / FRAMED, busy, 2 CPUs"])

    def test_guests_at_full_speed_have_2_cpus_and_need_no_proof(self) -> None:
        done = self.run_bench("--full-speed", "--check", "--methods", "per_fd,raw,framed",
                              proof=1, status=1)
        self.assertRegex(done.stdout, "goal: .*, busy, 2 CPUs +1.38 .* MISSED")
        self.assertEqual(self.boots(), [2, 2])
        arguments = (self.root / "arguments").read_text().splitlines()
        self.assertIn(str(self.root / "tests/vm/run"), arguments)
        self.assertIn("--methods=per_fd,raw,framed", arguments)

    def test_the_methods_of_the_goals_suffice_to_judge_them(self) -> None:
        done = self.run_bench("--check", "--methods=goals")
        self.assertNotIn("not judged", done.stdout)
        self.assertNotIn("io_uring", done.stdout)

    def test_a_method_of_a_goal_that_is_not_run_makes_the_check_a_skip(self) -> None:
        done = self.run_bench("--check", "--methods=framed,floor", status=77)
        self.assertIn("stream was not run", done.stdout)

    def test_conditions_with_a_late_host_are_measured_again(self) -> None:
        (self.root / "late").write_text("x")
        done = self.run_bench("--check")
        self.assertEqual(done.stderr.count("the host was too slow: measuring again"), 1)
        # Two guests run side by side, and the host may be late for either.
        late, = self.raw.glob("*.json.late")
        self.assertEqual(self.boots(), sorted([8, 8, 32, 32, int(late.name.split("-")[0])]))

    def test_a_host_that_is_late_twice_is_a_skip(self) -> None:
        (self.root / "late").write_text("x\n" * 9)
        done = self.run_bench("--cpus", "32", "--check", status=77)
        self.assertEqual(self.boots(), [32, 32, 32])
        self.assertIn("skipped: time of FRAMED / floor, idle: framed invalid: the host was late",
                      done.stdout)

    def test_a_condition_that_fails_is_an_error_and_the_rest_is_reported(self) -> None:
        (self.root / "fails").write_text("32-busy-4-1")
        done = self.run_bench(status=125)
        self.assertIn("32 CPUs, busy, 4 events, 1 group per CPU failed with status 1",
                      done.stderr)
        self.assertIn("no such counter", done.stderr)
        report = (self.root / "build/bench/report/report.md").read_text()
        self.assertEqual(re.findall(r"### (\d+ CPUs, \w+)", report),
                         ["8 CPUs, busy", "8 CPUs, idle", "32 CPUs, idle"])

    def test_a_run_that_is_ended_ends_its_guests(self) -> None:
        (self.root / "hangs").touch()
        with subprocess.Popen([self.root / "bench/run"], stderr=subprocess.DEVNULL,
                              env=self.environment | {"PROOF_STATUS": "0"}) as run:
            while self.running() < min(2, len(os.sched_getaffinity(0))):
                time.sleep(0.1)
            run.terminate()
            self.assertEqual(run.wait(10), 125)
        for _ in range(50):
            if not self.running():
                return
            time.sleep(0.1)
        self.fail("a guest still runs")

    def running(self) -> int:
        """How many benchmarks there are."""
        benchmark = str(self.root / "build/bench/metagroup_bench").encode()
        number = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                number += path.read_bytes().split(b"\0")[2:3] == [benchmark]
            except OSError:  # it has ended
                pass
        return number

    def test_a_run_removes_earlier_results(self) -> None:
        self.run_bench()
        (self.raw / "8-idle-4-1.json.late").touch()
        self.run_bench()
        self.assertFalse((self.raw / "8-idle-4-1.json.late").exists())

    def test_slow_motion_that_is_not_even_measures_nothing(self) -> None:
        done = self.run_bench(proof=1, status=77)
        self.assertIn("slow motion is not even here", done.stdout)
        self.assertIn("    the proof: 1", done.stderr)
        self.assertFalse((self.root / "boots").exists())

    def fake_modules(self, make_status: int) -> None:
        """Puts programs that log their calls first in PATH."""
        (self.root / "bin").mkdir()
        for name, status in (("make", make_status), ("insmod", 0), ("rmmod", 0)):
            self.program(f"bin/{name}", f"#!/bin/sh\necho {name} ${{*##*/}} >>{self.root}/called\n"
                                        f"echo no headers >&2\nexit {status}\n")
        self.program("bin/nproc", "#!/bin/sh\necho 6\n")
        self.environment["PATH"] = f"{self.root}/bin:{os.environ['PATH']}"

    @unittest.skipUnless(os.geteuid() == 0, "loading modules needs root")
    def test_this_machine_is_measured_on_powers_of_two_and_all_its_cpus(self) -> None:
        self.fake_modules(0)
        done = self.run_bench("--here")
        self.assertEqual({path.name for path in self.raw.glob("*-idle-*.json")},
                         {"2-idle-4-1.json", "4-idle-4-1.json", "6-idle-4-1.json"})
        self.assertNotIn("slow motion", done.stdout)
        self.assertIn('"mode": "bare metal"', (self.raw / "environment.json").read_text())
        called = (self.root / "called").read_text().splitlines()
        self.assertEqual([line for line in called if line.startswith("rmmod")],
                         ["rmmod metagroup_floor", "rmmod perf_metagroup"])

    @unittest.skipUnless(os.geteuid() == 0, "loading modules needs root")
    def test_a_report_to_send_in_is_one_file_with_the_report_and_the_measurements(self) -> None:
        (self.root / "build/tools").mkdir()
        self.program("build/tools/metagroup", "#!/bin/sh\necho this is $1")
        done = self.run_bench("--pack", str(self.root / "send.tar.gz"))
        self.assertIn("the file to send in", done.stderr)
        listed = subprocess.run(["tar", "-tf", self.root / "send.tar.gz"], capture_output=True,
                                text=True, check=True).stdout.splitlines()
        for name in ("report/report.md", "raw/environment.json", "raw/info",
                     "raw/8-idle-4-1.json"):
            self.assertIn(name, listed)

    def test_a_module_that_does_not_build_is_an_error_with_a_remedy(self) -> None:
        self.fake_modules(2)
        error = self.run_bench("--here", status=125).stderr
        self.assertIn("    no headers", error)
        self.assertIn("it needs linux-headers-", error)
        self.assertFalse(list(self.raw.glob("*-*.json")))

    @unittest.skipIf(os.geteuid() == 0, "is root")
    def test_only_root_can_measure_this_machine(self) -> None:
        self.assertIn("--here needs root", self.run_bench("--here", status=125).stderr)

    def test_a_missing_benchmark_and_bad_options_are_named(self) -> None:
        self.assertIn("argument --cpus: invalid", self.run_bench("--cpus", "2-8", status=2).stderr)
        self.assertIn("arguments: --ful", self.run_bench("--ful", status=2).stderr)
        (self.root / "build/bench/metagroup_bench").unlink()
        self.assertIn("make build makes it", self.run_bench(status=125).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
