#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The JSON that the tool prints matches the installed schemas."""

import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, RefResolver

PROJECT = Path(__file__).resolve().parents[2]
TOOL = os.environ["METAGROUP_TOOL"]


def schema_of(subcommand: str) -> Draft7Validator:
    file = PROJECT / f"tools/metagroup/schemas/metagroup-{subcommand}.schema.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    # Schemas refer to those in the same directory.
    return Draft7Validator(schema, resolver=RefResolver(file.as_uri(), schema))


def objects(*command: str | Path) -> list[Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class LinesTest(unittest.TestCase):
    def check_lines(self, subcommand: str, found: list[Any]) -> None:
        schema = schema_of(subcommand)
        self.assertTrue(found)
        for line in found:
            self.assertEqual([error.message for error in schema.iter_errors(line)], [], line)


class SchemaTest(LinesTest):
    def check_tool(self, subcommand: str, *options: str) -> None:
        with self.subTest(options=options):
            self.check_lines(subcommand, objects(TOOL, subcommand, "--json", *options))

    def test_a_schema_refuses_other_json(self) -> None:
        schema = schema_of("list")
        event = objects(TOOL, "list", "--json", "cpu-clock")[0]
        self.assertTrue(schema.is_valid(event))
        self.assertFalse(schema.is_valid(event | {"source": "hearsay"}))
        self.assertFalse(schema.is_valid(event | {"more": 1}))
        del event["pmu"]
        self.assertFalse(schema.is_valid(event))

    def test_stat(self) -> None:
        self.check_tool("stat", "-e", "{dummy,page-faults},cpu-clock", "--timeout", "20ms")
        self.check_tool("stat", "-e", "{dummy,page-faults},cpu-clock", "-I", "10ms", "--count", "2")
        for option in ("-A", "--per-core", "--per-socket", "--per-node", "--backend=perfd"):
            self.check_tool("stat", "-e", "cpu-clock", option, "--timeout", "20ms")

    def test_report(self) -> None:
        recording = os.environ["METAGROUP_RECORDING"]
        subprocess.run([os.environ["METAGROUP_RECORDER"], recording], check=True)
        for option in ("-A", "--per-core", "--per-socket", "--per-node", "--interval=10ms",
                       "--phases"):
            self.check_tool("report", option, recording)

    def test_list(self) -> None:
        self.check_tool("list")
        self.check_tool("list", "--all")

    def test_info(self) -> None:
        self.check_tool("info")
        self.check_tool("info", "--device", "/no/such/device")


class GuestTest(LinesTest):
    """With the module."""

    @staticmethod
    def in_guest(*command: str) -> list[Any]:
        return objects(PROJECT / "tests/vm/run", "--cpus", "2", "--", *command)

    def test_compare(self) -> None:
        self.check_lines("compare", self.in_guest(TOOL, "compare", "--json", "--sweeps", "20"))

    def test_stat(self) -> None:
        self.check_lines("stat", self.in_guest(TOOL, "stat", "--json", "-e", "cpu-clock",
                                               "--timeout", "20ms"))

    def test_list(self) -> None:
        self.check_lines("list", self.in_guest(TOOL, "list", "--json", "--all"))

    def test_info(self) -> None:
        self.check_lines("info", self.in_guest(TOOL, "info", "--json"))


if __name__ == "__main__":
    unittest.main()
