"""Broken algorithms: every message names file, line, reason and fix, in a run and in furlong.check."""

import json
import shutil

import broken
import broken_algorithms
import pytest
from test_broken import OPENED, STEPS, run

import furlong
from furlong import check

STOPPED = 5
SCENARIO = """
scenario = {name = "taste", rounds = 2}
data.source = "python"
model.kind = "python"
python = {problem = "taste.py:Taste", algorithm = "taste.py:Own", timeout = 1.0}
algorithm = {kind = "python", client = {lr = 0.01, batch_size = 5}}
participation.per_round = 1
evaluation.every = 1
"""
#: Seconds: a thread has two to end.
TIMEOUTS = {"thread": 10}


def text_of(name):
    return broken.text_of(broken_algorithms.BROKEN[name], broken_algorithms.GOOD)


@pytest.mark.parametrize("name", broken_algorithms.BROKEN)
def test_a_run_names_place_reason_and_fix(tmp_path, name):
    text, line = text_of(name)
    code, told, _ = run(tmp_path, text, SCENARIO, "--set", f"python.timeout={TIMEOUTS.get(name, 1)}")
    _, _, reason, fix = broken_algorithms.BROKEN[name]
    assert f"{tmp_path}/taste.py" + (f":{line}: " if line else ":") in told
    assert reason in told and fix in told
    assert "furlong/task.py" not in told and "furlong/task_runs.py" not in told
    assert code == (OPENED if name in broken_algorithms.OPENED else STEPS)


@pytest.mark.parametrize("name", broken_algorithms.BROKEN)
def test_check_names_place_reason_and_fix(tmp_path, name, capsys):
    text, line = text_of(name)
    file = tmp_path / f"algorithm_{name.replace(' ', '_')}.py"
    file.write_text(text)
    assert check.main([f"{file}:Taste", "--algorithm", f"{file}:Own", "--timeout", str(TIMEOUTS.get(name, 2))]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert broken_algorithms.BROKEN[name][2] in last and broken_algorithms.BROKEN[name][3] in last
    assert f"{file.name}:{line}: " in last if line else file.name in last


def test_check_accepts_a_good_algorithm(tmp_path, capsys):
    file = tmp_path / "algorithm_good.py"
    file.write_text(broken_algorithms.GOOD)
    assert check.main([f"{file}:Taste", "--batch", "5", "--algorithm", f"{file}:Own", "--algorithm-option", "mu=3",
                       "--private", "b"]) == 0
    out = capsys.readouterr().out
    assert "option      mu = 3.0" in out and "kept      own: model" in out and "report    n: shape [2, 3]" in out
    assert "tasks       20 examples, weight 20, mean loss " in out and out.endswith("no errors\n")


def test_check_warns_of_what_no_task_writes(tmp_path, capsys):
    file = tmp_path / "algorithm_idle.py"
    idle = '"idle": furlong.shared("shared"), "own"'
    file.write_text(broken_algorithms.GOOD.replace('"own"', idle, 1).replace("t.weights -=", "scratch = t.weights -")
                    .replace("return examples *", "return 2 * examples *"))
    assert check.main([f"{file}:Taste", "--batch", "5", "--algorithm", f"{file}:Own", "--private", "b"]) == 0
    told = capsys.readouterr()
    for warning in ('train() does not write t.report["idle"]', "train() does not write t.weights", "call t.count() in every"):
        assert warning in told.out + told.err


def model_of(folder):
    summary = json.loads((folder / "run" / "summary.json").read_text())
    return summary["model_sha256"], summary["private_sha256"]


def test_a_failed_run_is_resumed(tmp_path):
    rounds = ["--set", "scenario.rounds=6", "--set", "checkpoint.every=1"]
    whole, broken_one = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken_one.mkdir()
    assert run(whole, broken_algorithms.GOOD, SCENARIO, *rounds)[0] == 0
    text = broken_algorithms.GOOD.replace("        for numbers", "        if t.round == 4: 1 / 0\n        for numbers", 1)
    code, told, _ = run(broken_one, text, SCENARIO, *rounds)
    assert code == STEPS and "the run is kept up to round 3" in told
    assert run(broken_one, broken_algorithms.GOOD, SCENARIO, *rounds, "--resume", "--accept-changed-code")[0] == 0
    assert model_of(whole) == model_of(broken_one)


def test_a_changed_algorithm_is_refused(tmp_path):
    rounds = ["--set", "scenario.rounds=3", "--set", "checkpoint.every=1"]
    (tmp_path / "own.py").write_text("import furlong\n" + broken_algorithms.GOOD.split("class Taste")[0]
                                     + "class Own" + broken_algorithms.GOOD.split("class Own")[1])
    scenario = SCENARIO.replace("taste.py:Own", "own.py:Own")
    assert run(tmp_path, broken.GOOD, scenario, *rounds, "--stop-after", "1")[0] == STOPPED
    (tmp_path / "own.py").write_text((tmp_path / "own.py").read_text() + "# changed\n")
    code, told, _ = run(tmp_path, broken.GOOD, scenario, *rounds, "--resume")
    assert code != 0 and "own.py" in told


def test_values_that_are_not_finite_are_named(tmp_path):
    text = broken_algorithms.GOOD.replace("t.rate * gradient", "float('nan') * gradient")
    code, told, log = run(tmp_path, text, SCENARIO)
    assert code == STEPS and "diverged" in told
    assert 'train() counts a loss that is not finite for client' in log


def test_a_run_does_not_depend_on_its_trainers(tmp_path):
    text = broken_algorithms.GOOD.replace("        for numbers", "        t.weights *= 1 + 0.01 * t.random.normal()\n"
                                          "        for numbers", 1)
    assert run(tmp_path, text, SCENARIO)[0] == 0
    made = {model_of(tmp_path)}
    for workers in (1, 2):
        done = furlong.run(tmp_path / "taste.toml", out=tmp_path / "more" / "run", threads=2, progress=False,
                           set={"python.workers": workers})
        made.add((done.summary["model_sha256"], done.summary["private_sha256"]))
        shutil.rmtree(tmp_path / "more")
    assert len(made) == 1
