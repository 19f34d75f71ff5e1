"""What a PyTorch module has besides trained parameters: frozen parameters, buffers, tied weights, layers over batches."""

import contextlib
import hashlib

import numpy
import pytest
from host import Host, TrainerError

from furlong import check

torch = pytest.importorskip("torch")

TEXT = """
import torch, furlong.torch

LAYERS

class Digits(furlong.torch.Problem):
    metrics = {"accuracy": "max"}
    def __init__(self):
        random = torch.Generator().manual_seed(3)
        self.x = torch.randn(50, 6, generator=random)
        self.y = torch.randint(2, (50,), generator=random)
    def module(self):
        MODULE
    def clients(self):
        return [furlong.torch.Client(name, 50, 50) for name in ("anna", "ben")]
    def batch(self, client, part, examples):
        return self.x[examples], self.y[examples]
    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)
    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}
"""
MODULE_LINE = TEXT.replace("LAYERS", "").splitlines().index("    def module(self):") + 1
SIX_TO_TWO = "torch.nn.Linear(6, 8), torch.nn.Tanh(), {} torch.nn.Linear(8, 2)"


_trainer = []


@pytest.fixture(scope="module", autouse=True)
def end_trainer():
    yield
    for host in _trainer:
        host.close()


@contextlib.contextmanager
def use(problem):
    """A trainer, which has imported PyTorch once, for another problem."""
    if not _trainer:
        _trainer.append(Host(problem))
    _trainer[0].problem = problem
    yield _trainer[0]


def write(folder, module, layers=""):
    file = folder / f"digits_{hashlib.sha256((module + layers).encode()).hexdigest()[:12]}.py"
    file.write_text(TEXT.replace("MODULE", module.replace("\n", "\n        ")).replace("LAYERS", layers.strip()))
    return f"{file}:Digits"


def layer_of(forward, initial=""):
    """A layer of the class Own, by the lines of its constructor and of forward(x)."""
    lines = "".join(f"        {line}\n" for line in initial.splitlines())
    return (f"class Own(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}"
            + "    def forward(self, x):\n" + "".join(f"        {line}\n" for line in forward.splitlines())
            + "        return x\n")


def with_own():
    return f"return torch.nn.Sequential({SIX_TO_TWO.format('Own(),')})"


FROZEN = """net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
for parameter in net[0].parameters():
    parameter.requires_grad_(False)
return net"""


def test_frozen_parameters_are_constants(tmp_path):
    with use(write(tmp_path, FROZEN)) as host:
        reply = host.open()
        assert [one["name"] for one in reply["parameters"]] == ["2.weight", "2.bias"]
        assert reply["constants"] == [{"name": "0.weight", "shape": [8, 6], "dtype": "float32"},
                                      {"name": "0.bias", "shape": [8], "dtype": "float32"}]
        host.initial()
        torch.manual_seed(7)
        net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        constants = host.constants(reply)
        assert constants["0.weight"] == net[0].weight.detach().numpy().tobytes()
        assert constants["0.bias"] == net[0].bias.detach().numpy().tobytes()
        host.initial()
        assert numpy.array_equal(host.values["2.weight"], net[2].weight.detach().numpy())
        host.values["2.bias"][:] = 3  # arrays are bound by name
        _, gradients = host.gradient([(0, "train", range(9))])
        host.constants(reply, at=1 << 21)
        random = torch.Generator().manual_seed(3)
        x, y = torch.randn(50, 6, generator=random), torch.randint(2, (50,), generator=random)
        net[2].bias.data[:] = 3
        torch.nn.functional.cross_entropy(net(x[:9]), y[:9]).backward()
        for name in ("weight", "bias"):
            assert numpy.allclose(gradients[f"2.{name}"], getattr(net[2], name).grad.numpy(), rtol=1e-5, atol=1e-7)


def test_check_lists_frozen_parameters(tmp_path, capsys):
    assert check.main([write(tmp_path, FROZEN), "--private", "2.bias"]) == 0
    out = capsys.readouterr().out
    assert "fixed    0.weight [8, 6]\n" in out and "private  2.bias [2]\n" in out
    assert check.main([write(tmp_path, FROZEN), "--private", "0.*"]) == 1
    assert 'private: "0.weight" is fixed' in capsys.readouterr().err


