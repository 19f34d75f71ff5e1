"""Phases of training in the trainer, called by a host in Python: the default fit() and own ones, in numpy."""

from pathlib import Path

import numpy
import pytest
from host import Host, TrainerError
from test_trainer import LINEAR, problem

ORDERS = [list(range(10)), list(range(9, -1, -1))]
OWN = LINEAR + '''
    def fit(self, phase):
        BODY
'''


def own(folder, body, text=OWN):
    """A host of the class with this fit()."""
    lines = "\n        ".join(body.strip("\n").split("\n"))
    host = Host(problem(folder, text.replace("BODY", lines), "Linear"))
    host.open()
    host.initial()
    return host


@pytest.fixture
def linear(tmp_path):
    with Host(problem(tmp_path, LINEAR, "Linear")) as host:
        host.open()
        host.initial()
        yield host


def data(client):
    random = numpy.random.default_rng(3)
    x = random.normal(size=(3, 40, 5)).astype(numpy.float32)
    return x[client].astype(float), x.sum(axis=2)[client].astype(float)


def train(host, client, orders, lr=0.1, batch=4, trained=("w", "b"), momentum=0.0, proximal=0.0, optimizer="sgd",
          decay=0.0, clip=None, steps=0, private_lr=None, terms=()):
    """The loop of docs/algorithms.md, in float64."""
    x, y = data(client)
    start = {name: value.astype(float) for name, value in host.values.items()}
    now = {name: value.copy() for name, value in start.items()}
    moments = {name: [numpy.zeros_like(value), numpy.zeros_like(value)] for name, value in start.items()}
    losses, examples, taken = 0.0, 0, 0
    for order in orders:
        for first in range(0, len(order), batch):
            if steps and taken == steps:
                return now, (losses, examples, taken)
            batch_of = order[first : first + batch]
            error = x[batch_of] @ now["w"] + now["b"] - y[batch_of]
            gradient = {"w": 2 * error @ x[batch_of] / len(error), "b": 2 * error.mean()}
            losses += (error**2).sum()
            examples += len(error)
            taken += 1
            for name in trained:
                for factor, form, values in terms:
                    if name in values:
                        gradient[name] = gradient[name] + factor * (values[name], now[name],
                                                                    now[name] - values[name])[form]
                gradient[name] = gradient[name] + proximal * (now[name] - start[name])
            norm = numpy.sqrt(sum((gradient[name] ** 2).sum() for name in trained))
            for name in trained:
                rate = private_lr if private_lr and name == "b" else lr
                g = gradient[name] * (clip / norm if clip and norm > clip else 1)
                one, two = moments[name]
                if optimizer == "sgd":
                    one[...] = momentum * one + g + decay * now[name]
                    now[name] = now[name] - rate * one
                    continue
                if optimizer == "adam":
                    g = g + decay * now[name]
                one[...] = 0.9 * one + 0.1 * g
                two[...] = 0.999 * two + 0.001 * g * g
                change = one / (1 - 0.9**taken) / (numpy.sqrt(two / (1 - 0.999**taken)) + 1e-8)
                kept = 1 - rate * decay if optimizer == "adamw" else 1
                now[name] = kept * now[name] - rate * change
    return now, (losses, examples, taken)


@pytest.mark.parametrize("sent, plain", [
    ({}, {}),
    ({"lr": 0.03, "batch_size": 0}, {"lr": 0.03, "batch": 10}),
    ({"momentum": 0.9}, {"momentum": 0.9}),
    ({"optimizer": "adam", "weight_decay": 0.1}, {"optimizer": "adam", "decay": 0.1}),
    ({"optimizer": "adamw", "weight_decay": 0.1}, {"optimizer": "adamw", "decay": 0.1}),
    ({"weight_decay": 0.1, "momentum": 0.5}, {"decay": 0.1, "momentum": 0.5}),
    ({"clip": 0.5, "weight_decay": 0.1}, {"clip": 0.5, "decay": 0.1}),
    ({"clip": 0.5, "optimizer": "adam"}, {"clip": 0.5, "optimizer": "adam"}),
    ({"clip": 0.5, "trained": ["w"]}, {"clip": 0.5, "trained": ["w"]}),
    ({"max_steps": 4}, {"steps": 4}),
    ({"private": ["b"], "private_lr": 0.02}, {"private_lr": 0.02}),
    ({"trained": ["b"]}, {"trained": ["b"]}),
])
def test_the_default_is_the_loop_of_furlong(linear, sent, plain):
    figures, values = linear.fit(1, ORDERS, **sent)
    expected, (loss, examples, steps) = train(linear, 1, ORDERS, **plain)
    assert figures[0] == pytest.approx(loss, rel=1e-5)
    assert figures[1:3] == (examples, steps)
    assert figures[3] == pytest.approx(steps * plain.get("lr", 0.1), rel=1e-6)
    for name in values:
        assert values[name] == pytest.approx(expected[name], rel=2e-5, abs=2e-6)
    assert set(values) == set(plain.get("trained", ("w", "b")))


