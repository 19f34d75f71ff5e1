"""Problems in PyTorch, called by a host in Python and compared with PyTorch itself."""

import numpy
import pytest
from host import Host, TrainerError

torch = pytest.importorskip("torch")

TEXT = """
import torch, furlong.torch
from torch.nn.functional import cross_entropy

class Digits(furlong.torch.Problem):
    metrics = {"accuracy": "max"}
    def __init__(self):
        random = torch.Generator().manual_seed(3)
        self.x = torch.randn(50, 6, generator=random)
        self.y = torch.randint(4, (50,), generator=random)
    def module(self):
        return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), DROPOUT torch.nn.Linear(8, 4))
    def clients(self):
        return [furlong.torch.Client(name, 50, 50) for name in ("anna", "ben")]
    def batch(self, client, part, examples):
        return self.x[examples], (self.y[examples] + client) % 4
    def loss(self, outputs, targets):
        return cross_entropy(outputs, targets)
    def score(self, outputs, targets):
        return {"accuracy": ((outputs.argmax(1) == targets).sum(), len(targets))}
    def predictions(self, outputs):
        return outputs.argmax(1)
"""


def host_of(folder, dropout=""):
    file = folder / "digits.py"
    file.write_text(TEXT.replace("DROPOUT", dropout))
    host = Host(f"{file}:Digits")
    host.open()
    host.initial()
    return host


def plain(host):
    """Module and data as in TEXT, with the host's values."""
    random = torch.Generator().manual_seed(3)
    x, y = torch.randn(50, 6, generator=random), torch.randint(4, (50,), generator=random)
    torch.manual_seed(7)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    for name, parameter in module.named_parameters():
        assert numpy.array_equal(parameter.detach().numpy(), host.values[name])
    return module, x, y


def test_gradients_are_those_of_pytorch(tmp_path):
    with host_of(tmp_path) as host:
        module, x, y = plain(host)
        for _ in range(2):  # the second overwrites the first
            loss, gradients = host.gradient([(0, "train", [4, 9, 30])])
            module.zero_grad()
            expected = torch.nn.functional.cross_entropy(module(x[[4, 9, 30]]), y[[4, 9, 30]])
            expected.backward()
            assert loss == pytest.approx(3 * expected.item(), rel=1e-6)
            for name, parameter in module.named_parameters():
                assert numpy.allclose(gradients[name], parameter.grad.numpy(), rtol=1e-6, atol=1e-8)


def test_pooled_groups_are_one_batch(tmp_path):
    with host_of(tmp_path) as host:
        module, x, y = plain(host)
        loss, gradients = host.gradient([(0, "train", [4, 9, 30]), (1, "train", [7])])
        expected = torch.nn.functional.cross_entropy(module(x[[4, 9, 30, 7]]), (y[[4, 9, 30, 7]] + torch.tensor(
            [0, 0, 0, 1])) % 4)
        expected.backward()
        assert loss == pytest.approx(4 * expected.item(), rel=1e-5)
        for name, parameter in module.named_parameters():
            assert numpy.allclose(gradients[name], parameter.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_frozen_parameters_keep_their_gradients(tmp_path):
    with host_of(tmp_path) as host:
        _, all_gradients = host.gradient([(0, "train", range(10))])
        host.gradients["0.weight"][:] = 5
        _, gradients = host.gradient([(0, "train", range(10))], frozen={"0.weight", "0.bias"})
        assert (host.gradients["0.weight"] == 5).all()
        assert numpy.array_equal(gradients["2.weight"], all_gradients["2.weight"])


def test_scores_and_predictions(tmp_path):
    with host_of(tmp_path) as host:
        module, x, y = plain(host)
        outputs = module(x)
        loss = torch.nn.functional.cross_entropy(outputs, y).item()
        correct = int((outputs.argmax(1) == y).sum())
        assert host.evaluate([(0, "validation", range(50))]) == pytest.approx([50 * loss, 50, correct, 50], rel=1e-5)
        assert host.predict([(0, "validation", range(50))]) == outputs.argmax(1).tolist()
        assert host.labels([(1, "validation", [7, 3]), (0, "train", [9])]) == [*((y[[7, 3]] + 1) % 4).tolist(), y[9]]


@pytest.mark.parametrize("targets, expected", [
    ("y.float()[:, None] / 2", lambda y: y / 2),
    ("torch.where(y == 3, torch.nan, y.float())", lambda y: None if y == 3 else y),
    ("y.numpy()", lambda y: y),
    ("torch.stack([y, y], 1)", lambda y: None),
    ("(y, 1)", lambda y: None),
    ("y * 1j", lambda y: None),
    ("y * 1j\n    def true_labels(self, step):\n        return ['abcd'[y] for y in self.y[step.examples]]",
     lambda y: "abcd"[y]),
])
def test_labels_are_numbers_among_the_targets_or_what_the_class_says(tmp_path, targets, expected):
    change = {"DROPOUT": "", "(self.y[examples] + client) % 4": targets, "return self.x": "y = self.y[examples]\n        return self.x",
              "self.x =": "self.true_labels = 'an attribute of an earlier class'\n        self.x ="}
    text = TEXT
    for old, new in change.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "digits.py").write_text(text)
    with Host(f"{tmp_path}/digits.py:Digits") as host:
        assert host.open()["labels"] is True
        host.initial()
        y = [int(label) for label in plain(host)[2]]
        assert 3 in y[10:30]
        assert host.labels([(1, "validation", range(10, 30))]) == [expected(label) for label in y[10:30]]


def test_dropout_follows_from_the_seed_and_is_off_in_evaluation(tmp_path):
    with host_of(tmp_path, "torch.nn.Dropout(0.5),") as host:
        losses = [host.gradient([(0, "train", range(50))], seed=seed, dropout=dropout)[0]
                  for seed, dropout in ((1, True), (2, True), (1, True), (3, False))]
        assert losses[0] == losses[2] != losses[1]
        assert losses[3] == pytest.approx(host.evaluate([(0, "train", range(50))])[0], rel=1e-6)
        assert host.gradient([(0, "train", range(50))], seed=1)[0] == losses[0]


def test_two_trainers_give_the_same_bytes(tmp_path):
    with host_of(tmp_path, "torch.nn.Dropout(0.5),") as one, host_of(tmp_path, "torch.nn.Dropout(0.5),") as two:
        two.gradient([(1, "train", range(3))], seed=9)
        first, second = (host.gradient([(0, "train", range(20))], seed=4) for host in (one, two))
        assert first[0] == second[0]
        assert all(first[1][name].tobytes() == second[1][name].tobytes() for name in first[1])


@pytest.mark.parametrize("layer, reason", [
    ("torch.nn.Linear(8, 8).double(),", 'parameter "2.weight" is torch.float64'),
    ("torch.nn.LazyLinear(8),", 'parameter "2.weight" has no shape yet'),
])
def test_modules_that_cannot_be_trained_are_refused(tmp_path, layer, reason):
    with pytest.raises(TrainerError) as error:
        host_of(tmp_path, layer)
    assert reason in error.value.reply["error"]
    assert (error.value.reply["file"], error.value.reply["line"]) == (str(tmp_path / "digits.py"), 11)
    assert error.value.reply["fix"]
