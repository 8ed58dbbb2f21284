#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The files that describe the tool: its manual pages, the schemas of the JSON that it prints, and
its completions."""

import json
import os
import re
import shlex
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, RefResolver

PROJECT = Path(__file__).resolve().parents[2]
PAGES = PROJECT / "tools/metagroup/man"
COMPLETIONS = PROJECT / "tools/metagroup/completions"
TOOL = os.environ["METAGROUP_TOOL"]
PATH = {"PATH": f"{Path(TOOL).parent}:{os.environ['PATH']}"}


def output(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | PATH)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def help_of(*subcommand: str) -> str:
    return output(TOOL, *subcommand, "--help")


def subcommands(*of: str) -> list[str]:
    parts = re.split(r"^subcommands:$", help_of(*of), flags=re.MULTILINE | re.IGNORECASE)
    return re.findall(r"^  ([a-z-]+)", "".join(parts[1:]), flags=re.MULTILINE)


def options_of_help(*subcommand: str) -> set[str]:
    """The names that a line begins with: `-e,--event TEXT`, or `-e, --event TEXT`."""
    text = "".join(help_of(*subcommand, *action) for action in
                   [(), *([name] for name in subcommands(*subcommand) if subcommand)])
    heads = re.findall(r"^ +(-[\w-]+(?:, *-[\w-]+)*)", text, flags=re.MULTILINE)
    return {name for head in heads for name in re.split(", *", head)}


def options_of_page(page: Path) -> set[str]:
    """The names in items such as `.It Fl e , Fl -event Ar events`."""
    items = re.findall(r"^\.It (Fl .*)", page.read_text(), flags=re.MULTILINE)
    return {"-" + name for item in items for name in re.findall(r"\bFl ([\w-]+)", item)}


class ManTest(unittest.TestCase):
    def test_the_page_of_each_subcommand_has_exactly_its_options(self) -> None:
        self.assertIn("stat", subcommands())
        for name in subcommands():
            with self.subTest(subcommand=name):
                page = PAGES / f"metagroup-{name}.1"
                self.assertTrue(page.exists(), f"{page} is missing")
                self.assertEqual(options_of_page(page), options_of_help(name))

    def test_the_overview_has_exactly_the_options_before_the_subcommand(self) -> None:
        self.assertEqual(options_of_page(PAGES / "metagroup.1"), options_of_help())

    def test_the_overview_names_the_page_of_each_subcommand(self) -> None:
        overview = (PAGES / "metagroup.1").read_text()
        for name in subcommands():
            self.assertIn(f".It Cm {name}\n", overview)
            self.assertRegex(overview, rf"(?m)^\.Xr metagroup-{name} 1 ,?\.?$")

    def test_there_is_no_page_without_a_subcommand(self) -> None:
        pages = {page.stem for page in PAGES.glob("metagroup-*.1")}
        self.assertEqual(pages, {f"metagroup-{name}" for name in subcommands()})


def schema_of(subcommand: str) -> Draft7Validator:
    file = PROJECT / f"tools/metagroup/schemas/metagroup-{subcommand}.schema.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    # Schemas refer to those in the same directory.
    return Draft7Validator(schema, resolver=RefResolver(file.as_uri(), schema))


def objects(*command: str | Path) -> list[Any]:
    return [json.loads(line) for line in output(*command).splitlines()]


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
        stdout = ("-o", "/dev/stdout", "-e", "{dummy,page-faults},cpu-clock,cycles")
        self.check_tool("stat", *stdout, "--timeout", "20ms")
        self.check_tool("stat", *stdout, "-I", "10ms", "--count", "2")
        self.check_tool("stat", *stdout, "-r", "2", "--", "true")
        for option in ("-A", "--per-core", "--per-die", "--per-socket", "--per-node",
                       "--backend=per-fd"):
            self.check_tool("stat", *stdout, option, "--timeout", "20ms")
        self.check_tool("stat", *stdout, "-A", "--metric-only", "--timeout", "20ms")

    def test_a_count_may_have_the_time_for_which_cpus_were_offline(self) -> None:
        count = objects(TOOL, "stat", "--json", "-o", "/dev/stdout", "-e", "cpu-clock",
                        "--timeout", "20ms")[0]
        self.assertTrue(schema_of("stat").is_valid(count | {"offline-time": 1}))
        self.assertFalse(schema_of("stat").is_valid(count | {"offline-time": 0}))

    def test_report(self) -> None:
        recording = os.environ["METAGROUP_RECORDING"]
        subprocess.run([os.environ["METAGROUP_RECORDER"], recording], check=True)
        for option in ("-A", "--per-core", "--per-die", "--per-socket", "--per-node",
                       "--interval=10ms", "--phases"):
            self.check_tool("report", option, recording)

    def test_list(self) -> None:
        self.check_tool("list")
        self.check_tool("list", "--all")
        self.check_tool("list", "--metrics")

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
        self.check_lines("stat", self.in_guest(TOOL, "stat", "--json", "-o", "/dev/stdout",
                                               "-e", "cpu-clock", "--timeout", "20ms"))

    def test_list(self) -> None:
        self.check_lines("list", self.in_guest(TOOL, "list", "--json", "--all"))

    def test_info(self) -> None:
        self.check_lines("info", self.in_guest(TOOL, "info", "--json"))


def bash(line: str) -> list[str]:
    """The candidates of bash after this line, split like readline."""
    words = re.findall(r"[:=]|[^\s:=]+", line) + ([""] if line[-1] in " :=" else [])
    begin = "" if words[-1] in (":", "=") else words[-1].lstrip("'\"")
    return output("bash", "--norc", "-c", f"""
        . {shlex.quote(str(COMPLETIONS / "metagroup.bash"))}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        _metagroup metagroup {shlex.quote(begin)} ''
        printf '%s\\n' "${{COMPREPLY[@]}}" """).splitlines()


def fish(line: str) -> list[str]:
    return [candidate.split("\t")[0] for candidate in output("fish", "--no-config", "-c", f"""
        source {shlex.quote(str(COMPLETIONS / "metagroup.fish"))}
        complete -C {shlex.quote(line)}""").splitlines()]


class Candidates:
    """Candidates in every shell; a shell may cut off the part that is typed."""

    def test_subcommands_are_offered_and_hidden_ones_are_not(self) -> None:
        self.assertEqual(self.offered("metagroup st"), ["stat"])
        self.assertNotIn("complete", self.offered("metagroup "))

    def test_options_are_those_of_the_subcommand(self) -> None:
        self.assertEqual(self.offered("metagroup stat --per-"),
                         ["--per-cache", "--per-core", "--per-cpu", "--per-die", "--per-node",
                          "--per-socket"])
        self.assertEqual(self.offered("metagroup --ver"), ["--version"])

    def test_backends_are_offered(self) -> None:
        self.assertEqual(self.offered("metagroup stat --backend "),
                         ["auto", "module", "per-fd", "percpu"])

    def test_the_actions_of_a_subcommand_have_options_of_their_own(self) -> None:
        self.assertEqual(self.offered("metagroup set "), ["create", "list", "remove", "show"])
        self.assertEqual(self.offered("metagroup set create web --m"), ["--mode"])
        self.assertIn("context-switches", self.offered("metagroup set create web -e context"))

    def test_methods_are_offered(self) -> None:
        self.assertEqual(self.offered("metagroup top --method "), ["auto", "stream", "sweep"])

    def test_events_are_those_of_this_machine(self) -> None:
        self.assertIn("context-switches", self.offered("metagroup stat -e context"))

    def test_cpus_are_those_online(self) -> None:
        self.assertIn("0", self.offered("metagroup stat -C "))
        self.assertIn("online", self.offered("metagroup stat --cpu on"))

    def test_files_are_offered_for_an_option_that_takes_one(self) -> None:
        self.assertIn("/etc/passwd", self.offered("metagroup stat -o /etc/passw"))

    def test_commands_are_offered_and_then_their_files(self) -> None:
        self.assertIn("true", self.offered("metagroup stat tru"))
        self.assertIn("/etc/passwd", self.offered("metagroup stat cat /etc/passw"))
        self.assertIn("/etc/passwd", self.offered("metagroup stat -- cat -n /etc/passw"))

    def test_nothing_is_offered_for_a_number(self) -> None:
        self.assertEqual(self.offered("metagroup stat --count "), [])


class Bash(Candidates, unittest.TestCase):
    def offered(self, line: str) -> list[str]:
        return sorted(filter(None, bash(line)))

    def test_only_the_word_of_readline_is_replaced(self) -> None:
        self.assertEqual(self.offered("metagroup stat --backend=pe"), ["per-fd", "percpu"])
        self.assertEqual(self.offered("metagroup stat --backend="),
                         ["auto", "module", "per-fd", "percpu"])

    def test_the_last_event_of_a_list_or_group_is_completed(self) -> None:
        self.assertIn("{cpu-clock,page-faults",
                      self.offered("metagroup stat -e '{cpu-clock,page-f"))
        self.assertIn("cpu-clock,page-faults", self.offered("metagroup stat -e cpu-clock,page-f"))


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(Candidates, unittest.TestCase):
    def offered(self, line: str) -> list[str]:
        return sorted(fish(line))

    def test_the_last_event_of_a_list_is_completed(self) -> None:
        self.assertIn("cpu-clock,page-faults", self.offered("metagroup stat -e cpu-clock,page-f"))


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(unittest.TestCase):
    def test_the_syntax_of_zsh_is_valid(self) -> None:
        output("zsh", "-n", str(COMPLETIONS / "_metagroup"))


if __name__ == "__main__":
    unittest.main()