def test_terms_are_added_to_each_gradient(linear):
    random = numpy.random.default_rng(1)
    terms = [(-1.0, 0, {"w": random.normal(size=5), "b": random.normal(size=())}),
             (0.25, 1, {"w": numpy.zeros(5)}), (0.5, 2, {"w": random.normal(size=5)})]
    _, values = linear.fit(1, ORDERS, terms=terms)
    expected, _ = train(linear, 1, ORDERS, terms=terms)
    without, _ = train(linear, 1, ORDERS)
    for name in values:
        assert values[name] == pytest.approx(expected[name], rel=2e-5, abs=2e-6)
        assert abs(expected[name] - without[name]).max() > 0.1


def test_what_a_phase_starts_with_is_never_written(linear):
    before = {name: value.copy() for name, value in linear.values.items()}
    first = linear.fit(1, ORDERS)
    assert all(numpy.array_equal(linear.values[name], value) for name, value in before.items())
    linear.gradients["w"][:] = 7  # the rest of another phase
    again = linear.fit(1, ORDERS)
    assert first[0] == again[0] and all(numpy.array_equal(first[1][name], again[1][name]) for name in first[1])


STEP = """
for examples in BATCHES:
    loss = self.gradient(phase.step(examples))
    phase.correct()
    for name in phase.trained:
        phase.weights[name] -= phase.rate * phase.gradients[name]
    phase.record(loss, len(examples))
"""


def test_an_own_loop_is_called_once(tmp_path):
    with own(tmp_path, STEP.replace("BATCHES", "phase.batches()")) as host:
        reply = host.open()
        assert (reply["gradient"], reply["fit"], reply["plain"]) == (True, True, False)
        host.initial()
        figures, values = host.fit(1, ORDERS, terms=[(1.0, 0, {"w": numpy.ones(5)})])
        expected, (loss, examples, steps) = train(host, 1, ORDERS, terms=[(1.0, 0, {"w": numpy.ones(5)})])
        assert figures == (pytest.approx(loss, rel=1e-5), examples, steps, pytest.approx(0.1 * steps))
        for name in values:
            assert values[name] == pytest.approx(expected[name], rel=2e-5, abs=2e-6)


def test_a_class_says_what_it_has(tmp_path):
    text = LINEAR.replace("def gradient(self", "def other(self") + "\n    plain = True\n    def fit(self, phase): pass\n"
    with Host(problem(tmp_path, text, "Linear")) as host:
        reply = host.open()
        assert (reply["gradient"], reply["fit"], reply["plain"]) == (False, True, True)
    with Host(problem(tmp_path, LINEAR, "Linear")) as host:
        reply = host.open()
        assert (reply["gradient"], reply["fit"], reply["plain"]) == (True, False, False)


def batches(folder, call, more=""):
    """The batches of a call, as an own loop sees them."""
    body = f"""
seen = []
{more}
for examples in {call}:
    seen.append(examples.tolist())
    phase.record(0.0, len(examples))
print("seen", seen, len(phase.batches()))
"""
    with own(folder, body) as host:
        host.fit(1, ORDERS, shuffle=True)
        line = host.close()[1].splitlines()[-1]
    return eval(line[5 : line.rindex(" ")])


def test_batches_are_those_of_furlong(tmp_path):
    first, second = ORDERS
    cut = [order[at : at + 4] for order in (first, second) for at in (0, 4, 8)]
    assert batches(tmp_path, "phase.batches()") == cut
    assert batches(tmp_path, "phase.batches(steps=4)") == cut[:4]
    assert batches(tmp_path, "phase.batches(drop_last=True)") == [one for one in cut if len(one) == 4]
    assert batches(tmp_path, "phase.batches(epochs=1, batch_size=0)") == [first]
    # Each call goes on with the next epoch.
    calls = "[b for _ in range(2) for b in phase.batches(epochs=1, batch_size=10)]"
    assert batches(tmp_path, calls) == [first, second]
    further = batches(tmp_path, "phase.batches(epochs=4, batch_size=10)")
    assert further[:2] == [first, second] and all(sorted(one) == first for one in further)
    assert further[2] != further[3] and further[2] not in (first, second)
    some = batches(tmp_path, "phase.batches(epochs=3, batch_size=2, examples=phase.examples[5:9])")
    assert len(some) == 6 and all(sorted(some[at] + some[at + 1]) == [5, 6, 7, 8] for at in (0, 2, 4))
    assert [] == batches(tmp_path, "(b for b in [phase.examples])", "assert len(phase.batches(epochs=0)) == 0")[1:]


def test_what_a_phase_knows(tmp_path):
    body = """
print("knows", [phase.trained, phase.private, phase.rate, phase.private_rate, phase.dropout, phase.client, phase.part,
      phase.round, phase.rounds, phase.examples.tolist(), phase.seed, dict(phase.settings)["momentum"],
      phase.random.random() == numpy.random.Generator(numpy.random.Philox(key=phase.seed)).random(),
      sorted(phase.weights), phase.weights["b"].flags.writeable, phase.weights["w"].flags.writeable])
phase.record(1.5, 10)
"""
    with own(tmp_path, body) as host:
        figures, _ = host.fit(1, [[3, 1, 2]], seed=2**63 + 1, round=4, rounds=9, private=["b"], private_lr=0.25,
                              trained=["b"], dropout=False, momentum=0.9)
        assert figures == (15.0, 10, 1, 0.1)
        line = host.close()[1].splitlines()[-1]
    assert eval(line[6:]) == [("b",), ("b",), 0.1, 0.25, False, 1, "train", 4, 9, [3, 1, 2], 2**63 + 1, 0.9, True,
                              ["b", "w"], True, False]


