"""Classes whose fit() is broken: every message names file, line, reason and fix, in a run and in furlong.check."""

import json
import os

import broken
import broken_fits
import pytest
from test_broken import OPENED, SCENARIO, STEPS, run

from furlong import check

#: An algorithm of two phases, with a correction of shared parameters.
FITTED = (SCENARIO.replace('kind = "fedavg", client = {', 'kind = "fedrep", client = {proximal = 0.1, ').replace(
    "batch_size = 20", "batch_size = 5") + 'model.private = ["b"]\n')
#: What only the command's phases show: furlong.check has no algorithm that needs corrections.
ONLY_RUN = {"no correction"}


def text_of(name):
    text, line = broken.text_of(broken_fits.BROKEN[name], broken_fits.GOOD)
    return text, line


@pytest.mark.parametrize("name", broken_fits.BROKEN)
def test_a_run_names_place_reason_and_fix(tmp_path, name):
    text, line = text_of(name)
    code, told, _ = run(tmp_path, text, FITTED)
    _, _, reason, fix = broken_fits.BROKEN[name]
    assert f"{tmp_path}/taste.py" + (f":{line}: " if line else ":") in told
    assert reason in told and fix in told
    assert "furlong/phase.py" not in told and "furlong/fits.py" not in told
    assert code == (OPENED if name in broken_fits.OPENED else STEPS)


@pytest.mark.parametrize("name", [name for name in broken_fits.BROKEN if name not in ONLY_RUN])
def test_check_names_place_reason_and_fix(tmp_path, name, capsys):
    text, line = text_of(name)
    file = tmp_path / f"fit_{name.replace(' ', '_')}.py"
    file.write_text(text)
    assert check.main([f"{file}:Taste", "--timeout", "2", "--private", "b"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert broken_fits.BROKEN[name][2] in last and broken_fits.BROKEN[name][3] in last
    assert f"{file.name}:{line}: " in last if line else file.name in last


def test_check_accepts_a_good_loop(tmp_path, capsys):
    file = tmp_path / "fit_good.py"
    file.write_text(broken_fits.GOOD)
    assert check.main([f"{file}:Taste", "--batch", "5", "--private", "b"]) == 0
    out = capsys.readouterr().out
    assert "fit         4 steps on 20 examples, mean loss " in out and out.endswith("no errors\n")
    assert "warning" not in out


def test_check_warns_of_a_loop_without_corrections(tmp_path, capsys):
    file = tmp_path / "fit_plain.py"
    file.write_text(broken_fits.GOOD.replace("phase.correct()", "pass"))
    assert check.main([f"{file}:Taste"]) == 0
    assert "warning     fit() does not call phase.correct()" in capsys.readouterr().out


def test_a_good_loop_runs_and_a_failed_one_is_resumed(tmp_path):
    rounds = ["--set", "scenario.rounds=6", "--set", "checkpoint.every=1"]
    whole, broken_one = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken_one.mkdir()
    assert run(whole, broken_fits.GOOD, FITTED, *rounds)[0] == 0
    text = broken_fits.GOOD.replace("        for examples", "        if phase.round == 4: 1 / 0\n        for examples", 1)
    code, told, _ = run(broken_one, text, FITTED, *rounds)
    assert code == STEPS and "the run is kept up to round 3" in told
    assert run(broken_one, broken_fits.GOOD, FITTED, *rounds, "--resume", "--accept-changed-code")[0] == 0
    assert model_of(whole) == model_of(broken_one)


def test_a_run_whose_loops_diverge_names_the_class(tmp_path):
    text = broken_fits.GOOD.replace("phase.rate * phase", "numpy.nan * phase")
    code, told, log = run(tmp_path, text, FITTED)
    assert code == STEPS and "diverged" in told
    assert f"{tmp_path}/taste.py:28: fit() records a loss that is not finite for client" in log and "or lower algorithm.client.lr" in log


def test_settings_that_a_loop_ignores_are_noted(tmp_path):
    scenario = FITTED.replace("proximal = 0.1", "momentum = 0.5, weight_decay = 0.1")
    code, _, log = run(tmp_path, broken_fits.GOOD, scenario)
    assert code == 0
    for key, value in (("momentum", 0.5), ("weight_decay", 0.1)):
        assert log.count(f'algorithm.client.{key} = {value} has no effect: fit() does not read phase.settings["{key}"]') == 1
    reading = tmp_path / "reading"
    reading.mkdir()
    code, _, log = run(reading, broken_fits.GOOD.replace("for examples in", "dict(phase.settings)\n        for examples in", 1),
                       scenario)
    assert code == 0 and "has no effect" not in log


def test_a_loop_may_use_all_processors(tmp_path):
    """Threads and processes that it starts, such as those of a DataLoader, would else share one."""
    text = broken_fits.GOOD.replace("        for examples", "        import os; print('runs on', len(os.sched_getaffinity(0)))"
                                    "\n        for examples", 1)
    code, _, log = run(tmp_path, text, FITTED, "--set", "scenario.rounds=4", "--set", "evaluation.every=1")
    lines = [line.split()[-1] for line in log.splitlines() if "runs on" in line]
    assert code == 0 and len(lines) >= 16 and set(lines) == {str(len(os.sched_getaffinity(0)))}


def model_of(folder):
    summary = json.loads((folder / "run" / "summary.json").read_text())
    return summary["model_sha256"], summary["private_sha256"]
