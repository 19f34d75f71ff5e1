"""The algorithms of python_algorithm_test.py, for ratings.py. TROUBLE in the environment makes them fail."""
import os
import signal
import time
from pathlib import Path

import furlong
import numpy

from ratings import TROUBLE


class Everywhere(furlong.Algorithm):
    """A group at each place, with each first value; what it computes means nothing."""

    options = {"mu": 0.5, "passes": 2}
    groups = {
        "own": furlong.kept("model", first="received"),
        "start": furlong.kept("weights", first="initial"),
        "share": furlong.kept((1, 1), first=0.5),
        "pull": furlong.broadcast((1,), first=0.25),
        "drift": furlong.shared("shared", rule="sum", max_norm=4096.0),
        "count": furlong.report((1, 2), rule="mean"),
    }
    scores = ("before",)
    predicts = "kept"

    def train(self, t):
        t.fit(add=[(0.01 * float(t["pull"][0]), t["drift"])])
        steps = t.steps
        if TROUBLE == "slow":
            time.sleep(0.002)
        if TROUBLE == "die" and t.client % 7 == 3:
            self.die_once(t)
        if TROUBLE == "raise task" and t.client == 11:
            raise ValueError("no task for this user")
        t.fit(at="own", epochs=self.passes, pull=self.mu)
        t["own"] = t["own"] + 0.001 * t.random.standard_normal() + 0.001 * t.own_random.standard_normal()
        t["start"] = 0.5 * (t["start"] + t.weights)
        t["share"] = 0.5 * t["share"] + 0.125
        t.report["drift"] = 0.5 * (t.weights - t.received)
        t.report["count"] = numpy.float32([[len(t.examples), steps]])

    def personalize(self, t):
        if TROUBLE == "raise personalize":
            raise LookupError("no values for this user")
        t.score("before")
        if t.has_state:
            share = float(t["share"][0, 0])
            t.weights = share * t["own"] + (1.0 - share) * t.received

    def cost(self, examples, settings):
        return (1 + self.passes) * settings["epochs"] * examples

    @staticmethod
    def die_once(t):
        """The trainer that does this work first is killed in the middle of it."""
        mark = Path(os.environ["MARKS"]) / f"{t.client}-{t.round}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Summed(Everywhere):
    """No report weighs by examples."""

    groups = {**Everywhere.groups, "count": furlong.report((1, 2), rule="uniform-mean")}


class Elsewhere(Everywhere):
    """The same options, and other groups."""

    groups = {"own": furlong.kept("model")}


class Corrected(furlong.Algorithm):
    """SCAFFOLD."""

    groups = {"c": furlong.shared("shared", rule="sum"), "own": furlong.kept("shared")}
    exact_state = True
    plain = True
    rules = ("uniform-mean",)

    def train(self, t):
        t.fit(add=[(-1.0, t["own"]), (1.0, t["c"])])
        change = (t.received - t.weights) / t.rates - t["c"]
        t.report["c"] = change / t.clients
        t["own"] = t["own"] + change


class Personal(furlong.Algorithm):
    """Ditto."""

    options = {"pull": 1.0, "rate": 0.02}
    groups = {"own": furlong.kept("model", first="received")}

    def train(self, t):
        t.fit()
        t.fit(at="own", rate=self.rate, pull=self.pull)

    def personalize(self, t):
        if t.has_state:
            t.weights = t["own"]

