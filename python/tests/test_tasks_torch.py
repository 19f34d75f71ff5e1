"""Tasks of algorithms for PyTorch, called by a host in Python and compared with PyTorch itself."""

import numpy
import pytest
from host import TrainerError
from task_host import TaskHost
from test_torch import TEXT, plain

torch = pytest.importorskip("torch")
F = torch.nn.functional


def host_of(folder, members, dropout="", **more):
    """A host of the class of test_torch.py with an algorithm of these members."""
    text = TEXT.replace("DROPOUT", dropout)
    lines = "".join(f"    {line}\n" for line in members.strip("\n").split("\n"))
    (folder / "digits.py").write_text(f"{text}\n\nfrom furlong import kept, report, shared\nimport torch.nn.functional as F\n"
                                      f"class Own(furlong.torch.Algorithm):\n{lines}")
    return TaskHost(f"{folder}/digits.py:Digits", f"{folder}/digits.py:Own", **more)


def bare(host, values=None):
    """The module in PyTorch alone with these values, and the examples of client 0."""
    module, x, y = plain(host)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(torch.tensor((values or host.start)[name]))
    return module, x, y


def named(module):
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


def close(values, expected):
    assert set(values) == set(expected)
    for name, value in values.items():
        assert numpy.allclose(value, expected[name], rtol=1e-5, atol=1e-6), name


LOOP = """
groups = {"previous": kept("model", first="received")}
def train(self, t):
    net = t.module
    optimizer = torch.optim.SGD(net.parameters(), t.rate, momentum=0.9)
    others = t.frozen("received"), t.frozen("previous")
    for x, y in t.batches():
        out = net(x)
        loss = F.cross_entropy(out, y) + sum(factor * F.mse_loss(out, one(x)) for factor, one in zip((0.5, -0.1), others))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        t.count(len(y), loss)
    t["previous"] = t.weights
"""


def test_a_loop_with_other_models(tmp_path):
    with host_of(tmp_path, LOOP) as host:
        draw = numpy.random.default_rng(1)
        previous = {name: draw.normal(size=shape).astype(numpy.float32) for name, shape in host.shapes.items()}
        for _ in range(2):
            done = host.train(0, groups={"previous": previous})
            module, x, y = bare(host)
            optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
            total = 0.0
            others = bare(host)[0], bare(host, previous)[0]
            for first in (0, 4, 8):
                some = slice(first, first + 4)
                out = module(x[some])
                loss = F.cross_entropy(out, y[some]) + sum(
                    f * F.mse_loss(out, one(x[some]).detach()) for f, one in zip((0.5, -0.1), others))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += 4 * loss.item()
            close(done.weights, named(module))
            close(done.kept["previous"], named(module))
            assert done[:3] == (pytest.approx(total, rel=1e-5), 12, 12)


def test_fits_between_the_steps_of_a_loop(tmp_path):
    members = """
groups = {"own": kept("model", first="received")}
def train(self, t):
    net = t.module
    x, y = next(iter(t.batches()))
    def step():
        loss = F.cross_entropy(net(x), y)
        net.zero_grad(); loss.backward()
        with torch.no_grad():
            for p in net.parameters(): p -= 0.1 * p.grad
    step()
    t.fit(at="own", rate=0.05)
    t.gradient(t.examples[:3], at="own")
    step()
    t.fit(["2.*"], epochs=1)
    net[0].weight.data = net[0].weight.data * 2
    t.weights["0.bias"] = 0.5
"""
    with host_of(tmp_path, members) as host:
        done = host.train(0)
        module, x, y = bare(host)

        def step(module, some, rate, names=tuple(host.shapes)):
            loss = F.cross_entropy(module(x[some]), y[some])
            module.zero_grad()
            loss.backward()
            with torch.no_grad():
                for name, p in module.named_parameters():
                    if name in names:
                        p -= rate * p.grad

        step(module, slice(0, 4), 0.1)
        step(module, slice(0, 4), 0.1)
        last = [name for name in host.shapes if name.startswith("2.")]
        for first in (0, 4, 8):
            step(module, slice(first, first + 4), 0.1, last)
        with torch.no_grad():
            module[0].weight *= 2
            module[0].bias.fill_(0.5)
        close(done.weights, named(module))
        own, _, _ = bare(host)
        for first in (0, 4, 8):
            step(own, slice(first, first + 4), 0.05)
        close(done.kept["own"], named(own))
        assert (done.weight, done.examples) == (12, 24)