def test_rates_of_steps_are_summed(tmp_path):
    body = """
for step, examples in enumerate(phase.batches()):
    phase.correct(rate=0.1 / (1 + step))
    phase.record(0.0, len(examples))
"""
    with own(tmp_path, body) as host:
        assert host.fit(1, ORDERS[:1])[0][3] == pytest.approx(0.1 * (1 + 1 / 2 + 1 / 3))


@pytest.mark.parametrize("values, line", [
    ("phase.weights['w'][:] = numpy.nan", "leaves values in \"w\" that are not finite for client 1"),
    ("phase.weights['w'][:] = 0; loss = numpy.inf", "records a loss that is not finite for client 1"),
])
def test_values_that_are_not_finite_are_named_once(tmp_path, values, line):
    with own(tmp_path, f"loss = 0.0\n{values}\nphase.record(loss, 4)") as host:
        for _ in range(3):
            host.fit(1, ORDERS)
        assert host.close()[1].count(line) == 1


def test_the_trainer_goes_on_after_an_error(tmp_path):
    with own(tmp_path, "if phase.client == 0: 1 / 0\nphase.weights['b'] = 3\nphase.record(0.0, 1)") as host:
        for _ in range(2):
            with pytest.raises(TrainerError, match="ZeroDivisionError"):
                host.fit(0, ORDERS)
            assert host.fit(1, ORDERS)[1]["b"] == 3


def test_a_step_without_correction_is_refused_where_there_are_terms(tmp_path):
    with own(tmp_path, "phase.record(0.0, 4)") as host:
        host.fit(1, ORDERS)
        with pytest.raises(TrainerError, match="a step is recorded without phase.correct()"):
            host.fit(1, ORDERS, terms=[(0.0, 0, {"w": numpy.zeros(5)})])


def test_the_first_phase_of_each_set_of_parameters_is_repeated(tmp_path):
    body = "self.calls = getattr(self, 'calls', 0) + 1\nphase.weights['b'] = len(phase.trained)\nphase.record(0.0, 4)"
    with own(tmp_path, body) as host:
        for trained in (["w", "b"], ["b"]):
            for _ in range(2):  # an error does not count as the check
                with pytest.raises(TrainerError, match='leave different values of "self.calls"'):
                    host.fit(1, ORDERS, trained=trained)
    with own(tmp_path, "print('called')\nphase.record(0.0, 4)") as host:
        for trained in (["w", "b"], ["b"], ["b"], ["w", "b"]):
            host.fit(1, ORDERS, trained=trained)
        assert host.close()[1].count("called") == 6


@pytest.mark.parametrize("phase", [4, 16, 64])
def test_later_phases_are_repeated_too(tmp_path, phase):
    """State that shows late: from this phase on, each is another one if it is repeated."""
    body = f"""
self.log = getattr(self, "log", []) + [phase.client]
phase.weights["b"] = max(0, self.log.count(1) - {phase})
phase.record(0.0, 4)"""
    with own(tmp_path, body) as host:
        with pytest.raises(TrainerError, match='two calls of fit.. with the same seed give different values of "b"'):
            for number in range(1, phase + 1):
                host.fit(1, ORDERS)
        assert number <= phase


PACKAGE = """
import threading, time
class Bar(threading.Thread):
    def run(self):
        time.sleep(60)
"""


@pytest.mark.parametrize("body, name", [
    ("self.timer = threading.Timer(60, print); self.timer.daemon = True; self.timer.name = 'alarm'; self.timer.start()",
     "alarm"),
    ("self.pool = concurrent.futures.ThreadPoolExecutor(1, 'pool'); self.pool.submit(print)", "pool_0"),
    ("with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(print)", None),
    ("threading.Thread(target=lambda: time.sleep(0.2)).start()", None),
    ("import bar; bar.Bar(daemon=True).start()", None),  # of a package
])
def test_threads_that_a_loop_leaves_are_refused(tmp_path, body, name):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "bar.py").write_text(PACKAGE)
    body = f"import concurrent.futures, sys, threading, time; sys.path.append({str(package)!r})\n{body}"
    with own(tmp_path, f"{body}\nphase.record(0.0, 1)") as host:
        if name is None:
            host.fit(1, ORDERS)
            return
        with pytest.raises(TrainerError, match=f'fit.. leaves the thread "{name}" running') as error:
            host.fit(1, ORDERS)
        lines = Path(error.value.reply["file"]).read_text().splitlines()
        assert lines[error.value.reply["line"] - 1] == "    def fit(self, phase):"
        assert "let it end" in error.value.reply["fix"]
