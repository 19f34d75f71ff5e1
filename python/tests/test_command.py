"""Classes with the real command: options, rounds, digests of their files, and the whole state of modules."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

import furlong
from furlong import command, toml

CLASS = '''
import os
import furlong, numpy

class Taste(furlong.Problem):
    options = {"slope": 1.0, "depth": 2, "wide": False, "loss_name": "square"}

    def __init__(self):
        with open(os.environ["OPENED"], "a") as file:
            file.write(f"{self.slope} {self.depth} {self.wide} {self.loss_name}\\n")
        random = numpy.random.default_rng(3)
        self.x = random.normal(size=(6, 12, 3)).astype(numpy.float32)

    def parameters(self, seed):
        return {"w": numpy.zeros(3, numpy.float32), "own": numpy.zeros(1, numpy.float32)}

    def clients(self):
        return [furlong.Client(f"c{c}", 8, 2, 2) for c in range(6)]

    def gradient(self, step):
        if step.seed:
            print("made in round", step.round)
        rows = self.x[step.client, step.examples]
        error = rows @ step.parameters["w"] + step.parameters["own"] - self.slope * rows.sum(axis=1)
        for name, value in (("w", rows.T @ error / len(rows)), ("own", error.mean())):
            if name in step.gradients:
                step.gradients[name][...] = COEFFICIENT * value
        return float((error ** 2).mean() / 2)

    def evaluate(self, step):
        print("scored after round", step.round)
        return {"loss": (float(self.gradient(step)) * len(step.examples), len(step.examples))}
'''
SCENARIO = {
    "scenario": {"name": "taste", "rounds": 4, "seed": 2}, "data": {"source": "python"},
    "model": {"kind": "python", "private": ["own"]}, "python": {"problem": "taste.py:Taste"},
    "algorithm": {"kind": "furl", "client": {"lr": 0.1, "batch_size": 4}},
    "participation": {"per_round": 3}, "evaluation": {"every": 2}, "checkpoint": {"every": 1},
}


@pytest.fixture
def place(real, tmp_path, monkeypatch):
    """A folder with the class, as the working directory."""
    monkeypatch.setenv("OPENED", str(tmp_path / "opened"))
    write(tmp_path)
    return tmp_path


def write(folder, coefficient=1.0):
    (folder / "taste.py").write_text(CLASS.replace("COEFFICIENT", str(coefficient)))


def run(out, **more):
    return furlong.run(SCENARIO, out=out, progress=False, threads=1, **more)


def opened(place):
    """What the constructors saw since the last call, without repetitions."""
    file = place / "opened"
    seen = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return seen


def failure(call):
    with pytest.raises(furlong.CommandError) as caught:
        call()
    return str(caught.value)


def test_options_reach_the_constructor(place):
    plain = run("plain")
    assert set(opened(place)) == {"1.0 2 False square"}
    other = run("other", set={"python.options.slope": 3, "python.options.wide": True, "python.options.loss_name": "huber"})
    assert set(opened(place)) == {"3.0 2 True huber"}
    assert plain.summary["model_sha256"] != other.summary["model_sha256"]
    resolved = (other.path / "scenario.toml").read_text()
    assert "[python.options]\ndepth = 2\nloss_name = \"huber\"\nslope = 3.0\nwide = true\n" in resolved
    given = run("given", set={"python.options.slope": 1.0})
    assert given.summary["model_sha256"] == plain.summary["model_sha256"]
    again = furlong.run(other.path / "scenario.toml", out="again", progress=False)
    assert again.summary["model_sha256"] == other.summary["model_sha256"]


def test_wrong_options_are_named(place):
    message = failure(lambda: run("a", set={"python.options.slop": 1.0}))
    assert "slop" in message and '"slope"' in message
    assert "must be true, false, a finite number or a text" in failure(
        lambda: run("a", set={"python.options.slope": "[1, 2]"}))
    assert "depth" in failure(lambda: run("a", set={"python.options.depth": "deep"}))
    assert "is a key of source = \"python\"" in failure(lambda: command.output_of(
        ["validate", str(Path(__file__).parents[2] / "scenarios/quickstart.toml"), "--set", "python.options.slope=1"]))


def test_data_are_described_by_clients_and_examples(place):
    Path("taste.toml").write_text(toml.document(SCENARIO))
    found = json.loads(command.output_of(["validate", "taste.toml", "--format", "json"]))["data"]
    assert found["clients"] == 6 and found["examples"]["train"] == 48 and "items" not in found
    line = command.output_of(["validate", "taste.toml"])
    assert "for the test), 72 examples (48 train, 12 validation, 12 test, 0 unseen)" in line


def test_all_trainers_open_before_the_first_round(place):
    line = "            file.write("
    text = (place / "taste.py").read_text().replace(line, f"            if file.tell(): raise ValueError('twice')\n{line}")
    (place / "taste.py").write_text(text)
    message = failure(lambda: furlong.run(SCENARIO, out="twice", progress=False, threads=2))
    assert message.startswith(f"{place}/taste.py:10: ValueError: twice") and not (place / "twice").exists()
    (place / "opened").unlink()
    furlong.run(SCENARIO, out="once", progress=False, threads=2, set={"python.workers": 1})


RECONSTRUCTION = """
import os
import furlong, numpy