def test_a_pretrained_embedding_is_fixed(tmp_path):
    layers = """
class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding.from_pretrained(torch.arange(12.0).reshape(6, 2))
        self.out = torch.nn.Linear(2, 2)
    def forward(self, x):
        return self.out(self.words(x.argmax(1)))
"""
    with use(write(tmp_path, "return Own()", layers)) as host:
        reply = host.open()
        assert [one["name"] for one in reply["parameters"]] == ["out.weight", "out.bias"]
        assert numpy.frombuffer(host.constants(reply)["words.weight"], numpy.float32).tolist() == list(range(12))


def test_a_module_without_trained_parameters_is_refused(tmp_path):
    with use(write(tmp_path, "return torch.nn.Linear(6, 2).requires_grad_(False)")) as host:
        with pytest.raises(TrainerError, match="all parameters of the module have requires_grad=False"):
            host.open()


STATE = """
class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 6))
        self.register_buffer("bits", torch.tensor([1.0, 2.5, -3.0], dtype=torch.bfloat16))
        self.register_buffer("steps", torch.tensor(5))
        self.register_buffer("mask", torch.tensor([True, False]))
        self.register_buffer("none", torch.zeros(0))
        self.register_buffer("hidden", torch.tensor(HIDDEN), persistent=False)
        self.first = torch.nn.Linear(6, 6, bias=False)
        self.second = torch.nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.out = torch.nn.Linear(6, 2)
    def forward(self, x):
        return self.out(self.second(self.first(x * self.scale)))
"""


def test_constants_and_aliases_complete_the_state_dict(tmp_path):
    digests = []
    for hidden in ("0.5", "0.25"):
        with use(write(tmp_path, "return Own()", STATE.replace("HIDDEN", hidden))) as host:
            reply = host.open()
            constants = host.constants(reply)
            digests.append(reply["constants_sha256"])
    namespace = {"torch": torch}
    exec(STATE.replace("HIDDEN", "0"), namespace)
    state = namespace["Own"]().state_dict()
    assert reply["aliases"] == {"second.weight": "first.weight"}
    assert [one["name"] for one in reply["parameters"]] == ["first.weight", "second.bias", "out.weight", "out.bias"]
    assert {one["name"] for one in reply["parameters"]} | set(constants) | set(reply["aliases"]) == set(state)
    for one in reply["constants"]:
        value = state[one["name"]]
        assert str(value.dtype) == f"torch.{one['dtype']}" and list(value.shape) == one["shape"]
        assert constants[one["name"]] == value.reshape(-1).view(torch.uint8).numpy().tobytes()
    assert all(len(one) == 64 for one in digests) and digests[0] != digests[1]


def test_check_names_tied_weights(tmp_path, capsys):
    layer = layer_of("x = self.b(self.a(x))", "self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)\n"
                     "self.b.weight = self.a.weight")
    problem = write(tmp_path, with_own(), layer)
    assert check.main([problem]) == 0
    assert "alias    2.b.weight of 2.a.weight\n" in capsys.readouterr().out
    assert check.main([problem, "--private", "2.b.weight"]) == 1
    assert 'private: "2.b.weight" is another name of "2.a.weight"' in capsys.readouterr().err


def test_sparse_buffers_are_no_part_of_the_state(tmp_path):
    digests = []
    for value in ("2.0", "3.0"):
        sparse = f"'own', torch.tensor([[0.0, {value}]]).to_sparse()"
        with use(write(tmp_path, with_own(), layer_of("", f"self.register_buffer({sparse}, persistent=False)"))) as host:
            digests.append(host.open()["constants_sha256"])
    assert digests[0] != digests[1]
    with use(write(tmp_path, with_own(), layer_of("", f"self.register_buffer({sparse})"))) as host:
        with pytest.raises(TrainerError, match='"2.own" in the state_dict.. of the module is sparse'):
            host.open()


