"""Training loops of PyTorch classes, called by a host in Python and compared with PyTorch itself."""

import numpy
import pytest
from host import Host, TrainerError
from test_torch import TEXT, plain

import furlong
from furlong import command

torch = pytest.importorskip("torch")

ORDERS = [list(range(12)), list(range(11, -1, -1))]
LOOP = """
optimizer = torch.optim.SGD(phase.module.parameters(), phase.rate, momentum=0.9)
for inputs, targets in phase.batches():
    optimizer.zero_grad()
    loss = self.loss(phase.module(inputs), targets)
    loss.backward()
    phase.correct()
    optimizer.step()
    phase.record(loss, len(targets))
"""


def host_of(folder, body=None, dropout="", **more):
    """A host of the class of test_torch.py with this fit()."""
    text = TEXT.replace("DROPOUT", dropout)
    if body is not None:
        text += "    def fit(self, phase):\n" + "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    file = folder / "digits.py"
    file.write_text(text)
    host = Host(f"{file}:Digits", **more)
    host.open()
    host.initial()
    return host


def bare(host, orders, batch=4, momentum=0.9, frozen=(), correct=lambda module: None):
    """The loop in PyTorch alone, for client 0."""
    module, x, y = plain(host)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], 0.1, momentum=momentum)
    total = 0.0
    for order in orders:
        for first in range(0, len(order), batch):
            picks = order[first : first + batch]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(module(x[picks]), y[picks])
            loss.backward()
            correct(module)
            optimizer.step()
            total += loss.item() * len(picks)
    return {name: p.detach().numpy() for name, p in module.named_parameters()}, total