def test_outputs_of_two_models(tmp_path):
    members = """
groups = {"own": kept("model", first="received")}
scores = ("before",)
def personalize(self, t):
    t.score("before")
    t.weights *= 2
def outputs(self, t, inputs):
    return (t.module(inputs).softmax(1) + t.frozen("own")(inputs).softmax(1)).log()
"""
    with host_of(tmp_path, members) as host:
        assert host.reply["algorithm"]["outputs"] and host.reply["algorithm"]["personalizes"]
        own = {name: 1.5 * value for name, value in host.start.items()}
        asked = [("train", k) for k in range(8)]
        source, figures, _ = host.personalize(0, asked, groups={"own": own})
        module, x, y = bare(host, {name: 2 * value for name, value in host.start.items()})
        personal = bare(host, own)[0]
        with torch.no_grad():
            mixed = lambda one: (one.eval()(x[:8]).softmax(1) + personal.eval()(x[:8]).softmax(1)).log()
            after, before = mixed(module), mixed(bare(host)[0])
        assert source == 0
        assert figures[0] == pytest.approx(8 * F.cross_entropy(after, y[:8]).item(), rel=1e-5)
        names = ["loss", *host.reply["metrics"]]
        assert figures[2 * names.index("before_loss")] == pytest.approx(8 * F.cross_entropy(before, y[:8]).item(), rel=1e-5)
        predicted = host.personalize(0, asked, groups={"own": own}, what=2)[1]
        assert len(predicted) == 8
        again = host.personalize(0, asked, groups={"own": own})
        assert again[1] == figures


def test_the_module_is_in_training_mode_with_dropout(tmp_path):
    members = """
predicts = "examples"
def train(self, t):
    t.fit()
    print("mode", t.module.training, t.frozen("received").training, torch.rand(1, generator=t.generator).item())
def personalize(self, t):
    t.weights *= 1.5
    print("mode", t.module.training)
"""
    with host_of(tmp_path, members, "torch.nn.Dropout(0.5),") as host:
        made = [host.train(0, seed=seed).weights["3.weight"] for seed in (3, 4, 3)]
        assert numpy.array_equal(made[0], made[2]) and not numpy.array_equal(made[0], made[1])
        one = host.personalize(0, [("train", 3)], dropout=False)
        scores = host.evaluate([(0, "train", range(4))])
        other = host.personalize(0, [("train", 3)], dropout=False)
        assert one[1] == other[1] and scores == host.evaluate([(0, "train", range(4))])
        lines = [line.split()[1:3] for line in host.close()[1].splitlines() if line.startswith("mode")]
    assert lines == [["True", "False"]] * 4 + [["False"]] * 3


@pytest.mark.parametrize("line, reason, fix", [
    ("t.module[0].weight = torch.nn.Parameter(torch.zeros(8, 6))", 'train() replaces the parameter "0.weight"',
     "change its values"),
    ("t.module[0].weight.data = torch.zeros(3)", 'train() leaves "0.weight" as torch.float32 of the shape (3,)',
     "leave float32 of the shape (8, 6)"),
    ("torch.from_numpy(t.received['0.weight']).fill_(0)", 'train() changes t.received["0.weight"]', "write to t.weights"),
    ("t.frozen('own')", "t['own'] is no group", "the groups are: previous"),
    ("t.frozen(3)", "t.frozen() is given 3 (int)", "give a group"),
])
def test_what_a_loop_must_not_do(tmp_path, line, reason, fix):
    members = f'{LOOP}    {line}'
    with host_of(tmp_path, members) as host:
        for _ in range(2):
            with pytest.raises(TrainerError) as error:
                host.train(0)
            reply = error.value.reply
            assert reason in reply["error"] and fix in reply["fix"]
            assert reply["file"] == str(tmp_path / "digits.py") and reply["line"] > 23


def test_an_algorithm_of_pytorch_needs_a_problem_in_pytorch(tmp_path):
    from test_trainer import LINEAR

    (tmp_path / "one.py").write_text(LINEAR)
    (tmp_path / "two.py").write_text("import furlong.torch\nclass Own(furlong.torch.Algorithm):\n    pass\n")
    with pytest.raises(TrainerError, match="needs a problem in PyTorch, and Linear is none"):
        TaskHost(f"{tmp_path}/one.py:Linear", f"{tmp_path}/two.py:Own")


def test_running_statistics_move_with_a_loop(tmp_path):
    members = LOOP + """    t.fit(epochs=1)
    t.frozen("received").train()(x)
    t["previous"] = t.weights
predicts = "examples"
def personalize(self, t):
    t.module(next(iter(t.batches()))[0])
"""
    with host_of(tmp_path, members, "torch.nn.BatchNorm1d(8),") as host:
        done = host.train(0)
        module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4))
        state = {name: torch.tensor(value) for name, value in host.start.items()}
        module.load_state_dict(state, strict=False)
        other = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4))
        other.load_state_dict(state, strict=False)
        other.eval()
        random = torch.Generator().manual_seed(3)
        x, y = torch.randn(50, 6, generator=random), torch.randint(4, (50,), generator=random)
        for momentum in (0.9, 0):
            optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=momentum)
            for first in (0, 4, 8):
                some = slice(first, first + 4)
                out = module(x[some])
                far = F.mse_loss(out, other(x[some]).detach()) * 0.4 if momentum else 0
                loss = F.cross_entropy(out, y[some]) + far
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        expected = {name: value.numpy() for name, value in module.state_dict().items() if name in done.weights}
        assert "2.running_mean" in expected
        close(done.weights, expected)
        close(done.kept["previous"], expected)
        # What passes in training mode moves the statistics, in a personalization too.
        _, _, weights = host.personalize(0, [("train", 0)], groups={"previous": host.start})
        assert not numpy.allclose(weights["2.running_mean"], host.start["2.running_mean"])
        assert numpy.array_equal(weights["0.weight"], host.start["0.weight"])
