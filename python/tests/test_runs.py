"""furlong.run, sweep and open: with a command that records its arguments, and with the real one where it is there."""

import csv
import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest

import furlong
from furlong import command, runs, toml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A command that makes a run directory and writes its arguments and environment to called.json."""
    file = tmp_path / "furlong"
    file.write_text(f"#!{sys.executable}\n" + textwrap.dedent("""
        import json, os, pathlib, signal, sys, time
        here = pathlib.Path(__file__).parent
        arguments = sys.argv[1:]
        scenario = pathlib.Path(arguments[1]).read_text() if os.path.isfile(arguments[1]) else ""
        (here / "called.json").write_text(json.dumps(
            {"arguments": arguments, "scenario": scenario, "python": os.environ.get("FURLONG_PYTHON"),
             "path": os.environ.get("PYTHONPATH")}))
        print("round 1: 3 of 3", file=sys.stderr)
        if "fail" in arguments[1]:
            print("fail.toml:3: rounds: no number; write one", file=sys.stderr)
            sys.exit(2)
        if "slow" in arguments[1]:
            signal.signal(signal.SIGINT, lambda *_: sys.exit(5))
            print("ready", file=sys.stderr, flush=True)
            time.sleep(60)
        out = pathlib.Path(arguments[arguments.index("--out") + 1] if "--out" in arguments else "runs/quick-7")
        out.mkdir(parents=True, exist_ok=True)
        (out / "scenario.toml").write_text("")
        (out / "sweep.csv").write_text("rounds,name\\n3,a\\n4,b\\n")
        print(json.dumps({"scenario": "quick", "seed": 7}))
    """))
    file.chmod(0o755)
    monkeypatch.setenv("FURLONG", str(file))
    monkeypatch.delenv("FURLONG_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda: json.loads((tmp_path / "called.json").read_text())


def test_arguments_of_a_run(fake, tmp_path):
    run = furlong.run("quick.toml", set={"algorithm.kind": "furl", "data.split": [0.5, 0.5], "model.tied": True},
                      out=tmp_path / "a", seed=7, threads=2, resume=True, problem="taste.py:Taste")
    assert fake()["arguments"] == [
        "run", "quick.toml", "--set", "algorithm.kind=furl", "--set", "data.split=[0.5, 0.5]",
        "--set", "model.tied=true",
        "--set", f"python.problem={tmp_path}/taste.py:Taste", "--out", str(tmp_path / "a"), "--seed", "7",
        "--threads", "2", "--resume", "--format", "json"]
    assert fake()["python"] == sys.executable
    assert fake()["path"].split(os.pathsep)[0] == str(ROOT / "python")
    assert run.path == tmp_path / "a"


def test_predictions_use_this_interpreter(fake):
    furlong.run("quick.toml").predict(3)
    assert fake()["arguments"] == ["infer", "runs/quick-7", "--client", "3", "--format", "json"]
    assert fake()["python"] == sys.executable


def test_a_run_without_folder_is_found(fake):
    assert furlong.run("quick.toml").path == Path("runs/quick-7")


def test_a_scenario_can_be_a_dict(fake, tmp_path):
    furlong.run({"scenario": {"rounds": 3}, "python": {"problem": "a.py:A"}}, progress=False)
    assert fake()["scenario"] == f'[scenario]\nrounds = 3\n\n[python]\nproblem = "{tmp_path}/a.py:A"\n'


def test_arguments_of_a_sweep(fake, tmp_path):
    sweep = furlong.sweep("quick.toml", grid={"algorithm.kind": ["furl", "fedavg"], "scenario.rounds": [3, 4]},
                          seeds=[1, 2], out=tmp_path / "s", jobs=1, smoke=True)
    assert fake()["arguments"] == ["sweep", "quick.toml", "--out", str(tmp_path / "s"), "--grid",
                                   "algorithm.kind=furl,fedavg", "--grid", "scenario.rounds=3,4", "--seeds", "1,2",
                                   "--jobs", "1", "--smoke"]
    rows = sweep.table.to_dict("records") if hasattr(sweep.table, "to_dict") else sweep.table
    assert rows == [{"rounds": 3, "name": "a"}, {"rounds": 4, "name": "b"}]


def test_progress_is_shown_unless_unwanted(fake, capsys):
    furlong.run("quick.toml")
    assert capsys.readouterr().err == "round 1: 3 of 3\n"
    furlong.run("quick.toml", progress=False)
    assert capsys.readouterr().err == ""


def test_a_failure_has_the_message_and_the_code(fake):
    with pytest.raises(furlong.CommandError, match="rounds: no number; write one") as error:
        furlong.run("fail.toml", progress=False)
    assert error.value.code == 2


def test_an_interrupt_stops_the_command_and_says_how_to_resume(fake, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import furlong\ntry:\n    furlong.run('slow.toml', out='o')\n"
                      "except KeyboardInterrupt as error:\n"
                      "    print(error)\n")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
    for line in process.stderr:
        if "ready" in line:
            break
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=30)[0]
    assert out == "the run was stopped (exit code 5); continue it with furlong.run(..., out='o', resume=True)\n"


def test_the_command_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("FURLONG", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="set it to the furlong command"):
        command.find()


def test_classes_have_a_file(tmp_path):
    file = tmp_path / "module_of_a_problem.py"
    file.write_text("import furlong\nclass Taste(furlong.Problem):\n    pass\n")
    sys.path.insert(0, str(tmp_path))
    import module_of_a_problem

    assert runs.name_of(module_of_a_problem.Taste) == f"{file}:Taste"

    class Local(furlong.Problem):
        pass

    with pytest.raises(ValueError, match="is defined in a function.*move it to a file"):
        runs.name_of(Local)
    notebook = type("Cell", (furlong.Problem,), {"__module__": "no_module"})
    with pytest.raises(ValueError, match="in a notebook"):
        runs.name_of(notebook)
    with pytest.raises(TypeError, match="derived from furlong.Problem"):
        runs.name_of(int)


def test_the_class_of_a_script_is_named_by_its_file(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import furlong\nfrom furlong import runs\nclass Mine(furlong.Problem):\n    pass\n"
                      "print(runs.name_of(Mine))\n")
    out = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True,
                         env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
    assert out.stdout.strip() == f"{script}:Mine", out.stderr


def test_scenarios_are_written_as_toml():
    tomllib = pytest.importorskip("tomllib")
    scenario = {"scenario": {"name": 'a "b" \\ \x07 é', "rounds": 3, "rate": 1e-8, "big": 1e22, "on": True},
                "model": {"private": ["head.*"], "nested": {"lr": 0.1, "deep": {"x": [[1, 2], []]}}},
                "event": [{"at": 1.0, "kind": "kill"}, {"at": 2.0}], "expect": {"eval.seen.rmse": {"at_most": 1.0}}}
    assert tomllib.loads(toml.document(scenario)) == scenario
    with pytest.raises(TypeError, match="no form in TOML"):
        toml.literal(None)


def test_files_of_a_run(tmp_path):
    (tmp_path / "scenario.toml").write_text("")
    (tmp_path / "metrics.jsonl").write_text(
        '{"round":1,"ended":2.5,"loss":0.5}\n'
        '{"round":2,"ended":4.5,"loss":0.4,"eval":{"seen":{"loss":0.3,"accuracy":0.9,"by_participation":[]}}}\n'
        '{"round":3,')
    run = furlong.open(tmp_path)
    records = lambda frame: frame.to_dict("records") if hasattr(frame, "to_dict") else frame
    assert records(run.rounds) == [{"round": 1, "ended": 2.5, "loss": 0.5}, {"round": 2, "ended": 4.5, "loss": 0.4}]
    assert records(run.evaluations) == [{"round": 2, "time": 4.5, "group": "seen", "loss": 0.3, "accuracy": 0.9}]
    assert len(run.events) == 0
    with pytest.raises(FileNotFoundError, match="resume=True"):
        run.summary
    with pytest.raises(FileNotFoundError, match="no run directory"):
        furlong.open(tmp_path / "none")


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


def test_predictions_have_the_error_of_the_evaluation(real, tmp_path):
    real.export(predictions=tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for group, figures in real.summary["eval"].items():
        if group == "validation":
            continue
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
    (lambda file: numpy.savez(file, mean=numpy.zeros((1, 1))), "has mean of the type '<f8'; convert it to float32"),
    (lambda file: numpy.savez_compressed(file, mean=numpy.zeros(1)), "is compressed; write it with numpy.savez"),
    (lambda file: numpy.savez(file, item=numpy.zeros((3, 4), numpy.float32).T), "has item in Fortran order"),
    (lambda file: file.write_text("mean"), "is no whole npz file"),
    (lambda file: None, "No such file or directory; name a file that exists in model.start_from"),
])
def test_files_that_no_run_starts_from(real, tmp_path, write, message):
    write(tmp_path / "bad.npz")
    with pytest.raises(furlong.CommandError, match=re.escape(message)):
        short(tmp_path / "run", tmp_path / "bad.npz")


def test_a_class_predicts_for_a_client(tmp_path):
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
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


@pytest.mark.parametrize("arguments, message", [
    ([], "has nothing to write"),
    (["--model", "m.txt"], "end the name in .npz or .safetensors"),
    (["--model", "m.npz", "--client", "4000"], "client 4000: has no private values here"),
    (["--client", "3"], "--client requires --model"),
])
def test_exports_that_are_refused(real, arguments, message):
    with pytest.raises(furlong.CommandError, match=message):
        command.output_of(["export", str(real.path), *arguments])
