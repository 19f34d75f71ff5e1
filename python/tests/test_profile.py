"""python.profile: what trainers spend their time on."""

import pstats
from pathlib import Path

import pytest

import furlong
from test_inline import CLASS, SCENARIO


@pytest.fixture
def place(real, tmp_path):
    (tmp_path / "helping.py").write_text("def scaled(x):\n    return 0.01 * x\n")
    (tmp_path / "taste.py").write_text(CLASS)
    return tmp_path


def calls(files):
    """How often each function of the class was called, in all files."""
    stats = pstats.Stats(*map(str, files))
    return {name: figures[1] for (file, _, name), figures in stats.stats.items() if Path(file).name == "taste.py"}


@pytest.mark.parametrize("trainer", ["processes", "inline"])
def test_every_trainer_writes_a_profile(place, trainer, capfd):
    plain = furlong.run(SCENARIO, problem="taste.py:Taste", out="plain", progress=False)
    run = furlong.run(SCENARIO, problem="taste.py:Taste", out="a", set={"python.profile": str(place / "profiles")},
                      threads=2, trainer=trainer)
    assert run.summary["model_sha256"] == plain.summary["model_sha256"]
    files = sorted((place / "profiles").iterdir())
    assert {file.name.split("-")[1] for file in files} == ({"0", "1"} if trainer == "processes" else {"0"})
    made = calls(files)
    assert made["gradient"] >= 4 * 3 * 2 and made["evaluate"] > 0  # rounds, clients, batches
    told = capfd.readouterr().err + (place / "a" / "log.txt").read_text()
    assert f"profiles of trainers will be in {place}/profiles" in told
    assert all(f"profile: {file}" in told for file in files)
