"""furlong.run, sweep and open: with a command that records its arguments, and with the real one where it is there."""

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import furlong
from furlong import command, runs, toml

ROOT = Path(__file__).resolve().parents[2]


def test_arguments_of_a_run(fake, tmp_path):
    run = furlong.run("quick.toml", set={"algorithm.kind": "furl", "data.split": [0.5, 0.5], "model.tied": True},
                      out=tmp_path / "a", seed=7, threads=2, resume=True, problem="taste.py:Taste")
    assert fake()["arguments"] == [
        "run", "quick.toml", "--set", "algorithm.kind=furl", "--set", "data.split=[0.5, 0.5]",
        "--set", "model.tied=true",
        "--set", f"python.problem={tmp_path}/taste.py:Taste", "--out", str(tmp_path / "a"), "--seed", "7",
        "--threads", "2", "--resume", "--format", "json"]
    assert fake()["python"] == sys.executable
    assert fake()["parent"] == str(os.getpid())
    assert fake()["path"].split(os.pathsep)[0] == str(ROOT / "python")
    assert run.path == tmp_path / "a"


def test_an_algorithm_in_python_replaces_the_kind(fake, tmp_path):
    furlong.run("quick.toml", algorithm="moon.py:Moon", problem="taste.py:Taste")
    assert fake()["arguments"][2:] == [
        "--set", f"python.problem={tmp_path}/taste.py:Taste", "--set", "algorithm.kind=python",
        "--set", f"python.algorithm={tmp_path}/moon.py:Moon", "--format", "json"]
    furlong.run({"python": {"problem": "a.py:A", "algorithm": "b.py:B"}}, progress=False)
    assert fake()["scenario"] == f'[python]\nproblem = "{tmp_path}/a.py:A"\nalgorithm = "{tmp_path}/b.py:B"\n'
    with pytest.raises(TypeError, match="algorithm=.* is no class derived from furlong.Algorithm"):
        furlong.run("quick.toml", algorithm=furlong.Problem)
    with pytest.raises(ValueError, match="is defined in a function"):
        furlong.run("quick.toml", algorithm=type("Own", (furlong.Algorithm,), {"__qualname__": "f.<locals>.Own"}))


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


def test_keys_that_change_together(fake, tmp_path):
    furlong.sweep("quick.toml", grid={("algorithm.kind", "algorithm.client.lr"): [("furl", 0.1), ("fedavg", 1)],
                                      "model.rank": [3, 4]}, out=tmp_path / "s")
    assert fake()["arguments"][4:] == ["--grid", "algorithm.kind=furl,fedavg", "--with", "algorithm.client.lr=0.1,1",
                                       "--grid", "model.rank=3,4"]
    for wrong in ([("furl",)], ["ab"]):
        with pytest.raises(ValueError, match="no tuples of 2 values"):
            furlong.sweep("quick.toml", grid={("algorithm.kind", "algorithm.client.lr"): wrong}, out=tmp_path / "s")


def test_arguments_of_a_report(fake, tmp_path):
    run = furlong.run("quick.toml", progress=False)
    assert furlong.write_report(run) == Path("page.html")
    assert fake()["arguments"] == ["report", "runs/quick-7", "--format", "json"]
    furlong.write_report([run, "runs/other"], out=tmp_path / "a.html", embeddings=True, clients=True)
    assert fake()["arguments"] == ["report", "runs/quick-7", "runs/other", "--out", str(tmp_path / "a.html"),
                                   "--embeddings", "--clients", "--format", "json"]


def test_arguments_of_a_tuning(fake, tmp_path):
    tuning = furlong.tune("quick.toml", grid={"model.rank": [3, 4]}, samples=5, metric="eval.validation.rmse",
                          ranges={"algorithm.client.lr": "log:1e-3..1", "algorithm.server.lr": (0.5, 1)}, budget=90,
                          factor=2, seeds=[1], set={"model.tied": True}, out=tmp_path / "t", threads=2,
                          accept_changed_code=True)
    assert fake()["arguments"] == [
        "tune", "quick.toml", "--accept-changed-code", "--set", "model.tied=true", "--out", str(tmp_path / "t"),
        "--grid", "model.rank=3,4", "--seeds", "1", "--threads", "2", "--range", "algorithm.client.lr=log:1e-3..1", "--range",
        "algorithm.server.lr=0.5..1", "--samples", "5", "--metric", "eval.validation.rmse", "--budget", "90",
        "--factor", "2"]
    assert tuning.best == {"model.rank": 4}
    assert tuning.scenario == tmp_path / "t" / "best.toml"
    rows = tuning.table.to_dict("records") if hasattr(tuning.table, "to_dict") else tuning.table
    assert [(row["rank"], row["model.rank"], row["rounds"]) for row in rows] == [(1, 4, 6), (2, 3, 2)]
    assert rows[0]["figure"] == 0.5


