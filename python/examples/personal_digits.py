"""Compares eight algorithms on handwritten digits of 50 clients, most of which have few of the ten classes
(Dirichlet(0.1)): FedAvg, FedProx, FedBN, FURL, FedRep, Ditto, SCAFFOLD, and Duet, which is defined here.

usage: personal_digits.py FOLDER [--rounds N] [--seeds 1 2 3] [--rates 0.05 0.1 0.2]

Each algorithm has the learning rate that is the best by the clients' validation examples, over the seeds. FOLDER
receives the runs and accuracy.svg; printed are the accuracies of test examples in percent with 95 % intervals, and the
differences from FedAvg within a seed.
"""
import argparse
from pathlib import Path

import furlong
import furlong.plot
import furlong.torch
import numpy
import torch
from sklearn.datasets import load_digits


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.bn, self.head = torch.nn.Linear(64, 48), torch.nn.BatchNorm1d(48), torch.nn.Linear(48, 10)

    def forward(self, images):
        return self.head(torch.relu(self.bn(self.body(images))))


class Digits(furlong.torch.Problem):
    metrics = {"accuracy": "max"}

    def __init__(self):
        images, labels = load_digits(return_X_y=True)  # 1,797 images of 8 x 8 pixels, values 0 ... 16
        own = furlong.partition.dirichlet(labels, 50, 0.1, least=5, seed=1)
        self.data = furlong.data.Data((images / 16).astype("float32"), labels, own, validation=0.2, test=0.3, seed=1)

    def module(self):
        return Net()

    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}


class Duet(furlong.torch.Algorithm):
    """Each client also trains a model of its own, and predicts by the mean of the probabilities of both."""
    groups = {"own": furlong.kept("model", first="received")}
    predicts = "kept"

    def train(self, t):
        t.fit(at="own")
        t.fit()

    def outputs(self, t, inputs):
        models = [t.module, t.frozen("own")] if t.has_state else [t.module]
        return torch.stack([model(inputs).softmax(1) for model in models]).mean(0).log()


SCENARIO = {
    "scenario": {"name": "digits", "rounds": 60},
    "data": {"source": "python"},
    "model": {"kind": "python"},
    "algorithm": {"kind": "fedavg", "client": {"lr": 0.1, "epochs": 5, "batch_size": 0}},
    "participation": {"per_round": 10},
    "evaluation": {"every": 10},
}
ALGORITHMS = {
    "FedAvg": {},
    "FedProx": {"algorithm.client.proximal": 0.1},
    "FedBN": {"algorithm.kind": "furl", "model.private": ["bn.*"]},
    "FURL": {"algorithm.kind": "furl", "model.private": ["head.*"]},
    "FedRep": {"algorithm.kind": "fedrep", "model.private": ["head.*"]},
    "Ditto": {"algorithm.kind": "ditto", "algorithm.ditto.lambda": 0.1},
    "SCAFFOLD": {"algorithm.kind": "scaffold"},
    "Duet": {"algorithm.kind": "python"},
}


def best_rate(name, given):
    """The runs of an algorithm with the learning rate whose validation accuracy is the best."""
    algorithm = Duet if name == "Duet" else None
    found = {}
    for rate in given.rates:
        changes = {**ALGORITHMS[name], "scenario.name": name.lower(), "scenario.rounds": given.rounds,
                   "algorithm.client.lr": rate}
        found[rate] = [furlong.run(SCENARIO, problem=Digits, algorithm=algorithm, set=changes, seed=seed,
                                   out=given.folder / f"{name}-{rate}-{seed}", progress=False) for seed in given.seeds]
    return max(found.values(), key=lambda runs: numpy.mean([run.summary["eval"]["validation"]["accuracy"]
                                                            for run in runs]))


def percent(of):
    """A mean with its interval, of several seeds."""
    interval = f" [{100 * of['low']:.1f}, {100 * of['high']:.1f}]" if of["low"] is not None else ""
    return f"{100 * of['mean']:.1f}{interval}"


def main():
    parser = argparse.ArgumentParser(description="Compares algorithms on handwritten digits.")
    parser.add_argument("folder", type=Path, help="receives the runs and accuracy.svg")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    given = parser.parse_args()
    runs = {name: best_rate(name, given) for name in ALGORITHMS}
    comparison = furlong.compare([run for some in runs.values() for run in some], metrics=["eval.seen.accuracy"])
    for one in comparison.data["figures"][0]["configurations"]:
        difference = percent(one["difference"]) if "difference" in one else ""
        print(f"{one['label']:10}{percent(one):26}{difference}")
    furlong.plot.save(furlong.plot.curves(runs, "accuracy"), given.folder / "accuracy.svg")


if __name__ == "__main__":
    main()
