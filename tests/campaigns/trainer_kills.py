#!/usr/bin/env python3
"""Kills trainers of a run with a Python class at random moments, then furlong itself, which is resumed each time, then
nodes of a federation, which are started again with their stores; compares the results with a run and a federation that
were never disturbed: with a call for each batch, with a training loop of the class's own, with an algorithm of its own, and
with steps of the server of its own, where the federation has an aggregator without Python. CI kills a few trainers and
commands (processes_python_*).

The server is killed just before a node, and resumed: one that lives drops the tasks of a node that is lost, which
makes another model (docs/deployment.md, guarantees).

usage: trainer_kills.py [BUILD_DIR [TRAINERS [FURLONGS [NODES]]]] [CASE...]   (default 50, 20, 20; all cases; exits 1 if
something differs)
"""
# packages: python3-numpy
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from campaign import BUILD, ROOT, figure
from federation import Federation, wait_until
from python_case import SCENARIO, children_of

PYTHON = "/usr/bin/python3"
SAME = ["model_sha256", "added_sha256", "private_sha256", "eval", "selected", "folded", "bytes_up", "bytes_down"]
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python"), "FURLONG_PYTHON": PYTHON, "TROUBLE": "slow"}


def wait_for_end(trainers: list[int]) -> None:
    wait_until("the trainers end", lambda: not any(Path(f"/proc/{one}/exe").exists() for one in trainers))


class Runs:
    """Runs of one scenario in a folder."""

    def __init__(self, furlong: Path, folder: Path, rounds: int, case: str, settings: dict) -> None:
        self.furlong, self.folder, self.case = furlong, folder, case
        self.settings = {"scenario.rounds": rounds, "python.interpreter": PYTHON, **settings}
        self.scenario = folder / "scenario.toml"
        self.scenario.write_text(SCENARIO)

    def start(self, name: str, *more: str) -> subprocess.Popen:
        command = [str(self.furlong), "run", str(self.scenario), "--out", str(self.folder / name), *more]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={**os.environ, **ENVIRONMENT})

    def whole(self) -> float:
        """The undisturbed run; its seconds."""
        begun = time.monotonic()
        if self.start("whole").wait() != 0:
            sys.exit("trainer_kills: the undisturbed run failed")
        return time.monotonic() - begun

    def differences(self, name: str) -> list[str]:
        one, other = (json.loads((self.folder / run / "summary.json").read_text()) for run in ("whole", name))
        return [key for key in SAME if one.get(key) != other.get(key)]


def kill_trainers(runs: Runs, wanted: int, draw: random.Random) -> int:
    """Runs as often as it takes; the number of differences."""
    different: list[str] = []
    killed = number = 0
    while killed < wanted:
        number += 1
        name = f"trainers{number}"
        run = runs.start(name, "--threads", str(1 + number % 3))
        metrics, rounds = runs.folder / name / "metrics.jsonl", 0
        while run.poll() is None:
            time.sleep(draw.uniform(0.02, 0.2))
            trainers = children_of(run.pid)
            # Not before a round has ended: five ends in a row at one task are the run's.
            if trainers and killed < wanted and metrics.exists() and metrics.read_text().count("\n") > rounds:
                try:
                    os.kill(draw.choice(trainers), signal.SIGKILL)
                    killed += 1
                    rounds = metrics.read_text().count("\n")
                except ProcessLookupError:
                    pass
        different += [f"exit code {run.returncode}"] if run.returncode else runs.differences(name)
    figure(f"{runs.case}-trainers", "kills", killed, "kills")
    figure(f"{runs.case}-trainers", "differences", len(different), "keys")
    print(f"{killed} trainers killed in {number} runs; different: {different or 'nothing'}", file=sys.stderr)
    return len(different)


def kill_furlong(runs: Runs, wanted: int, length: float, draw: random.Random) -> int:
    """Kills until `wanted` kills found a run at work; the number of differences, and of trainers left over."""
    different: list[str] = []
    killed = number = 0
    while killed < wanted:
        number += 1
        name = f"furlong{number}"
        for _ in range(100):
            run = runs.start(name, "--resume", "--threads", str(1 + number % 3))
            try:
                run.wait(draw.uniform(0.1, 0.5) * length if killed < wanted else None)
                break  # it ended by itself
            except subprocess.TimeoutExpired:
                trainers = children_of(run.pid)
                run.send_signal(signal.SIGKILL)
                killed += run.wait() == -signal.SIGKILL
                wait_for_end(trainers)
        different += [f"exit code {run.returncode}"] if run.returncode else runs.differences(name)
    figure(f"{runs.case}-furlong", "kills", killed, "kills")
    figure(f"{runs.case}-furlong", "differences", len(different), "keys")
    print(f"furlong killed {killed} times in {number} runs; different: {different or 'nothing'}", file=sys.stderr)
    return len(different)


