"""Scripts that start the command: not again in trainers; the command ends with the script."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from host import Host, TrainerError

from furlong import check, command

PACKAGE = Path(__file__).resolve().parents[1]
CLASS = """
import furlong

class Tiny(furlong.Problem):
    def parameters(self, seed):
        return {"w": [0.0, 0.0]}
    def clients(self):
        return [furlong.Client(f"c{i}", train=5, test=1) for i in range(3)]
    def gradient(self, step):
        SLOW
        if "w" in step.gradients:
            step.gradients["w"][...] = step.parameters["w"] - 1
        return float(((step.parameters["w"] - 1) ** 2).sum() / 2)

SCENARIO = {"scenario": {"name": "tiny", "rounds": 1000}, "data": {"source": "python"}, "model": {"kind": "python"},
            "participation": {"per_round": 2}, "algorithm": {"kind": "fedavg"}}
"""
CALLS = {
    "run": 'furlong.run(SCENARIO, problem=Tiny, out="o")',
    "sweep": 'furlong.sweep(SCENARIO, grid={}, problem=Tiny, out="o")',
    "tune": 'furlong.tune(SCENARIO, problem=Tiny, out="o")',
    "compare": 'furlong.compare(["o"])',
    "export": 'furlong.open(".").model()',
}
LINE = CLASS.count("\n") + 1


def script(folder, name, call):
    (folder / "scenario.toml").write_text("")  # for open()
    file = folder / f"script_{name}.py"
    file.write_text(CLASS.replace("SLOW", "pass") + call + "\n")
    return file


@pytest.mark.parametrize("name", CALLS)
def test_a_trainer_does_not_start_the_command_again(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Host(f"{script(tmp_path, name, CALLS[name])}:Tiny") as host:
        with pytest.raises(TrainerError) as error:
            host.open()
    reply = error.value.reply
    assert reply["error"] == f"this line starts furlong {name} in each trainer process, since those import this file"
    assert reply["fix"] == 'put the call under if __name__ == "__main__":'
    assert (reply["file"], reply["line"]) == (str(tmp_path / f"script_{name}.py"), LINE)


def test_check_does_not_start_the_command(tmp_path, capsys):
    file = script(tmp_path, "checked", CALLS["run"])
    assert check.main([f"{file}:Tiny"]) == 1
    assert f'{file.name}:{LINE}: this line starts furlong run' in capsys.readouterr().err
    assert command.TRAINER not in os.environ
    file = script(tmp_path, "guarded", f'if __name__ == "__main__": {CALLS["run"]}')
    assert check.main([f"{file}:Tiny"]) == 0


def find():
    try:
        return command.find()
    except FileNotFoundError:
        pytest.skip("no furlong command")


def running(mark):
    """The processes with this variable in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass  # it has ended
    return found


def start(folder, text):
    file = folder / "script_that_ends.py"
    file.write_text(text)
    return subprocess.Popen([sys.executable, file.name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env={**os.environ, "FURLONG": find(), "PYTHONPATH": str(PACKAGE),
                                            "FURLONG_GUARD": str(folder)})


def test_a_script_without_a_guard_ends_at_once(tmp_path):
    process = start(tmp_path, CLASS.replace("SLOW", "pass") + CALLS["run"] + "\n")
    try:
        told = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert f"script_that_ends.py:{LINE}: this line starts furlong run" in told
    assert 'put the call under if __name__ == "__main__":' in told
    assert not running(f"FURLONG_GUARD={tmp_path}".encode())


# Another process keeps the pipe of the progress lines: the command does not end because nobody reads them.
HOLD = """
def hold():
    holder = os.fork()
    if holder == 0:
        time.sleep(60)
        os._exit(0)
    with open("holder", "w") as file:
        file.write(f"{holder}\\n")

if __name__ == "__main__":
    import os, threading, time
    threading.Timer(0.3, hold).start()
    """


def wait_for(condition, seconds):
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.05)
    return condition()


def test_the_command_ends_with_the_script(tmp_path):
    process = start(tmp_path, CLASS.replace("SLOW", "import time; time.sleep(0.05)") + HOLD + CALLS["run"] + "\n")
    mark = f"FURLONG_GUARD={tmp_path}".encode()
    holder = tmp_path / "holder"
    try:
        assert wait_for(lambda: (tmp_path / "o" / "metrics.jsonl").exists() and holder.exists()
                        and holder.read_text().endswith("\n"), 60)
        others = {int(holder.read_text())}
        assert len(running(mark)) >= 4  # script, command, trainers
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_for(lambda: set(running(mark)) == others, 10)
    finally:
        for left in running(mark):
            os.kill(left, signal.SIGKILL)
