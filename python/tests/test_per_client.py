"""Metrics of single clients: per_client and score_client()."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest

import furlong

ROOT = Path(__file__).resolve().parents[2]
CLASS = '''
import furlong, numpy

def auc(scores, labels):
    """The share of pairs of a positive and a negative one that are in order; None without such pairs."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    if not len(positive) or not len(negative):
        return None
    return float((positive[:, None] > negative).mean() + 0.5 * (positive[:, None] == negative).mean())

class Ranked(furlong.Problem):
    metrics = {"accuracy": "max"}
    per_client = {"auc": "max", "f1": "max"}

    def __init__(self):
        random = numpy.random.default_rng(1)
        self.x = random.normal(size=(8, 47, 3)).astype(numpy.float32)
        self.y = (self.x @ [1.0, -2.0, 0.5] + random.normal(size=(8, 47)) > 0).astype(numpy.float32)
        self.y[5] = 1.0  # a client of one class

    def parameters(self, seed):
        return {"w": numpy.full(3, 0.1, numpy.float32)}

    def clients(self):
        return ([furlong.Client(f"c{c}", 20, 10, 17) for c in range(6)] +
                [furlong.Client("u6", 20, 0, 27, "test"), furlong.Client("u7", 47, 0, 0, "test")])

    def _at(self, step):
        rows = step.examples + {"train": 0, "validation": 20, "test": 30 if step.client < 6 else 20}[step.part]
        return self.x[step.client, rows], self.y[step.client, rows]

    def gradient(self, step):
        x, y = self._at(step)
        chance = 1 / (1 + numpy.exp(-(x @ step.parameters["w"])))
        if "w" in step.gradients:
            step.gradients["w"][...] = x.T @ (chance - y) / len(y)
        return -numpy.log(numpy.where(y == 1, chance, 1 - chance)).mean()

    def evaluate(self, step):
        x, y = self._at(step)
        hits = ((x @ step.parameters["w"] > 0) == (y == 1)).sum()
        return {"loss": (float(self.gradient(step)) * len(y), len(y)), "accuracy": (hits, len(y))}

    def score_client(self, step):
        x, y = self._at(step)
        scores = x @ step.parameters["w"]
        found = ((scores > 0) & (y == 1)).sum()
        return {"auc": auc(scores, y), "f1": 2 * found / ((scores > 0).sum() + (y == 1).sum())}
'''
NET = '''
import torch, furlong.torch
from ranked import Ranked as Plain, auc

class Ranked(furlong.torch.Problem):
    metrics, per_client = Plain.metrics, Plain.per_client

    def __init__(self):
        plain = Plain()
        self.x, self.y, self.clients = torch.from_numpy(plain.x), torch.from_numpy(plain.y), plain.clients

    def module(self):
        module = torch.nn.Linear(3, 1, bias=False)
        torch.nn.init.constant_(module.weight, 0.1)
        return module

    def clients(self):
        raise NotImplementedError

    def batch(self, client, part, examples):
        rows = examples + {"train": 0, "validation": 20, "test": 30 if client < 6 else 20}[part]
        return self.x[client, rows], self.y[client, rows]

    def loss(self, outputs, targets):
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], targets)

    def score(self, outputs, targets):
        return {"accuracy": (((outputs[:, 0] > 0) == (targets == 1)).sum(), len(targets))}

    def score_client(self, outputs, targets):
        scores, y = outputs[:, 0], targets
        found = ((scores > 0) & (y == 1)).sum()
        return {"auc": auc(scores.numpy(), y.numpy()), "f1": 2 * found / ((scores > 0).sum() + (y == 1).sum())}

class Same(furlong.torch.Algorithm):
    scores = ("before",)

    def personalize(self, t):
        t.score("before")

    def outputs(self, t, inputs):
        return t.module(inputs)
