# SPDX-License-Identifier: MIT
"""The environment of a run and the proof of slow motion, as bench/run wrote them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Keys of environment.json, in the order of the report.
KEYS = {
    "mode": "mode",
    "version": "version of the project",
    "date": "date",
    "resumed": "resumed",
    "qemu": "QEMU",
    "rate": "instructions per second of each CPU",
    "host_cpu": "host's CPU",
    "host_cpus": "host's CPUs",
    "host_kernel": "host's kernel",
    "host_load": "host's load before",
}


@dataclass(frozen=True)
class Environment:
    kernel: str = ""
    values: dict[str, str] = field(default_factory=dict)
    proof: dict[str, Any] | None = None

    @property
    def slow_motion(self) -> bool:
        return self.values.get("mode") == "slow motion"

    @property
    def title(self) -> str:
        """The heading of tables and plots."""
        kernel = f"Linux {self.kernel}" if self.kernel else ""
        mode = self.values.get("mode", "")
        if self.slow_motion and "rate" in self.values:
            mode += f" at {float(self.values['rate']) / 1e6:g} M instructions/s"
        return ", ".join(part for part in (kernel, mode) if part)


def read_environment(directory: Path, kernel: str, problems: list[str]) -> Environment:
    """A missing file is a problem, but no reason to write no report."""
    values = _read(directory / "environment.json", problems, "the report does not say where "
                   "and how was measured") or {}
    proof = None
    if values.get("mode") == "slow motion":
        proof = _read(directory / "proof.json", problems, "nothing shows that slow motion was even")
    return Environment(kernel, values, proof)


def _read(path: Path, problems: list[str], missing: str) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(f"{path}: {error.strerror}; {missing}")
        return None
    except ValueError as error:
        problems.append(f"{path}: not JSON ({error}); measure again with bench/run")
        return None
    if not isinstance(document, dict):
        problems.append(f"{path}: not an object; measure again with bench/run")
        return None
    return document
