"""Which command the package starts, and the script of a wheel, which has the command in the package."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import furlong

SCRIPT = "from furlong.command import main; main()"
TELL = '#!/bin/sh\necho "{name} $$ $FURLONG_PYTHON $*"\ngrep ^SigIgn: /proc/$$/status\nexit 5\n'


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TELL.format(name=path.parent.name))
    path.chmod(0o755)
    return path


@pytest.fixture
def site(tmp_path):
    """A folder with an installed package, whose command tells how it was started."""
    shutil.copytree(Path(furlong.__file__).parent, tmp_path / "site/furlong", ignore=shutil.ignore_patterns("__pycache__"))
    program(tmp_path / "site/furlong/_bin/furlong")
    return tmp_path / "site"


def start(code, *arguments, path, **variables):
    """The interpreter with these folders as PYTHONPATH; the process has ended."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FURLONG")}
    environment.update(PYTHONPATH=os.pathsep.join(map(str, path)), PYTHONDONTWRITEBYTECODE="1", **variables)
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    process.output = process.communicate(timeout=60)[0]
    return process


def found(path, **variables):
    return start("from furlong import command; print(command.find())", path=path, **variables).output.strip()


def test_the_packed_command_comes_before_path_and_after_the_variable(site, tmp_path):
    other, named = program(tmp_path / "bin/furlong"), program(tmp_path / "named/furlong")
    search = f"{other.parent}:{os.environ['PATH']}"
    assert found([site], PATH=search, FURLONG=str(named)) == str(named)
    assert found([site], PATH=search) == str(site / "furlong/_bin/furlong")
    (site / "furlong/_bin/furlong").unlink()
    assert found([site], PATH=search) == str(other)


def test_the_script_becomes_the_packed_command(site, tmp_path):
    script = start(SCRIPT, "run", "a b", path=[site], FURLONG=str(program(tmp_path / "named/furlong")))
    told, ignored_signals = script.output.splitlines()
    assert told == f"_bin {script.pid} {sys.executable} run a b"
    ignored = int(ignored_signals.split()[1], 16)
    assert not any(ignored & 1 << number - 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))
    assert script.returncode == 5
    assert start(SCRIPT, path=[site], FURLONG_PYTHON="python9").output.split()[2] == "python9"


def test_the_script_finds_its_command_behind_another_package(site):
    checkout = Path(furlong.__file__).parents[1]
    assert start(SCRIPT, path=[checkout, site]).output.startswith("_bin ")
