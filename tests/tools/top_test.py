#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""metagroup top in a terminal of tmux, driven by keys.

The program is that of the variable METAGROUP_TOOL.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TOOL = os.path.abspath(os.environ.get("METAGROUP_TOOL", "build/tools/metagroup"))
EVENTS = "cpu-clock,context-switches,page-faults"
PATIENCE = 20  # seconds


class Terminal:
    """A shell in tmux, and the keys and the picture of its terminal."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.directory = tempfile.mkdtemp(prefix="metagroup-top-")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "sh")
        self.tmux("set-option", "-g", "status", "off")
        self.resize(columns, rows)
        self.wait_for("#", "$")

    def close(self) -> None:
        self.tmux("kill-server")
        shutil.rmtree(self.directory)

    def tmux(self, *arguments: str) -> str:
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("TMUX", "NO_COLOR")}
        environment |= {"LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "PS1": "$ "}
        return subprocess.run(["tmux", "-S", f"{self.directory}/socket", *arguments],
                              env=environment, check=True, stdout=subprocess.PIPE,
                              encoding="utf-8").stdout

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def lines(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def text(self) -> str:
        return "\n".join(self.lines())

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def run(self, command: str) -> None:
        self.tmux("send-keys", "-l", command)
        self.keys("Enter")

    def wait_for(self, *texts: str) -> str:
        """The picture once one of the texts is on it."""
        return self.wait_until(lambda: any(text in self.text() for text in texts), *texts)

    def wait_until(self, condition, *what: str) -> str:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not seen: {what} in\n{self.text()}")
            time.sleep(0.05)
        return self.text()

    def is_alternate(self) -> bool:
        return self.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def file(self, name: str) -> Path:
        return Path(self.directory) / name


class TopTest(unittest.TestCase):
    def start(self, arguments: str = "-d 0.2", columns: int = 80, rows: int = 24,
              variables: str = "") -> Terminal:
        terminal = Terminal(columns, rows)
        self.addCleanup(terminal.close)
        # Without the first line of stty, which has the size; exec, so that the process is known.
        top = f"exec env {variables} {TOOL} top -e {EVENTS} --backend per-fd {arguments}"
        terminal.run(f"cd {terminal.directory}; stty -a | sed 1d >before; "
                     f"sh -c 'echo $$ >pid; {top}' 2>errors; "
                     "echo $? >status; stty -a | sed 1d >after; echo >over")
        return terminal

    def assert_ended(self, terminal: Terminal, status: str = "0") -> None:
        """It ended, and the terminal is as before."""
        terminal.wait_until(terminal.file("over").exists, "its end")
        self.assertEqual(terminal.file("errors").read_text(), "")
        self.assertEqual(terminal.file("status").read_text().strip(), status)
        self.assertEqual(terminal.file("after").read_text(), terminal.file("before").read_text())
        self.assertFalse(terminal.is_alternate())
        self.assertIn(">over", "".join(terminal.lines()))

    def test_80_by_24_shows_header_columns_and_rows(self) -> None:
        terminal = self.start()
        terminal.wait_for("1.00 ")
        lines = terminal.lines()
        self.assertTrue(terminal.is_alternate())
        self.assertRegex(lines[0], r"per-fd \| sweep [\d.]+ [mu]s \| own CPU [\d.]+ % \| "
                                   r"ticks missed: \d+ \| every 200 ms")
        self.assertRegex(lines[2], "place.*cpu-clock.*context-switches.*page-faults")
        self.assertRegex(lines[3], "CPUs.*/s.*/s")
        self.assertRegex(lines[4], r"^total +\d")
        self.assertRegex(lines[5], r"^CPU0 +~?1\.00 .*[▁▂▃▄▅▆▇█]")
        self.assertIn("q quit", lines[23])
        terminal.keys("q")
        self.assert_ended(terminal)

    def test_arrows_and_digits_choose_the_sort_column(self) -> None:
        terminal = self.start()
        terminal.wait_for("by place")
        terminal.keys("Right", "Right")
        terminal.wait_for("by context-switches, descending")
        self.assertIn("▼context-switches", terminal.text())
        terminal.keys("3")
        terminal.wait_for("by page-faults, descending")
        terminal.keys("r")
        terminal.wait_for("▲page-faults")
        terminal.keys("Left")
        terminal.wait_for("by context-switches, descending")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_the_order_of_places_can_be_reversed(self) -> None:
        terminal = self.start()
        terminal.wait_for("CPU1")
        terminal.keys("r")
        terminal.wait_for("by place, descending")
        text = terminal.text()
        self.assertLess(text.index("CPU1"), text.index("CPU0"))

    def test_a_pause_reads_nothing_until_it_ends(self) -> None:
        terminal = self.start("-d 0.05")
        terminal.wait_for("1.00 ")
        terminal.keys("Space")
        picture = terminal.wait_for("PAUSED")
        time.sleep(0.5)
        self.assertEqual(terminal.text(), picture)
        terminal.keys("p")
        terminal.wait_until(lambda: "PAUSED" not in terminal.text(), "the end of the pause")
        terminal.wait_until(lambda: terminal.text() != picture, "an update")

    def test_help_is_shown_until_a_key_is_pressed(self) -> None:
        terminal = self.start()
        terminal.wait_for("q quit")
        terminal.keys("?")
        terminal.wait_for("reverse the order")
        terminal.keys("x")
        terminal.wait_for("q quit")

    def test_the_interval_is_changed_by_keys(self) -> None:
        terminal = self.start()
        terminal.wait_for("every 200 ms")
        terminal.keys("+")
        terminal.wait_for("every 500 ms")
        terminal.keys("-", "-")
        terminal.wait_for("every 100 ms")

    def test_short_intervals_leave_time_for_keys(self) -> None:
        terminal = self.start("-d 1ms")
        terminal.wait_for("every 1 ms")
        terminal.keys("-")
        terminal.wait_for("every 500 us")
        terminal.keys("q")
        self.assert_ended(terminal)

    def test_the_picture_follows_the_size(self) -> None:
        terminal = self.start()
        terminal.wait_for("1.00 ")
        terminal.resize(120, 40)
        terminal.wait_until(lambda: "q quit" in terminal.lines()[-1] and
                            len(terminal.lines()) == 40, "40 lines")
        terminal.resize(48, 12)
        terminal.wait_for("columns 1-2 of 3")
        self.assertTrue(terminal.lines()[2].endswith(">"))
        terminal.keys("End", "3")
        terminal.wait_for("columns 2-3 of 3")
        self.assertIn("<", terminal.lines()[2])

    def test_rows_that_do_not_fit_scroll(self) -> None:
        terminal = self.start(columns=60, rows=4)
        terminal.wait_for("total")
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        terminal.wait_for("CPU0")
        self.assertNotIn("CPU1", terminal.text())
        terminal.keys("Down")
        terminal.wait_for("CPU1")
        self.assertNotIn("CPU0", terminal.text())
        terminal.keys("Home")
        terminal.wait_for("CPU0")
        terminal.keys("PageDown")
        terminal.wait_for("CPU1")

    def test_rows_are_folded_and_unfolded(self) -> None:
        terminal = self.start()
        terminal.wait_for("CPU0")
        terminal.keys("f")
        terminal.wait_for("S0-D0-C")
        self.assertNotIn("CPU0", terminal.text())
        for _ in range(5):
            if "CPU0" not in terminal.text():
                terminal.keys("f")
                time.sleep(0.5)
        terminal.wait_for("CPU0")

    def test_a_filter_is_typed(self) -> None:
        terminal = self.start()
        terminal.wait_for("CPU0")
        terminal.keys("/", "c", "p", "u", "9", "BSpace", "0")
        terminal.wait_for("filter: cpu0_")
        self.assertIn("CPU0", terminal.text())
        self.assertNotIn("CPU1", terminal.text())
        terminal.keys("Enter")
        terminal.wait_for("q quit")
        self.assertIn("filter cpu0", terminal.lines()[1])
        terminal.keys("/", "Escape")
        terminal.wait_until(lambda: "filter" not in terminal.text(), "all rows")
        if len(os.sched_getaffinity(0)) > 1:
            self.assertIn("CPU1", terminal.text())

    def test_it_runs_in_tiny_terminals(self) -> None:
        terminal = self.start(columns=20, rows=5)
        terminal.wait_for("total")
        self.assertIn("CPU0", terminal.text())
        for size in ((10, 3), (2, 2), (1, 1), (200, 3), (20, 5)):
            terminal.resize(*size)
            terminal.keys("h", "x", "End", "Right")
            time.sleep(0.3)
        terminal.wait_for("total")
        terminal.resize(80, 24)
        terminal.wait_for("q quit")
        terminal.keys("q")
        self.assert_ended(terminal)

    def test_signals_end_it_and_restore_the_terminal(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number):
                terminal = self.start()
                terminal.wait_for("total")
                os.kill(int(terminal.file("pid").read_text()), number)
                self.assert_ended(terminal)

    def test_control_c_ends_it(self) -> None:
        terminal = self.start()
        terminal.wait_for("total")
        terminal.keys("C-c")
        self.assert_ended(terminal)

    def test_it_can_be_stopped_and_go_on(self) -> None:
        terminal = Terminal()
        self.addCleanup(terminal.close)
        terminal.run(f"cd {terminal.directory}; stty -a >before; {TOOL} top -e {EVENTS} -d 0.2")
        terminal.wait_for("total")
        terminal.keys("C-z")
        terminal.wait_until(lambda: not terminal.is_alternate(), "the shell")
        terminal.run("stty -a >stopped; echo >over")
        terminal.wait_until(terminal.file("over").exists, "the shell")
        self.assertEqual(terminal.file("stopped").read_text(), terminal.file("before").read_text())
        terminal.run("fg")
        terminal.wait_until(terminal.is_alternate, "the program")
        terminal.wait_for("q quit")
        terminal.keys("q")
        terminal.wait_until(lambda: not terminal.is_alternate(), "the shell")

    def test_an_error_leaves_no_trace_of_the_screen(self) -> None:
        for word, arguments, variables in (("9999", "-C 9999", ""),
                                           ("nonsense", "", "TERM=nonsense")):
            with self.subTest(word):
                terminal = self.start(arguments, variables=variables)
                terminal.wait_until(terminal.file("over").exists, "its end")
                self.assertEqual(terminal.file("status").read_text().strip(), "125")
                self.assertIn(word, terminal.file("errors").read_text())
                self.assertEqual(terminal.file("after").read_text(),
                                 terminal.file("before").read_text())


if __name__ == "__main__":
    if not shutil.which("tmux"):
        print("skipped: tmux is not installed")
        raise SystemExit(77)
    unittest.main(verbosity=2)
