"""Broken algorithms: every message names file, line, reason and fix, in a run and in furlong.check."""

import broken
import broken_algorithms
import pytest
from test_broken import OPENED, STEPS, run

from furlong import check

SCENARIO = """
scenario = {name = "taste", rounds = 2}
data.source = "python"
model.kind = "python"
python = {problem = "taste.py:Taste", algorithm = "taste.py:Own", timeout = 1.0}
algorithm = {kind = "python", client = {lr = 0.01, batch_size = 5}}
participation.fraction = 1.0
simulation.devices = "uniform"
"""
#: Without --private, and with a limit of time.
ONLY_RUN = {}


def text_of(name):
    return broken.text_of(broken_algorithms.BROKEN[name], broken_algorithms.GOOD)


@pytest.mark.parametrize("name", broken_algorithms.BROKEN)
def test_check_names_place_reason_and_fix(tmp_path, name, capsys):
    text, line = text_of(name)
    file = tmp_path / f"algorithm_{name.replace(' ', '_')}.py"
    file.write_text(text)
    assert check.main([f"{file}:Taste", "--algorithm", f"{file}:Own", "--timeout", "2"]) == 1
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
