# SPDX-License-Identifier: MIT
"""Where and how was measured, as bench/run noted it, and the proof of the rig."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Keys of the file `environment`, lines KEY=VALUE, in the order they are shown.
KEYS = {
    "mode": "mode",
    "version": "version of the project",
    "date": "date",
    "resumed": "resumed",
    "kernel": "kernel",
    "qemu": "QEMU",
    "rate": "instructions per second of each CPU",
    "host_cpu": "host's CPU",
    "host_cpus": "host's CPUs",
    "host_kernel": "host's kernel",
    "host_load": "host's load before",
}


@dataclass(frozen=True)
class Environment:
    values: dict[str, str] = field(default_factory=dict)
    proof: dict[str, Any] | None = None

    @property
    def slow_motion(self) -> bool:
        return self.values.get("mode") == "slow motion"

    @property
    def rate(self) -> float | None:
        """Instructions per second of a CPU in slow motion."""
        try:
            return float(self.values["rate"]) if self.slow_motion else None
        except (KeyError, ValueError):
            return None

    @property
    def title(self) -> str:
        """What stands above tables and plots."""
        kernel = f"Linux {self.values['kernel']}" if "kernel" in self.values else ""
        rate = f"at {self.rate / 1e6:g} M instructions/s" if self.rate else ""
        words = f"{self.values.get('mode', '')} {rate}".strip()
        return ", ".join(part for part in (kernel, words) if part)


def read_environment(directory: Path, problems: list[str]) -> Environment:
    """Both files are optional to the report, but that one is missing is said."""
    values: dict[str, str] = {}
    path = directory / "environment"
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            values[key.strip()] = value.strip()
    except OSError as error:
        problems.append(f"{path}: {error.strerror}; the report does not say where was measured")
    proof = None
    if values.get("mode") == "slow motion":
        proof = _read_proof(directory / "proof.json", problems)
    return Environment(values, proof)


def _read_proof(path: Path, problems: list[str]) -> dict[str, Any] | None:
    try:
        proof = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(f"{path}: {error.strerror}; nothing shows that slow motion was even")
        return None
    except ValueError as error:
        problems.append(f"{path}: not JSON ({error}); run bench/slowmo/prove again")
        return None
    if not isinstance(proof, dict):
        problems.append(f"{path}: not an object; run bench/slowmo/prove again")
        return None
    return proof
