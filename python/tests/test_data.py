"""furlong.data.Data: clients, parts and batches of what a user has; and problems that use it."""

import numpy
import pytest
from host import Host, TrainerError

import furlong
from furlong import command
from furlong.data import Data
from furlong.errors import ProblemError

ROWS = numpy.arange(100)
X, Y = ROWS[:, None] * [1.0, 10.0], ROWS % 7
OWN = furlong.partition.sizes(100, [40, 30, 20, 10], seed=3)


def rows_of(data, client):
    return {part: data.rows(client, part).tolist() for part in furlong.PARTS}


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_those_of_the_client(seed):
    data = Data(X, Y, OWN, validation=0.1, test=0.25, seed=seed)
    for client, own in enumerate(OWN):
        parts = rows_of(data, client)
        assert sorted(sum(parts.values(), [])) == own.tolist()
        assert all(part == sorted(part) for part in parts.values())
        assert len(parts["validation"]) == len(own) // 10 and len(parts["test"]) == len(own) // 4
    assert data.clients() == [furlong.Client("client 0", 26, 4, 10), furlong.Client("client 1", 20, 3, 7),
                              furlong.Client("client 2", 13, 2, 5), furlong.Client("client 3", 7, 1, 2)]


def test_the_split_is_drawn_by_the_seed():
    test = lambda seed: Data(X, Y, OWN, test=0.5, seed=seed).rows(0, "test").tolist()
    assert test(1) == test(1) != test(2)
    assert Data(X, Y, [range(10)], test=0.5).rows(0, "test").tolist() == [3, 4, 6, 7, 8]


def test_the_order_within_a_part_is_that_of_own():
    own = [numpy.arange(50)[::-1], numpy.arange(50, 100)]
    data = Data(X, Y, own, test=0.2)
    assert (numpy.diff(data.rows(0, "train")) < 0).all() and (numpy.diff(data.rows(1, "train")) > 0).all()


def test_shares_are_rounded_down_to_what_is_meant():
    """In float64 0.29 * 100 is below 29."""
    assert len(Data(X, Y, [range(100)], test=0.29).rows(0, "test")) == 29
    assert rows_of(Data(X, Y, [[4], range(10, 20)], validation=0.4, test=0.59), 0) == {
        "train": [4], "validation": [], "test": []}


@pytest.mark.parametrize("seed", range(20))
def test_unseen_clients_are_of_the_other_groups(seed):
    own = furlong.partition.iid(100, 10)
    data = Data(X, Y, own, test=0.2, unseen=(2, 3), seed=seed)
    assert sorted(data.groups) == ["test"] * 3 + ["train"] * 5 + ["validation"] * 2
    assert [client.group for client in data.clients()] == data.groups
    assert all((client.train, client.test) == (8, 2) for client in data.clients())
    assert sorted(Data(X, Y, own, unseen=4, seed=seed).groups) == ["test"] * 4 + ["train"] * 6


def test_unseen_clients_differ_by_seed():
    assert len({tuple(Data(X, Y, furlong.partition.iid(100, 10), unseen=4, seed=seed).groups)
                for seed in range(10)}) > 5


def test_clients_have_names():
    column = numpy.array(["bo", "al"])[ROWS % 2]
    data = Data(X, Y, furlong.partition.natural(column), names=numpy.unique(column))
    assert [client.name for client in data.clients()] == ["al", "bo"]
    assert data.rows(1, "train").tolist() == list(range(0, 100, 2))


# ---- batches --------------------------------------------------------------------------------------------------------


