"""Interpreters that the package cannot run with say so in one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import broken
import pytest

from furlong import command

PACKAGE = Path(__file__).resolve().parents[1]
SCENARIO = """
scenario = {name = "taste", rounds = 1}
data.source = "python"
model.kind = "python"
python.problem = "taste.py:Taste"
algorithm = {kind = "fedavg", client = {lr = 0.1}}
participation.fraction = 1.0
"""
FIX = "or name another interpreter (python.interpreter in the scenario, or the environment variable FURLONG_PYTHON)"


def last_line(arguments, folder):
    done = subprocess.run([sys.executable, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          cwd=folder, env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(folder), str(PACKAGE)])))
    assert done.returncode == 1
    return done.stderr.splitlines()


@pytest.mark.parametrize("program", ["furlong.trainer", "furlong.check"])
def test_an_interpreter_without_numpy(tmp_path, program):
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")")
    version = "%d.%d" % sys.version_info[:2]
    line = (f"furlong: the interpreter {sys.executable} (Python {version}) cannot import numpy (No module named 'numpy'): "
            f"install numpy for it, {FIX}")
    assert last_line(["-m", program], tmp_path) == [line]
    assert last_line(["-c", "import furlong"], tmp_path)[-1] == f"ImportError: {line}"


def test_an_interpreter_that_is_too_old(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 8, 1, 'final', 0)\n")
    assert last_line(["-m", "furlong.trainer"], tmp_path) == [
        f"furlong: the interpreter {sys.executable} (Python 3.8) is too old: it needs Python 3.9, {FIX}"]


@pytest.mark.parametrize("file, old, new, code, told", [
    ("trainer.py", "    try:\n        trainer.serve()", "    print('of another folder')\n    try:\n        trainer.serve()", 0, None),
    ("messages.py", "PROTOCOL = 2", "PROTOCOL = 1", 2, "asked for, the package in FOLDER/furlong/ has 1; use a furlong"),
])
def test_the_package_of_the_users_path_is_taken(tmp_path, file, old, new, code, told):
    """Not that of the checkout that the command is in."""
    try:
        furlong = command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")
    other = tmp_path / "other"
    shutil.copytree(PACKAGE / "furlong", other / "furlong")
    text = (other / "furlong" / file).read_text()
    assert old in text
    (other / "furlong" / file).write_text(text.replace(old, new))
    (tmp_path / "taste.py").write_text(broken.GOOD)
    (tmp_path / "taste.toml").write_text(SCENARIO)
    done = subprocess.run([furlong, "run", "taste.toml", "--out", "run", "--threads", "1"], cwd=tmp_path, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env=dict(os.environ, PYTHONPATH=str(other), FURLONG_PYTHON=sys.executable))
    assert done.returncode == code, done.stderr
    if told is None:
        assert "of another folder" in done.stderr + (tmp_path / "run" / "log.txt").read_text()
    else:
        assert told.replace("FOLDER", str(other)) in done.stderr