def test_a_tuning_of_the_command(tmp_path):
    try:
        command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    tuning = furlong.tune(ROOT / "scenarios" / "quickstart.toml", grid={"algorithm.client.lr": [1e-5, 0.1]}, factor=2,
                          set={"scenario.rounds": 4, "data.users": 60, "participation.per_round": 10}, seeds=[1],
                          metric="eval.validation.rmse", out=tmp_path / "tuned", progress=False)
    assert tuning.best == {"algorithm.client.lr": 0.1}
    assert len(tuning.runs) == len(tuning.table) == 2
    best = furlong.run(tuning.scenario, out=tmp_path / "best", progress=False)
    assert best.summary["eval"]["validation"]["rmse"] == tuning.data["best"]["figure"]


def test_progress_is_shown_unless_unwanted(fake, capsys):
    furlong.run("quick.toml")
    assert capsys.readouterr().err == "round 1: 3 of 3\n"
    furlong.run("quick.toml", progress=False)
    assert capsys.readouterr().err == ""


def test_a_failure_has_the_message_and_the_code(fake):
    with pytest.raises(furlong.CommandError, match="rounds: no number; write one") as error:
        furlong.run("fail.toml", progress=False)
    assert error.value.code == 2


def test_a_failure_begins_with_the_error():
    error = command._failure("note: nothing is scored\nround 1\nfurlong: a.py:3: ValueError: x\nfurlong: b\nc", 4)
    assert str(error) == "a.py:3: ValueError: x\nb\nc"
    assert traceback.format_exception_only(type(error), error)[0].startswith("furlong.CommandError: a.py:3")


def test_a_command_that_was_killed_has_a_reason(fake):
    with pytest.raises(furlong.CommandError) as error:
        furlong.run("killed.toml", progress=False)
    assert error.value.code == -signal.SIGKILL
    assert str(error.value).startswith("round 1: 3 of 3\nround 2\nfurlong was killed by SIGKILL: usually the system had "
                                       "no more memory, see dmesg; lower threads")
    assert str(command._failure("", 128 + signal.SIGTERM)) == "furlong was killed by SIGTERM"


def test_errors_of_a_dict_do_not_name_a_temporary_file(fake, capsys):
    with pytest.raises(furlong.CommandError) as error:
        furlong.run({"scenario": {"name": "bad"}})
    told = capsys.readouterr().err
    for text in (str(error.value), told):
        assert 'the scenario: scenario.rounds: is "x" (round 1)\n' in text
        assert "the scenario: model.kind: is missing; see the scenario" in text
        assert "/" not in text


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_names_that_come_in_pieces_are_replaced(size):
    renamed = command._Renamed("/tmp/ab/scenario.toml")
    text = "/tmp/ab/x 1/2 /tmp/ab/scenario.toml:3:12: a\r/tmp/ab/scenario.toml (/tmp/ab/scenario.toml:9) /tmp/a"
    shown = "".join(renamed.add(text[i : i + size], False) for i in range(0, len(text), size)) + renamed.add("", True)
    assert shown == "/tmp/ab/x 1/2 the scenario: a\rthe scenario (the scenario) /tmp/a"


def test_private_parameters_take_one_export(fake, tmp_path):
    (tmp_path / "scenario.toml").write_text("")
    own = furlong.open(tmp_path).private(3)
    assert {name: value.shape for name, value in own.items()} == {"b": (1,), "user": (1, 2)}
    assert fake()["arguments"][:3] == ["export", str(tmp_path), "--model"]
    assert furlong.open(tmp_path).groups()["w"].tolist() == [1.0, 1.0]
    assert fake()["arguments"][:3] == ["export", str(tmp_path), "--groups"]


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


def test_clients_are_a_frame(fake, tmp_path):
    (tmp_path / "scenario.toml").write_text("")
    rows = furlong.open(tmp_path).clients
    rows = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
    assert rows[0] == {"client": 0, "name": "7", "role": "train", "loss": 0.5}
    assert rows[1]["name"] == "b" and (rows[1]["loss"] is None or rows[1]["loss"] != rows[1]["loss"])
    assert fake()["arguments"][:3] == ["export", str(tmp_path), "--clients"]


def test_cohorts_are_a_frame(fake, tmp_path):
    (tmp_path / "scenario.toml").write_text("")
    rows = furlong.open(tmp_path).cohorts
    rows = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
    assert rows[0] == {"round": 1, "client": 4, "aggregated": 2}
    assert rows[1]["client"] == 6 and (rows[1]["aggregated"] is None or rows[1]["aggregated"] != rows[1]["aggregated"])
    assert fake()["arguments"][:3] == ["export", str(tmp_path), "--cohorts"]


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
    assert not run.ended
    with pytest.raises(FileNotFoundError, match="resume=True"):
        run.summary
    with pytest.raises(FileNotFoundError, match="no run directory"):
        furlong.open(tmp_path / "none")
