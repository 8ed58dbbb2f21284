#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Every subcommand has a manual page with exactly the options of --help."""

import os
import re
import subprocess
import unittest
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "tools/metagroup/man"
TOOL = os.environ["METAGROUP_TOOL"]


def help_of(*subcommand: str) -> str:
    return subprocess.run([TOOL, *subcommand, "--help"], capture_output=True, text=True,
                          check=True).stdout


def subcommands() -> list[str]:
    listed = re.split(r"^subcommands:$", help_of(), flags=re.MULTILINE | re.IGNORECASE)[1]
    return re.findall(r"^  ([a-z-]+)", listed, flags=re.MULTILINE)


def options_of_help(text: str) -> set[str]:
    """The names that a line begins with: `-e,--event TEXT`, or `-e, --event TEXT`."""
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
                self.assertEqual(options_of_page(page), options_of_help(help_of(name)))

    def test_the_overview_has_exactly_the_options_before_the_subcommand(self) -> None:
        self.assertEqual(options_of_page(PAGES / "metagroup.1"), options_of_help(help_of()))

    def test_the_overview_names_the_page_of_each_subcommand(self) -> None:
        overview = (PAGES / "metagroup.1").read_text()
        for name in subcommands():
            self.assertIn(f".It Cm {name}\n", overview)
            self.assertRegex(overview, rf"(?m)^\.Xr metagroup-{name} 1 ,?\.?$")

    def test_there_is_no_page_without_a_subcommand(self) -> None:
        pages = {page.stem for page in PAGES.glob("metagroup-*.1")}
        self.assertEqual(pages, {f"metagroup-{name}" for name in subcommands()})


if __name__ == "__main__":
    unittest.main()
