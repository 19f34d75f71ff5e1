"""Buffers that training moves: where their values come from and go to, and classes whose buffers are wrong."""

import copy
import subprocess
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

from furlong import check  # noqa: E402
from host import PACKAGE, Host, TrainerError  # noqa: E402
from test_modules import layer_of, with_own, write  # noqa: E402

LAYERS = "torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)"
NET = f"return torch.nn.Sequential({LAYERS})"
MEAN, VARIANCE, COUNT = "1.running_mean", "1.running_var", "1.num_batches_tracked"
FIT = '''
    def fit(self, phase):
        assert not phase.module[1].num_batches_tracked
        parameters = [one for one in phase.module.parameters() if one.requires_grad]
        optimizer = torch.optim.SGD(parameters, phase.rate)
        for inputs, targets in phase.batches():
            loss = self.loss(phase.module(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            phase.record(loss, len(targets))
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("buffers")


def data():
    random = torch.Generator().manual_seed(3)
    return torch.randn(50, 6, generator=random), torch.randint(2, (50,), generator=random)


def started(problem):
    host = Host(problem)
    host.reply = host.open()
    host.first = host.initial()
    return host


@pytest.fixture(scope="module")
def host(folder):
    with started(write(folder, NET)) as one:
        yield one


def net_of(values):
    net = torch.nn.Sequential(*eval(LAYERS, {"torch": torch}))
    net.load_state_dict({**{name: torch.from_numpy(value.copy()) for name, value in values.items()},
                         COUNT: torch.tensor(0)})
    return net


def statistics(values):
    return {name: values[name] for name in (MEAN, VARIANCE)}


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert numpy.array_equal(one[name], numpy.asarray(other[name])), name


def test_running_statistics_are_tensors(host):
    assert [one["name"] for one in host.reply["parameters"] if one.get("buffer")] == [MEAN, VARIANCE]
    assert [one["name"] for one in host.reply["parameters"]][-2:] == [MEAN, VARIANCE]
    assert [one["name"] for one in host.reply["constants"]] == [COUNT]
    assert not host.first[MEAN].any() and (host.first[VARIANCE] == 1).all()


def test_a_step_gives_new_values_and_leaves_those_at_the_start(host):
    host.initial()
    before = {name: value.copy() for name, value in host.values.items()}
    net = net_of(before).train()
    torch.manual_seed(1)
    net(data()[0][:20])
    for _ in range(3):  # also repeated
        gradients = host.gradient([(0, "train", range(20))])[1]
        assert_equal(statistics(gradients), {MEAN: net[1].running_mean.numpy(), VARIANCE: net[1].running_var.numpy()})
        assert_equal(before, {name: value.copy() for name, value in host.values.items()})
    for name in (MEAN, VARIANCE):
        host.values[name][:] = gradients[name]
    again = host.gradient([(0, "train", range(20, 50))])[1]
    net(data()[0][20:])
    assert_equal(statistics(again), {MEAN: net[1].running_mean.numpy(), VARIANCE: net[1].running_var.numpy()})


def test_buffers_that_are_not_asked_for_do_not_move(host):
    host.initial()
    full = host.gradient([(0, "train", range(20))])
    host.gradients[MEAN][:] = 7
    part = host.gradient([(0, "train", range(20))], frozen=(MEAN, VARIANCE))
    assert (host.gradients[MEAN] == 7).all() and full[0] == part[0]
    assert_equal(host.first, {name: value.copy() for name, value in host.values.items()})


def test_evaluation_uses_them_and_moves_none(host):
    host.initial()
    host.values[MEAN][:] = 0.3
    host.values[VARIANCE][:] = 2.5
    before = {name: value.copy() for name, value in host.values.items()}
    net = net_of(before).eval()
    x, y = data()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    for _ in range(2):
        assert host.evaluate([(0, "train", range(50))])[0] == pytest.approx(50 * loss.item(), rel=1e-6)
    assert_equal(before, {name: value.copy() for name, value in host.values.items()})


def test_a_reconstruction_moves_them_without_dropout(host):
    host.initial()
    net = net_of(host.first).eval()
    net[1].train()
    x, y = data()
    loss = torch.nn.functional.cross_entropy(net(x[:20]), y[:20])
    found, gradients = host.gradient([(0, "train", range(20))], dropout=False)
    assert found == pytest.approx(20 * loss.item(), rel=1e-6)
    assert_equal(statistics(gradients), {MEAN: net[1].running_mean.numpy(), VARIANCE: net[1].running_var.numpy()})
    # Those of another side stay: the layer normalizes by the running statistics.
    found = host.gradient([(0, "train", range(20))], dropout=False, frozen=(MEAN, VARIANCE))[0]
    assert found == pytest.approx(20 * torch.nn.functional.cross_entropy(net_of(host.first).eval()(x[:20]), y[:20]).item(),
                                  rel=1e-6)


@pytest.mark.parametrize("fit", ["", FIT])
def test_a_phase_moves_them(folder, fit):
    path = write(folder, NET.replace("0.5", "0.0"))
    file = path.rpartition(":")[0]
    other = file.replace(".py", f"_fit{len(fit)}.py")
    with open(file) as text, open(other, "w") as to:
        to.write(text.read().rstrip() + "\n" + fit)
    with started(f"{other}:Digits") as host:
        host.initial()
        before = {name: value.copy() for name, value in host.values.items()}
        orders = numpy.array([numpy.arange(40), numpy.arange(40)[::-1]])
        net = net_of(before).train()
        net[3].p = 0.0
        x, y = data()
        for order in orders:
            for first in range(0, 40, 8):
                rows = torch.from_numpy(order[first : first + 8].copy())
                torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
                with torch.no_grad():
                    for parameter in net.parameters():
                        parameter -= 0.1 * parameter.grad
                        parameter.grad = None
        for _ in range(2):
            results = host.fit(0, orders, batch_size=8)[1]
            for name, value in results.items():
                assert numpy.allclose(value, net.state_dict()[name].numpy(), rtol=1e-5, atol=1e-6), name
            assert_equal(before, {name: value.copy() for name, value in host.values.items()})
        # Only the head is trained: the statistics are dropped. Then these alone: nothing is trained, and they move.
        head = host.fit(0, orders, trained=["4.weight", "4.bias"], batch_size=8)[1]
        assert not numpy.array_equal(head["4.bias"], before["4.bias"])
        alone = host.fit(0, orders, trained=[MEAN, VARIANCE], batch_size=8)[1]
        assert alone.keys() == {MEAN, VARIANCE} and not numpy.array_equal(alone[MEAN], before[MEAN])
        assert_equal(before, {name: value.copy() for name, value in host.values.items()})


OWN = "self.register_buffer('mean', torch.zeros(8)); self.register_buffer('seen', torch.zeros((), dtype=torch.int64))"
MOVES = """if self.training:
    self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
    self.seen += 1"""


def named(folder, patterns, forward=MOVES, initial=OWN, module=None):
    path = write(folder, module or with_own(), layer_of(forward, initial))
    file = path.rpartition(":")[0]
    other = file.replace(".py", f"_{abs(hash((patterns, forward, initial)))}.py")
    with open(file) as text, open(other, "w") as to:
        to.write(text.read().replace("class Digits(furlong.torch.Problem):",
                                     f"class Digits(furlong.torch.Problem):\n    buffers = {patterns}  # here"))
    return f"{other}:Digits"


def test_named_buffers_may_be_replaced(folder, capsys):
    problem = named(folder, '["*.mean"]')
    with started(problem) as host:
        assert [one["name"] for one in host.reply["parameters"] if one.get("buffer")] == ["2.mean"]
        first = host.gradient([(0, "train", range(20))])[1]["2.mean"]
        assert first.any() and numpy.array_equal(first, host.gradient([(0, "train", range(20))])[1]["2.mean"])
        assert not host.values["2.mean"].any()
        host.evaluate([(0, "train", range(20))])
        fitted = host.fit(0, [numpy.arange(20)], batch_size=20)[1]["2.mean"]
        assert numpy.array_equal(fitted, first)
    assert check.main([problem, "--private", "2.*"]) == 0
    assert "private  2.mean [8], a buffer\n" in capsys.readouterr().out


def test_a_step_after_one_that_failed_begins_anew(folder):
    problem = named(folder, '["*.mean"]', MOVES + "\n    if len(x) == 3: raise ValueError('three')")
    with started(problem) as host:
        first = host.gradient([(0, "train", range(20))])
        with pytest.raises(TrainerError, match="three"):
            host.gradient([(0, "train", range(3))])
        again = host.gradient([(0, "train", range(20))])
        assert first[0] == again[0]
        assert_equal(first[1], again[1])


STATISTICS = "return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8{}), torch.nn.Linear(8, 2))"
BROKEN = {
    "cumulative": ("None", dict(module=STATISTICS.format(", momentum=None")),
                   'the layer "1" (BatchNorm1d) has momentum=None', "such as 0.1"),
    "integers": ('["*.seen"]', {}, 'the buffer "2.seen" is torch.int64, and training moves it', "integers begin anew"),
    "float64": ('["*.mean"]', dict(initial=OWN.replace("zeros(8)", "zeros(8).double()")),
                'the buffer "2.mean" is torch.float64', "make it float32"),
    "no match": ('["*.means"]', {}, 'buffers: "*.means" matches no buffer in the state_dict()', 'nearest is "2.mean"'),
    "parameters": ('["0.*"]', {}, 'buffers: "0.*" matches no buffer', '"0.weight" is a parameter: leave it out'),
    "none there": ('["x"]', dict(module="return torch.nn.Linear(6, 2)"), 'buffers: "x" matches no buffer',
                   "leave buffers out"),
    "no list": ('"*.mean"', {}, "buffers is '*.mean'", "a list of patterns"),
    "numbers": ("[1]", {}, "buffers is [1]", "a list of patterns"),
    "statistics left out": ("[]", dict(module=STATISTICS.format("")),
                            'the layer "1" (BatchNorm1d) keeps running statistics, which buffers does not name',
                            'add "1.running_mean" to buffers'),
    "evaluation": ('["*.mean"]', dict(forward="self.mean.add_(x.detach().mean(0))"),
                   'the buffer "2.mean" of the module changes in evaluation', "if self.training"),
    "replaced in evaluation": ('["*.mean"]', dict(forward="self.mean = self.mean + x.mean(0).detach()"),
                               'the buffer "2.mean" of the module changes in evaluation', "if self.training"),
    "shape": ('["*.mean"]', dict(forward="if self.training: self.mean = x.mean()"),
              'the buffer "2.mean" becomes torch.float32 of the shape () in training', "leave float32 of the shape (8,)"),
    "gone": ('["*.mean"]', dict(forward="if self.training: self.mean = None"),
             'the buffer "2.mean" becomes nothing in training', "leave float32"),
    "not named": ("None", dict(forward="if self.training: self.mean.add_(1)"),
                  'the buffer "2.mean" of the module changes in training, and is not in buffers', "named in buffers"),
    "count alone": ("None", dict(forward="if self.training: self.seen += 1"),
                    'the buffer "2.seen" of the module changes in training, and is not in buffers', "named in buffers"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(folder, name):
    patterns, changes, reason, fix = BROKEN[name]
    problem = named(folder, patterns, **changes)
    with Host(problem) as host, pytest.raises(TrainerError) as error:
        host.open()
        host.initial()
        host.gradient([(0, "train", range(20))])
        host.evaluate([(0, "train", range(20))])
    assert reason in error.value.reply["error"] and fix in error.value.reply["fix"]
    assert error.value.reply["file"] == problem.rpartition(":")[0] and error.value.reply["line"]


def test_check_passes_batchnorm(folder, capsys):
    problem = write(folder, NET)
    assert check.main([problem, "--private", "1.*"]) == 0
    out = capsys.readouterr().out
    assert f"private  {MEAN} [8], a buffer\n" in out and f"fixed    {COUNT} []\n" in out and "parameters  90 in 6" in out
    assert check.main([problem, "--private", "*e*", "*b*"]) == 1
    assert "the patterns match all parameters" in capsys.readouterr().err


CONSTANT = """net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 2))
net[0].requires_grad_(False)
net.register_buffer("scale", torch.ones(3, dtype=torch.float16))
return net"""


def test_trainers_use_constants_that_another_has_written(folder):
    with started(write(folder, CONSTANT)) as host:
        host.constants(host.reply)
        own = host.gradient([(0, "train", range(20))])
        start = host.map.find(host.constants(host.reply, written=True)["0.weight"], 1 << 20)
    with started(write(folder, CONSTANT)) as host:
        at = 1 << 20
        weight = numpy.frombuffer(host.map, numpy.float32, 48, start)
        weight[:] = 0  # what another trainer has written
        found = host.constants(host.reply, at=at, written=True)
        assert not any(found["0.weight"])
        assert host.gradient([(0, "train", range(20))])[0] != own[0]


@pytest.mark.parametrize("line", ["module[0].weight.data[3, 2] += 1", "module[0].bias.data.add_(1)", "module.scale.data *= 2"])
def test_constants_that_a_class_writes_are_those_of_this_trainer_alone(folder, line):
    path = write(folder, CONSTANT)
    file = path.rpartition(":")[0]
    other = file.replace(".py", f"_{abs(hash(line))}.py")
    with open(file) as text, open(other, "w") as to:
        to.write(text.read().rstrip() + f"\n\n    def outputs(self, module, inputs):\n        {line}\n"
                 "        return module(inputs)\n")
    with started(f"{other}:Digits") as host:
        host.constants(host.reply)
        at = 1 << 20
        before = host.map[at : at + 1024]
        with pytest.raises(TrainerError, match="changes in training") as error:
            host.gradient([(0, "train", range(20))])
        assert error.value.reply["line"] and "leave it as module() makes it" in error.value.reply["fix"]
        assert any(before) and before == host.map[at : at + 1024]
