"""Tasks of algorithms in the trainer, called by a host in Python, in numpy."""

import numpy
import pytest
from host import TrainerError
from task_host import TaskHost
from test_fit import data
from test_trainer import LINEAR, problem

from furlong import Values
from furlong.errors import ProblemError

HEAD = LINEAR.replace("import numpy, furlong", "import numpy, furlong\nfrom furlong import kept, report, shared, broadcast")


def host_of(folder, members, problem_text=HEAD, **more):
    """A host of the linear problem with an algorithm of these members."""
    lines = "".join(f"    {line}\n" for line in members.strip("\n").split("\n"))
    name = problem(folder, f"{problem_text}\nclass Own(furlong.Algorithm):\n{lines}", "Linear")
    return TaskHost(name, name.replace("Linear", "Own"), **more)


def descend(client, start, orders, lr=0.1, batch=4, extra=lambda name, w: 0.0, names=("w", "b")):
    """Plain gradient steps in float64."""
    x, y = data(client)
    now = {name: value.astype(float) for name, value in start.items()}
    loss = 0.0
    for order in orders:
        for first in range(0, len(order), batch):
            picks = order[first : first + batch]
            error = x[picks] @ now["w"] + now["b"] - y[picks]
            loss += (error**2).sum()
            step = {"w": 2 * error @ x[picks] / len(error), "b": 2 * error.mean()}
            now = {name: value - lr * (step[name] + extra(name, value)) if name in names else value
                   for name, value in now.items()}
    return now, loss


def close(values, expected):
    assert set(values) == set(expected)
    for name, value in values.items():
        assert value == pytest.approx(expected[name], rel=2e-5, abs=2e-6), name


def test_an_algorithm_without_methods_is_fedavg(tmp_path):
    with host_of(tmp_path, "pass") as host:
        assert host.reply["algorithm"] == {
            "options": {}, "groups": [], "private": "allowed", "sends_model": True, "exact_state": False, "plain": False,
            "rules": [], "predicts": "model", "personalizes": False, "outputs": False, "cost": False, "cohort": False,
            "metrics": [], "step": False}
        done = host.train(1)
        expected, loss = descend(1, host.start, [range(12)])
        close(done.weights, expected)
        assert (done.weight, done.examples) == (12, 12) and done.loss_sum == pytest.approx(loss, rel=1e-5)


def test_groups_are_described(tmp_path):
    members = """
options = {"mu": 2.0, "tau": furlong.option(0.5, above=0)}
private, exact_state, rules, predicts = "required", True, ("uniform-mean",), "kept"
groups = {"previous": kept("model", first="received"), "own": kept(["b", "w*"], first=0.5),
          "c": shared("shared", rule="sum"), "n": report((10, 1), rule="mean", max_norm=9, exact=True),
          "sent": broadcast("private", first="received"), "first": kept("w", first="initial")}
def cost(self, examples, settings):
    return 3 * examples * settings["epochs"]
"""
    with host_of(tmp_path, members, private=["b"], options={"mu": 3}) as host:
        about = host.reply["algorithm"]
        assert about["options"] == {"mu": 3.0, "tau": 0.5}
        assert about["groups"] == [
            {"name": "previous", "place": "kept", "of": "model", "first": "received"},
            {"name": "own", "place": "kept", "of": ["w", "b"], "first": 0.5},
            {"name": "c", "place": "shared", "of": "shared", "first": 0.0, "rule": "sum", "max_norm": 1024.0,
             "exact": False},
            {"name": "n", "place": "report", "shape": [10, 1], "rule": "mean", "max_norm": 9.0, "exact": True},
            {"name": "sent", "place": "broadcast", "of": "private", "first": "received"},
            {"name": "first", "place": "kept", "of": ["w"], "first": "initial"}]
        assert (about["private"], about["exact_state"], about["rules"], about["predicts"], about["cost"]) == (
            "required", True, ["uniform-mean"], "kept", True)
        assert host.costs([12, 40], epochs=2) == [72, 240]


@pytest.mark.parametrize("options, reason, fix", [
    ({"tau": -1}, 'the option "tau" is -1.0', "give a value that is above 0"),
    ({"tau": "x"}, "the option \"tau\" is 'x' (str), and its default 0.5 (float)", "of type float"),
    ({"way": "MMD"}, "the option \"way\" is 'MMD'", "one of 'KD', 'L2'"),
    ({"share": 2.0}, 'the option "share" is 2.0', "at most 1"),
    ({"steps": 0}, 'the option "steps" is 0', "at least 1"),
    ({"zz": 1}, 'class Own has no option "zz"', "it has: tau, way, share, steps"),
])
def test_options_have_bounds(tmp_path, options, reason, fix):
    members = """
options = {"tau": furlong.option(0.5, above=0), "way": furlong.option("KD", among=("KD", "L2")),
           "share": furlong.option(0.5, least=0, most=1), "steps": furlong.option(5, least=1)}
"""
    with pytest.raises(TrainerError) as error:
        host_of(tmp_path, members, options=options)
    assert reason in error.value.reply["error"] and fix in error.value.reply["fix"]
    assert error.value.reply["file"] == f"{tmp_path}/taste.py" and error.value.reply["line"] > 40