'''
SCENARIO = {
    "scenario": {"name": "ranked", "rounds": 4, "seed": 2}, "data": {"source": "python"}, "model": {"kind": "python"},
    "algorithm": {"kind": "fedavg", "client": {"lr": 0.5, "batch_size": 5}}, "participation": {"per_round": 3},
    "evaluation": {"every": 2, "batch_size": 4},
}


@pytest.fixture
def place(real, tmp_path, monkeypatch):
    (tmp_path / "ranked.py").write_text(CLASS)
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("ranked", None)


def expected(weights, clients, parts):
    """The means over clients that have a figure."""
    import ranked

    problem = ranked.Ranked()
    found = {"auc": [], "f1": []}
    for client, part in zip(clients, parts):
        size = getattr(problem.clients()[client], part)
        layout = type("Layout", (), {"parameters": weights, "gradients": {}})
        for name, value in problem.score_client(furlong.Step(layout, client, part, numpy.arange(size), 0)).items():
            found[name] += [] if value is None else [value]
    return {name: float(numpy.mean(values)) for name, values in found.items()}


def records(frame):
    return frame.to_dict("records") if hasattr(frame, "to_dict") else frame


def test_figures_are_means_over_clients(place):
    run = furlong.run(SCENARIO, problem="ranked.py:Ranked", out="a", progress=False)
    figures = run.summary["eval"]
    weights = run.model()
    seen = expected(weights, range(6), ["test"] * 6)
    unseen = expected(weights, (6, 7), ("test", "train"))
    for name in ("auc", "f1"):
        assert figures["seen"][name] == pytest.approx(seen[name], rel=1e-6)
        assert figures["unseen"][name] == pytest.approx(unseen[name], rel=1e-6)
    assert 0.5 < figures["seen"]["auc"] < 1
    other = furlong.run(SCENARIO, problem="ranked.py:Ranked", out="b", progress=False, set={"evaluation.batch_size": 100})
    assert other.summary["eval"]["seen"]["auc"] == figures["seen"]["auc"]
    assert other.summary["model_sha256"] == run.summary["model_sha256"]
    compared = furlong.compare([run, other], metrics=["eval.seen.auc"])
    assert [row["mean"] for row in records(compared.table)] == [figures["seen"]["auc"]] * len(compared.table)


def test_each_client_has_its_figures(place):
    run = furlong.run(SCENARIO, problem="ranked.py:Ranked", out="a", progress=False)
    rows = [row for row in records(run.clients) if row["role"] == "train"]
    assert len(rows) == 6
    known = [row["auc"] for row in rows if row["auc"] == row["auc"] and row["auc"] is not None]
    assert len(known) == 5  # one client has one class alone
    assert numpy.mean(known) == pytest.approx(run.summary["eval"]["seen"]["auc"], rel=1e-4)


def test_torch_joins_the_batches(place):
    pytest.importorskip("torch")
    runs = [furlong.run({**SCENARIO, "scenario": {**SCENARIO["scenario"], "rounds": 2}}, problem=name, out=out,
                        progress=False, **more)
            for name, out, more in (("ranked.py:Ranked", "plain", {}), ("net.py:Ranked", "net", {}),
                                    ("net.py:Ranked", "algorithm", {"algorithm": "net.py:Same"}))]
    plain, net, algorithm = (run.summary["eval"] for run in runs)
    for group in ("seen", "unseen"):
        for name in ("auc", "f1", "accuracy"):
            assert net[group][name] == pytest.approx(plain[group][name], rel=1e-5)
            assert algorithm[group][name] == net[group][name]
            assert algorithm[group][f"before_{name}"] == net[group][name]


def test_tuning_by_such_a_metric(place):
    scenario = {**SCENARIO, "evaluation": {**SCENARIO["evaluation"], "metric": "auc"}}
    tuning = furlong.tune(scenario, grid={"algorithm.client.lr": [1e-5, 0.5]}, problem="ranked.py:Ranked", seeds=[1],
                          factor=2, out="tuned", progress=False, metric="eval.validation.auc")
    assert set(tuning.best) == {"algorithm.client.lr"}
    best = furlong.run(tuning.scenario, out="best", progress=False)
    assert best.summary["eval"]["validation"]["auc"] == tuning.data["best"]["figure"]


def test_check_tells_them(place):
    say = lambda *more: subprocess.run(
        [sys.executable, "-m", "furlong.check", *more], capture_output=True, text=True, timeout=100,
        env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin"})
    done = say("ranked.py:Ranked")
    assert done.returncode == 0 and "auc 0." in done.stdout and "f1 0." in done.stdout, done.stdout + done.stderr
    (place / "other.py").write_text(textwrap.dedent("""
        from ranked import Ranked
        class Batched(Ranked):
            def evaluate(self, step):
                self.sizes = [*getattr(self, "sizes", []), len(step.examples)][-3:]
                return super().evaluate(step)
            def score_client(self, step):
                return {"auc": 1 / max(self.sizes), "f1": 0.5}
    """))
    done = say("other.py:Batched")
    assert done.returncode == 1 and '"auc" of client' in done.stdout + done.stderr


BROKEN = [
    ("per_client = {'accuracy': 'max'}", '"accuracy" is in metrics and in per_client; leave it in one of them'),
    ("per_client = {'Auc': 'max'}", "per_client has the name 'Auc'"),
    ("per_client = {'auc': 'most'}", "per_client[\"auc\"] is 'most'"),
    ("def score_client(self, step): return {'auc': 1.0}", "score_client() returned the names ['auc'] (client c0); return a "
     "dict with a number for each of auc, f1"),
    ("def score_client(self, step): return {'auc': 7.0, 'f1': 0}", 'score_client() returned "auc" with the sum 7'),
    ("def score_client(self, step): return {'auc': 'x', 'f1': 0}", "score_client() returned 'x' (str) for \"auc\""),
    ("score_client = furlong.Problem.score_client", "the class has per_client, and no method score_client()"),
    ("def score_client(self, step): raise ValueError('one class')", "ValueError: one class"),
]


@pytest.mark.parametrize("text, message", BROKEN)
def test_mistakes_are_named(place, text, message):
    (place / "broken.py").write_text(f"import furlong\nfrom ranked import Ranked\nclass Broken(Ranked):\n    {text}\n")
    with pytest.raises(furlong.CommandError) as told:
        furlong.run(SCENARIO, problem="broken.py:Broken", out="a", progress=False)
    assert message in str(told.value) and "broken.py:" in str(told.value)
    assert not Path("a").exists()
