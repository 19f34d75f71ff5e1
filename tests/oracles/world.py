"""A small federation of matrix factorization, in numpy and in furlong: what the oracles of algorithms have in common.

An oracle is a file KIND.py beside this one. It has SCENARIOS, names and scenario keys of the runs to compare, and
run(world), the algorithm in a few lines of numpy (float64) for the whole run. oracle_test.py compares both.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import furlong
import numpy
from furlong import command

SCENARIO = {
    "scenario": {"name": "oracle", "seed": 3, "rounds": 12},
    "data": {"source": "synthetic-ratings", "users": 24, "items": 30, "rank": 2, "ratings_per_user": 12,
             "split": [0.7, 0.0, 0.3], "unseen_users": {"validation": 0.0, "test": 0.125}},
    "model": {"kind": "matrix-factorization", "rank": 3, "user_bias": True, "item_bias": True, "mean": True,
              "initial_mean": 3.5, "private": ["user", "user_bias"]},
    # Batches of 5 of 8 examples: the last of an epoch is short.
    "algorithm": {"client": {"lr": 0.05, "epochs": 2, "batch_size": 5, "shuffle": False}, "server": {"lr": 0.8}},
    "participation": {"policy": "round-robin", "per_round": 6},
    "evaluation": {"every": 12, "split": True},
}
PRIVATE, SHARED = ("user", "user_bias"), ("item", "item_bias", "mean")
ALL, BY_ITEM = PRIVATE + SHARED, ("item", "item_bias")


class World:
    """A run of the scenario with `settings`, and what numpy needs to repeat it.

    initial    values of all tensors before training, by name
    trains     numbers of the training clients; the others are unseen
    settings   the scenario's values by key
    """

    SCENARIO = SCENARIO

    @staticmethod
    def first_values(draw) -> dict:
        """The values of all tensors before training; draw(rows, columns) has random ones."""
        return {"user": draw(1, 3), "user_bias": draw(1, 1), "item": draw(30, 3), "item_bias": draw(30, 1),
                "mean": numpy.full((1, 1), 3.5, numpy.float32)}

    def __init__(self, folder: Path, kind: str, settings: dict) -> None:
        random = numpy.random.default_rng(7)
        draw = lambda *shape: random.uniform(-0.3, 0.3, shape).astype(numpy.float32)
        self.initial = self.first_values(draw)
        folder.mkdir(parents=True)
        numpy.savez(folder / "initial.npz", **self.initial)
        self.settings = {f"algorithm.client.{key}": value for key, value in
                         self.SCENARIO["algorithm"]["client"].items()}
        self.settings |= {"algorithm.server.lr": 0.8, "scenario.rounds": 12, "participation.per_round": 6, **settings}
        changes = {"algorithm.kind": kind, "model.start_from": str(folder / "initial.npz"), **settings}
        self.result = furlong.run(self.SCENARIO, set=changes, out=folder / "run", progress=False)
        self.result.export(split=folder / "ratings.csv", cohorts=folder / "cohorts.csv")
        table = numpy.genfromtxt(folder / "ratings.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
        self.initial = {name: value.astype(float) for name, value in self.initial.items()}
        self.clients = sorted(set(table["client"].tolist()))
        self.trains = [i for i in self.clients if "train" in table["group"][table["client"] == i]]
        tasks = numpy.genfromtxt(folder / "cohorts.csv", delimiter=",", names=True, dtype=int)
        #: The clients of each round, as the run says.
        self.selected = [tasks["client"][tasks["round"] == 1 + r].tolist() for r in range(self["scenario.rounds"])]
        self._ratings = {}
        for i in self.clients:
            for part in ("train", "validation", "test"):
                rows = table[(table["client"] == i) & (table["part"] == part)]
                self._ratings[i, part] = rows["item"].astype(int), rows["label"].astype(float)

    def __getitem__(self, key: str):
        """The value of a scenario key that SCENARIO's [algorithm.client], [algorithm.server] or the oracle sets."""
        return self.settings[key]

    def get(self, key: str, default):
        """The same of any key, or the default."""
        return self.settings.get(key, default)

    def stored(self):
        """The private values of each client that has some, by name, without shapes."""
        if not (self.result.path / "private").exists():
            return {}
        told = command.output_of(["store", "show", str(self.result.path), "--format", "json"])
        return {one["client"]: one["tensors"] for one in json.loads(told)["clients"]}

    def ratings(self, client: int, part: str = "train"):
        """Items and ratings of a client's part."""
        return self._ratings[client, part]

    def cohorts(self):
        """The clients of each round: round-robin."""
        n, size = len(self.trains), self["participation.per_round"]
        return [[self.trains[(r * size + k) % n] for k in range(size)] for r in range(self["scenario.rounds"])]

    def batches(self, client: int, epochs: int = None, which: slice = slice(None)):
        """The batches of a task in order, of some of its examples: items and ratings."""
        items, labels = (column[which] for column in self.ratings(client))
        size = self["algorithm.client.batch_size"] or len(items)
        one = [(items[k:k + size], labels[k:k + size]) for k in range(0, len(items), size)]
        return one * (self["algorithm.client.epochs"] if epochs is None else epochs)

    def steps(self, client: int, epochs: int = None):
        """The batches of a task that max_steps leaves."""
        return self.batches(client, epochs)[:self.get("algorithm.client.max_steps", 0) or None]

    def weights(self, cohort):
        """Of the updates, by the aggregation rule: the examples of their steps, or None if all count equally."""
        if self.get("algorithm.aggregation.rule", "mean") == "uniform-mean":
            return None
        return [sum(len(labels) for _, labels in self.steps(i)) for i in cohort]

    def add(self, model: dict, change: dict) -> None:
        """The server's step: sgd."""
        for name, value in change.items():
            model[name] += self["algorithm.server.lr"] * value

    def support(self, client: int):
        """Of a client that never trains: the batches of what it is known by, every other rating from the first."""
        return self.batches(client, 1, slice(0, None, 2))

    def tested(self, client: int):
        """The examples that a client is evaluated on: items and ratings."""
        if client in self.trains:
            return self.ratings(client, "test")
        return tuple(column[1::2] for column in self.ratings(client))

    def known(self, client: int):
        """The batches that the model is personalized with before it predicts for a client."""
        return self.batches(client, 1) if client in self.trains else self.support(client)

    def rate(self, key: str, version: int) -> float:
        """A learning rate in a round, by the client's schedule. The default is the client's."""
        rate = self.get(key, self["algorithm.client.lr"])
        linear = self.get("algorithm.client.schedule", "constant") == "linear"
        return rate * (1 - version / self["scenario.rounds"]) if linear else rate

    def personal(self, client: int, model: dict, kept: dict = None) -> dict:
        """A client's copy of the model as it is used: where it keeps none, and in rows of items that its training part
        does not name, the received values."""
        made, items = copy(model), self.ratings(client)[0]
        for name, value in (kept or {}).items():
            rows = items if name in BY_ITEM else ...
            made[name][rows] = value[rows]
        return made

    def at_rest(self, client: int, values: dict, prefix: str) -> dict:
        """The copy as it is stored: zeros in the other rows."""
        zeros = {name: numpy.zeros_like(value) for name, value in values.items()}
        return {prefix + name: value for name, value in self.personal(client, zeros, values).items()}

    def step(self, values: dict, gradient: dict, names, rate: float = None) -> None:
        """values -= rate * gradient, of the named tensors."""
        for name in names:
            values[name] -= (self["algorithm.client.lr"] if rate is None else rate) * gradient[name]


