#!/usr/bin/env python3
"""Every process of Furlong under too small resource limits: it must succeed, or end with exit code 4 and a message.

usage: limits.py [BUILD_DIR] [--commands run,serve,aggregate,join] [--limits v,u,n,f] [--steps N] [--only STEP] [--smoke]
                 [--jobs N]

As root a limited process runs as another user, because root has no limit on processes; as another user -u is left out,
because it would count all processes of that user. --smoke takes four of the steps. For each of `furlong run`,
`serve`, `aggregate` and `join`, and each of ulimit -v (address space), -u (processes), -n (open files) and -f (size of
a file), 20 steps upwards from the lowest limit at which `furlong --version` succeeds; the other processes of the
federation have no limit. Prints a line for each case, and exits 1 if one hangs, is killed by a signal, does not name its
limit, has another exit code, or succeeds with another model than a run without limits.
"""
import argparse
import concurrent.futures
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from campaign import BUILD, figure
from federation import DONE, FAILURE, INTERRUPTED, Federation, Process

COMMANDS = ["run", "serve", "aggregate", "join"]
SETTINGS = {"scenario.rounds": 30, "evaluation.every": 10, "network.heartbeat": 0.5, "network.timeout": 2.0}
KILOBYTE = 1024
# One user per job, because the limit on processes counts all those of a user.
FIRST_USER = 54_300
PATIENCE = 40.0       # seconds until a case counts as hanging; without a limit it takes two
AFTER_FAILURE = 10.0  # seconds from the first message about a failure to the end


@dataclass(frozen=True)
class Limit:
    """One of ulimit's letters: prlimit's option, what it counts in, and the limit of a step."""
    option: str
    unit: int
    step: callable
    highest: int  # upper bound of the search for the lowest


LIMITS = {
    "v": Limit("as", KILOBYTE, lambda lowest, i: int(lowest * 1.1**i), 1 << 20),
    "u": Limit("nproc", 1, lambda lowest, i: lowest + i, 64),
    "n": Limit("nofile", 1, lambda lowest, i: lowest + 4 * i, 64),
    "f": Limit("fsize", KILOBYTE, lambda lowest, i: lowest + (i if i < 3 else round(1.45**i)), 64),
}


def limited(letter: str, value: int, user: int) -> list[str]:
    """The prefix of a command that runs as another user under a limit."""
    of = LIMITS[letter]
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.geteuid() == 0 else []
    return [*become, "prlimit", f"--{of.option}={value * of.unit}", "--core=0"]


def lowest(furlong: Path, letter: str, user: int) -> int | None:
    """The lowest limit at which `furlong --version` succeeds; None: none does."""
    def succeeds(value: int) -> bool:
        done = subprocess.run([*limited(letter, value, user), furlong, "--version"], capture_output=True, cwd="/")
        return done.returncode == 0
    low, high = -1, LIMITS[letter].highest
    if not succeeds(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(middle) else (middle, high)
    return high


class Piped(Process):
    """Its log is written by a process without a limit on files."""

    def start(self, command: list[str], environment: dict) -> None:
        with self.log.open("ab") as log:
            self.writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.writer.stdin,
                                        stderr=self.writer.stdin, env=environment)
        self.writer.stdin.close()

    def kill(self) -> None:
        super().kill()
        self.writer.wait()


