"""python.devices: a module with values of its own gives the bytes that one gives which is in the memory of requests."""

import numpy
import pytest
from host import Host, TrainerError
from task_host import TaskHost

torch = pytest.importorskip("torch")

DEVICES = ("", "cpu:copy")
TEXT = """
import torch, furlong, furlong.torch
from torch.nn import BatchNorm1d, Dropout, Linear, Sequential, Tanh
from torch.nn.functional import cross_entropy, mse_loss

class Digits(furlong.torch.Problem):
    metrics = {"accuracy": "max"}
    def __init__(self):
        assert self.device.type == "cpu"
        random = torch.Generator().manual_seed(3)
        x, y = torch.randn(80, 6, generator=random), torch.randint(4, (80,), generator=random)
        self.data = furlong.data.Data(x.numpy(), y, [range(40), range(40, 80)], validation=0.25, names=["anna", "ben"])
    def module(self):
        made = Sequential(Linear(6, 8), BatchNorm1d(8), Tanh(), Dropout(0.2), Linear(8, 8), Tanh(), Linear(8, 4))
        made[4].weight.requires_grad_(False)
        return made
    def loss(self, outputs, targets):
        return cross_entropy(outputs, targets)
    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}
    def predictions(self, outputs):
        return outputs.argmax(1)
"""
LOOP = """
    def fit(self, phase):
        optimizer = torch.optim.Adam(phase.module.parameters(), phase.rate)
        first = {name: phase.weights[name].copy() for name in phase.trained}
        for inputs, targets in phase.batches():
            optimizer.zero_grad()
            loss = self.loss(phase.module(inputs), targets)
            loss.backward()
            phase.correct()
            optimizer.step()
            phase.record(loss, len(targets))
        for name, parameter in phase.module.named_parameters():
            if name in phase.trained:
                assert (phase.weights[name] != first[name]).any()
                parameter.data = parameter.data * 0.5 + 0.25 * torch.randn(parameter.shape, generator=phase.generator)
"""
ALGORITHM = """
class Own(furlong.torch.Algorithm):
    predicts, scores = "examples", ("before",)
    groups = {"previous": furlong.kept("model", first="received"), "slope": furlong.report("shared", rule="sum"),
              "c": furlong.shared("shared", rule="sum")}
    def train(self, t):
        loss, slope = t.gradient(t.examples[:5])
        t.weights = t.weights - 0.1 * slope
        t.weights -= 0.1 * slope
        t.weights["0.bias"] += 0.5
        net, others = t.module, (t.frozen("received"), t.frozen("previous"))
        optimizer = torch.optim.SGD(net.parameters(), t.rate, momentum=0.9)
        for x, y in t.batches():
            out = net(x)
            loss = cross_entropy(out, y) + sum(f * mse_loss(out, one(x)) for f, one in zip((0.5, -0.1), others))
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            t.count(len(y), loss)
        t.weights = 0.5 * (t.weights + t.received)
        half = t.weights.copy()
        assert all((p.detach().numpy() == half[name]).all() for name, p in net.named_parameters() if name in half)
        t["previous"] = t.weights
        t.fit(at="previous", rate=0.05, pull=0.1, add=[(1.0, t["c"])])
        t.fit(epochs=1)
        for x, y in t.batches(epochs=1):
            cross_entropy(t.module(x), y).backward()
            for p in t.module.parameters():
                p.data -= 0 if p.grad is None else 0.05 * p.grad
        t.report["slope"] = slope
        t.report["c"] = t.weights - t.received
    def personalize(self, t):
        t.score("before")
        t.weights = 0.9 * t.weights
        t.score("before")
        t.fit(epochs=1)
        if t.has_state:
            t.weights = 0.5 * (t.weights + t["previous"])
    OUTPUTS
"""
OUTPUTS = "def outputs(self, t, inputs): return t.module(inputs) + t.frozen('received')(inputs)"
ORDERS = [list(range(12)), list(range(11, -1, -1))]


def digits(folder, more=""):
    (folder / "digits.py").write_text(TEXT + more)
    return f"{folder}/digits.py:Digits"