class Items:
    """A data set of items, as in PyTorch."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 100

    def __getitem__(self, index):
        assert isinstance(index, int)
        if not 0 <= index < 100:
            raise IndexError
        return self.make(index)


class Table(Items):
    """As of Hugging Face: batches are dicts of columns."""

    column_names, shape = ["a", "b"], (100, 2)

    def __init__(self):
        pass

    def __getitem__(self, index):
        assert isinstance(index, list) and all(isinstance(one, int) for one in index)
        return {"a": index, "b": [2 * one for one in index]}


def same(one, other):
    if isinstance(other, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in other)
    if isinstance(other, tuple):
        return isinstance(one, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and numpy.array_equal(one, other)


@pytest.mark.parametrize("x, expected", [
    (X, lambda rows: X[rows]),
    (ROWS.tolist(), lambda rows: rows),
    ([str(row) for row in ROWS], lambda rows: rows.astype(str)),
    ([[row, 2 * row] for row in ROWS.tolist()], lambda rows: numpy.stack([rows, 2 * rows], 1)),
    ((X, ROWS), lambda rows: (X[rows], rows)),
    ({"a": X, "b": ROWS.tolist()}, lambda rows: {"a": X[rows], "b": rows}),
    (Table(), lambda rows: {"a": rows.tolist(), "b": (2 * rows).tolist()}),
    (Items(lambda row: X[row]), lambda rows: X[rows]),
    (Items(lambda row: row), lambda rows: rows),
    (Items(lambda row: {"a": X[row]}), lambda rows: {"a": X[rows]}),
    (Items(lambda row: (X[row], row)), lambda rows: (X[rows], rows)),
])
def test_inputs_come_in_many_forms(x, expected):
    data = Data(x, Y, OWN, test=0.5)
    for client, part in ((0, "train"), (2, "test")):
        rows = data.rows(client, part)[[3, 0, 3]]
        inputs, targets = data.batch(client, part, numpy.array([3, 0, 3]))
        assert same(inputs, expected(rows)) and same(targets, Y[rows])


def test_items_can_be_pairs():
    inputs, targets = Data(Items(lambda row: (X[row], row % 7)), None, OWN).batch(1, "train", numpy.arange(4))
    assert same(inputs, X[OWN[1][:4]]) and same(targets, Y[OWN[1][:4]])


def test_rows_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ROWS, "b": ROWS * 2.0}, index=ROWS[::-1])
    inputs, targets = Data(frame, frame["b"], OWN).batch(1, "train", numpy.array([2, 0]))
    rows = OWN[1][[2, 0]].tolist()
    assert inputs["a"].tolist() == rows and targets.tolist() == [2.0 * row for row in rows]


def test_tensors():
    torch = pytest.importorskip("torch")
    inputs, targets = Data(torch.tensor(X), torch.tensor(Y), [torch.arange(9)]).batch(0, "train", numpy.array([2, 0]))
    assert torch.equal(inputs, torch.tensor(X)[[2, 0]]) and torch.equal(targets, torch.tensor([2, 0]))
    pairs = Data(Items(lambda row: (torch.tensor(X[row]), row % 7)), None, OWN)
    inputs, targets = pairs.batch(0, "train", numpy.array([2, 0]))
    rows = OWN[0][[2, 0]]
    assert torch.equal(inputs, torch.tensor(X[rows])) and torch.equal(targets, torch.tensor(Y[rows]))


# ---- messages -------------------------------------------------------------------------------------------------------

WRONG = [
    (lambda: Data(X, Y[:99], OWN), "x has 100 examples and y has 99", "one target for each input"),
    (lambda: Data((X, Y[:9]), Y, OWN), "the inputs of x have 9 and 100 examples", "as many as the others"),
    (lambda: Data([[1]] * 99 + [[1, 2]], Y, OWN), "the lists in a list differ in length", "pad them"),
    (lambda: Data(X[:0], Y[:0], OWN), "the length of x is 0", "at least 1"),
    (lambda: Data(3, Y, OWN), "x is 3 (int)", "give an array"),
    (lambda: Data(X, None, OWN), "y is None", "give the targets as y"),
    (lambda: Data(X, Y, 7), "own is 7 (int)", "a list with an array of numbers for each client"),
    (lambda: Data(X, Y, []), "own is [] (list)", "a list with an array"),
    (lambda: Data(X, Y, [[1], []]), "own[1] is empty", "leave out this client"),
    (lambda: Data(X, Y, [[1], [2, 100]]), "own[1] has the number 100, and the last example of x is 99", "of x"),
    (lambda: Data(X, Y, [[1], [-2]]), "own[1] has the number -2", "of x"),
    (lambda: Data(X, Y, [[1, 2], [5, 3, 2]]), "example 2 is in own[0] and own[1]", "one client only"),
    (lambda: Data(X, Y, [[1, 2], [5, 3, 5]]), "own[1] has the example 5 twice", "once"),
    (lambda: Data(X, Y, [ROWS < 5]), "own[0] is an array of bool of the shape (100,)", "numpy.flatnonzero()"),
    (lambda: Data(X, Y, [[1.0]]), "own[0] is an array of float64", "an array of integers"),
    (lambda: Data(X, Y, [1, 2]), "own[0] is an array of int64 of the shape ()", "an array of integers"),
    (lambda: Data(X, Y, OWN, test=20), "test is 20 (int)", "from 0 to 1"),
    (lambda: Data(X, Y, OWN, validation=0.5, test=0.5), "validation is 0.5 and test 0.5", "share for training"),
    (lambda: Data(X, Y, OWN, test=0.01), "test is 0.01, and no client has 100 examples", "raise it"),
    (lambda: Data(X, Y, OWN, unseen=4), "unseen is 4", "from 0 to 3, all clients but one"),
    (lambda: Data(X, Y, OWN, unseen=(2, 2)), "unseen is (2, 2) (tuple), and there are 4 clients", "one at least"),
    (lambda: Data(X, Y, OWN, unseen=0.5), "unseen is 0.5 (float)", "whole number"),
    (lambda: Data(X, Y, OWN, unseen=(1, 2, 3)), "unseen is (1, 2, 3) (tuple)", "one for validation and one for test"),
    (lambda: Data(X, Y, OWN, names=["a"]), "own has 4 clients and names has 1", "each client a name"),
    (lambda: Data(X, Y, OWN, seed=0.5), "seed is 0.5 (float)", "whole number"),
]


@pytest.mark.parametrize("call, reason, fix", WRONG)
def test_messages(call, reason, fix):
    with pytest.raises(ProblemError) as error:
        call()
    assert reason in error.value.reason and fix in error.value.fix
    assert error.value.place == (__file__, call.__code__.co_firstlineno)


# ---- problems -------------------------------------------------------------------------------------------------------

LINES = """
import numpy, furlong

