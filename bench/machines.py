# SPDX-License-Identifier: MIT
"""The machines that bench/run measures: guests in slow motion or at full speed, or this machine."""

import argparse
import atexit
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
PROJECT = BENCH.parent
SKIPPED, HARNESS = 77, 125


class Failure(Exception):
    """An error message for the user, and the exit status."""

    def __init__(self, text: str, status: int = HARNESS) -> None:
        super().__init__(text)
        self.status = status


def say(text: str) -> None:
    print(f"bench/run: {text}", file=sys.stderr, flush=True)


def tail(log: Path, lines: int = 5) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "".join(f"\n    {line}" for line in text.splitlines()[-lines:])


def logged(log: Path, *command: str | Path) -> int:
    with open(log, "a", encoding="utf-8") as stream:
        return subprocess.run(command, stdout=stream, stderr=stream, check=False).returncode


class Guest:
    """A virtual machine at full speed: times are valid for up to as many CPUs as the host has."""
    mode = "full speed"
    cpu_counts = [2]
    repetitions = 15  # of the main conditions
    hardware_events = False
    places = [""]  # one for each measurement at a time

    def __init__(self, options: argparse.Namespace, raw: Path) -> None:
        self.options, self.raw = options, raw
        self.kernel = ["--kernel", options.kernel] if options.kernel else []

    def prepare(self) -> dict[str, str]:
        """Returns entries for the environment of the report."""
        fetched = subprocess.run([PROJECT / "tests/vm/fetch-qemu", "amd64"], stdout=subprocess.PIPE,
                                 text=True, check=False)
        if fetched.returncode:
            raise Failure("QEMU is not available")
        version = subprocess.run([fetched.stdout.split("\n")[0], "--version"], text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        return {"mode": self.mode, "QEMU": version.split()[3]}

    def command(self, place: str, cpus: int, benchmark: list[str], result: Path) -> list[str]:
        """Runs `benchmark` and writes its JSON to `result`."""
        del place
        return [str(PROJECT / "tests/vm/run"), *self._guest(cpus, benchmark, result)]

    def _guest(self, cpus: int, benchmark: list[str], result: Path) -> list[str]:
        # Programs that are measured as a whole, if they are installed.
        programs = {"metagroup": shutil.which(self.options.build / "tools/metagroup"),
                    "perf": shutil.which("perf")}
        return ["--cpus", str(cpus), *self.kernel, "--timeout", "3600",
                *(argument for name, path in programs.items() if path
                  for argument in ("--add", f"{path}:/usr/bin/{name}")),
                "--module", str(BENCH / "floor"), "--module", str(PROJECT / "tests/testpmu"),
                "--get", f"/tmp/result.json:{result}",
                "--", *benchmark, "--benchmark_out=/tmp/result.json"]


class SlowGuest(Guest):
    """A virtual machine in slow motion, which is first shown to be even."""
    mode = "slow motion"
    cpu_counts = [8, 32]
    repetitions = 5
    # The threads of a guest wait for each other, which works best on one CPU of the host.
    places = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]

    def prepare(self) -> dict[str, str]:
        environment = super().prepare()
        say("proving that slow motion is even (3 minutes) ...")
        log, proof = self.raw / "proof.log", self.raw / "proof.json"
        status = logged(log, BENCH / "slowmo/prove", "--build", self.options.build,
                        *self.kernel, "--json", proof)
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith(("holds ", "FAILS ")):
                print(line, flush=True)
        if status:
            print(f"skipped: slow motion is not even here, times would be invalid; see {log}",
                  flush=True)
            raise Failure(f"bench/slowmo/prove failed with status {status}:{tail(log)}", SKIPPED)
        return environment | {what: str(value) for what, value in
                              json.loads(proof.read_text(encoding="utf-8")).items()
                              if not isinstance(value, list)}

    def command(self, place: str, cpus: int, benchmark: list[str], result: Path) -> list[str]:
        return ["taskset", "--cpu-list", place, str(BENCH / "slowmo/run"),
                "--plugin", str(self.options.build / "bench/slowmo/throttle.so"),
                *self._guest(cpus, [*benchmark, "--time=0.01"], result)]


class ThisMachine:
    """The CPUs of this machine at full speed. Loads the modules if they are not loaded."""
    repetitions = 5
    hardware_events = Path("/sys/bus/event_source/devices/cpu").is_dir()
    places = [""]

    def __init__(self, _options: argparse.Namespace, raw: Path) -> None:
        if os.geteuid():
            raise Failure("--here needs root, to load the module and open events on all CPUs")
        self.raw = raw
        number = int(subprocess.run(["nproc"], stdout=subprocess.PIPE, check=True).stdout)
        self.cpu_counts = [1 << i for i in range(1, 32) if 1 << i < number] + [number]

    def prepare(self) -> dict[str, str]:
        if not self._load(PROJECT / "kmod", "perf_metagroup"):
            raise Failure(
                f"cannot load the module; it needs linux-headers-{os.uname().release}, and a "
                "kernel that accepts unsigned modules (mokutil --sb-state)")
        if not self._load(BENCH / "floor", "metagroup_floor"):
            say("measuring without the floor")
        return {"mode": "bare metal"}

    def command(self, _place: str, _cpus: int, benchmark: list[str], result: Path) -> list[str]:
        return [*benchmark, f"--benchmark_out={result}"]

    def _load(self, directory: Path, module: str) -> bool:
        """Builds the module, and unloads it at exit."""
        if Path("/sys/module", module).is_dir():
            return True
        say(f"building and loading {module} ...")
        log = self.raw / f"{module}.log"
        if (logged(log, "make", "-C", f"/lib/modules/{os.uname().release}/build", f"M={directory}",
                   "modules") or logged(log, "insmod", directory / f"{module}.ko")):
            say(f"that failed:{tail(log)}")
            return False
        atexit.register(self._unload, module)
        return True

    @staticmethod
    def _unload(module: str) -> None:
        if subprocess.run(["rmmod", module], check=False).returncode:
            say(f"rmmod {module} failed; the module stays loaded")
