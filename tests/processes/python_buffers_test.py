#!/usr/bin/env python3
"""Modules with running statistics: under the algorithms, against loops in PyTorch alone, and after kills.

usage: python_buffers_test.py FURLONG [TEST...]
"""
import copy
import json
import os
import random
import signal
import sys
import time
import unittest

from case import main
from federation import DONE, USAGE, wait_until
from python_case import ROOT, PythonCase, children_of

try:
    import numpy
    import torch

    sys.path[:0] = [str(ROOT / "python")]
    import normalized
except ImportError:
    torch = None

FILE = f"{ROOT}/tests/processes/normalized.py"
KINDS = ("fedavg", "fedatt", "fedsgd", "furl", "fedper", "fedrep", "fedalt", "fedbabu", "fedrecon", "ditto", "pfedme",
         "apfl", "scaffold", "feddyn")
FULL = {"python.order": "numbered", "algorithm.client.shuffle": "false", "algorithm.client.batch_size": 0,
        "algorithm.client.lr": 0.1, "evaluation.every": 1, "scenario.rounds": 10}


def federated_losses(seed: int, rounds: int, private: str, server_rate: float = 1.0, epochs: int = 1) -> list:
    """Mean losses before the steps of each round, and of all clients' test parts after it: full batches, all clients.
    Tensors whose names have `private` stay with their client; parameters of the others move by the mean change times
    server_rate, statistics to their mean."""
    problem = normalized.Normalized()
    torch.manual_seed(seed)
    net = problem.module()
    clients = [copy.deepcopy(net) for _ in range(normalized.CLIENTS)]
    parts = [[problem.batch(client, part, numpy.arange(count)) for client in range(normalized.CLIENTS)]
             for part, count in (("train", normalized.TRAIN), ("test", normalized.TEST))]
    shared = [name for name, value in net.state_dict().items() if not (private and private in name)
              and value.is_floating_point()]
    trained = {name for name, _ in net.named_parameters()}
    server = {name: net.state_dict()[name].clone() for name in shared}
    found = []
    for _ in range(rounds):
        losses = []
        for own, (x, y) in zip(clients, parts[0]):
            own.load_state_dict(server, strict=False)
            own.train()
            optimizer = torch.optim.SGD(own.parameters(), 0.1)
            for _ in range(epochs):
                loss = problem.loss(own(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        for name in shared:
            change = torch.stack([own.state_dict()[name].double() for own in clients]).mean(0) - server[name]
            server[name] = (server[name] + (server_rate if name in trained else 1.0) * change).float()
        tests = []
        for own, (x, y) in zip(clients, parts[1]):
            own.load_state_dict(server, strict=False)
            with torch.no_grad():
                tests.append(problem.loss(own.eval()(x), y).item())
        found.append((sum(losses) / len(losses), sum(tests) / len(tests)))
    return found


@unittest.skipIf(torch is None, "needs python3-torch")
class Buffers(PythonCase):
    def normalized(self, name: str = "Normalized", trouble: str = "", **settings):
        return self.problem(trouble, **{"python.problem": f"{FILE}:{name}", "participation.per_round": 12,
                                        "model.private": '["*bn*"]', **settings})

    def losses(self, f, run: str) -> list:
        lines = [json.loads(line) for line in (f.folder / run / "metrics.jsonl").read_text().splitlines()]
        return [(line["loss"], line["eval"]["seen"]["loss"]) for line in lines]

    def near(self, found: list, expected: list, bound: float) -> None:
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            for a, b in zip(one, other):
                self.assertAlmostEqual(a / b, 1.0, delta=bound)

    def test_fedbn(self):
        """private = ["*bn*"] is FedBN: the losses of a loop in PyTorch."""
        for seed in (1, 2, 3):
            with self.subTest(seed), self.normalized(**FULL, **{"algorithm.kind": "furl"}) as f:
                summary = self.result(f, "run", "--seed", str(seed))
                self.near(self.losses(f, "run"), federated_losses(seed, 10, "bn"), 1e-7)
                self.assertIn("private_sha256", summary)

    def test_averaged(self):
        """Shared statistics are averaged plainly, whatever the server's optimizer does with parameters."""
        for rate in (1.0, 0.5):
            with self.subTest(rate), self.normalized(**FULL, **{
                    "algorithm.kind": "fedavg", "algorithm.server.lr": rate, "algorithm.client.epochs": 2}) as f:
                self.result(f, "run", "--seed", "4")
                self.near(self.losses(f, "run"), federated_losses(4, 10, "", rate, 2), 2e-7)
        with self.normalized(**{"algorithm.kind": "fedavg", "algorithm.server.optimizer": "adam",
                                "algorithm.server.lr": 0.01}) as f:
            self.result(f, "adam")
            model = self.model(f, "adam")
            self.assertTrue((model["bn.running_var"] > 0).all())
            self.assertGreater(numpy.abs(model["bn.running_mean"]).max(), 0.3)

    def model(self, f, run: str, *more: str) -> dict:
        f.run("export", f.folder / run, "--model", f.folder / f"{run}.npz", *more)
        return dict(numpy.load(f.folder / f"{run}.npz"))

    def test_algorithms(self):
        """Threads and trainers change nothing, and the losses fall."""
        with self.normalized() as f:
            for kind in KINDS:
                with self.subTest(kind):
                    f.settings["algorithm.kind"] = kind
                    alone = self.result(f, f"{kind}-1", "--threads", "1")
                    self.same(alone, self.result(f, f"{kind}-2", "--threads", "2"))
                    self.assertEqual(alone["folded"], alone["selected"])
                    losses = self.losses_of_rounds(f, f"{kind}-1")
                    self.assertLess(losses[-1], 0.95 * losses[0])
            f.settings |= {"algorithm.kind": "ditto", "python.workers": 1}
            self.assertEqual(self.result(f, "worker", "--threads", "3")["model_sha256"],
                             json.loads((f.folder / "ditto-1" / "summary.json").read_text())["model_sha256"])

    def losses_of_rounds(self, f, run: str) -> list:
        return [json.loads(line)["loss"] for line in (f.folder / run / "metrics.jsonl").read_text().splitlines()]

    def test_loops_agree(self):
        """The command's loop, the package's and one of the class's own move the same values."""
        with self.normalized(**{"scenario.rounds": 3, "evaluation.every": 1}) as f:
            for kind in ("fedavg", "furl", "fedrep", "fedrecon", "ditto", "scaffold"):
                with self.subTest(kind):
                    f.settings["algorithm.kind"] = kind
                    found = []
                    for name, loop in (("Normalized", "auto"), ("Normalized", "trainer"), ("Fitted", "auto")):
                        f.settings |= {"python.problem": f"{FILE}:{name}", "python.loop": loop}
                        run = f"{kind}-{name}-{loop}"
                        self.result(f, run)
                        found.append((self.model(f, run), self.losses(f, run)))
                    for model, losses in found[1:]:
                        self.near(losses, found[0][1], 1e-5)
                        for name, value in found[0][0].items():
                            self.assertTrue(numpy.allclose(model[name], value, rtol=1e-4, atol=1e-5), name)

    def test_unseen(self):
        """Private statistics of clients that never train come from their examples."""
        with self.normalized(trouble="unseen", **{"algorithm.kind": "furl", "participation.per_round": 10,
                                                  "private.cold_start": "reconstruct"}) as f:
            found = self.result(f, "found")["eval"]["unseen"]["loss"]
            only = '["bn.running_mean", "bn.running_var"]'
            f.settings |= {"evaluation.reconstruct": only, "model.private": only}
            statistics = self.result(f, "statistics")["eval"]["unseen"]["loss"]
            f.settings["evaluation.reconstruct"] = "[]"
            without = self.result(f, "without")["eval"]["unseen"]["loss"]
            self.assertLess(found, without)
            self.assertLess(statistics, without)

    def test_federation(self):
        """Nodes, also with numbers of one byte, which statistics are not: the model of the single process."""
        for kind, compression in (("ditto", "none"), ("furl", "int8")):
            with self.subTest(kind), self.normalized(**{"algorithm.kind": kind, "scenario.rounds": 5,
                                                        "network.compression": compression}) as f:
                alone = f.alone()
                mine = ("--python", f"{FILE}:Normalized")
                f.serve()
                f.join(0, 0, 5, *mine)
                f.join(1, 6, 11, *mine)
                self.check_same(f, f.end(), alone)

    def test_killed(self):
        """Trainers and the command: nothing changes."""
        for name in ("Normalized", "Fitted"):
            with self.normalized(name, "slow", **{"scenario.rounds": 20, "algorithm.kind": "fedalt"}) as f:
                whole = self.result(f, "whole")
                self.same(whole, self.killed_run(f, 2))
                run = f.process("trainers")
                run.start([f.furlong, "run", str(f.scenario), "--out", str(f.folder / "trainers"), "--threads", "2",
                           *f.sets()], f.environment)
                draw = random.Random(5)
                metrics = f.folder / "trainers" / "metrics.jsonl"
                kills = rounds = 0
                while run.running:
                    time.sleep(draw.uniform(0.05, 0.3))
                    trainers = children_of(run.process.pid)
                    if trainers and metrics.exists() and metrics.read_text().count("\n") > rounds:
                        try:
                            os.kill(draw.choice(trainers), signal.SIGKILL)
                            kills += 1
                            rounds = metrics.read_text().count("\n")
                        except ProcessLookupError:
                            pass
                self.assertEqual(run.wait(), DONE)
                self.assertGreater(kills, 1)
                self.same(whole, json.loads((f.folder / "trainers" / "summary.json").read_text()))

    def test_files(self):
        """An export loads into the module, and starts a run."""
        with self.normalized(**{"algorithm.kind": "furl"}) as f:
            self.result(f, "run")
            models = [self.model(f, "run", "--client", str(client)) for client in (0, 11)]
            self.assertFalse(numpy.array_equal(models[0]["bn.running_mean"], models[1]["bn.running_mean"]))
            net = normalized.Normalized().module()
            for model in models:
                net.load_state_dict({name: torch.from_numpy(value) for name, value in model.items()})
                self.assertEqual(net.bn.num_batches_tracked, 0)
            f.settings |= {"algorithm.kind": "fedavg", "model.start_from": f'"{f.folder}/run.npz"', "scenario.rounds": 1,
                           "algorithm.client.lr": 1e-9}
            self.result(f, "started")
            mean = self.model(f, "started")["bn.running_mean"]
            self.assertLess(numpy.abs(mean - models[1]["bn.running_mean"]).max(),
                            numpy.abs(mean).max())

    def test_named(self):
        """Buffers of a class's own, which its module replaces."""
        with self.normalized("Named", **{"algorithm.kind": "furl", "model.private": '["*.mean"]'}) as f:
            summary = self.result(f, "run")
            self.same(summary, self.result(f, "again", "--threads", "2"))
            self.assertNotEqual(self.model(f, "run")["own.spread"], 1.0)

    def test_refused(self):
        """Where shared statistics have no meaning."""
        noise = {"privacy.noise": 1.0, "privacy.clip": 1.0, "algorithm.aggregation.rule": "uniform-mean"}
        for settings, text in (
                (noise, 'privacy.noise.*would be added to "bn.running_mean", which clients share.*private'),
                ({"algorithm.kind": "fedatt", "algorithm.aggregation.noise": 0.1}, 'aggregation.noise.*would be added to "bn'),
                ({"algorithm.kind": "centralized"}, "algorithm.kind.*batches have examples of several clients"),
                ({"algorithm.kind": "furl", "model.private": '["*weight", "*bias"]'}, "every trained tensor is private")):
            with self.subTest(text), self.normalized(**{"algorithm.kind": "fedavg", **settings}) as f:
                done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr + done.stdout, text)
        with self.normalized(**{"algorithm.kind": "furl", **noise}) as f:
            self.assertIn("private_sha256", self.result(f, "private"))

    def test_secure_sums(self):
        """Masked sums carry them: the model of the plain ones."""
        with self.normalized(**{"algorithm.kind": "fedavg", "scenario.rounds": 4,
                                "algorithm.aggregation.rule": "uniform-mean"}) as f:
            plain = self.result(f, "plain")
            f.settings["privacy.secure_aggregation"] = "true"
            self.assertEqual(plain["model_sha256"], self.result(f, "masked")["model_sha256"])


if __name__ == "__main__":
    main()
