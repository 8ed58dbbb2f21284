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

    def test_several_threads_may_make_the_first_array(self):
        self.run_script("""
group = open_group()
together = threading.Barrier(4)

def read():
    snapshot = group.read()
    together.wait()
    snapshot.counts()

for _ in range(4):
    threading.Thread(target=read).start()
""")

    def test_a_child_process_does_not_wait_for_threads_of_its_parent(self):
        self.run_script("""
import os, signal

group = open_group()
with use_until_closed(group.read, group.read):
    for _ in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            group.read()
            group.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    group.close()
""")

    def test_a_stream_has_ended_in_a_child_process(self):
        self.run_script("""
import mmap, os

with open_group() as group:
    stream = metagroup.Stream(group, 1e-3)
    child = os.fork()
    if child == 0:
        with stream:
            assert len(stream.read(-1)["time"]) == 0
        memory = [mmap.mmap(-1, 260 << 10) for _ in range(8)]  # where the rings were
        del stream
        for one in memory:
            one.write(b"used")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    stream.read(0)
    end = time.monotonic() + 10
    while len(stream.read(0.05)["time"]) == 0:
        assert time.monotonic() < end
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

    def interrupt(self, call, handler="signal.default_int_handler", error="KeyboardInterrupt"):
        """The seconds from the signal to the end of the call by this error."""
        script = INTERRUPTED.replace("CALL", call).replace("HANDLER", handler)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT + script.replace("ERROR", error), EVENTS, "per-fd"],
            env=os.environ | {"LD_PRELOAD": os.environ["SLOW_CALLS"]},
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return float(done.stdout)

    @unittest.skipUnless("SLOW_CALLS" in os.environ, "slow calls are for the backend per-fd")
    def test_it_ends(self):
        for name, call in (("open", "open_group()"), ("read", "group.read()"),
                           ("a wait for another thread", "wait_for_thread()")):
            with self.subTest(name):
                self.assertLess(self.interrupt(call), 0.1)

    @unittest.skipUnless("SLOW_CALLS" in os.environ, "slow calls are for the backend per-fd")
    def test_its_handler_cannot_use_the_object_of_the_call(self):
        for call in ("group.read()", "wait_for_thread()"):
            with self.subTest(call):
                self.interrupt(call, "lambda *_: group.close()", "RuntimeError")

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
signal.signal(signal.SIGALRM, HANDLER)
signal.setitimer(signal.ITIMER_REAL, 0.3)
begin = time.monotonic()
slow.value = 3
try:
    CALL
except ERROR:
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
