#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that share a meta-group or a stream, and signals.

SLOW_CALLS names the library of slow_calls.cpp.
"""

import os
import signal
import subprocess
import sys
import time
import unittest

import metagroup
from package import BACKEND, EVENTS, open_group


class Threads(unittest.TestCase):
    def run_script(self, script):
        """In a process of its own, as a crash would end all tests."""
        done = subprocess.run([sys.executable, "-c", SCRIPT + script, EVENTS, BACKEND],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_group_may_be_closed_while_other_threads_read_it(self):
        self.run_script("""
end = time.monotonic() + 2
while time.monotonic() < end:
    group = open_group()
    with use_until_closed(lambda: group.read().counts(), lambda: group.reset()):
        time.sleep(0.002)
        group.close()
""")

    def test_a_stream_may_be_stopped_while_another_thread_reads_it(self):
        self.run_script("""
for _ in range(5):
    with open_group() as group:
        stream = metagroup.Stream(group, 1e-3)
        reader = threading.Thread(target=lambda: [stream.read(60) for _ in range(2)])
        reader.start()
        time.sleep(0.1)
        stream.stop()
        reader.join()
""")

    def test_a_stream_outlives_its_group_that_is_closed(self):
        with open_group() as group:
            stream = metagroup.Stream(group, 1e-3)
        stream.read(0.01)
        stream.stop()

    def test_calls_on_a_closed_group_raise_value_error(self):
        group = open_group()
        group.close()
        group.close()
        for call in (group.read, group.enable, group.disable, group.reset, group.cpus,
                     lambda: group.events, lambda: group.members, lambda: group.backend,
                     lambda: group.backend_reason, lambda: metagroup.Stream(group, 1e-3)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_threads_may_still_read_when_the_process_ends(self):
        for _ in range(5):
            self.run_script("""
group = open_group()
stream = metagroup.Stream(group, 1e-3)

def repeat(call):
    while True:
        call()

for call in (group.read, lambda: stream.read(0.001), lambda: stream.read(60)):
    threading.Thread(target=repeat, args=(call,), daemon=True).start()
time.sleep(0.1)
""")

    def test_a_signal_interrupts_the_wait_for_a_stream(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        for timeout in (20, -1):
            with open_group() as group, metagroup.Stream(group, 10) as stream:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                begin = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    stream.read(timeout)
                self.assertLess(time.monotonic() - begin, 5)


class Interrupts(unittest.TestCase):
    """Ctrl-C while a system call waits."""

    @unittest.skipUnless("SLOW_CALLS" in os.environ, "slow calls are for the backend per-fd")
    def test_it_ends(self):
        for name, call in (("open", "open_group()"), ("read", "group.read()"),
                           ("a wait for another thread", "wait_for_thread()")):
            with self.subTest(name):
                done = subprocess.run(
                    [sys.executable, "-c", SCRIPT + INTERRUPTED.replace("CALL", call), EVENTS,
                     "per-fd"],
                    env=os.environ | {"LD_PRELOAD": os.environ["SLOW_CALLS"]},
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertLess(float(done.stdout), 0.1)

    def test_it_ends_a_search_for_many_events(self):
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.assertRaises(KeyboardInterrupt):
            while True:
                try:
                    metagroup.MetaGroup("*:*,no-such-event")
                except metagroup.Error:
                    pass
        self.assertLess(time.monotonic() - begin, 0.15)


# Prints the seconds from the signal, which comes 0.3 s after the call, to its end.
INTERRUPTED = """
import ctypes, os, signal

slow = ctypes.c_int.in_dll(ctypes.CDLL(os.environ["LD_PRELOAD"]), "slow_calls")

def wait_for_thread():
    thread = threading.Thread(target=group.read)
    thread.start()
    time.sleep(0.1)
    group.read()

group = open_group()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
begin = time.monotonic()
slow.value = 3
try:
    CALL
except KeyboardInterrupt:
    print(time.monotonic() - begin - 0.3)
slow.value = 0
"""

SCRIPT = """
import contextlib, sys, threading, time
import metagroup

def open_group():
    return metagroup.MetaGroup(sys.argv[1], backend=sys.argv[2])

@contextlib.contextmanager
def use_until_closed(*calls):
    def repeat(call):
        try:
            while True:
                call()
        except ValueError:
            pass
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()
"""


if __name__ == "__main__":
    unittest.main()
