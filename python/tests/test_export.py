"""furlong export, model.start_from and furlong infer of classes, by the real command where it is there."""

import csv
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import furlong
from furlong import command

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A run of the real command, with private parameters."""
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    changes = {"scenario.rounds": 3, "data.users": 60, "participation.per_round": 10, "evaluation.every": 3}
    return furlong.run(ROOT / "scenarios" / "quickstart.toml", set=changes,
                       out=tmp_path_factory.mktemp("real") / "run", progress=False)


def first_client(run):
    return json.loads(command.output_of(["store", "ls", str(run.path), "--format", "json"]))["clients"][0]["client"]


def test_a_run_of_the_command(real):
    assert len(real.rounds) == 3
    assert set(real.model()) == {"item", "item_bias", "mean"}
    assert real.predict(0, "--top", "3")["top"]


def test_a_model_file_has_the_bits_of_the_store(real, tmp_path):
    client = first_client(real)
    stored = json.loads(command.output_of(["store", "show", str(real.path), "--client", str(client), "--format",
                                           "json"]))["tensors"]
    own = real.private(client)
    assert {name: value.shape for name, value in own.items()} == {"user": (1, 4), "user_bias": (1, 1)}
    for name, value in own.items():
        assert value.dtype == numpy.float32
        assert value.ravel().tolist() == [numpy.float32(one) for one in stored[name]]
    real.export(model=tmp_path / "m.safetensors")
    file = (tmp_path / "m.safetensors").read_bytes()
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8:8 + length])
    assert header.keys() == real.model().keys()
    for name, value in real.model().items():
        begin, end = header[name]["data_offsets"]
        assert (header[name]["dtype"], header[name]["shape"]) == ("F32", list(value.shape))
        assert file[8 + length + begin:8 + length + end] == value.tobytes()
    assert len(file) == 8 + length + sum(value.nbytes for value in real.model().values())


def test_torch_loads_a_model_strictly(real):
    torch = pytest.importorskip("torch")
    module = torch.nn.Module()
    for name, value in real.model().items():
        module.register_parameter(name, torch.nn.Parameter(torch.zeros(value.shape)))
    module.load_state_dict({name: torch.from_numpy(value) for name, value in real.model().items()}, strict=True)
    assert all(module.get_parameter(n).detach().numpy().tobytes() == v.tobytes() for n, v in real.model().items())


def test_a_model_of_torch_goes_out_and_back(real, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    sys.path.insert(0, str(ROOT / "python" / "examples"))
    from digits import Digits

    def train(**changes):
        return furlong.run(ROOT / "python" / "examples" / "digits.toml", progress=False, threads=1,
                           out=tmp_path / str(len(list(tmp_path.iterdir()))),
                           set={"scenario.rounds": 1, "algorithm.kind": "fedavg", **changes})

    run = train()
    module = Digits().module()
    assert any(value.dim() == 1 for value in module.state_dict().values())
    module.load_state_dict({name: torch.from_numpy(value) for name, value in run.model().items()}, strict=True)
    numpy.savez(tmp_path / "torch.npz", **{name: value.numpy() for name, value in module.state_dict().items()})
    again = train(**{"model.start_from": str(tmp_path / "torch.npz"), "algorithm.client.lr": 1e-6})
    for name, value in again.model().items():
        assert numpy.abs(value - run.model()[name]).max() < 1e-4


@pytest.mark.parametrize("kind", ["furl", "fedrep", "fedbabu", "fedrecon", "fedavg", "centralized"])
def test_predictions_have_the_error_of_the_evaluation(real, tmp_path, kind):
    if kind != "furl":
        real = furlong.run(real.path / "scenario.toml", out=tmp_path / "run", progress=False,
                           set={"algorithm.kind": kind, "model.private": ["user"]})
    real.export(predictions=tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for group in ("seen", "unseen"):
        figures = real.summary["eval"][group]
        errors = [float(row["label"]) - float(row["prediction"]) for row in rows if row["group"] == group]
        assert len(errors) == figures["examples"]
        assert numpy.sqrt(numpy.mean(numpy.square(errors))) == pytest.approx(figures["rmse"], rel=1e-6)


def test_a_split_has_all_examples(real, tmp_path):
    real.export(split=tmp_path / "s.csv")
    with open(tmp_path / "s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["client"] for row in rows} == {str(client) for client in range(60)}
    assert sum(row["part"] == "test" for row in rows) == real.summary["eval"]["seen"]["examples"]
    assert {(row["group"], row["part"]) for row in rows} == {
        ("train", "train"), ("train", "validation"), ("train", "test"), ("validation", "train"), ("test", "train")}


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def records(data):
    """Contents of a TFRecord file: u64 length, its masked CRC-32C, the content, its masked CRC-32C."""
    masked = lambda part: ((crc32c(part) >> 15 | crc32c(part) << 17) + 0xA282EAD8) & 0xFFFFFFFF
    while data:
        length, check = struct.unpack("<QI", data[:12])
        assert check == masked(data[:8])
        content, (check,) = data[12:12 + length], struct.unpack("<I", data[12 + length:16 + length])
        assert len(content) == length and check == masked(content)
        yield content
        data = data[16 + length:]


def fields(message):
    """Numbers and values of a Protocol Buffers message."""
    def varint():
        nonlocal message
        value, shift = 0, 0
        while True:
            byte, message = message[0], message[1:]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    found = []
    while message:
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        value, message = message[:size], message[size:]
        if key & 7 in (1, 5):
            value = struct.unpack("<d" if size == 8 else "<f", value)[0]
        found.append((key >> 3, value))
    return found


def test_tensorboard_reads_the_event_file(real, tmp_path):
    real.export(tensorboard=tmp_path / "board", curves=tmp_path / "c.csv")
    (file,) = (tmp_path / "board").iterdir()
    assert "tfevents" in file.name
    first, *events = [dict(fields(record)) for record in records(file.read_bytes())]
    assert first[3] == b"brain.Event:2"
    with open(tmp_path / "c.csv", newline="") as curves:
        rows = list(csv.DictReader(curves))
    assert [event[2] for event in events] == [int(row["round"]) for row in rows] == [1, 2, 3]
    for event, row in zip(events, rows):
        assert event[1] == float(row["ended"])
        figures = {value[1].decode(): value[2] for value in (dict(fields(v)) for _, v in fields(event[5]))}
        for name, value in row.items():
            if value and name != "round" and value not in ("true", "false"):
                assert figures.pop(name.replace(".", "/")) == numpy.float32(float(value))
        assert not figures
    assert "eval.seen.rmse" in rows[-1] and rows[-1]["eval.seen.rmse"]


def short(out, start, **changes):
    return furlong.run(ROOT / "scenarios" / "quickstart.toml", out=out, progress=False,
                       set={"scenario.rounds": 1, "data.users": 60, "participation.per_round": 10,
                            "model.start_from": str(start), **changes})


def test_a_run_starts_from_a_file(real, tmp_path):
    # A run that hardly learns keeps what it started from.
    slow = {"algorithm.client.lr": 1e-6, "private.cold_start": "default"}
    real.export(model=tmp_path / "m.npz")
    again = short(tmp_path / "a", tmp_path / "m.npz", **slow)
    for name, value in again.model().items():
        assert numpy.abs(value - real.model()[name]).max() < 1e-4
    # A file of numpy's, with first values of private tensors.
    arrays = {**real.model(), "user": numpy.full(4, 0.25, numpy.float32), "user_bias": numpy.float32(0.5)}
    numpy.savez(tmp_path / "n.npz", **arrays)
    run = short(tmp_path / "b", tmp_path / "n.npz", **slow)
    own = run.private(first_client(run))
    assert own["user"][0] == pytest.approx([0.25] * 4, abs=1e-3)
    assert own["user_bias"][0] == pytest.approx([0.5], abs=1e-3)


def test_all_that_does_not_match_is_in_one_error(real, tmp_path):
    arrays = {"item": numpy.zeros((3, 4), numpy.float32), "items": numpy.zeros(3, numpy.float32),
              "mean": numpy.float32(3)}
    numpy.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(furlong.CommandError) as error:
        short(tmp_path / "run", tmp_path / "bad.npz")
    assert "bad.npz: does not fit the model: item is 3 x 4, not 400 x 4, items is no tensor of the model, " \
           "item_bias is missing; name a file of such a model in model.start_from" in str(error.value)
    assert error.value.code == 3


@pytest.mark.parametrize("write, message", [
    (lambda file: numpy.savez(file, mean=numpy.zeros((1, 1))), "mean is float64, not float32 (convert it)"),
    (lambda file: numpy.savez_compressed(file, mean=numpy.zeros(1)), "is compressed; write it with numpy.savez"),
    (lambda file: numpy.savez(file, item=numpy.zeros((3, 4), numpy.float32).T), "has item in Fortran order"),
    (lambda file: numpy.savez(file, mean=numpy.float32("nan")), "mean has values that are not finite"),
    (lambda file: numpy.savez(file, item=numpy.full((400, 4), numpy.inf, numpy.float32)), "item has values that are not finite"),
    (lambda file: file.write_text("mean"), "is no whole npz file"),
    (lambda file: None, "No such file or directory; name a file that exists in model.start_from"),
])
def test_files_that_no_run_starts_from(real, tmp_path, write, message):
    write(tmp_path / "bad.npz")
    with pytest.raises(furlong.CommandError, match=re.escape(message)):
        short(tmp_path / "run", tmp_path / "bad.npz")


def test_nodes_do_not_start_from_private_values(real, tmp_path):
    command.output_of(["export", str(real.path), "--model", str(tmp_path / "m.npz"), "--client",
                       str(first_client(real))])
    done = subprocess.run([command.find(), "serve", str(real.path / "scenario.toml"), "--set",
                           f"model.start_from={tmp_path}/m.npz", "--listen", "127.0.0.1:0", "--insecure", "--out",
                           str(tmp_path / "run")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "has first values of the private tensor user, and nodes do not get the file" in done.stderr


def test_a_class_predicts_for_a_client(real, tmp_path):
    run = furlong.run(ROOT / "python" / "examples" / "factorization.toml", set={"scenario.rounds": 2},
                      out=tmp_path / "run", progress=False)
    trained = first_client(run)
    seen, unseen = run.predict(trained), run.predict(199)
    assert [(one["part"], one["example"]) for one in seen["predictions"]] == [("test", i) for i in range(4)]
    assert [one["part"] for one in unseen["predictions"]] == ["train"] * 32 + ["validation"] * 4 + ["test"] * 4
    assert (seen["personal"], unseen["personal"]) == ("stored", "reconstructed")
    run.export(predictions=tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["client"] == str(trained)]
    assert [float(row["prediction"]) for row in rows] == [one["prediction"] for one in seen["predictions"]]
    assert all(one["prediction"] is not None and row["label"] == "" for one, row in zip(seen["predictions"], rows))


def test_predictions_of_a_class_have_the_labels_that_it_says(tmp_path):
    """Squared errors of labels and predictions are the losses of the evaluation, of each group."""
    code = (ROOT / "python" / "examples" / "factorization.py").read_text()
    (tmp_path / "taste.py").write_text(code.replace("    def predict(", """    def true_labels(self, step):
        return self.batch(step)[1]

    def predict("""))
    run = furlong.run(ROOT / "python" / "examples" / "factorization.toml", set={"scenario.rounds": 2},
                      problem=f"{tmp_path}/taste.py:Factorization", out=tmp_path / "run", progress=False)
    run.export(predictions=tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for group in ("seen", "unseen"):
        figures = run.summary["eval"][group]
        errors = [float(row["label"]) - float(row["prediction"]) for row in rows if row["group"] == group]
        assert len(errors) == figures["examples"] > 0
        assert numpy.mean(numpy.square(errors)) == pytest.approx(figures["loss"], rel=1e-5)


def test_a_module_has_labels_of_its_own(tmp_path):
    pytest.importorskip("sklearn")
    run = furlong.run(ROOT / "python" / "examples" / "digits.toml", set={"scenario.rounds": 2}, out=tmp_path / "run",
                      progress=False)
    run.export(predictions=tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == "seen"]
    right = sum(int(row["label"]) == int(row["prediction"]) for row in rows)
    figures = run.summary["eval"]["seen"]
    assert len(rows) == figures["examples"] and right / len(rows) == pytest.approx(figures["accuracy"])


def test_a_class_without_predictions_says_what_to_define(tmp_path):
    text = (ROOT / "python" / "examples" / "factorization.py").read_text()
    assert "    def predict(" in text
    (tmp_path / "taste.py").write_text(text.replace("    def predict(", "    def others("))
    run = furlong.run(ROOT / "python" / "examples" / "factorization.toml", set={"scenario.rounds": 1},
                      problem=f"{tmp_path}/taste.py:Factorization", out=tmp_path / "run", progress=False)
    with pytest.raises(furlong.CommandError, match=r"taste.py:\d+: the class has no predict\(\), .*define predict"):
        run.predict(0)


def test_figures_of_a_class_are_there_for_each_client(tmp_path):
    """Accuracy in the usual column, any other metric in one of its own; pooled they are those of the summary."""
    code = (ROOT / "python" / "examples" / "logistic.py").read_text()
    for old, new in (('{"accuracy": "max"}', '{"accuracy": "max", "wrong": "min"}'),
                     ('"accuracy": (right,', '"wrong": (len(step.examples) - right, len(step.examples)), "accuracy": (right,')):
        assert old in code
        code = code.replace(old, new)
    (tmp_path / "logistic.py").write_text(code)
    (tmp_path / "logistic.toml").write_text((ROOT / "python" / "examples" / "logistic.toml").read_text())
    run = furlong.run(tmp_path / "logistic.toml", set={"scenario.rounds": 2}, out=tmp_path / "run", progress=False)
    command.output_of(["export", str(run.path), "--clients", str(tmp_path / "c.csv")])
    with open(tmp_path / "c.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["role"] == "train" and row["examples"]]
    figures = run.summary["eval"]["seen"]
    assert sum(int(row["examples"]) for row in rows) == figures["examples"] and len(rows) == figures["clients"]
    for name in ("loss", "accuracy", "wrong"):
        pooled = sum(int(row["examples"]) * float(row[name]) for row in rows) / figures["examples"]
        assert pooled == pytest.approx(figures[name], rel=1e-4), name
        assert len({row[name] for row in rows}) > 1
    command.output_of(["report", str(run.path), "--clients"])
    assert "Accuracy of seen clients" in (run.path / "report.html").read_text()


@pytest.mark.parametrize("arguments, message", [
    ([], "has nothing to write"),
    (["--model", "m.txt"], "end the name in .npz or .safetensors"),
    (["--model", "m.npz", "--client", "4000"], "client 4000: has no private values here"),
    (["--client", "3"], "--client: has no meaning without --model"),
])
def test_exports_that_are_refused(real, arguments, message):
    with pytest.raises(furlong.CommandError, match=message):
        command.output_of(["export", str(real.path), *arguments])


STATE = """
import furlong.torch, torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 6))
        self.register_buffer("steps", torch.tensor(5))
        self.register_buffer("hidden", torch.ones(6), persistent=False)
        self.fixed = torch.nn.Linear(6, 6).requires_grad_(False)
        self.first = torch.nn.Linear(6, 6, bias=False)
        self.second = torch.nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.out = torch.nn.Linear(6, 2)
    def forward(self, x):
        return self.out(self.second(self.first(self.fixed(x * self.scale))).relu())