class Together:
    """A federation of the same scenario: a server and two nodes with half of the clients each; where the server makes
    steps of its own, with an aggregator."""

    def __init__(self, runs: Runs) -> None:
        self.f = Federation(str(runs.furlong), SCENARIO, secure=False, settings=runs.settings)
        self.f.environment |= ENVIRONMENT
        self.aggregates = runs.case.endswith("step")
        self.options = ("--python", "python.problem"), ("--algorithm", "python.algorithm")

    def __enter__(self) -> "Together":
        self.f.__enter__()
        self.f.serve(operators=self.aggregates)
        if self.aggregates:
            self.f.environment["FURLONG_PYTHON"] = "/bin/false"
            self.f.aggregate("aggregator0").wait_for("accepted this aggregator")
            self.f.environment |= ENVIRONMENT
        for number in range(2):
            self.join(number)
        return self

    def __exit__(self, *raised) -> None:
        self.f.__exit__(*raised)

    def join(self, number: int) -> None:
        settings = self.f.settings
        own = [word for option, key in self.options if key in settings for word in (option, settings[key])]
        self.f.join(number, 100 * number, 100 * number + 99, *own)

    def kill(self, number: int, draw: random.Random) -> bool:
        """The server, and this node a moment later; whether the node was at work."""
        server, node = self.f.processes["server"], self.f.processes[f"node{number}"]
        at_work = "accepted this node" in node.text()
        trainers = children_of(node.process.pid)
        server.kill()
        if server.process.returncode != -signal.SIGKILL:
            return False  # it had ended
        time.sleep(draw.uniform(0.0, 0.02))
        node.kill()
        wait_for_end(trainers)
        self.f.serve_again(operators=self.aggregates)
        self.join(number)
        return at_work

    def outcome(self) -> dict:
        """Of its end: the figures, what each client's values are of, and the values of every eighth."""
        summary = self.f.end()
        found = {key: summary.get(key) for key in SAME}
        for number in range(2):
            store = self.f.store(number)
            for one in json.loads(self.f.run("store", "ls", store, "--format", "json").stdout)["clients"]:
                client = one["client"]
                found[f"version of client {client}"] = one["version"]
                if client % 8 == 0:
                    shown = self.f.run("store", "show", store, "--client", client, "--format", "json")
                    found[f"client {client}"] = shown.stdout
        return found


def kill_nodes(runs: Runs, wanted: int, draw: random.Random) -> int:
    """Kills until `wanted` kills found a node at work; the number of differences."""
    with Together(runs) as whole:
        expected = whole.outcome()
        length = whole.f.summary()["wall_seconds"]
    different: list[str] = []
    killed = number = 0
    while killed < wanted:
        number += 1
        with Together(runs) as one:
            server = one.f.processes["server"]
            while server.running and killed < wanted:
                time.sleep(draw.uniform(0.1, 0.5) * length)
                killed += server.running and one.kill(draw.randrange(2), draw)
            found = one.outcome()
        different += [key for key in expected | found if expected.get(key) != found.get(key)]
    figure(f"{runs.case}-nodes", "kills", killed, "kills")
    figure(f"{runs.case}-nodes", "differences", len(different), "keys")
    print(f"{killed} nodes killed in {number} federations; different: {different or 'nothing'}", file=sys.stderr)
    return len(different)


def main() -> int:
    given = sys.argv[1:5]
    build = Path(given[0]) if given else BUILD
    trainers, furlongs, nodes = (int(given[at]) if len(given) > at else fallback
                                 for at, fallback in ((1, 50), (2, 20), (3, 20)))
    draw = random.Random(1)
    different = 0
    classes = ROOT / "tests" / "processes"
    cases = {"steps": {"python.problem": f"{classes}/ratings.py:Ratings"},
             "fit": {"python.problem": f"{classes}/fitted.py:Momentum"},
             "train": {"python.problem": f"{classes}/ratings.py:Ratings", "algorithm.kind": "python",
                       "python.algorithm": f"{classes}/moved.py:Everywhere"},
             "step": {"python.problem": f"{classes}/ratings.py:Ratings", "algorithm.kind": "python",
                      "python.algorithm": f"{classes}/stepped.py:Served"},
             "exact-step": {"python.problem": f"{classes}/ratings.py:Ratings", "algorithm.kind": "python",
                            "python.algorithm": f"{classes}/stepped.py:Scaffold"}}
    for case in sys.argv[5:] or cases:
        settings = cases[case]
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(build / "furlong", Path(folder), 60, case, settings)
            length = runs.whole()
            different += kill_trainers(runs, trainers, draw) + kill_furlong(runs, furlongs, length, draw)
            different += kill_nodes(runs, nodes, draw)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