class Taste(furlong.Problem):
    def parameters(self, seed):
        return {"w": numpy.zeros(8, numpy.float32), "own": numpy.zeros(8, numpy.float32)}

    def clients(self):
        return [furlong.Client(f"c{c}", 12, 0, 2) for c in range(6)]

    def gradient(self, step):
        with open(os.environ["OPENED"], "a") as file:
            file.write(f"{step.client} {step.round} {step.dropout} {step.seed} {sorted(step.gradients)}\\n")
        other = step.random.integers(8) if step.random else 0
        values = step.parameters["w"] + step.parameters["own"]
        for gradient in step.gradients.values():
            gradient[...] = 0
            gradient[other] = values[other] - step.client
        return float((values[other] - step.client) ** 2 / 2)
"""


def test_a_reconstruction_draws_without_dropout(place):
    """Each of its steps has a seed of its own, the same with any number of trainers."""
    (place / "taste.py").write_text(RECONSTRUCTION)
    recon = {"algorithm.kind": "fedrecon", "algorithm.reconstruction.epochs": 2,
             "algorithm.reconstruction.lr": 0.1}
    found = []
    for threads in (1, 2):
        made = furlong.run(SCENARIO, out=f"with-{threads}", progress=False, threads=threads, set=recon)
        found.append((made.summary["model_sha256"], sorted({tuple(line.split(" ", 4)) for line in opened(place)})))
    assert found[0] == found[1]
    steps = [step for step in found[0][1] if step[4] == "['own']"]
    assert {step[2] for step in steps} == {"False"} and {step[2] for step in found[0][1]} == {"False", "True"}
    trained = [step[3] for step in steps]
    assert len(trained) > 12 and len(set(trained)) == len(trained) and "0" not in trained


def test_a_resumed_run_has_the_same_options(place):
    run("whole", set={"python.options.slope": 2.0})
    whole = furlong.open("whole").summary["model_sha256"]
    with pytest.raises(furlong.CommandError):
        command.run(["run", "whole/scenario.toml", "--out", "part", "--stop-after", "2"], False, "")
    assert "python.options.slope was 2.0 and is 1.0" in failure(lambda: run("part", resume=True))
    part = furlong.run("whole/scenario.toml", out="part", resume=True, progress=False)
    assert part.summary["model_sha256"] == whole


def test_a_step_knows_its_round(place):
    made = run("rounds")
    lines = (made.path / "log.txt").read_text().splitlines()
    trained = {line.rpartition(" ")[2] for line in lines if "made in round" in line}
    scored = {line.rpartition(" ")[2] for line in lines if "scored after round" in line}
    assert trained == {"1", "2", "3", "4"}
    assert {"2", "4"} <= scored <= {"0", "2", "4"}
    for line in lines:
        if "made in round" in line:
            assert f"round {line.rpartition(' ')[2]})" in line


def test_a_sweep_opens_a_class_once_for_each_option(place):
    swept = furlong.sweep(SCENARIO, grid={"python.options.slope": [1.0, 2.0], "algorithm.client.lr": [0.1, 0.2]},
                          seeds=[1, 2], out="sweep", progress=False)
    assert len(swept.runs) == 8
    seen = opened(place)
    # For each value of the option before the runs, for its description and to check the runs, and once in each run. A
    # class that is still open is not opened again.
    assert all(seen.count(f"{slope} 2 False square") in (5, 6) for slope in (1.0, 2.0))
    assert sorted({row["python.options.slope"] for row in rows(swept.table)}) == [1.0, 2.0]


def rows(table):
    return table if isinstance(table, list) else table.to_dict("records")


def test_changed_code_is_refused(place):
    whole = run("whole").summary
    assert set(whole["code"]) == {"taste.py"}
    part = ["run", "whole/scenario.toml", "--out", "part"]
    with pytest.raises(furlong.CommandError) as stopped:
        command.run([*part, "--stop-after", "2"], False, "")
    assert stopped.value.code == 5
    write(place, 0.5)
    message = failure(lambda: command.run([*part, "--resume"], False, ""))
    assert "the code of the class has changed since: taste.py" in message and "--accept-changed-code" in message
    assert not Path("part/summary.json").exists()
    command.run([*part, "--resume", "--accept-changed-code"], False, "")
    changed = furlong.open("part").summary
    assert changed["model_sha256"] != whole["model_sha256"] and changed["code"] != whole["code"]
    message = failure(lambda: command.run(["replay", "whole", "--without", "1"], False, ""))
    assert "taste.py; restore the files" in message and "--accept-changed-code" not in message
    message = failure(lambda: command.run(["replay", "part", "--without", "1"], False, ""))
    assert "was made with several versions of its class's code" in message
    assert not Path("part-without-1").exists() and changed["code_changed"]
    write(place)
    # With the file restored the run is what it was.
    command.run(["run", "whole/scenario.toml", "--out", "whole", "--resume", "--set", "scenario.rounds=5"], False, "")


def test_changed_code_is_accepted_by_an_argument(place):
    run("run", set={"scenario.rounds": 2})
    write(place, 0.5)
    assert "--accept-changed-code" in failure(lambda: run("run", resume=True))
    assert len(rows(run("run", resume=True, accept_changed_code=True).rounds)) == 4


def test_changed_code_outside_of_the_folder_is_refused(place, monkeypatch):
    for folder in ("common", "one"):
        (place / folder).mkdir()
    (place / "common/nets.py").write_text("FACTOR = 1.0\n")
    (place / "one/taste.py").write_text(CLASS.replace("import os\n", "import os, nets\n")
                                        .replace("COEFFICIENT", "nets.FACTOR"))
    monkeypatch.setenv("PYTHONPATH", str(place / "common"))
    made = run("run", problem="one/taste.py:Taste", set={"scenario.rounds": 2})
    assert set(made.summary["code"]) == {"taste.py", "../common/nets.py"}
    (place / "common/nets.py").write_text("FACTOR = 0.5\n")
    assert "the code of the class has changed since: ../common/nets.py" in failure(
        lambda: run("run", problem="one/taste.py:Taste", resume=True))


def test_changed_code_in_a_sweep_is_refused(place):
    def sweep(**more):
        return furlong.sweep(SCENARIO, grid={"algorithm.client.lr": [0.1, 0.2]}, out="sweep", progress=False, **more)

    sweep()
    write(place, 0.5)
    assert "the code of the class has changed since: taste.py" in failure(sweep)
    assert len(sweep(accept_changed_code=True).runs) == 2
    toml = str(place / "scenario.toml")
    Path(toml).write_text((place / "sweep" / "logs" / next(p.name for p in (place / "sweep" / "logs").glob("*.toml")))
                          .read_text())
    write(place)
    sweep()


def test_infer_takes_a_corrected_class(place):
    made = run("run")
    assert failure(lambda: made.predict(0))
    (place / "taste.py").write_text(CLASS.replace("COEFFICIENT", "1.0") + """
    def predict(self, step):
        return [0.5] * len(step.examples)