class Case(Federation):
    """One process under a limit, and the other processes that it needs."""

    def __init__(self, furlong: Path, command: str, letter: str, value: int, user: int):
        super().__init__(str(furlong), settings=SETTINGS)
        self.command, self.user = command, user
        self.victim = {"run": "run", "serve": "server", "aggregate": "aggregator0", "join": "node1"}[command]
        self.processes[self.victim] = Piped(self.victim, self.folder / f"{self.victim}.log")
        before = limited(letter, value, user)
        self.prefix_of = lambda name: before if name == self.victim else []
        for role, name, clients in (("server", "server", ""), ("aggregator", "aggregator0", ""),
                                    ("node", "node0", "0-49"), ("node", "node1", "50-199")):
            self.issue(role, name, clients)
        os.chmod(self.folder, 0o755)
        for place in (self.folder / f"tls-{self.victim}", self.folder / "own"):
            place.mkdir(exist_ok=True)
            for one in (place, *place.rglob("*")):
                if os.geteuid() == 0:
                    os.chown(one, user, user)
        if command in ("run", "serve"):
            self.out = self.folder / "own/run"
            self.ledger = self.folder / "own/ledger.jsonl"

    def store(self, number: int) -> Path:
        return self.folder / ("own/store" if self.victim == f"node{number}" else f"store{number}")

    def begin(self) -> None:
        if self.command == "run":
            words = [*self.prefix_of("run"), self.furlong, "run", str(self.scenario), "--out", str(self.out), *self.sets()]
            self.process("run").start(words, self.environment)
            return
        try:
            self.serve()
        except AssertionError:
            if self.command == "serve":
                return
            raise
        if self.command == "aggregate":
            one = self.aggregate("aggregator0")
            end = time.monotonic() + PATIENCE
            while one.running and "accepted this aggregator" not in one.text() and time.monotonic() < end:
                time.sleep(0.05)
        self.join(0, 0, 49)
        self.join(1, 50, 199)

    def end_of_victim(self) -> tuple[int | None, float]:
        """Its exit code (None: it hangs), and the seconds from its first message about a failure to its end."""
        process = self.process(self.victim)
        end, told = time.monotonic() + PATIENCE, None
        while process.running and time.monotonic() < end:
            if told is None and ("furlong: " in process.text().replace("furlong: nodes", "").replace("furlong: agg", "")):
                told = time.monotonic()
            if self.server_is_gone_for(process):
                return self.stopped(process), 0.0
            time.sleep(0.02)
        if process.running:
            return None, 0.0
        process.kill()  # which waits for the log
        return process.process.returncode, time.monotonic() - told if told else 0.0

    def server_is_gone_for(self, process: Process) -> bool:
        """Whether it was reconnecting when the run ended: it tries until it is stopped."""
        server = self.processes.get("server")
        return bool(server and process is not server and not server.running and "Connection refused" in process.text())

    @staticmethod
    def stopped(process: Process) -> int | None:
        """DONE if it ends correctly on SIGTERM, otherwise its exit code; None: it hangs."""
        process.terminate()
        try:
            code = process.wait(AFTER_FAILURE)
        except AssertionError:
            return None
        process.kill()
        return DONE if code == INTERRUPTED else code


def outcome(code: int | None, text: str, delay: float, letter: str) -> str:
    if code is None:
        return "hang"
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    if code == DONE:
        return "ok"
    if code != FAILURE:
        return f"exit {code}"
    if delay > AFTER_FAILURE:
        return "late"
    return "exit 4" if f"(ulimit -{letter}) is " in text else "exit 4, limit not named"


def examine(furlong: Path, command: str, letter: str, value: int, user: int, model: str) -> tuple[str, str]:
    """The outcome of a case, and the process's last output. `model`: the hash of a run without limits."""
    with Case(furlong, command, letter, value, user) as one:
        one.begin()
        code, delay = one.end_of_victim()
        lines = [line for line in one.process(one.victim).text().splitlines() if line.strip()]
        found = outcome(code, "\n".join(lines), delay, letter)
        if found == "ok":
            if command in ("aggregate", "join"):
                one.process("server").wait()
            if one.summary()["model_sha256"] != model:
                found = "another model"
        return found, lines[-1] if lines else ""


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("build", nargs="?", default=BUILD)
    words.add_argument("--commands", default=",".join(COMMANDS))
    words.add_argument("--limits", default=",".join(LIMITS))
    words.add_argument("--steps", type=int, default=20)
    words.add_argument("--only", type=int)
    words.add_argument("--smoke", action="store_true")
    words.add_argument("--jobs", type=int, default=2)
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        furlong = Path(shutil.copy(Path(given.build) / "furlong", scratch))
        steps = [1, 4, 9, 13] if given.smoke else range(given.steps) if given.only is None else [given.only]
        letters = [one for one in given.limits.split(",") if one != "u" or os.geteuid() == 0]
        if lowest(furlong, "v", FIRST_USER) is None:  # a sanitizer's shadow needs terabytes; it starts threads itself, too
            letters = [one for one in letters if one not in "uv"]
        cases = []
        for letter in letters:
            least = lowest(furlong, letter, FIRST_USER)
            print(f"ulimit -{letter}: furlong --version needs {least}", file=sys.stderr)
            cases += [(command, letter, LIMITS[letter].step(least, i)) for command in given.commands.split(",")
                      for i in steps]
        with Federation(str(furlong), settings=SETTINGS, secure=False) as without_limits:
            model = without_limits.alone()["model_sha256"]
        users = queue.SimpleQueue()
        for i in range(given.jobs):
            users.put(FIRST_USER + i)

        def run(case: tuple[str, str, int]) -> tuple[str, str]:
            user = users.get()
            try:
                return examine(furlong, *case, user, model)
            finally:
                users.put(user)

        counts: dict[str, int] = {}
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            for case, (found, last) in zip(cases, pool.map(run, cases)):
                counts[found] = counts.get(found, 0) + 1
                print(f"{case[0]:9} -{case[1]} {case[2]:7}  {found:18} {last}", file=sys.stderr, flush=True)
    for found, count in sorted(counts.items()):
        figure(found, "cases", count, "cases")
    return 0 if set(counts) <= {"ok", "exit 4"} else 1


if __name__ == "__main__":
    sys.exit(main())
