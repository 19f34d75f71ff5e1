"""Broken problems: every message names file, line, reason and fix, in a run and in furlong.check."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import broken
import pytest

from furlong import check, command

PACKAGE = Path(__file__).resolve().parents[1]
ALL_CHECKED = {**broken.BROKEN, **broken.SCORES, **broken.CHECKED}
RUN = {**broken.BROKEN, **broken.SCORES}
SCENARIO = """
scenario = {name = "taste", rounds = 1}
data.source = "python"
model.kind = "python"
python = {problem = "taste.py:Taste", timeout = 1.0}
algorithm = {kind = "fedavg", client = {lr = 0.1, batch_size = 20}}
participation.fraction = 1.0
"""
#: Mistakes that show when the problem is opened are those of its file; later ones those of the run.
OPENED, STEPS = 2, 4


def left_over(mark):
    """Processes with this variable in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            pass  # it has ended
    return found


def run(folder, text, scenario=SCENARIO, *more):
    """Runs the command with a problem; exit code, standard error and log.txt. Nothing may be left running."""
    try:
        furlong = command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    (folder / "taste.py").write_text(text)
    (folder / "taste.toml").write_text(scenario)
    mark = f"FURLONG_BROKEN={folder}"
    done = subprocess.run([furlong, "run", "taste.toml", "--out", "run", "--threads", "1", *more], cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          env=dict(os.environ, FURLONG_PYTHON=sys.executable, PYTHONPATH=str(PACKAGE),
                                   FURLONG_BROKEN=str(folder)))
    assert not left_over(mark.encode())
    log = folder / "run" / "log.txt"
    return done.returncode, done.stderr, log.read_text() if log.exists() else ""


@pytest.mark.parametrize("name", RUN)
def test_a_run_names_place_reason_and_fix(tmp_path, name):
    text, line = broken.text_of(RUN[name])
    code, told, _ = run(tmp_path, text)
    _, _, reason, fix = RUN[name]
    assert f"{tmp_path}/taste.py" + (f":{line}: " if line else "") in told
    assert reason in told and fix in told
    assert "furlong/trainer.py" not in told and "furlong/loading.py" not in told
    assert code in ((OPENED, STEPS) if name in broken.SCORES else (STEPS,) if name in broken.STEPS else (OPENED,))


@pytest.mark.parametrize("name", broken.PROCESSES)
def test_trouble_of_a_process_is_reported(tmp_path, name):
    text, _ = broken.text_of(broken.PROCESSES[name])
    expected, said = broken.PROCESSES[name][2:]
    code, told, log = run(tmp_path, text)
    assert all(one in (told + log).replace(f"{tmp_path}/", "") for one in said)
    assert code == expected


@pytest.mark.parametrize("name", ALL_CHECKED)
def test_check_names_place_reason_and_fix(tmp_path, name, capsys):
    text, line = broken.text_of(ALL_CHECKED[name])
    file = tmp_path / f"taste_{name.replace(' ', '_')}.py"
    file.write_text(text)
    assert check.main([f"{file}:Taste", "--timeout", "2"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert ALL_CHECKED[name][2] in last and ALL_CHECKED[name][3] in last
    assert f"{file.name}:{line}: " in last if line else file.name in last


def test_check_accepts_a_good_problem(tmp_path, capsys):
    file = tmp_path / "taste_good.py"
    file.write_text(broken.GOOD)
    assert check.main([f"{file}:Taste", "--private", "b*"]) == 0
    out = capsys.readouterr().out
    assert "private  b [1]" in out and "shared   w [3]" in out and out.endswith("no errors\n")


def test_check_ends_quietly_if_nobody_reads_on(tmp_path):
    (tmp_path / "taste.py").write_text(broken.GOOD)
    process = subprocess.Popen([sys.executable, "-m", "furlong.check", "taste.py:Taste"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, PYTHONPATH=str(PACKAGE)))
    assert process.stdout.readline().startswith("clients ")
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("patterns, reason", [
    (["c*"], '"c*" matches no parameter; there are: w, b'),
    (["w", "b"], "the patterns match all parameters"),
])
def test_check_refuses_patterns(tmp_path, capsys, patterns, reason):
    file = tmp_path / "taste_patterns.py"
    file.write_text(broken.GOOD)
    assert check.main([f"{file}:Taste", "--private", *patterns]) == 1
    assert reason in capsys.readouterr().err
