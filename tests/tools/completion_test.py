#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Completion in bash and fish; the syntax of the one for zsh."""

import os
import re
import shlex
import shutil
import subprocess
import unittest
from pathlib import Path

COMPLETIONS = Path(__file__).resolve().parents[2] / "tools/metagroup/completions"
TOOL = Path(os.environ["METAGROUP_TOOL"])
PATH = {"PATH": f"{TOOL.parent}:{os.environ['PATH']}"}


def output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env=os.environ | PATH).stdout.splitlines()


def bash(line: str) -> list[str]:
    """The candidates of bash after this line, split like readline."""
    words = re.findall(r"[:=]|[^\s:=]+", line) + ([""] if line[-1] in " :=" else [])
    begin = "" if words[-1] in (":", "=") else words[-1].lstrip("'\"")
    return output("bash", "--norc", "-c", f"""
        . {shlex.quote(str(COMPLETIONS / "metagroup.bash"))}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        _metagroup metagroup {shlex.quote(begin)} ''
        printf '%s\\n' "${{COMPREPLY[@]}}" """)


def fish(line: str) -> list[str]:
    return [candidate.split("\t")[0] for candidate in output("fish", "--no-config", "-c", f"""
        source {shlex.quote(str(COMPLETIONS / "metagroup.fish"))}
        complete -C {shlex.quote(line)}""")]


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
        self.assertEqual(self.offered("metagroup stat --backend "), ["auto", "module", "perfd"])

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
        self.assertEqual(self.offered("metagroup stat --backend=pe"), ["perfd"])
        self.assertEqual(self.offered("metagroup stat --backend="), ["auto", "module", "perfd"])

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
