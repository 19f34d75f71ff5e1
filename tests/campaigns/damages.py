#!/usr/bin/env python3
"""Random damage to the files of a finished run's private store: none may cause a silent error.

usage: damages.py [BUILD_DIR] [--damages N] [--seed N] [--kinds plain,encrypted] [--layout per-client|bucketed]

For each kind a FURL run of some shards is made in several lives, so that its store has several logs and generations.
Then, N times, in a copy of it a file is removed, truncated, partly zeroed, changed, or swapped for another file of the
store; `store verify`, `store ls`, `infer`, `store erase` (then `ls`) and `run --resume` with more
rounds are run on it. Each must end with exit code 0 and the undamaged run's answer, or with exit code 3 and a message.
Prints a line for each damage that changed an answer undetected, ended a process by a signal or made it hang, then a
table; exits 1 if there is one.
"""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from campaign import BUILD, ROOT

SETTINGS = {"algorithm.kind": "furl", "evaluation.every": 10, "checkpoint.every": 5, "participation.per_round": 30}
DAMAGED = 3
PATIENCE = float(os.environ.get("FURLONG_TEST_PATIENCE", "60"))


class Store:
    """A finished run whose store is to be damaged."""

    def __init__(self, furlong: Path, folder: Path, kind: str, layout: str):
        self.furlong, self.run, self.copy = furlong, folder / "run", folder / "copy"
        self.beside = folder / "erased"
        self.settings = dict(SETTINGS, **{"private.layout": layout, "private.open_shards": 2})
        if kind == "encrypted":
            self.settings["private.key_file"] = str(folder / "key")
        for rounds in (8, 16, 24, 30):
            done = self.resume(self.run, rounds)
            assert done.returncode == 0, done.stderr
        self.files = sorted(one for one in (self.run / "private").rglob("*") if one.is_file())
        shutil.copytree(self.run, self.copy)
        self.client = self.call("store", "ls", self.run).stdout.splitlines()[1].split()[0]  # a client with values
        self.answers = self.ask(self.copy)
        assert all(code == 0 for code, _ in self.answers.values()), self.answers

    def call(self, *words) -> subprocess.CompletedProcess:
        try:
            return subprocess.run([self.furlong, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=PATIENCE)
        except subprocess.TimeoutExpired as slow:
            return subprocess.CompletedProcess(slow.args, "hang", "", "")

    def resume(self, folder: Path, rounds: int) -> subprocess.CompletedProcess:
        sets = [word for key, value in dict(self.settings, **{"scenario.rounds": rounds}).items()
                for word in ("--set", f"{key}={value}")]
        return self.call("run", ROOT / "scenarios/quickstart.toml", "--out", folder, "--resume", *sets)

    def ask(self, folder: Path) -> dict[str, tuple]:
        """The answer of each command: its exit code and the parts of its output that must not change. The last one changes it."""
        verify = self.call("store", "verify", folder)
        listed = self.call("store", "ls", folder)
        infer = self.call("infer", folder, "--client", self.client)
        shutil.rmtree(self.beside, ignore_errors=True)
        shutil.copytree(folder, self.beside)
        left = self.call("store", "erase", self.beside, "--client", self.client)
        if left.returncode == 0:
            left = self.call("store", "ls", self.beside)
        goes_on = self.resume(folder, 40)
        hashes = ()
        if goes_on.returncode == 0:
            summary = json.loads((folder / "summary.json").read_text())
            hashes = (summary["model_sha256"], summary["private_sha256"])
        return {"verify": (verify.returncode, ""), "ls": (listed.returncode, listed.stdout),
                "infer": (infer.returncode, infer.stdout), "erase": (left.returncode, left.stdout), "resume": (goes_on.returncode, hashes)}

    def damaged(self, draws: random.Random) -> str:
        """Makes a damaged copy and returns a description of the damage."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.run, self.copy)
        victim = draws.choice(self.files)
        file = self.copy / victim.relative_to(self.run)
        content = bytearray(file.read_bytes())
        at = draws.randrange(len(content)) if content else 0
        how = draws.choice(["remove", "cut", "cut", "zero", "change", "swap"])
        if how == "remove":
            file.unlink()
        elif how == "cut":
            file.write_bytes(content[:at])
        elif how == "zero":
            length = min(len(content) - at, draws.choice([1, 16, 512, 1 << 20]))
            content[at:at + length] = bytes(length)
            file.write_bytes(content)
        elif how == "change":
            for i in range(at, min(len(content), at + draws.choice([1, 8, 64]))):
                content[i] ^= draws.randrange(1, 256)
            file.write_bytes(content)
        else:
            shutil.copyfile(draws.choice(self.files), file)
        return f"{how} {file.relative_to(self.copy)} at {at} of {len(content)}"


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("build", nargs="?", default=BUILD)
    words.add_argument("--damages", type=int, default=300)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--kinds", default="plain,encrypted")
    words.add_argument("--layout", default="per-client")
    given = words.parse_args()
    wrong = 0
    for kind in given.kinds.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            store = Store(Path(given.build).resolve() / "furlong", folder, kind, given.layout)
            draws = random.Random(given.seed)
            outcomes = collections.Counter()
            for number in range(given.damages):
                what = store.damaged(draws)
                got = store.ask(store.copy)
                bad = {name: answer for name, answer in got.items()
                       if answer[0] not in (0, DAMAGED) or (answer[0] == 0 and answer != store.answers[name])}
                noticed = any(answer[0] == DAMAGED for answer in got.values())
                outcomes["noticed" if noticed else "without effect"] += 1
                if bad:
                    wrong += 1
                    print(f"{kind} {number}: {what}: {', '.join(f'{name} {answer[0]}' for name, answer in bad.items())}")
            print(f"{kind}, {given.layout}: {given.damages} damages: {dict(outcomes)}")
    print(f"silently wrong, aborted or hung: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
