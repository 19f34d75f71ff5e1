#!/usr/bin/env python3
"""Mismatched stores, checkpoints, folders, data and kernels: each must be refused, or change no result.

usage: mismatches.py [BUILD_DIR] [--only LETTERS] [--jobs N]

  a  a private store and a checkpoint of different moments or runs        (furlong run)
  b  a store with missing parts: logs, lists of families, tables          (furlong run, furlong store verify, join)
  c  nodes with the store of another, an empty one, an older copy         (furlong join)
  d  a server's folder that was replaced by an older copy                 (furlong serve, join)
  e  the folder of `run` given to `serve`, and the reverse
  f  processes with different kernel levels
  g  data that have changed since the run began                           (furlong run, join)

A case is "refused" if the command ends with exit code 2 or 3 and a message, "harmless" if it continues and ends with the
hashes of the undisturbed run, and "silent" if it continues with other hashes. Prints a line for each case, then the number
of silent ones; exits 1 if there is one, or if a case could not be tried.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import sys
import threading
import traceback
from pathlib import Path

from campaign import BUILD, figure
from federation import DONE, INTERRUPTED, MISSING, SCENARIO, SYNTHETIC_RATINGS, USAGE, Federation, wait_until
from hosted_test import HOSTED_RATINGS, make_ratings

REFUSED, HARMLESS, SILENT = "refused", "harmless", "silent"
SETTINGS = {"scenario.rounds": 100_000, "evaluation.every": 0, "network.heartbeat": 0.5, "network.timeout": 2.0,
            "network.start": 0.7, "checkpoint.every": 4}
LOWEST, MIDDLE = "x86-64", "x86-64-v3"
CASES = []  # (letter, name, function)


def case(letter: str, name: str, *arguments):
    def add(function):
        CASES.append((letter, name, lambda furlong: function(furlong, *arguments)))
        return function
    return add


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("furlong: ") or "; " in line]
    return lines[-1] if lines else text.strip()[-200:]


def judged(code: int, words: str, same: bool = False) -> tuple[str, str]:
    """The verdict on a command that ended, by its result and that of the undisturbed run."""
    if code in (USAGE, MISSING) and words.strip():
        return REFUSED, words
    if code == DONE and same:
        return HARMLESS, "ends with the same hashes"
    return SILENT, f"exit {code}: {words}"


# ---- one process -----------------------------------------------------------------------------------------------------

class Run:
    """`furlong run` in a folder of its own."""

    def __init__(self, furlong: str, *settings: str, data: bool = False):
        self.f = Federation(furlong, secure=False, scenario=SCENARIO.replace(SYNTHETIC_RATINGS, HOSTED_RATINGS) if data
                            else SCENARIO)
        self.settings = ["evaluation.every=0", *settings]
        if data:
            self.data = self.f.folder / "data"
            self.data.mkdir()
            make_ratings(self.f.folder / "all.csv")
            lines = (self.f.folder / "all.csv").read_text().splitlines()[1:]
            rows = [f"{int(u) - 7},{int(i) // 10 - 1},{r},{t}\n" for u, i, r, t in (line.split(",") for line in lines)]
            (self.data / "ratings.csv").write_text("user,item,rating,timestamp\n" + "".join(rows))
            self.settings.append(f'data.path={self.data}')
        self.out = self.f.folder / "run"

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.f.__exit__(None, None, None)

    def go(self, rounds: int, out: Path | None = None, resume: bool = True, *more: str):
        """Runs to the end of this number of rounds."""
        words = [word for one in (*self.settings, f"scenario.rounds={rounds}", *more) for word in ("--set", one)]
        return self.f.run("run", self.f.scenario, "--out", out or self.out, *words, *(["--resume"] if resume else []),
                          expect=None)

    def made(self, rounds: int) -> None:
        done = self.go(rounds)
        assert done.returncode == DONE, done.stderr

    def copy(self, what: str, to: str) -> None:
        shutil.rmtree(self.f.folder / to, ignore_errors=True)
        shutil.copytree(self.out / what, self.f.folder / to)

    def put_back(self, what: str, from_: str) -> None:
        shutil.rmtree(self.out / what)
        shutil.copytree(self.f.folder / from_, self.out / what)

    def hashes(self, out: Path) -> tuple[str, str]:
        summary = json.loads((out / "summary.json").read_text())
        return summary["model_sha256"], summary["private_sha256"]

    def resumed(self, rounds: int) -> tuple[str, str]:
        """The verdict on a resume, compared with an undisturbed run."""
        done = self.go(rounds)
        same = False
        if done.returncode == DONE:
            whole = self.f.folder / "whole"
            assert self.go(rounds, whole, False).returncode == DONE
            same = self.hashes(self.out) == self.hashes(whole)
        return judged(done.returncode, last_line(done.stderr), same)


@case("a", "older store, newer checkpoint")
@case("a", "older store, newer checkpoint, encrypted", "private.key_file=key")
@case("a", "older store, newer checkpoint, bucketed", "private.layout=bucketed")
@case("a", "older store, newer checkpoint, commit after-ack", "private.commit=after-ack")
def older_store(furlong: str, *settings: str):
    with Run(furlong) as run:
        run.settings += [one.replace("=key", f"={run.f.folder / 'key'}") for one in settings]
        run.made(8)
        run.copy("private", "old")
        run.made(16)
        run.put_back("private", "old")
        return run.resumed(24)


@case("a", "newer store, older checkpoint", 8)
@case("a", "much newer store, older checkpoint", 24)
def older_checkpoint(furlong: str, rounds: int):
    with Run(furlong) as run:
        run.made(8)
        run.copy("checkpoint", "old")
        run.made(8 + rounds)
        run.put_back("checkpoint", "old")
        return run.resumed(16 + rounds)


@case("a", "store of another continuation from the same copy")
def other_continuation(furlong: str):
    with Run(furlong) as run:
        run.made(8)
        shutil.copytree(run.out, run.f.folder / "start")
        run.made(13)
        run.copy("private", "other")
        shutil.rmtree(run.out)
        shutil.copytree(run.f.folder / "start", run.out)
        run.made(16)
        run.put_back("private", "other")
        return run.resumed(24)


@case("a", "store of another seed")
def other_run(furlong: str):
    with Run(furlong) as run:
        assert run.go(8, run.f.folder / "other", False, "scenario.seed=2").returncode == DONE
        run.made(8)
        shutil.rmtree(run.out / "private")
        shutil.copytree(run.f.folder / "other/private", run.out / "private")
        return run.resumed(16)


@case("a", "no store at all")
def no_store(furlong: str):
    with Run(furlong) as run:
        run.made(8)
        shutil.rmtree(run.out / "private")
        return run.resumed(16)


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: (path.stat().st_size > 0, path.stat().st_mtime, path.name))


@case("b", "a shard's newest log removed", "shard-*/*.log", "remove", False)
@case("b", "a shard's newest log removed, encrypted", "shard-*/*.log", "remove", True)
@case("b", "a log cut in half", "shard-*/*.log", "half", False)
@case("b", "a log cut in half, encrypted", "shard-*/*.log", "half", True)
@case("b", "a log emptied", "shard-*/*.log", "empty", False)
@case("b", "a MANIFEST cut in half", "shard-*/MANIFEST-*", "half", False)
@case("b", "a MANIFEST cut in half, encrypted", "shard-*/MANIFEST-*", "half", True)
@case("b", "a MANIFEST emptied", "shard-*/MANIFEST-*", "empty", False)
@case("b", "a log's last 4096 bytes zeroed", "shard-*/*.log", "zero", False)
@case("b", "a shard removed", "shard-*", "tree", False)
def damaged(furlong: str, pattern: str, what: str, encrypted: bool):
    with Run(furlong) as run:
        if encrypted:
            run.settings.append(f"private.key_file={run.f.folder / 'key'}")
        run.made(8)
        file = newest(run.out / "private", pattern)
        size = file.stat().st_size
        if what == "remove":
            file.unlink()
        elif what == "tree":
            shutil.rmtree(file)
        elif what == "zero":
            with file.open("r+b") as to:
                to.seek(max(0, size - 4096))
                to.write(bytes(min(size, 4096)))
        else:
            os.truncate(file, size // 2 if what == "half" else 0)
        checked = run.f.run("store", "verify", run.out, expect=None)
        result, words = run.resumed(16)
        if checked.returncode == DONE and result != HARMLESS:
            return SILENT, "store verify finds nothing: " + last_line(checked.stdout)
        return result, words


def one_rating(lines: list[str]) -> list[str]:
    user, item, rating, when = lines[0].split(",")
    return [",".join([user, item, "1" if rating != "1" else "2", when]), *lines[1:]]


def row_added(lines: list[str]) -> list[str]:
    user = lines[0].split(",")[0]
    free = next(i for i in range(90) if not any(line.startswith(f"{user},{i},") for line in lines))
    return [*lines, f"{user},{free},3,17\n"]


@case("g", "run --resume: one rating changed", one_rating)
@case("g", "run --resume: a row added", row_added)
@case("g", "run --resume: order reversed", lambda lines: lines[::-1])
def changed_data(furlong: str, change):
    with Run(furlong, data=True) as run:
        run.made(8)
        file = run.data / "ratings.csv"
        head, *lines = file.read_text().splitlines(True)
        file.write_text(head + "".join(change(lines)))
        done = run.go(16)
        return judged(done.returncode, last_line(done.stderr))


# ---- federations -----------------------------------------------------------------------------------------------------

class Together(Federation):
    """A running federation."""

    def __init__(self, furlong: str, aggregators: int = 0, begun: int = 6, data: bool = False, **settings):
        scenario = SCENARIO.replace(SYNTHETIC_RATINGS, HOSTED_RATINGS) if data else SCENARIO
        super().__init__(furlong, scenario=scenario, secure=False, settings=SETTINGS | settings)
        try:
            if data:
                self.cut_data()
            self.start(aggregators, 0)
            for i in range(4):
                self.host(i)
            if begun:
                self.wait_for_version(begun)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def cut_data(self) -> None:
        make_ratings(self.folder / "all.csv")
        rows = [line.split(",") for line in (self.folder / "all.csv").read_text().splitlines()[1:]]
        for i in range(4):
            self.piece(i).mkdir(parents=True)
            own = [f"{int(u) - 7},{int(item) // 10 - 1},{r},{t}\n" for u, item, r, t in rows if (int(u) - 7) // 50 == i]
            (self.piece(i) / "ratings.csv").write_text("user,item,rating,timestamp\n" + "".join(own))

    def piece(self, number: int) -> Path:
        return self.folder / "pieces" / str(number)

    def host(self, number: int, *more: str):
        data = ["--data", str(self.piece(number))] if self.piece(number).exists() else []
        return self.join(number, None, None, *data, *more)

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            self.processes[f"node{number}"].kill()

    def stop_server(self) -> None:
        self.processes["server"].terminate()
        assert self.processes["server"].wait() == INTERRUPTED

    def more(self, versions: int) -> None:
        self.wait_for_version(self.version() + versions)

    def outcome(self, process) -> tuple[str, str]:
        """The verdict on a process that should not take part: it ends, or it continues."""
        def look():
            return not process.running or "accepted this node" in process.text() and self.works(process.name)
        try:
            wait_until(f"{process.name} ends or takes part", look, 30)
        except AssertionError:
            return SILENT, "neither ends nor takes part: " + last_line(process.text())
        if process.running:
            return SILENT, "takes part"
        return judged(process.process.returncode, last_line(process.text()))

    def works(self, name: str) -> bool:
        number, at, process = int(name[-1]), self.version(), self.processes[name]
        wait_until("more versions, or its end", lambda: not process.running or self.version() >= at + 4, 20)
        return process.running and any(
            line.get("version", 0) > at and any(task[1] // 50 == number for task in line["folded"])
            for line in self.lines(self.ledger))


def move(a: Path, b: Path) -> None:
    shutil.move(str(a), str(b))


@case("b", "a node's newest log removed, no checkpoint since", "shard-*/*.log", "remove")
@case("b", "a node's newest log cut in half, no checkpoint since", "shard-*/*.log", "half")
@case("b", "a node's store.furlong removed", "store.furlong", "remove")
@case("b", "a node's root.furlong removed", "root.furlong", "remove")
@case("b", "a node's node.json removed", "node.json", "remove")
@case("b", "a node's node.json cut in half", "node.json", "half")
def damaged_on_node(furlong: str, pattern: str, what: str):
    with Together(furlong, **{"checkpoint.every": 0}) as f:
        f.kill(1)
        file = newest(f.store(1), pattern)
        if what == "remove":
            file.unlink()
        else:
            os.truncate(file, file.stat().st_size // 2)
        return f.outcome(f.host(1))


@case("c", "two nodes with swapped stores", 0, 1)
@case("c", "two nodes with swapped stores, the other one", 1, 0)
@case("c", "a node with the store of a third", 2, 3)
def swapped(furlong: str, number: int, other: int):
    with Together(furlong) as f:
        f.kill(number, other)
        shutil.rmtree(f.store(number))
        shutil.copytree(f.store(other), f.store(number))
        return f.outcome(f.host(number))


@case("c", "a node's own node.json beside the store of another", "other")
@case("c", "a node's own node.json beside an older copy of its store", "older")
def record_and_store(furlong: str, whose: str):
    with Together(furlong) as f:
        f.kill(1)
        if whose == "older":
            shutil.copytree(f.store(1), f.folder / "copy")
            f.host(1)
            wait_until("it takes part", lambda: f.works("node1"))
            f.kill(1)
        else:
            f.kill(2)
            shutil.copytree(f.store(2), f.folder / "copy")
        shutil.copy(f.store(1) / "node.json", f.folder / "copy/node.json")
        shutil.rmtree(f.store(1))
        move(f.folder / "copy", f.store(1))
        return f.outcome(f.host(1))


@case("c", "a store that was emptied during the run", "empty", 0)
@case("c", "a store that was removed during the run", "remove", 0)
@case("c", "a store that was emptied but for node.json", "values", 0)
@case("c", "a store that was emptied, below an aggregator", "empty", 1)
def emptied(furlong: str, how: str, aggregators: int):
    with Together(furlong, aggregators) as f:
        f.kill(1)
        if how == "values":
            for one in f.store(1).iterdir():
                if one.name != "node.json":
                    shutil.rmtree(one) if one.is_dir() else one.unlink()
        else:
            shutil.rmtree(f.store(1))
            if how == "empty":
                f.store(1).mkdir()
        return f.outcome(f.host(1))


@case("c", "a store that is emptied while its node works", "empty")
@case("c", "a store that is removed while its node works", "remove")
def emptied_at_work(furlong: str, how: str):
    with Together(furlong) as f:
        shutil.rmtree(f.store(1), ignore_errors=True)  # the node may make a file meanwhile
        if how == "empty":
            f.store(1).mkdir(exist_ok=True)
        return f.outcome(f.processes["node1"])


@case("c", "an older copy of a node's store", False, {})
@case("c", "an older copy of a node's store, after a resume", True, {})
@case("c", "an older copy of a node's store, commit after-ack", False, {"private.commit": "after-ack"})
def older_copy(furlong: str, resume: bool, settings: dict):
    with Together(furlong, **settings) as f:
        f.kill(1)
        shutil.copytree(f.store(1), f.folder / "copy")
        f.host(1)
        wait_until("it takes part", lambda: f.works("node1"))
        f.kill(1)
        shutil.rmtree(f.store(1))
        move(f.folder / "copy", f.store(1))
        if resume:
            f.stop_server()
            f.serve_again(operators=False)
        return f.outcome(f.host(1))


@case("d", "a server's folder put back, one resume since", 1)
@case("d", "a server's folder put back, one resume since, nodes started again", 1, "again")
@case("d", "a server's folder put back, two resumes since", 2)
@case("d", "a server's folder put back, copied in its second life", 1, "second life")
@case("d", "a server's folder put back, copied while it ran", 1, "running")
def put_back(furlong: str, resumes: int, how: str = ""):
    with Together(furlong) as f:
        if how == "second life":
            f.stop_server()
            f.serve_again(operators=False)
            f.more(4)
        if how != "running":
            f.stop_server()
        shutil.copytree(f.out, f.folder / "copy")
        if how == "running":
            f.stop_server()
        for _ in range(resumes):
            f.serve_again(operators=False)
            f.more(6)
            f.stop_server()
        shutil.rmtree(f.out)
        shutil.copytree(f.folder / "copy", f.out)
        f.serve_again(operators=False)
        if how == "again":
            f.kill(0, 1, 2, 3)
            for i in range(4):
                f.host(i)
        found = [f.outcome(f.processes[f"node{i}"]) for i in range(4)]
        return next((one for one in found if one[0] != REFUSED), found[0])


@case("e", "serve --resume of a run that is over", 8)
@case("e", "serve --resume of a run that has more to do", 16)
def serve_of_run(furlong: str, rounds: int):
    with Run(furlong) as run:
        run.made(8)
        words = [word for one in (*run.settings, f"scenario.rounds={rounds}") for word in ("--set", one)]
        done = run.f.run("serve", run.f.scenario, "--listen", "127.0.0.1:0", "--insecure", "--out", run.out, "--resume",
                         *words, expect=None)
        return judged(done.returncode, last_line(done.stderr))


@case("e", "run --resume of a federation that was stopped", "stop")
@case("e", "run --resume of a federation that was killed", "kill")
@case("e", "run --resume of a federation whose nodes are gone, too", "all")
def run_of_serve(furlong: str, how: str):
    with Together(furlong) as f:
        if how == "stop":
            f.stop_server()
        else:
            f.processes["server"].kill()
        if how == "all":
            f.kill(0, 1, 2, 3)
        done = f.run("run", f.scenario, "--out", f.out, "--resume", *f.sets(), expect=None)
        return judged(done.returncode, last_line(done.stderr))


@case("f", "a node of the lowest level", LOWEST, "node")
@case("f", "a node of the middle level", MIDDLE, "node")
@case("f", "an aggregator of the lowest level", LOWEST, "aggregator")
@case("f", "a node of the middle level below an aggregator", MIDDLE, "below")
@case("f", "a server that was resumed at the lowest level", LOWEST, "server")
def level(furlong: str, pinned: str, what: str):
    with Together(furlong, 1 if what in ("aggregator", "below") else 0) as f:
        if what == "server":
            f.stop_server()
            f.environment["FURLONG_KERNEL_LEVEL"] = pinned
            f.serve_again(operators=False)
            return f.outcome(f.processes["node1"])
        f.kill(1)
        f.environment["FURLONG_KERNEL_LEVEL"] = pinned
        if what == "aggregator":
            process = f.aggregate("aggregator1")
            wait_until("it ends or is accepted", lambda: not process.running or "accepted this" in process.text(), 30)
            return (SILENT, "taken in") if process.running else judged(process.process.returncode,
                                                                       last_line(process.text()))
        return f.outcome(f.host(1))


@case("g", "join: one rating changed", one_rating, {})
@case("g", "join: a row added", row_added, {})
@case("g", "join: a row removed", lambda lines: lines[:-1], {})
@case("g", "join: order reversed", lambda lines: lines[::-1], {})
@case("g", "join: one rating changed, no private values", one_rating, {"algorithm.kind": "fedrecon"})
def changed_on_node(furlong: str, change, settings: dict):
    with Together(furlong, data=True, **settings) as f:
        f.kill(1)
        file = f.piece(1) / "ratings.csv"
        head, *lines = file.read_text().splitlines(True)
        file.write_text(head + "".join(change(lines)))
        return f.outcome(f.host(1))


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("build", nargs="?", default=BUILD)
    words.add_argument("--only", default="abcdefg")
    words.add_argument("--jobs", type=int, default=2)
    given = words.parse_args()
    furlong = str((Path(given.build) / "furlong").resolve())
    chosen = sorted((one for one in CASES if one[0] in given.only), key=lambda one: one[0])
    printing = threading.Lock()

    def examine(one) -> tuple[str, str]:
        try:
            result, why = one[2](furlong)
        except Exception:  # noqa: BLE001: a case that cannot be tried is one that fails
            result, why = "not tried", traceback.format_exc().strip().splitlines()[-1]
        with printing:
            print(f"{one[0]}  {one[1]:66} {result:9} {why[:150]}", file=sys.stderr, flush=True)
        return one[0], result

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(examine, chosen))
    counts: dict[tuple[str, str], int] = {}
    for letter, result in found:
        counts[letter, result] = counts.get((letter, result), 0) + 1
    for (letter, result), count in sorted(counts.items()):
        figure(letter, result, count, "cases")
    silent = sum(result == SILENT for _, result in found)
    print(f"{len(found)} mismatches, silent: {silent}", file=sys.stderr)
    return 0 if all(result in (REFUSED, HARMLESS) for _, result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
