"""Interpreters that the package cannot run with say so in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
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
