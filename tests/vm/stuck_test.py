#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""tests/vm/stuck, with a stand-in for QEMU's monitor."""

import io
import json
import os
import tempfile
import threading
import unittest
from contextlib import redirect_stdout
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

loader = SourceFileLoader("stuck", str(Path(__file__).resolve().with_name("stuck")))
stuck = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(stuck)

VECTORS, STACK = 0xfffffe0000000000, 0xff4221e940003e90
HANDLER, TRAP, ELSEWHERE = 0xffffffff81c00ba0, 0xffffffff81a50fa7, 0xffffffff81a00000
KERNEL, USER = 0x10, 0x33


class Guest:
    """Two CPUs. The second is in the handler at every sample, trapped on `byte`."""

    def __init__(self, byte: int = 0x66, segment: int = KERNEL, place: int = HANDLER,
                 moves: bool = False) -> None:
        self.byte, self.segment, self.place = byte, segment, place
        self.moves = moves  # from one trap to the next
        self.ended = False
        self.looks = self.stops = 0

    def answer(self, line: str) -> str:
        match line.split():
            case ["info", *_]:
                self.looks += 1
                return "".join(
                    f"CPU#{cpu}\r\nRAX=0000000000000001 RSP={STACK:016x}\r\n"
                    f"RIP={place:016x} RFL=00000002 [-------] CPL=0\r\n"
                    f"IDT=     {VECTORS:016x} 00000fff\r\n"
                    for cpu, place in enumerate((ELSEWHERE, self.place)))
            case ["stop"]:
                self.stops += 1
            case ["x/2xg", where] if int(where, 16) == VECTORS + 48:
                low = (HANDLER & 0xFFFF) | 0x101 << 20 | (HANDLER >> 16 & 0xFFFF) << 48
                return f"{where}: {low:#018x} {HANDLER >> 32:#018x}\r\n"
            case ["x/2xg", where] if int(where, 16) == STACK:
                trap = TRAP + self.looks if self.moves else TRAP
                return f"{where}: {trap + 1:#018x} {self.segment:#018x}\r\n"
            case ["x/1xb", where]:
                return f"{where}: {self.byte:#04x}\r\n"
        return ""


class StuckTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        for name in ("monitor.in", "monitor.out"):
            os.mkfifo(self.directory / name)
        for name in ("console", "output", "result"):
            (self.directory / name).touch()

    def serve(self, guest: Guest) -> None:
        def serve() -> None:
            asked = (self.directory / "monitor.in").open(encoding="utf-8")
            with asked, (self.directory / "monitor.out").open("w", encoding="utf-8") as out:
                out.write('{"QMP": {"version": {}}}\n{"event": "RESUME"}\n')
                for line in asked:
                    question = json.loads(line)
                    guest.ended |= question["execute"] == "quit"
                    reply = guest.answer(question["arguments"].get("command-line", ""))
                    print(json.dumps({"return": reply}), file=out, flush=True)
        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_trap_that_memory_does_not_have_ends_the_guest(self) -> None:
        guest = Guest()
        self.serve(guest)
        with redirect_stdout(io.StringIO()) as reason:
            stuck.watch(self.directory, 0.01)
        self.assertIn("CPU 1 ", reason.getvalue())
        self.assertIn(f"{TRAP:#x}", reason.getvalue())
        self.assertTrue(guest.ended)

    def look(self, guest: Guest) -> str:
        self.serve(guest)
        with stuck.Monitor(self.directory) as monitor:
            return str(stuck.look(monitor))

    def test_an_int3_in_memory_is_the_kernels(self) -> None:
        self.assertEqual(self.look(Guest(byte=0xCC)), "")

    def test_a_trap_of_a_program_is_its_own(self) -> None:
        self.assertEqual(self.look(Guest(segment=USER)), "")

    def test_traps_at_many_places_are_a_kernel_that_patches(self) -> None:
        self.assertEqual(self.look(Guest(moves=True)), "")

    def test_a_guest_that_is_elsewhere_is_never_stopped(self) -> None:
        guest = Guest(place=ELSEWHERE)
        self.assertEqual(self.look(guest), "")
        self.assertGreater(guest.looks, 0)
        self.assertEqual(guest.stops, 0)


if __name__ == "__main__":
    unittest.main()