@pytest.mark.parametrize("forward, initial, name, when", [
    ("self.seen += 1", "self.register_buffer('seen', torch.zeros(()))", "2.seen", "training"),
    ("if self.training: self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)",
     "self.register_buffer('mean', torch.zeros(8))", "2.mean", "training"),
    ("self.register_buffer('mean', torch.ones(8))", "self.register_buffer('mean', torch.zeros(8))", "2.mean", "training"),
    ("self.mean = x.detach()", "self.register_buffer('mean', None)", "2.mean", "training"),
    ("self.inner[0].seen.add_(1)", "self.inner = torch.nn.Sequential(torch.nn.Identity())\n"
     "self.inner[0].register_buffer('seen', torch.zeros(3))", "2.inner.0.seen", "training"),
    ("if not self.training: self.seen = self.seen + 1", "self.register_buffer('seen', torch.zeros(()))", "2.seen",
     "evaluation"),
    ("if self.training: self.mean.data.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)",
     "self.register_buffer('mean', torch.zeros(8))", "2.mean", "training"),
    ("if not self.training: self.seen.data.add_(1)", "self.register_buffer('seen', torch.zeros(()))", "2.seen",
     "evaluation"),
    ("with torch.no_grad():\n    if self.training: self.shadow.mul_(0.5).add_(x.mean(0), alpha=0.5)",
     "self.shadow = torch.nn.Parameter(torch.zeros(8), requires_grad=False)", "2.shadow", "training"),
    ("if self.training: self.inner.bias.data.add_(1)", "self.inner = torch.nn.Linear(8, 8).requires_grad_(False)",
     "2.inner.bias", "training"),
    ("if not self.training: self.inner.bias.add_(1)", "self.inner = torch.nn.Linear(8, 8).requires_grad_(False)",
     "2.inner.bias", "evaluation"),
])
def test_a_fixed_value_that_changes_is_refused_by_name(tmp_path, capsys, forward, initial, name, when):
    problem = write(tmp_path, with_own(), layer_of(forward, initial))
    expected = (f'the buffer "{name}" of the module changes in {when}, and is not in buffers' if "buffer" in initial else
                f'the parameter "{name}" of the module has requires_grad=False, and changes in {when}')
    with use(problem) as host:
        host.open()
        host.initial()
        with pytest.raises(TrainerError, match=expected) as error:
            host.gradient([(0, "train", [0, 1])])
            host.evaluate([(0, "train", [0, 1])])
        assert error.value.reply["fix"] and error.value.reply["line"]
    assert check.main([problem]) == 1
    assert expected in capsys.readouterr().err


def test_a_buffer_that_changes_in_a_later_step_is_refused(tmp_path):
    layer = layer_of("if len(x) > 2: self.mean.data.add_(1)", "self.register_buffer('mean', torch.zeros(8))")
    for steps, most in ((1, 2), (126, 1), (127, 64)):  # the first one is repeated
        with use(write(tmp_path, with_own(), layer)) as host:
            host.open()
            host.initial()
            for _ in range(steps):
                host.gradient([(0, "train", [0, 1])])
            with pytest.raises(TrainerError, match='the buffer "2.mean" of the module changes in training'):
                for _ in range(most):
                    host.gradient([(0, "train", [0, 1, 2])])


@pytest.mark.parametrize("forward, initial, name", [
    ("self.steps += 1", "self.steps = 0", "2.steps"),
    ("self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)", "self.mean = torch.zeros(8)", "2.mean"),
    ("self.seen[0] += 1", "import numpy\nself.seen = numpy.zeros(2)", "2.seen"),
    ("self.a = torch.nn.Parameter(self.a.detach() + 0)", "self.a = torch.nn.Parameter(torch.zeros(2))", "2.a"),
])
def test_an_attribute_that_changes_is_refused_by_name(tmp_path, capsys, forward, initial, name):
    problem = write(tmp_path, with_own(), layer_of(forward, initial))
    with use(problem) as host:
        host.open()
        host.initial()
        with pytest.raises(TrainerError, match=f'leave different values of "{name}"'):
            host.gradient([(0, "train", [0, 1])])
    assert check.main([problem]) == 1
    assert f'leave different values of "{name}"' in capsys.readouterr().err


def test_an_attribute_that_changes_in_evaluation_is_refused_by_name(tmp_path, capsys):
    problem = write(tmp_path, with_own(), layer_of("if not self.training: self.steps += 1", "self.steps = 0"))
    expected = 'two calls of score() with the same seed leave different values of "2.steps"'
    with use(problem) as host:
        host.open()
        host.initial()
        host.gradient([(0, "train", [0, 1])])
        with pytest.raises(TrainerError) as error:
            host.evaluate([(0, "train", [0, 1])])
        assert error.value.reply["error"] == expected
    assert check.main([problem]) == 1
    assert expected in capsys.readouterr().err