def test_values_are_computed_with():
    one = Values({"w": numpy.arange(3, dtype=numpy.float32), "b": numpy.full((), 2, numpy.float32)})
    two = Values({"w": numpy.ones(3, numpy.float32)})
    assert {**(2 * one - one / 4)}["w"].tolist() == [0, 1.75, 3.5]
    assert list(one + two) == list(two + one) == ["w"] and (1 - two)["w"].tolist() == [0, 0, 0]
    assert (numpy.array([0.5]) * one)["b"] == 1 and (one * one)["w"].tolist() == [0, 1, 4]
    assert all(array.dtype == numpy.float32 for values in (one * 0.1, one + one, -one) for array in values.values())
    assert one.norm() == pytest.approx(3) and one.dot(two) == 3
    copied = one.copy()
    copied["w"] = 7
    copied.update({"b": [1], "w": [1, 2, 3]})
    assert copied["w"].tolist() == [1, 2, 3] and one["w"].tolist() == [0, 1, 2]
    assert one.get("v") is None and "v" not in one and len({one, one.copy()}) == 2
    for wrong in (lambda: one + {"v": 1}, lambda: two + Values({"v": numpy.ones(1, numpy.float32)}), lambda: one + None,
                  lambda: copied.update({"w": 1, "v": 1}), lambda: one * numpy.ones(3)):
        with pytest.raises(ProblemError, match="give|use values"):
            wrong()


def test_ditto(tmp_path):
    members = """
options = {"pull": 2.0}
groups = {"own": kept("model", first="received")}
def train(self, t):
    t.fit()
    t.fit(at="own", rate=0.05, epochs=2, pull=self.pull)
def personalize(self, t):
    if t.has_state:
        t.weights = t["own"]
"""
    with host_of(tmp_path, members) as host:
        received = {"w": numpy.ones(5, numpy.float32)}
        own = {"w": numpy.linspace(-1, 1, 5), "b": numpy.array(0.3)}
        done = host.train(1, received, {"own": own})
        start = dict(host.start, **received)
        expected, loss = descend(1, start, [range(12)])
        close(done.weights, expected)
        personal, _ = descend(1, own, [range(12)] * 2, 0.05, extra=lambda name, w: 2.0 * (w - start[name]))
        close(done.kept["own"], personal)
        assert (done.weight, done.examples) == (12, 36) and done.loss_sum == pytest.approx(loss, rel=1e-5)
        source, figures, weights = host.personalize(1, [("train", k) for k in range(7)], received, {"own": own})
        close(weights, own)
        x, y = data(1)
        error = x[:7] @ own["w"] + own["b"] - y[:7]
        assert source == 0 and figures[:2] == (pytest.approx((error**2).sum(), rel=1e-5), 7)
        assert host.personalize(1, [("train", 0)], received)[0] == 2
        assert host.evaluate([(1, "train", range(3))])  # other requests go on


SCAFFOLD = """
exact_state, plain, rules = True, True, ("uniform-mean",)
groups = {"c": shared("shared"), "own": kept("shared")}
def train(self, t):
    t.fit(add=[(-1, t["own"]), (1, t["c"])])
    change = (t.received - t.weights) / t.rates - t["c"]
    t.report["c"] = change * (1 / t.clients)
    t["own"] += change
"""


def test_scaffold(tmp_path):
    with host_of(tmp_path, SCAFFOLD, private=["b"]) as host:
        c, own = {"w": numpy.linspace(0, 1, 5)}, {"w": numpy.linspace(1, 0, 5)}
        done = host.train(1, groups={"c": c, "own": own})
        expected, _ = descend(1, host.start, [range(12)], extra=lambda name, w: c["w"] - own["w"] if name == "w" else 0.0)
        close(done.weights, expected)
        change = (host.start["w"] - expected["w"]) / (3 * 0.1) - c["w"]
        assert done.kept["own"]["w"] == pytest.approx(own["w"] + change, rel=1e-4, abs=1e-5)
        assert done.reported["c"]["w"] == pytest.approx(change / 2, rel=1e-4, abs=1e-5)


