"""Figures of a round that tasks count: Algorithm.metrics and t.metric()."""

import numpy
import pytest
from host import TrainerError
from test_tasks import HEAD, host_of
from test_trainer import problem

import furlong

COUNTED = """
metrics = ("error", "large")
def train(self, t):
    x, y = self.problem_data(t)
    errors = x @ t.received["w"] + t.received["b"] - y
    for one in errors:
        t.metric("error", one**2)
    t.metric("large", (abs(errors) > 1).sum(), len(errors))
    t.fit()
def problem_data(self, t):
    x, y = t.problem.x[t.client], t.problem.y[t.client]
    return x[t.examples], y[t.examples]
"""
CLASS = """
import furlong, numpy

class Linear(furlong.Problem):
    def __init__(self):
        random = numpy.random.default_rng(3)
        self.x = random.normal(size=(6, 12, 3)).astype(numpy.float32)
        self.y = (self.x @ [1.0, -2.0, 0.5] + random.normal(size=(6, 12))).astype(numpy.float32)

    def parameters(self, seed):
        return {"w": numpy.zeros(3, numpy.float32), "b": numpy.zeros(1, numpy.float32)}

    def clients(self):
        return [furlong.Client(f"c{c}", 8 + c % 3, 0, 2) for c in range(6)]

    def _errors(self, step):
        rows = step.examples + (10 if step.part == "test" else 0)
        x = self.x[step.client, rows]
        return x, x @ step.parameters["w"] + step.parameters["b"] - self.y[step.client, rows]

    def gradient(self, step):
        x, errors = self._errors(step)
        step.gradients["w"][...] = 2 * errors @ x / len(errors)
        step.gradients["b"][...] = 2 * errors.mean()
        return float((errors**2).mean())

    def evaluate(self, step):
        _, errors = self._errors(step)
        return {"loss": ((errors**2).sum(), len(errors))}

class Own(furlong.Algorithm):
"""
SCENARIO = {
    "scenario": {"name": "counted", "rounds": 4, "seed": 2}, "data": {"source": "python"}, "model": {"kind": "python"},
    "algorithm": {"kind": "python", "client": {"lr": 0.1, "batch_size": 0}}, "participation": {"per_round": 6},
    "evaluation": {"groups": ["seen", "train"], "every": 1},
}


def scenario_of(folder, **more):
    lines = "".join(f"    {line}\n" for line in COUNTED.strip("\n").split("\n"))
    name = problem(folder, CLASS + lines, "Linear")
    made = {**SCENARIO, "python": {"problem": name, "algorithm": name.replace("Linear", "Own")}}
    return {**made, **more}


def rounds_of(run):
    return [dict(one) for one in (run.rounds.to_dict("records") if hasattr(run.rounds, "to_dict") else run.rounds)]


def test_a_task_reports_sums_and_counts(tmp_path):
    with host_of(tmp_path, """
metrics = ["acc_before", "seen"]
groups = {"n": report(2)}
def train(self, t):
    t.metric("acc_before", 3, 4)
    t.metric("acc_before", numpy.float32(2.5), numpy.int64(6))
    t.metric("seen", -1)
    t.fit()
""", HEAD) as host:
        about = host.reply["algorithm"]
        assert about["metrics"] == ["acc_before", "seen"]
        assert about["groups"][1] == {"name": "metrics", "place": "report", "shape": [2, 2], "rule": "sum",
                                      "max_norm": 2.0**24, "exact": True}
        for _ in range(2):
            assert host.train(1).reported["metrics"][""].tolist() == [[5.5, 10.0], [-1.0, 1.0]]


@pytest.mark.parametrize("call, reason, fix", [
    ('t.metric("other", 1)', "t.metric() is given 'other'", "the class has metrics = ('acc',): add it"),
    ('t.metric("acc", "much")', "is given 'much' (str) and 1", "give two numbers"),
    ('t.metric("acc", float("nan"))', "is given nan and 1", "give finite numbers"),
    ('t.metric("acc", float("inf"))', "is given inf and 1", "give finite numbers"),
    ('t.metric("acc", 1, -1)', "is given 1 and -1", "a count of at least 0"),
    ('t.metric("acc", 2**24, 1)', "is given 16777216 and 1", "at most 16,777,216 in all"),
])
def test_what_is_no_figure_is_refused(tmp_path, call, reason, fix):
    members = f'metrics = ("acc",)\ndef train(self, t):\n    {call}\n    t.fit()'
    with host_of(tmp_path, members) as host, pytest.raises(TrainerError) as error:
        host.train(1)
    assert reason in str(error.value) and fix in error.value.reply["fix"]