class Lines(furlong.Problem):
    '''y = w x, of clients whose x differ.'''
    options = {"test": 0.25}

    def __init__(self):
        random = numpy.random.default_rng(3)
        x = random.normal(size=(200, 3)).astype(numpy.float32)
        own = furlong.partition.dirichlet(x[:, 0] > 0, 8, 1.0, seed=1)
        self.data = furlong.data.Data(x, x.sum(axis=1), own, test=self.test, unseen=2, seed=1)

    def parameters(self, seed):
        return {"w": numpy.zeros(3, numpy.float32)}

    def gradient(self, step):
        x, y = self.data.batch(step.client, step.part, step.examples)
        error = x @ step.parameters["w"] - y
        if "w" in step.gradients:
            step.gradients["w"][:] = 2 * error @ x / len(error)
        return (error ** 2).mean()
"""


def write(folder, text):
    file = folder / "lines_of_data.py"
    file.write_text(text)
    return file


def test_a_problem_takes_its_clients_from_data(tmp_path):
    with Host(f"{write(tmp_path, LINES)}:Lines") as host:
        clients = host.open()["clients"]
        assert len(clients) == 8 and sum(client["group"] == "test" for client in clients) == 2
        assert all(client["test"] == (client["train"] + client["test"]) // 4 for client in clients)
        host.initial()
        loss, _ = host.gradient([(0, "train", range(clients[0]["train"]))])
        assert loss > 0


@pytest.mark.parametrize("old, new, reason", [
    ("self.data =", "self.date =",
     "class Lines has no method clients(); define it, or set self.data = furlong.data.Data("),
    ("test=self.test", "test=1.5", "test is 1.5 (float); give a number from 0 to 1"),
])
def test_mistakes_are_those_of_the_file(tmp_path, old, new, reason):
    text = LINES.replace(old, new)
    file = write(tmp_path, text)
    with Host(f"{file}:Lines") as host, pytest.raises(TrainerError) as error:
        host.open()
    reply = error.value.reply
    assert f"{reply['error']}; {reply['fix']}".startswith(reason)
    line = text.splitlines()[reply["line"] - 1]
    assert reply["file"] == str(file) and ("class Lines" in line if "method" in reason else new in line)


def test_a_run_with_data(tmp_path):
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    scenario = {"scenario": {"name": "lines", "rounds": 20}, "data": {"source": "python"}, "model": {"kind": "python"},
                "algorithm": {"kind": "fedavg", "client": {"lr": 0.1, "batch_size": 5}},
                "participation": {"per_round": 6}, "evaluation": {"every": 20}}
    run = furlong.run(scenario, problem=f"{write(tmp_path, LINES)}:Lines", out=tmp_path / "run", progress=False)
    seen, unseen = run.summary["eval"]["seen"], run.summary["eval"]["unseen"]
    assert seen["loss"] < 0.01 and unseen["loss"] < 0.01 and unseen["clients"] == 2
    assert numpy.allclose(run.model()["w"], 1, atol=0.1)


def test_a_problem_in_torch_takes_its_batches_from_data(tmp_path):
    pytest.importorskip("torch")
    file = write(tmp_path, LINES.replace("import numpy, furlong", "import numpy, torch, furlong.torch").replace(
        "furlong.Problem", "furlong.torch.Problem").split("    def parameters")[0] + """
    def module(self):
        return torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0))

    def loss(self, outputs, targets):
        return torch.nn.functional.mse_loss(outputs, targets)
""")
    with Host(f"{file}:Lines") as host:
        reply = host.open()
        host.initial()
        assert host.gradient([(0, "train", range(4))])[0] > 0
        labels = host.labels([(1, "train", range(3))])
        assert len(reply["clients"]) == 8 and len(labels) == 3 and all(isinstance(label, float) for label in labels)
