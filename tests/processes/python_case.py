"""What the tests of Python classes share: the scenario, and how it is run."""
import json
import subprocess
import sys
from pathlib import Path

from case import Case
from federation import DONE, wait_until

ROOT = Path(__file__).resolve().parents[2]
try:
    import numpy  # the classes need it
except ImportError:
    numpy = None

SCENARIO = f"""
[scenario]
name = "ratings"
rounds = 12
[data]
source = "python"
[python]
problem = "{ROOT}/tests/processes/ratings.py:Ratings"
interpreter = "{sys.executable}"
[model]
kind = "python"
private = ["user.*"]
[algorithm]
kind = "furl"
client = {{lr = 0.05, batch_size = 4}}
reconstruction = {{lr = 0.1, epochs = 2}}
[participation]
per_round = 20
retry = 0.2
[evaluation]
every = 6
[checkpoint]
every = 2
"""


def children_of(process: int) -> list[int]:
    """Trainers that this process started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


class PythonCase(Case):
    """Runs of a Python class."""

    def problem(self, trouble: str = "", **settings):
        f = self.federation(scenario=SCENARIO, secure=settings.pop("secure", False), settings=settings)
        f.environment |= {"PYTHONPATH": str(ROOT / "python"), "TROUBLE": trouble, "FURLONG_PYTHON": sys.executable}
        return f

    def result(self, f, name: str, *more: str, expect: int = DONE) -> dict:
        f.run("run", f.scenario, "--out", f.folder / name, *f.sets(), *more, expect=expect)
        return json.loads((f.folder / name / "summary.json").read_text())

    def killed_run(self, f, lives: int) -> dict:
        """The summary of a run that is killed, and resumed, after every third round. No trainer outlives the command."""
        out = f.folder / "killed"
        metrics = out / "metrics.jsonl"
        for life in range(lives):
            run = f.process(f"life{life}")
            resume = ["--resume"] if (out / "checkpoint").exists() else []
            run.start([f.furlong, "run", str(f.scenario), "--out", str(out), *f.sets(), *resume], f.environment)
            wait_until("a few rounds", lambda n=3 * (life + 1), r=run:
                       not r.running or (metrics.exists() and metrics.read_text().count("\n") > n))
            trainers = children_of(run.process.pid)
            run.kill()
            wait_until("the trainers end", lambda t=trainers: not any(Path(f"/proc/{one}/exe").exists() for one in t))
        return self.result(f, "killed", "--resume")

    def same(self, one: dict, other: dict) -> None:
        for key in ("model_sha256", "private_sha256", "eval", "folded", "bytes_up", "bytes_down"):
            self.assertEqual(one.get(key), other.get(key), key)
