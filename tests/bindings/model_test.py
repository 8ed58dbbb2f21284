#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The figures of random recordings, compared with those of a model."""

import os
import random
import tempfile
import unittest

import numpy

import metagroup
from recording_file import File


class Cpu:
    """A group of two events on a CPU, as in accumulator_model_test.cpp: what it has counted, and
    the truth about what its readings can say."""

    def __init__(self, random, multiplexed):
        self.random, self.multiplexed = random, multiplexed
        self.rates = [random.randrange(1000) << random.choice((0, 0, 0, 24)) for _ in range(2)]
        self.counts = [2**62 + 7, 9]
        self.enabled, self.running, self.fresh = 900, 500, 300
        self.last = None
        self.online = self.on_pmu = True
        self.back = False
        self.count, self.whole, self.wall = [0, 0], [0, 0], [0, 0]
        self.true_rates = [{}, {}]  # by time

    def run(self, ns):
        if self.random.randrange(8) == 0:
            self.online = not self.online
        if self.multiplexed:
            self.on_pmu = self.random.randrange(3) > 0
        if not self.online:
            return
        self.enabled += ns
        if self.on_pmu:
            self.running += ns
            self.counts = [count + rate * ns for count, rate in zip(self.counts, self.rates)]

    def reset(self):
        if self.running > self.last["running"] and 0 not in self.last["counts"]:
            self.counts = [0, 0]
            self.back = True

    def replace(self):
        self.counts = [0, 0]
        self.fresh -= 1  # or two replacements in succession look like a rest
        self.enabled, self.running = self.fresh, 100
        self.last = None

    def read(self, time):
        last = self.last
        counted = last and self.running > last["running"]
        for i in range(2) if counted and not self.back else ():
            whole = self.rates[i] * (self.enabled - last["scaled"])
            self.count[i] += self.counts[i] - last["counts"][i]
            self.whole[i] += whole
            self.wall[i] += time - last["from"]
            self.true_rates[i][time] = whole * 1e9 / (time - last["from"])
        if not last or counted:
            self.last = {"counts": self.counts, "scaled": self.enabled, "from": time}
        if counted:
            self.back = False
        self.last |= {"running": self.running, "enabled": self.enabled}


class Model(unittest.TestCase):
    def check(self, seed, path):
        chance = random.Random(seed)
        cpus = [Cpu(chance, seed % 2 == 1) for _ in range(chance.randint(1, 4))]
        file = File([[1 + 10 * event + cpu for cpu in range(4)] for event in range(2)])
        now = 1_000_000
        for step in range(60):
            for number, cpu in enumerate(cpus):
                if step > 0 and (not cpu.online or chance.randrange(4) == 0):
                    continue  # offline, or lost
                if step > 0 and chance.randrange(20) == 0:
                    cpu.replace()
                elif step > 0 and chance.randrange(10) == 0:
                    cpu.reset()
                cpu.read(now)
                file.sample(now, number, {1 + 10 * event + number: cpu.counts[event]
                                          for event in range(2)}, cpu.enabled, cpu.running)
            ns = chance.randint(1, 30_000)
            now += ns
            for cpu in cpus:
                cpu.run(ns)
        file.write(path)
        frame = metagroup.read(path)
        rates = metagroup.rates(frame)
        totals = metagroup.totals(frame, by="cpu")
        intervals = metagroup.totals(frame, by="cpu", interval=10e-6)
        whole = metagroup.totals(frame)
        for i in range(2):
            event = f"event {i}"
            for number, cpu in enumerate(cpus):
                row = totals.loc[(f"CPU{number}", event)]
                parts = intervals.xs((f"CPU{number}", event), level=("place", "event"))
                found = rates[event].dropna()
                found = found[found.index.get_level_values("cpu") == number]
                self.assertEqual(found.index.get_level_values("time").tolist(),
                                 list(cpu.true_rates[i]))
                numpy.testing.assert_allclose(found, list(cpu.true_rates[i].values()), rtol=1e-9)
                if cpu.wall[i] == 0:
                    self.assertTrue(row[["count", "value", "rate"]].isna().all())
                    self.assertEqual(row["counted"], 0)
                    continue
                self.assertEqual(row["count"], cpu.count[i])
                self.assertEqual(parts["count"].sum(), cpu.count[i])
                numpy.testing.assert_allclose(row["value"], cpu.whole[i], rtol=1e-9, atol=1e-6)
                numpy.testing.assert_allclose(parts["value"].sum(), cpu.whole[i], rtol=1e-9,
                                              atol=1e-6)
                numpy.testing.assert_allclose(row["rate"], cpu.whole[i] * 1e9 / cpu.wall[i],
                                              rtol=1e-9, atol=1e-6)
            self.assertEqual(whole.loc[event, "counters"], len(cpus))
            if whole.loc[event, "counted"] > 0:
                self.assertEqual(whole.loc[event, "count"], sum(cpu.count[i] for cpu in cpus))

    def test_figures_of_random_schedules_are_those_of_the_model(self):
        with tempfile.TemporaryDirectory() as directory:
            for seed in range(40):
                with self.subTest(seed=seed):
                    self.check(seed, os.path.join(directory, "perf.data"))


if __name__ == "__main__":
    unittest.main()