""")
    assert [row["prediction"] for row in made.predict(0)["predictions"]] == [0.5, 0.5]


def test_the_command_ends_with_its_script(place):
    # Its threads end one after the other, and each end hands the command to the next: it must not count as a second stop.
    (place / "script.py").write_text("""
import threading, time
import furlong
if __name__ == "__main__":
    for _ in range(16):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    furlong.run("slow.toml", out="slow", progress=False)
""")
    resolved = run("quick").path / "scenario.toml"
    Path("slow.toml").write_text(resolved.read_text().replace("rounds = 4", "rounds = 1000000")
                                 .replace("[checkpoint]\nevery = 1\n", "[checkpoint]\nevery = 0\n"))
    script = subprocess.Popen([sys.executable, "script.py"],
                              env={**os.environ, "PYTHONPATH": str(Path(furlong.__file__).parents[1])})
    wait_until(lambda: Path("slow/metrics.jsonl").exists() and Path("slow/metrics.jsonl").read_text().count("\n") > 3)
    started = working(place)
    assert started
    script.send_signal(signal.SIGKILL)
    script.wait()
    wait_until(lambda: not working(place))
    assert Path("slow/checkpoint").exists() and not Path("slow/summary.json").exists()  # stopped as by Ctrl-C


def working(place):
    """The processes whose working directory is the test's, but for this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.name != str(os.getpid()) and os.readlink(process / "cwd") == str(place):
                found.append((process / "cmdline").read_bytes())
        except OSError:
            pass
    return [one for one in found if one]