def test_a_cache_that_is_stable_is_accepted(tmp_path, capsys):
    layer = layer_of("if self.cache is None: self.cache = torch.arange(8.0)\nself.last, self.size = x, len(x)\n"
                     "x = x + self.cache", "self.cache = None")
    problem = write(tmp_path, with_own(), layer)
    with use(problem) as host:
        host.open()
        host.initial()
        for count in (3, 4, 3):
            host.gradient([(0, "train", range(count))])
    assert check.main([problem]) == 0


def test_parameters_that_forward_changes_are_refused(tmp_path, capsys):
    problem = write(tmp_path, with_own(), layer_of("self.a.data.clamp_(max=0.5)\nx = x * self.a",
                                                   "self.a = torch.nn.Parameter(torch.ones(8))"))
    with use(problem) as host:
        host.open()
        host.initial()
        with pytest.raises(TrainerError, match='gradient\\(\\) changes the parameter "2.a"'):
            host.gradient([(0, "train", [0, 1])])


def test_a_module_that_is_returned_twice_is_refused(tmp_path, capsys):
    problem = write(tmp_path, "self.net = getattr(self, 'net', None) or torch.nn.Linear(6, 2)\nreturn self.net")
    assert check.main([problem]) == 1
    assert "module() returned the same module twice; make a new one in it" in capsys.readouterr().err


HELD = """
class Own(torch.nn.BatchNorm1d):
    def __init__(self):
        super().__init__(8)
        self.running_mean += 0.5
    def train(self, mode=True):
        return super().train(False)
"""


def test_batchnorm_held_in_evaluation_mode_is_accepted(tmp_path, capsys):
    problem = write(tmp_path, with_own(), HELD)
    with use(problem) as host:
        reply = host.open()
        host.initial()
        assert {"2.running_mean", "2.running_var", "2.num_batches_tracked"} == {c["name"] for c in reply["constants"]}
        one = host.gradient([(0, "train", [0])])
        host.gradient([(0, "train", range(20))])
        assert host.gradient([(0, "train", [0])])[0] == one[0]
    assert check.main([problem]) == 0


BY_BATCH = f"return torch.nn.Sequential({SIX_TO_TWO.format('torch.nn.BatchNorm1d(8, track_running_stats=False),')})"


def test_batchnorm_without_statistics_is_named(tmp_path, capsys):
    problem = write(tmp_path, BY_BATCH)
    assert check.main([problem]) == 0
    assert 'warning     the layer "2" (BatchNorm1d) normalizes by the batch in evaluation too' in capsys.readouterr().out
    with use(problem) as host:
        host.open()
        host.initial()
        host.gradient([(0, "train", [0, 1])])
        for call in (host.gradient, host.evaluate):
            with pytest.raises(TrainerError) as error:
                call([(0, "train", [0])])
            reply = error.value.reply
            assert reply["error"] == 'the layer "2" (BatchNorm1d) normalizes by the batch, and this batch has one example'
            assert "batch_size" in reply["fix"] and "GroupNorm" in reply["fix"] and reply["line"]


def test_instancenorm_is_per_example(tmp_path, capsys):
    layer = layer_of("x = self.norm(x.reshape(-1, 2, 4)).reshape(-1, 8)", "self.norm = torch.nn.InstanceNorm1d(2)")
    assert check.main([write(tmp_path, with_own(), layer)]) == 0
    assert "warning" not in capsys.readouterr().out


def test_constants_must_be_the_same_in_every_process(tmp_path, capsys):
    layer = layer_of("x = x + self.shift", "import os\nself.register_buffer('shift', torch.tensor(os.getpid() / 1e6))")
    assert check.main([write(tmp_path, with_own(), layer)]) == 1
    assert "module() gives different values in another process" in capsys.readouterr().err


def test_check_notes_sorted_labels(tmp_path, capsys):
    problem = write(tmp_path, "return torch.nn.Linear(6, 2)")
    file = problem.rpartition(":")[0]
    assert check.main([problem]) == 0
    assert "sorted" not in capsys.readouterr().out
    with open(file) as source:
        text = source.read()
    with open(file.replace(".py", "_s.py"), "w") as target:
        target.write(text.replace("random)\n    def module", "random).sort()[0]\n    def module"))
    assert check.main([problem.replace(".py", "_s.py")]) == 0
    assert ("note        the training examples of 2 of 2 clients are sorted by class: batches are shuffled by default"
            in capsys.readouterr().out)