def copy(values: dict) -> dict:
    return {name: value.copy() for name, value in values.items()}


def predict(values: dict, items):
    vectors = values["item"][items] @ values["user"][0]
    return vectors + values["item_bias"][items, 0] + values["user_bias"][0, 0] + values["mean"][0, 0]


def gradient(values: dict, batch) -> dict:
    """Of the batch's mean squared error, by every tensor; rows without an example are zero."""
    items, labels = batch
    error = 2 * (predict(values, items) - labels) / len(items)
    found = {name: numpy.zeros_like(value) for name, value in values.items()}
    found["user"][0] = error @ values["item"][items]
    numpy.add.at(found["item"], items, error[:, None] * values["user"])
    numpy.add.at(found["item_bias"], items, error[:, None])
    found["user_bias"][...] = found["mean"][...] = error.sum()
    return found


def reconstructed(world: World, model: dict, batches, names) -> dict:
    """The named tensors after [algorithm.reconstruction] by SGD on these batches, from the model's values."""
    w = copy(model)
    for batch in batches * world.get("algorithm.reconstruction.epochs", 1):
        world.step(w, gradient(w, batch), names, world.get("algorithm.reconstruction.lr", 0.1))
    return {name: w[name] for name in names}


def mean(values, weights=None) -> dict:
    """The mean of dicts of arrays, by weight."""
    values = list(values)
    share = numpy.ones(len(values)) if weights is None else numpy.array(weights, float)
    share /= share.sum()
    return {name: sum(s * one[name] for s, one in zip(share, values)) for name in values[0]}


def difference(a: dict, b: dict, names) -> dict:
    return {name: a[name] - b[name] for name in names}