class State(furlong.torch.Problem):
    def __init__(self):
        random = torch.Generator().manual_seed(5)
        self.x = torch.randn(4, 20, 6, generator=random)
        self.y = (self.x[..., 0] > 0).long()
    def module(self):
        return Net()
    def clients(self):
        return [furlong.torch.Client(f"c{c}", train=15, test=5) for c in range(4)]
    def batch(self, client, part, examples):
        examples = examples + (15 if part == "test" else 0)
        return self.x[client, examples], self.y[client, examples]
    def loss(self, outputs, targets):
        return torch.nn.functional.cross_entropy(outputs, targets)
"""
SLOW = {"algorithm.client.lr": 1e-7}


def test_a_state_dict_goes_out_and_back(real, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "state_of_a_module.py").write_text(STATE)
    sys.path.insert(0, str(tmp_path))
    from state_of_a_module import Net

    def train(**changes):
        return furlong.run({"scenario": {"name": "state", "rounds": 2}, "data": {"source": "python"},
                            "model": {"kind": "python"}, "algorithm": {"kind": "fedavg", "client": {"lr": 0.1}},
                            "participation": {"per_round": 4}}, problem=f"{tmp_path}/state_of_a_module.py:State",
                           progress=False, set=changes, out=tmp_path / str(len(list(tmp_path.iterdir()))))

    torch.manual_seed(1)  # scenario.seed
    first = Net().state_dict()
    run = train()
    net = Net()
    net.load_state_dict({name: torch.from_numpy(value) for name, value in run.model().items()}, strict=True)
    for name, value in net.state_dict().items():
        is_fixed = name.startswith("fixed.") or name in ("scale", "steps")
        assert torch.equal(value, first[name]) == is_fixed, name
    assert net.second.weight is net.first.weight
    numpy.savez(tmp_path / "state.npz", **{name: value.numpy() for name, value in net.state_dict().items()})
    again = train(**{"model.start_from": str(tmp_path / "state.npz"), **SLOW}).model()
    assert again.keys() == run.model().keys()
    assert all(numpy.abs(again[name] - value).max() < 1e-4 for name, value in run.model().items())


def test_the_transformer_goes_out_and_back(real, tmp_path):
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT / "python" / "examples"))
    from transformer import Language

    def train(**changes):
        return furlong.run(ROOT / "python" / "examples" / "transformer.toml", progress=False, threads=1,
                           out=tmp_path / str(len(list(tmp_path.iterdir()))), set={"scenario.rounds": 1, **changes})

    run = train()
    state = {**run.model(), **run.private(first_client(run))}
    net = Language()
    net.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, strict=True)
    numpy.savez(tmp_path / "state.npz", **{name: value.numpy() for name, value in net.state_dict().items()})
    again = train(**{"model.start_from": str(tmp_path / "state.npz"), **SLOW}).model()
    assert all(numpy.abs(again[name] - value)[numpy.isfinite(value)].max() < 1e-4 for name, value in run.model().items())