def wait_until(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("waited a minute")


# ---- the state of modules --------------------------------------------------------------------------------------------

NET = '''
import furlong.torch, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.hidden = nn.Linear(4, 4)
        self.hidden.requires_grad_(False)
        self.decoder = nn.Linear(4, 7, bias=False)
        self.decoder.weight = self.embedding.weight
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("steps", torch.tensor(5))
    def forward(self, x):
        return self.decoder(torch.tanh(self.hidden(self.embedding(x))) * self.scale)

class Tied(furlong.torch.Problem):
    def __init__(self):
        self.x = torch.randint(0, 7, (6, 10))
    def module(self):
        return Net()
    def clients(self):
        return [furlong.torch.Client(f"c{c}", 8, 0, 2) for c in range(6)]
    def batch(self, client, part, examples):
        rows = self.x[client, torch.from_numpy(examples) + (8 if part == "test" else 0)]
        return rows, (rows + 1) % 7
    def loss(self, outputs, targets):
        return nn.functional.cross_entropy(outputs, targets)
'''
TIED = {**SCENARIO, "python": {"problem": "net.py:Tied"}, "model": {"kind": "python"},
        "algorithm": {"kind": "fedavg", "client": {"lr": 0.5, "batch_size": 4}}}


@pytest.fixture
def net(place):
    pytest.importorskip("torch")
    (place / "net.py").write_text(NET)
    sys.path.insert(0, str(place))
    try:
        import net as module
        yield module
    finally:
        sys.path.remove(str(place))
        del sys.modules["net"]


def test_state_dict_ways_out_and_in(net, place):
    import torch

    made = furlong.run(TIED, out="run", progress=False)
    model = made.model()
    torch.manual_seed(2)
    module = net.Net()
    assert set(model) == set(module.state_dict())
    numpy.testing.assert_array_equal(model["embedding.weight"], model["decoder.weight"])
    assert model["steps"].dtype == numpy.int64 and model["steps"] == 5
    before = {name: value.clone() for name, value in module.state_dict().items()}
    module.load_state_dict({name: torch.from_numpy(numpy.asarray(value)) for name, value in model.items()})
    for name in ("hidden.weight", "hidden.bias", "scale"):  # as they were made
        assert torch.equal(module.state_dict()[name], before[name])
    assert not torch.equal(module.embedding.weight, before["embedding.weight"])

    # In again: the whole state, or only one name of a tied tensor.
    numpy.savez("state.npz", **{name: value.numpy() for name, value in module.state_dict().items()})
    start = {**TIED, "scenario": {**TIED["scenario"], "rounds": 1}}
    one = furlong.run({**start, "model": {"kind": "python", "start_from": str(place / "state.npz")}}, out="one",
                      progress=False)
    numpy.savez("alias.npz", **{"decoder.weight": model["decoder.weight"]})
    other = furlong.run({**start, "model": {"kind": "python", "start_from": str(place / "alias.npz")}}, out="other",
                        progress=False)
    assert one.summary["model_sha256"] == other.summary["model_sha256"]
    fresh = furlong.run(start, out="fresh", progress=False)
    assert one.summary["model_sha256"] != fresh.summary["model_sha256"]
    made.export(model="run.safetensors")
    third = furlong.run({**start, "model": {"kind": "python", "start_from": str(place / "run.safetensors")}},
                        out="third", progress=False)
    assert third.summary["model_sha256"] == one.summary["model_sha256"]


def test_a_state_that_contradicts_the_class(net, place):
    furlong.run(TIED, out="run", progress=False)
    model = furlong.open("run").model()

    def start(**changes):
        numpy.savez("state.npz", **{**model, **changes})
        file = str(place / "state.npz")
        return command.run(["run", "run/scenario.toml", "--set", f"model.start_from={file}", "--out",
                            f"out{len(list(place.glob('out*')))}"], True, "")

    message = failure(lambda: start(**{"decoder.weight": model["decoder.weight"] + 1}))
    assert "decoder.weight and embedding.weight are one tensor of the model, and differ" in message
    assert "other is no tensor of the model" in failure(lambda: start(other=model["scale"]))
    assert "embedding.weight is float64, not float32" in failure(
        lambda: start(**{"embedding.weight": model["embedding.weight"].astype(float)}))


def test_other_fixed_values_are_refused_at_resume(net, place):
    import torch

    torch.save(torch.zeros(4, 4), "w.pt")
    (place / "net.py").write_text(NET.replace("        self.hidden.requires_grad_(False)", """
        self.hidden.weight.data = torch.load("w.pt")
        self.hidden.requires_grad_(False)"""))
    part = ["run", "run/scenario.toml", "--out", "part"]
    furlong.run(TIED, out="run", progress=False)
    with pytest.raises(furlong.CommandError):
        command.run([*part, "--stop-after", "2"], False, "")
    torch.save(torch.ones(4, 4), "w.pt")
    assert "has changed since: fixed values of module()" in failure(lambda: command.run([*part, "--resume"], False, ""))


def test_other_constants_are_noted(net, place, capfd):
    furlong.run(TIED, out="run", progress=False)
    model = furlong.open("run").model()
    numpy.savez("state.npz", **{**model, "scale": model["scale"] + 1})
    capfd.readouterr()
    furlong.run(TIED, set={"model.start_from": str(place / "state.npz")}, out="other")
    noted = [line for line in capfd.readouterr().err.splitlines() if "start_from" in line]
    assert len(noted) == 1 and "scale is not trained" in noted[0]