def same(one, other):
    """Equal to the last bit, also arrays within."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, numpy.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one == other


def on_each(call):
    """What a call gives on each of DEVICES."""
    first, second = map(call, DEVICES)
    assert same(first, second)
    return first


def test_batches_have_the_same_bytes(tmp_path):
    def call(device):
        with Host(digits(tmp_path)) as host:
            reply = host.open(device=device)
            assert reply["arithmetic"].startswith(f"torch {torch.__version__.partition('+')[0]}, ")
            made = [host.initial(), host.constants(reply)]
            trained = [name for name in host.shapes if "running" not in name]
            for seed in (1, 2):
                made.append(host.gradient([(0, "train", range(9))], seed=seed))
                made.append(host.gradient([(0, "train", range(5)), (1, "train", range(8))], seed, ["0.weight"]))
                for name in trained:
                    host.values[name][...] -= 0.1 * host.gradients[name]  # the same place has other values
                made.append(host.evaluate([(0, "validation", range(10)), (1, "train", range(4))]))
                made.append(host.predict([(1, "validation", range(10))]))
                made.append(host.labels([(1, "validation", range(3))]))
            made.append({name: value.copy() for name, value in host.values.items()})
        return made

    on_each(call)


SETTINGS = [{}, {"momentum": 0.9, "weight_decay": 0.01}, {"optimizer": "adam", "weight_decay": 0.1, "clip": 0.5},
            {"optimizer": "adamw", "weight_decay": 0.1}]


@pytest.mark.parametrize("more", ["", LOOP])
@pytest.mark.parametrize("settings", SETTINGS)
def test_phases_have_the_same_bytes(tmp_path, more, settings):
    draw = numpy.random.default_rng(2)

    def call(device):
        with Host(digits(tmp_path, more)) as host:
            reply = host.open(device=device)
            host.initial()
            host.constants(reply, at=1 << 24)
            trained = [name for name in host.shapes if "running" not in name]
            values = {name: draw.normal(size=host.shapes[name]).astype(numpy.float32) for name in trained}
            draw.bit_generator.state = state
            terms = [(0.1, form, values) for form in range(3)]
            made = [host.fit(0, ORDERS, **settings) for _ in range(2)]
            made.append(host.fit(1, ORDERS, trained=["0.weight", "6.bias"], dropout=False, **settings))
            made.append(host.fit(1, ORDERS, terms=terms, **settings))
            made.append(host.fit(0, ORDERS, trained=["1.running_mean", "1.running_var"], **settings))
            return made, host.evaluate([(0, "validation", range(10))])

    state = draw.bit_generator.state
    made, _ = on_each(call)
    assert not same(made[0][1]["0.weight"], made[3][1]["0.weight"])


@pytest.mark.parametrize("outputs", ["", OUTPUTS])
def test_tasks_have_the_same_bytes(tmp_path, outputs):
    problem = digits(tmp_path, ALGORITHM.replace("OUTPUTS", outputs))

    def call(device):
        with TaskHost(problem, f"{tmp_path}/digits.py:Own", device=device) as host:
            host.constants(host.reply, at=1 << 28)
            made = [tuple(host.train(client, orders=ORDERS)) for client in (0, 1, 0)]
            asked = [("validation", example) for example in range(10)]
            for what in (1, 2):
                made.append(host.personalize(0, asked, orders=ORDERS, what=what))
                made.append(host.personalize(0, asked, orders=ORDERS, what=what, groups={"previous": made[0][4]["previous"]}))
            return made

    on_each(call)


def test_the_data_are_moved_once(tmp_path):
    more = """
    def outputs(self, module, inputs):
        whole = self._moved_data[1]._values
        self.places = getattr(self, "places", set()) | {id(whole[0]), id(whole[1])}
        assert len(self.places) == 2 and isinstance(whole[0], torch.Tensor)
        return module(inputs)
"""
    with Host(digits(tmp_path, more)) as host:
        host.constants(host.open(device="cpu:copy"))
        host.initial()
        for client in (0, 1):
            host.gradient([(client, "train", range(9))])


@pytest.mark.parametrize("body, reason, fix", [
    ("phase.weights['0.bias'] = 0.0", 'phase.weights["0.bias"] is set, and the module is on a device', "phase.module"),
    ("phase.gradients", "phase.gradients is read, and the module is on a device", "phase.module"),
    ("phase.step(phase.examples)", "phase.step() is called, and the module is on a device", "phase.module"),
])
def test_arrays_of_the_processor_are_refused(tmp_path, body, reason, fix):
    with Host(digits(tmp_path, f"\n    def fit(self, phase):\n        {body}\n")) as host:
        host.constants(host.open(device="cpu:copy"), at=1 << 24)
        host.initial()
        with pytest.raises(TrainerError) as error:
            host.fit(0, ORDERS)
    assert error.value.reply["error"] == reason and fix in error.value.reply["fix"]
    assert error.value.reply["line"] == TEXT.count("\n") + 3


def test_parts_of_weights_of_a_module_are_refused(tmp_path):
    more = """
class Own(furlong.torch.Algorithm):
    def train(self, t):
        t.module
        t.weights["0.bias"] += 1.0
"""
    with TaskHost(digits(tmp_path, more), f"{tmp_path}/digits.py:Own", device="cpu:copy") as host:
        host.constants(host.reply, at=1 << 28)
        with pytest.raises(TrainerError, match="values that are read-only") as error:
            host.train(0, orders=ORDERS)
    assert "t.weights = values" in error.value.reply["fix"]


def opening_error(problem, device):
    with Host(problem) as host, pytest.raises(TrainerError) as error:
        host.open(device=device)
    return error.value.reply


def test_classes_that_compute_elsewhere_are_refused(tmp_path):
    (tmp_path / "plain.py").write_text("import furlong\nclass Plain(furlong.Problem):\n"
                                       "    parameters = clients = gradient = lambda *_: None\n")
    said = opening_error(f"{tmp_path}/plain.py:Plain", "cpu:copy")
    assert "Plain is no problem in PyTorch" in said["error"] and said["line"] == 2
    own = digits(tmp_path, "\n    def gradient(self, step):\n        return 0.0\n")
    assert "a gradient() of its own" in opening_error(own, "cpu:copy")["error"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter has a GPU")
def test_a_missing_device_is_named(tmp_path):
    said = opening_error(digits(tmp_path), "cuda")
    assert 'has no device "cuda"' in said["error"] and said["file"] == "python.devices"
