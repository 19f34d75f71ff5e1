"""Broken problems: every message names file, line, reason and fix, in a run and in furlong.check."""

import broken
import pytest
from host import Host, TrainerError

from furlong import check

ALL_CHECKED = {**broken.BROKEN, **broken.CHECKED}


@pytest.mark.parametrize("name", broken.BROKEN)
def test_the_trainer_names_place_reason_and_fix(tmp_path, name):
    text, line = broken.text_of(broken.BROKEN[name])
    file = tmp_path / "taste.py"
    file.write_text(text)
    with Host(f"{file}:Taste") as host:
        with pytest.raises(TrainerError) as error:
            host.open()
            host.gradient([(0, "train", [0, 14, 25] if name == "index" else [0, 14])])
        reply = error.value.reply
    assert broken.BROKEN[name][2] in reply["error"]
    assert broken.BROKEN[name][3] in reply["fix"]
    assert reply["file"] == str(file)
    if line:
        assert reply["line"] == line
    assert "furlong/" not in reply["traceback"]


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


@pytest.mark.parametrize("patterns, reason", [
    (["c*"], '"c*" matches no parameter; there are: w, b'),
    (["w", "b"], "the patterns match all parameters"),
])
def test_check_refuses_patterns(tmp_path, capsys, patterns, reason):
    file = tmp_path / "taste_patterns.py"
    file.write_text(broken.GOOD)
    assert check.main([f"{file}:Taste", "--private", *patterns]) == 1
    assert reason in capsys.readouterr().err
