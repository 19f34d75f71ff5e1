"""The algorithms of python_step_test.py, for ratings.py. TROUBLE in the environment makes their steps fail."""
import os
import signal
import time
from pathlib import Path

import furlong
import numpy

from ratings import TROUBLE


class Served(furlong.Algorithm):
    """The server has a group of each kind; what it computes means nothing."""

    options = {"keep": 0.5}
    groups = {
        "own": furlong.kept("shared"),
        "pull": furlong.broadcast((1,), first=0.25),
        "drift": furlong.shared("shared", rule="sum", max_norm=4096.0),
        "count": furlong.report((2,), rule="sum"),
        "velocity": furlong.server("shared"),
        "seen": furlong.server((1,)),
    }

    def train(self, t):
        t.fit(add=[(0.01 * float(t["pull"][0]), t["drift"])])
        if TROUBLE == "slow":
            time.sleep(0.002)
        t["own"] = t["own"] + 0.5 * (t.received - t.weights)
        t.report["drift"] = 0.01 * (t.weights - t.received)
        t.report["count"] = [1, len(t.examples)]

    def step(self, s):
        self.trouble(s)
        s["velocity"] = self.keep * s["velocity"] + s.mean
        s["pull"] = 0.25 + 0.001 * s.random.standard_normal() + 0.001 * numpy.random.random()
        s["drift"] = s["drift"] + s.reported["drift"] / s.clients
        s["seen"] += s.reported["count"][0]
        s.optimize(s.mean + self.keep * s["velocity"])

    @staticmethod
    def trouble(s):
        if TROUBLE == "slow":
            time.sleep(0.02)
        if TROUBLE == "raise step" and s.round == 7:
            raise ValueError("no step in this round")
        if TROUBLE == "infinite step" and s.round == 7:
            s["seen"] /= numpy.zeros(1)
        if TROUBLE == "slow step" and s.round == 3:
            time.sleep(6)
        if TROUBLE == "long step" and s.round == 7:
            time.sleep(3600)
        if TROUBLE == "exit step" and s.round == 7:
            os._exit(3)
        if TROUBLE == "die" and s.round % 3 == 1:  # once, in the middle of the step
            mark = Path(os.environ["MARKS"]) / str(s.round)
            if not mark.exists():
                mark.touch()
                s.model["weights"] += 1
                os.kill(os.getpid(), signal.SIGKILL)


class Plain(Served):
    """Without a step."""

    groups = {name: group for name, group in Served.groups.items() if name not in ("velocity", "seen")}
    step = furlong.Algorithm.step


class Default(Plain):
    """What the server does without a step, by one."""

    def step(self, s):
        super().step(s)


class Scaffold(furlong.Algorithm):
    groups = {"c": furlong.shared("shared", rule="sum"), "own": furlong.kept("shared")}
    exact_state, plain, rules = True, True, ("uniform-mean",)

    def train(self, t):
        t.fit(add=[(-1.0, t["own"]), (1.0, t["c"])])
        change = (t.received - t.weights) / t.rates - t["c"]
        t.report["c"] = change
        t["own"] = t["own"] + change
        if TROUBLE == "slow":
            time.sleep(0.002)

    def step(self, s):
        Served.trouble(s)
        s.optimize(s.mean)
        s["c"] = s["c"] + s.reported["c"] / s.clients


class Addressed(furlong.Algorithm):
    """Each client goes on from half of what it made last; the server has the mean of the updates."""

    groups = {"last": furlong.addressed("shared", first="received")}

    def train(self, t):
        t.weights = 0.5 * (t.received + t["last"])
        t.fit()
        if TROUBLE == "slow":
            time.sleep(0.002)

    def cohort(self, s):
        total = sum(update.weight for update in s.updates)
        s.mean = sum(update.change * (update.weight / total) for update in s.updates)
        for update in s.updates:
            s["last"]["weights"][update.client] = s.model["weights"] + update.change["weights"]