@pytest.mark.parametrize("members, reason", [
    ('metrics = "acc"', "metrics is 'acc'"),
    ('metrics = ("Acc",)', "metrics has the name 'Acc'"),
    ('metrics = ("a", "a")', "metrics has the name 'a'"),
    ('metrics = ("acc",)\ngroups = {"metrics": report(2)}', 'the group "metrics" has the name of what t.metric() reports'),
])
def test_wrong_declarations_are_refused(tmp_path, members, reason):
    with pytest.raises(TrainerError, match="metrics") as error:
        host_of(tmp_path, members)
    assert reason in str(error.value)


def test_in_evaluations_it_is_refused(tmp_path):
    with host_of(tmp_path, 'metrics = ("acc",)\ndef personalize(self, t):\n    t.metric("acc", 1)') as host:
        with pytest.raises(TrainerError, match="t.metric.. is called in personalize"):
            host.personalize(1, [("test", 0)])


def test_a_task_that_only_counts_is_idle(tmp_path):
    with host_of(tmp_path, 'metrics = ("acc",)\ndef train(self, t):\n    t.metric("acc", 1)\n    t.count(1, 0.0)') as host:
        with pytest.raises(TrainerError, match="changes no weights and no group"):
            host.train(1)


@pytest.mark.parametrize("more", [
    {},
    {"privacy": {"secure_aggregation": True},
     "algorithm": {**SCENARIO["algorithm"], "aggregation": {"rule": "uniform-mean"}}},
    {"network": {"compression": "int8"}},
    {"topology": {"aggregators": 2}},
], ids=["plain", "secure", "compressed", "aggregators"])
def test_lines_have_the_quotients_of_a_loop(real, tmp_path, more):
    """All clients train: the figures of a round are those of the model before it, and so are what the evaluation of the
    round before says of the train parts."""
    run = furlong.run(scenario_of(tmp_path, **more), out=tmp_path / "run", progress=False)
    rows = rounds_of(run)
    assert len(rows) == 4
    evaluated = {(one["round"], one["group"]): one for one in (
        run.evaluations.to_dict("records") if hasattr(run.evaluations, "to_dict") else run.evaluations)}
    namespace = {}
    exec(CLASS + "    pass", namespace)
    plain = namespace["Linear"]()
    errors = numpy.concatenate([plain.y[c, : 8 + c % 3] for c in range(6)])  # of the model of zeros
    assert rows[0]["metrics.error"] == pytest.approx((errors**2).mean(), rel=1e-5)
    assert rows[0]["metrics.large"] == pytest.approx((abs(errors) > 1).mean(), rel=1e-5)
    for number, row in enumerate(rows[1:], 1):
        assert row["metrics.error"] == pytest.approx(evaluated[number, "train"]["loss"], rel=1e-4)
        assert row["metrics.error"] == pytest.approx(row["loss"], rel=1e-4)  # of the first step, of all examples
        assert evaluated[number, "train"]["loss"] != evaluated[number, "seen"]["loss"]
    assert run.summary["eval"]["train"]["examples"] == len(errors)
    assert run.summary["eval"]["train"]["loss"] < rows[-1]["metrics.error"]


@pytest.mark.parametrize("key, value", [("clip", 1.0), ("noise", 1.0)])
def test_runs_that_limit_updates_refuse_metrics(real, tmp_path, key, value):
    privacy = {"clip": 1.0, key: value}
    with pytest.raises(furlong.CommandError) as error:
        furlong.run(scenario_of(tmp_path, privacy=privacy), out=tmp_path / "run", progress=False)
    assert f"privacy.{key}" in str(error.value) and "has metrics" in str(error.value)


def test_federations_do_not_score_train(real, tmp_path):
    with pytest.raises(furlong.CommandError) as error:
        furlong.run(scenario_of(tmp_path, topology={"nodes": 2}), out=tmp_path / "run", progress=False)
    assert "which federations do not score" in str(error.value)