def test_gradients_values_and_reports(tmp_path):
    members = """
groups = {"n": report((2, 3), rule="sum"), "own": kept("model", first=0.0), "share": kept(1, first=0.5)}
sends_model = False
def train(self, t):
    for numbers in t.batches().numbers():
        loss, g = t.gradient(numbers)
        _, h = t.gradient(numbers, at=t["own"] * 0.5 + 0.5 * t.weights)
        t.weights -= t.rate * g
        t["own"] -= t.rate * t["share"] * h
        t.count(len(numbers), loss)
    t["share"] = 0.25
    t.report["n"][1] = [1, 2, t.weights.norm()]
    t.weigh(3)
"""
    with host_of(tmp_path, members) as host:
        done = host.train(0)
        x, y = data(0)
        w, p = {name: value.astype(float) for name, value in host.start.items()}, {"w": numpy.zeros(5), "b": 0.0}
        gradient = lambda at, some: (lambda e: {"w": 2 * e @ x[some] / len(e), "b": 2 * e.mean()})(
            x[some] @ at["w"] + at["b"] - y[some])
        for first in (0, 4, 8):
            some = slice(first, first + 4)
            g, h = gradient(w, some), gradient({name: 0.5 * p[name] + 0.5 * w[name] for name in w}, some)
            w, p = ({name: w[name] - 0.1 * g[name] for name in w}, {name: p[name] - 0.05 * h[name] for name in w})
        close(done.weights, w)
        close(done.kept["own"], p)
        assert done.kept["share"][""].tolist() == [0.25]
        norm = numpy.sqrt((w["w"] ** 2).sum() + w["b"] ** 2)
        assert done.reported["n"][""] == pytest.approx(numpy.array([[0, 0, 0], [1, 2, norm]]), rel=1e-5)
        assert (done.weight, done.examples) == (3, 12)


def test_orders_go_on_from_phase_to_phase(tmp_path):
    members = """
def train(self, t):
    for _ in range(2):
        for numbers in t.batches(batch_size=0).numbers():
            print("order", numbers.tolist())
    t.fit("private", epochs=1)
    print("own", t.own_random.integers(1000), "task", t.random.integers(1000))
"""
    with host_of(tmp_path, members, private=["b"]) as host:
        orders = [[0, 1, 2, 3], [3, 2, 1, 0]]
        for seed, client in ((5, 1), (6, 1), (6, 0)):
            host.train(client, orders=orders, seed=seed, shuffle=True, epochs=1)
        lines = [line for line in host.close()[1].splitlines() if line.startswith(("order", "own"))]
    assert lines[:3] == ["order [0, 1, 2, 3]", "order [3, 2, 1, 0]", lines[2]] == lines[3:6]
    own = [line.split()[1] for line in lines if line.startswith("own")]
    task = [line.split()[3] for line in lines if line.startswith("own")]
    assert own[1] == own[2] != own[3] and task[1] != task[2]


def test_scores_inside_a_personalization(tmp_path):
    members = """
scores, predicts = ("before",), "examples"
def personalize(self, t):
    t.score("before")
    t.fit(epochs=3)
"""
    with host_of(tmp_path, members) as host:
        assert list(host.reply["metrics"]) == ["big", "mae", "before_loss", "before_big", "before_mae"]
        asked = [("test", k) for k in range(5)] + [("validation", k) for k in range(3)]
        source, figures, _ = host.personalize(0, asked, known=False)
        plain = host.evaluate([(0, "test", range(5)), (0, "validation", range(3))])
        assert source == 4 and figures[6:] == plain[:6] and plain[6:] == (0.0,) * 6
        assert figures[0] < figures[6]
        # Without examples there is nothing to adapt with.
        source, figures, weights = host.personalize(0, asked, examples=0)
        assert figures[:6] == figures[6:] == plain[:6] and source == 2
        assert len(host.personalize(0, asked, what=2)[1]) == 8
        assert host.personalize(0, asked, what=0)[1] is None


def test_sources_of_weights(tmp_path):
    with host_of(tmp_path, "def personalize(self, t):\n    pass", private=["b"]) as host:
        asked = [("train", 0)]
        assert host.personalize(0, asked)[0] == 3  # private values, before any training
        assert host.personalize(0, asked, groups={})[0] == 0


def test_the_first_task_is_repeated(tmp_path):
    with host_of(tmp_path, "def train(self, t):\n    print('called')\n    t.fit()") as host:
        for _ in range(3):
            host.train(0)
        assert host.close()[1].count("called") == 4


def test_two_trainers_give_the_same_bytes(tmp_path):
    members = SCAFFOLD.replace("t.fit(", "t.weights = t.weights + t.random.normal()\n    t.fit(")
    with host_of(tmp_path, members) as one, TaskHost(f"{tmp_path}/taste.py:Linear", f"{tmp_path}/taste.py:Own") as two:
        two.train(0, seed=3)
        first, second = one.train(1), two.train(1)
        assert first[:3] == second[:3]
        assert all(first.weights[name].tobytes() == second.weights[name].tobytes() for name in first.weights)


def test_errors_leave_the_trainer_usable(tmp_path):
    with host_of(tmp_path, "def train(self, t):\n    if t.client: 1 / 0\n    t.fit()") as host:
        for _ in range(2):
            with pytest.raises(TrainerError, match="ZeroDivisionError"):
                host.train(1)
            host.train(0)