def check_close(values, expected):
    for name, value in values.items():
        assert numpy.allclose(value, expected[name], rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize("body", [LOOP, None])
@pytest.mark.parametrize("frozen", [(), ("0.weight", "0.bias")])
def test_loops_are_those_of_pytorch(tmp_path, body, frozen):
    with host_of(tmp_path, body) as host:
        for _ in range(2):
            figures, values = host.fit(0, ORDERS, trained=[name for name in host.shapes if name not in frozen],
                                       momentum=0.9)
            expected, loss = bare(host, ORDERS, frozen=frozen)
            check_close(values, expected)
            assert figures[:3] == (pytest.approx(loss, rel=1e-5), 24, 6)
        # Steps and evaluations are those of the values that they name.
        host.gradient([(0, "train", range(10))])
        scores = host.evaluate([(0, "validation", range(50))])
        host.fit(0, ORDERS, momentum=0.9)
        assert host.evaluate([(0, "validation", range(50))]) == scores


@pytest.mark.parametrize("body", [LOOP, None])
def test_corrections_change_the_gradients(tmp_path, body):
    with host_of(tmp_path, body) as host:
        random = numpy.random.default_rng(1)
        drawn = {name: random.normal(size=shape).astype(numpy.float32) for name, shape in host.shapes.items()}
        one = {name: value for name, value in drawn.items() if name != "0.bias"}
        terms = [(-0.5, 0, one), (0.25, 1, one), (0.5, 2, drawn)]

        def correct(module):
            with torch.no_grad():
                for name, parameter in module.named_parameters():
                    if name in one:
                        parameter.grad += -0.5 * torch.from_numpy(one[name]) + 0.25 * parameter
                    parameter.grad += 0.5 * (parameter - torch.from_numpy(drawn[name]))

        _, values = host.fit(0, ORDERS, terms=terms, momentum=0.9)
        expected, _ = bare(host, ORDERS, correct=correct)
        check_close(values, expected)


def test_a_parameter_without_a_gradient_is_corrected(tmp_path):
    body = """
for inputs, targets in phase.batches():
    loss = self.loss(inputs[:, :4] + phase.module[2].bias, targets)
    phase.module.zero_grad(set_to_none=True)
    loss.backward()
    phase.correct()
    with torch.no_grad():
        for parameter in phase.module.parameters():
            if parameter.grad is not None:
                parameter -= phase.rate * parameter.grad
    phase.record(loss, len(targets))
"""
    with host_of(tmp_path, body) as host:
        _, values = host.fit(0, ORDERS[:1], terms=[(1.0, 0, {"0.bias": numpy.ones(8)})])
        assert values["0.bias"] == pytest.approx(host.values["0.bias"] - 0.3, abs=1e-6)
        assert numpy.array_equal(values["0.weight"], host.values["0.weight"])
        assert (values["2.bias"] != host.values["2.bias"]).all()


def test_values_are_taken_from_wherever_parameters_end(tmp_path):
    body = """
for parameter in phase.module.parameters():
    parameter.data = parameter.data * 2
phase.module[0].weight.data = torch.ones(6, 8).T  # not contiguous
phase.record(0.0, 4)
"""
    with host_of(tmp_path, body) as host:
        for _ in range(2):
            _, values = host.fit(0, ORDERS)
            assert (values["0.weight"] == 1).all()
            assert numpy.array_equal(values["2.weight"], 2 * host.values["2.weight"])


@pytest.mark.parametrize("dropout", [True, False])
def test_dropout_and_draws_follow_from_the_seed(tmp_path, dropout):
    body = f"print('mode', phase.module.training, torch.rand(1, generator=phase.generator).item())\n{LOOP}"
    with host_of(tmp_path, body, "torch.nn.Dropout(0.5),") as host:
        made = [host.fit(0, ORDERS, seed=seed, dropout=dropout)[1]["3.weight"] for seed in (3, 4, 3)]
        assert numpy.array_equal(made[0], made[2])
        assert numpy.array_equal(made[0], made[1]) is not dropout
        lines = [line.split() for line in host.close()[1].splitlines()]  # no warnings of PyTorch
    assert {line[1] for line in lines} == {str(dropout)}
    assert lines[0] == lines[1] == lines[3] != lines[2]  # the first phase is repeated


def test_two_trainers_give_the_same_bytes(tmp_path):
    with host_of(tmp_path, LOOP, "torch.nn.Dropout(0.5),") as one, host_of(tmp_path, LOOP,
                                                                           "torch.nn.Dropout(0.5),") as two:
        two.fit(1, [[5, 4, 3]], seed=9)
        first, second = (host.fit(0, ORDERS, seed=4) for host in (one, two))
        assert first[0] == second[0]
        assert all(first[1][name].tobytes() == second[1][name].tobytes() for name in first[1])


@pytest.mark.parametrize("line, reason, fix", [
    ("phase.module[0].weight = torch.nn.Parameter(torch.zeros(8, 6))", 'replaces the parameter "0.weight"',
     "change its values"),
    ("del phase.module[0].weight", 'replaces the parameter "0.weight"', "change its values"),
    ("phase.module[0].weight.data = torch.zeros(3)", 'leaves "0.weight" as torch.float32 of the shape (3,)',
     "leave float32 of the shape (8, 6)"),
    ("phase.module.double()", 'leaves "0.weight" as torch.float64', "leave float32"),
    ("phase.module[2].bias.data.fill_(1)", 'changes "2.bias", which is not trained', "phase.trained"),
    ("phase.module[2].bias.data = torch.ones(4)", 'changes "2.bias", which is not trained', "phase.trained"),
    ("torch.optim.SGD(phase.module[2].parameters(), 'fast')", "TypeError", ""),
    ("phase.module(torch.zeros(7, 7))", "RuntimeError", ""),
])
def test_what_a_loop_must_not_do(tmp_path, line, reason, fix):
    with host_of(tmp_path, f"{LOOP}if phase.client == 0:\n    {line}") as host:
        names = ["0.weight", "0.bias"]
        for _ in range(2):
            with pytest.raises(TrainerError) as error:
                host.fit(0, ORDERS, trained=names)
            reply = error.value.reply
            assert reason in reply["error"] and fix in reply["fix"]
            assert reply["file"] == str(tmp_path / "digits.py") and reply["line"] >= 23
        # The trainer goes on with another client.
        values = host.fit(1, ORDERS, trained=names)[1]
        with host_of(tmp_path, LOOP) as other:
            expected = other.fit(1, ORDERS, trained=names)[1]
        assert all(numpy.array_equal(values[name], expected[name]) for name in names)


@pytest.mark.parametrize("line", ["phase.module[0].weight = torch.nn.Parameter(torch.zeros(8, 6)); 1 / 0",
                                  "phase.module.eval(); phase.module[2].train()",
                                  "phase.module.requires_grad_(False)", "phase.module[0].weight.data = torch.zeros(3); 1 / 0"])
def test_a_loop_leaves_nothing_behind(tmp_path, line):
    dropout = "torch.nn.Dropout(0.5),"
    with host_of(tmp_path, f"{LOOP}{line}", dropout) as host, host_of(tmp_path, LOOP, dropout) as other:
        for _ in range(2):
            if "1 / 0" in line:
                with pytest.raises(TrainerError, match="ZeroDivisionError"):
                    host.fit(0, ORDERS)
            else:
                host.fit(0, ORDERS)
            examples = [(0, "validation", range(50))]
            assert host.evaluate(examples) == other.evaluate(examples)
            one, two = (one.gradient([(0, "train", range(10))], seed=5) for one in (host, other))
            assert one[0] == two[0] and all(numpy.array_equal(one[1][name], two[1][name]) for name in one[1])


def test_what_is_held_fixed_must_not_change(tmp_path):
    text = TEXT.replace("DROPOUT", "Held(),").replace("class Digits", """class Held(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("more", torch.zeros(1))
    def forward(self, x):
        return x

class Digits""")
    lines = "".join(f"        {line}\n" for line in ("phase.module[2].more += 1", *LOOP.strip("\n").split("\n")))
    (tmp_path / "held.py").write_text(f"{text}    def fit(self, phase):\n{lines}")
    with Host(f"{tmp_path}/held.py:Digits") as host:
        host.open()
        host.initial()
        with pytest.raises(TrainerError, match='the buffer "2.more" of the module changes in training'):
            host.fit(0, ORDERS)


@pytest.mark.parametrize("kind", ["fedavg", "fedrep", "ditto"])
def test_a_run_does_not_depend_on_its_trainers(tmp_path, kind):
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    host_of(tmp_path, LOOP, "torch.nn.Dropout(0.5),").close()
    scenario = {"scenario": {"name": "digits", "rounds": 3}, "data": {"source": "python"},
                "model": {"kind": "python", "private": ["3.bias"]}, "python": {"problem": f"{tmp_path}/digits.py:Digits"},
                "algorithm": {"kind": kind, "client": {"lr": 0.1, "epochs": 2, "batch_size": 8}},
                "participation": {"fraction": 1.0}}
    made = [furlong.run(scenario, out=str(tmp_path / f"{kind}-{name}"), threads=threads, set=more, progress=False).summary
            for name, threads, more in (("one", 1, {}), ("three", 3, {}), ("worker", 2, {"python.workers": 1}))]
    assert len({(one["model_sha256"], one.get("private_sha256")) for one in made}) == 1
    assert all(one["folded"] == 6 and one["rejected"] == {} for one in made)


@pytest.mark.parametrize("kept", [True, False])
def test_workers_of_a_data_loader_end_with_the_loop(tmp_path, kept):
    """What kept ones draw depends on the clients that a trainer had before."""
    loader = ("torch.utils.data.DataLoader(torch.zeros(8, 6), batch_size=4, num_workers=1, "
              f"persistent_workers={kept})")
    text = f"if not hasattr(self, 'loader'): self.loader = {loader}\nassert len(list(self.loader)) == 2\n{LOOP}"
    with host_of(tmp_path, text) as host:
        if not kept:
            host.fit(0, ORDERS)
            return
        with pytest.raises(TrainerError, match='fit.. leaves the thread "QueueFeederThread" running') as error:
            host.fit(0, ORDERS)
        assert "a DataLoader without persistent_workers" in error.value.reply["fix"]
