#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The commands of docs/noisy-neighbour.md, run as they stand. METAGROUP_TOOL is the program."""

import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/noisy-neighbour.md"


class Tutorial(unittest.TestCase):
    def test_the_commands_find_the_neighbour(self) -> None:
        commands = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.M | re.S))
        tool = Path(os.environ["METAGROUP_TOOL"])
        with tempfile.TemporaryDirectory() as directory:
            # The neighbour must not outlive a command that fails.
            shell = subprocess.Popen(
                ["bash", "-euc", commands], cwd=directory, text=True, start_new_session=True,
                env=os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output, _ = shell.communicate()
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.assertEqual(shell.returncode, 0, output)
            self.assertIn("<svg", Path(directory, "neighbour.svg").read_text())
        last = rf"^CPU{os.cpu_count() - 1} +([\d,]+) +page-faults "
        faults = int(re.search(last, output, re.M)[1].replace(",", ""))
        self.assertGreater(faults, 1000, "it is not the neighbour's CPU")


if __name__ == "__main__":
    unittest.main()
