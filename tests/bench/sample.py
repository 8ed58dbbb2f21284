# SPDX-License-Identifier: MIT
"""Input for the tests of the report: JSON as of Google Benchmark 1.7, with figures of a model."""

import json
from pathlib import Path
from typing import Any

REPETITIONS = 5
# Nanoseconds of a sweep as a line over the CPUs, and instructions on a target.
MODEL = {
    "null_syscall": (60e3, 0, 0), "per_fd": (60e3, 700e3, 2400), "migrating": (60e3, 2100e3, 5200),
    "threads": (500e3, 120e3, 7000), "io_uring": (300e3, 650e3, 2500),
    "sampling": (200e3, 150e3, 2900), "stream": (50e3, 6e3, 1290),
    "stream_10": (60e3, 7e3, 1300), "stream_library": (60e3, 7e3, 1290),
    "stream_quiet": (10e3, 1e3, 20),
    "raw": (1000e3, 28e3, 1500), "framed": (1000e3, 30e3, 1600), "mapped": (950e3, 26e3, 1400),
    "quiet": (800e3, 25e3, 1300), "floor": (1000e3, 22e3, 700), "timer_floor": (100, 0, 870),
    "record": (20e3, 2e3, 0), "perf_record": (50e3, 5e3, 0), "attach": (2000e3, 900e3, 0),
    "open_fds": (500e3, 8000e3, 4000), "open_set": (2000e3, 500e3, 400),
    "open_shared": (500e3, 600e3, 2000),
}
SKIPPED = {"bpf": "no BTF of the kernel"}
STREAMS = ("stream", "stream_10", "stream_library")
ROLES = {"floor": "floor"} | dict.fromkeys(
    ("attach", "open_fds", "open_set", "open_shared"), "setup") | dict.fromkeys(
    ("raw", "framed", "mapped", "quiet", *STREAMS), "module") | dict.fromkeys(
    ("stream_quiet", "timer_floor", "record", "perf_record", "null_syscall"), "reference")
CONTEXT = {
    "num_cpus": 32, "caches": [], "kernel": "6.1.0-38-amd64", "instructions_per_second": "10000000",
    "methods": "".join(f"{method}\t{ROLES.get(method, 'existing')}\tdoes {method}\n"
                       for method in (*MODEL, *SKIPPED))}
ENVIRONMENT = {"mode": "slow motion", "version": "0.1.0", "date": "2026-11-21", "QEMU": "10.0.2"}


def runs(cpus: int, targets: str, events: int = 4, groups: int = 1) -> list[dict[str, Any]]:
    """The `benchmarks` of one condition; median and spread are known: 0.98 ... 1.02 times."""
    result: list[dict[str, Any]] = []
    for method in (*MODEL, *SKIPPED):
        name = f"{method}/{targets}/cpus:{cpus}/events:{events}/groups:{groups}"
        head = {"name": name, "run_name": name, "run_type": "iteration"}
        if method in SKIPPED:
            result.append(head | {"error_occurred": True, "error_message": SKIPPED[method]})
            continue
        result += [head | _figures(method, cpus, targets, 0.98 + 0.01 * index)
                   for index in range(REPETITIONS)]
        result.append({"name": name + "_median", "run_name": name, "run_type": "aggregate",
                       "aggregate_name": "median", "real_time": 1.0, "time_unit": "us"})
    return result


def _figures(method: str, cpus: int, targets: str, factor: float) -> dict[str, Any]:
    fixed, per_cpu, insns = MODEL[method]
    time = fixed + per_cpu * cpus
    stream = {"lost": 0.0, "overruns": 0.0, "max_rate": 1e9 / time, "late_p50_ns": 1e4,
              "late_p99_ns": 2e4, "late_max_ns": 1e5}
    return {
        "real_time": time * factor / 1e3, "time_unit": "us",
        "syscalls": 1 / 64 if method == "stream" else 1.0, "ipis": cpus - 1.0,
        **(stream if method in STREAMS else {}),
        "wakeups": 0.0 if method == "quiet" or targets == "busy" else cpus - 1.0,
        "reader_insns": time / 1e3 * 3 * factor, "target_insns": insns * factor,
        "all_insns": (time / 1e3 * 3 + insns * (cpus - 1)) * factor,
        "skew_ns": time * 0.5, "late": 0.002,
    }


def write(path: Path, benchmarks: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"context": CONTEXT, "benchmarks": benchmarks}), encoding="utf-8")
    return path


def write_run(raw: Path, cpu_counts: tuple[int, ...] = (8, 32)) -> list[Path]:
    """A whole run; returns its files of measurements."""
    raw.mkdir(parents=True, exist_ok=True)
    (raw / "environment.json").write_text(json.dumps(ENVIRONMENT), encoding="utf-8")
    return [write(raw / f"{cpus}-{targets}-4-1.json", runs(cpus, targets))
            for cpus in cpu_counts for targets in ("idle", "busy")]
