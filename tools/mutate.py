#!/usr/bin/env python3
"""Do the tests notice? Breaks the sources in one place after the other, as tools/mutations.toml lists them, and runs the
tests that must notice each mutation.

    tools/mutate.py [--only PATTERN] [--list] [--folder DIR] [--jobs N] [--patience SECONDS]

Works in a copy of the sources (what git knows of them and what is new) with a release build of its own: the tree that
this file lies in is not touched. Both stay in --folder (build/mutate) and make the next call fast. For each mutation
only the programs that its tests need are built, and only its tests are run. First they must pass without it.

A test that fails, crashes or takes ten times as long as without the mutation (and --patience seconds: more on a machine
that is busy with something else) has killed it. Prints a line for each mutation, and at the end those that survived and
the share that was killed. Exit codes: 0: at least 95 % were killed; 1: fewer; 2: the list is wrong: a text that its file
does not have exactly once, a mutation that does not compile, a test that fails without any mutation.
"""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "mutations.toml"
BAR = 0.95
DEBIAN_PYTHON = "/usr/bin/python3"  # has numpy and PyTorch
SLOWER = 10  # times as long as without a mutation
LEAST_SECONDS = 60
BASE_SECONDS = 900  # for a test without a mutation


class WrongList(Exception):
    """The list or the tests do not fit the sources."""


class Mutation:
    def __init__(self, entry):
        unknown = set(entry) - {"name", "file", "text", "becomes", "tests"}
        if unknown:
            raise WrongList(f"{entry.get('name')}: unknown key {sorted(unknown)[0]}")
        try:
            self.name = entry["name"]
            self.file = entry["file"]
            self.text = entry["text"].strip("\n")
            self.becomes = entry["becomes"].strip("\n")
            self.tests = entry["tests"]
        except KeyError as missing:
            raise WrongList(f"{entry.get('name', entry)}: has no {missing}") from None

    def targets(self):
        programs = [shlex.split(test)[0] for test in self.tests]
        return ["furlong" if program.endswith(".py") else program for program in programs]

    def apply_to(self, content):
        found = content.count(self.text)
        if found != 1:
            raise WrongList(f"{self.name}: {self.file} has this text {found} times, not once:\n{self.text}")
        if self.text == self.becomes:
            raise WrongList(f"{self.name}: changes nothing")
        return content.replace(self.text, self.becomes)


def read_list(pattern):
    with LIST.open("rb") as file:
        mutations = [Mutation(entry) for entry in tomllib.load(file)["mutation"]]
    names = [one.name for one in mutations]
    for name in names:
        if names.count(name) > 1:
            raise WrongList(f"{name}: is there twice")
    wrong = []
    for one in mutations:
        try:
            one.apply_to((ROOT / one.file).read_text())
        except (WrongList, OSError) as why:
            wrong.append(str(why))
    if wrong:
        raise WrongList("\n".join(wrong))
    return [one for one in mutations if re.search(pattern, one.name) or re.search(pattern, one.file)]


def run(command, folder, seconds=None):
    """The exit code and all that it said. No code: it took too long. What it started ends with it."""
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace")
    try:
        said, _ = child.communicate(timeout=seconds)
        return child.returncode, said
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        said, _ = child.communicate()
        return None, said


class Copy:
    """The sources and their build."""

    def __init__(self, folder, jobs, patience):
        self.sources = folder / "sources"
        self.build = self.sources / "build" / "release"
        self.jobs = jobs
        self.patience = patience
        os.environ["CCACHE_BASEDIR"] = str(self.sources)  # where ccache is used, what others have compiled serves here

    def update(self):
        """Copies what differs, so that only that is compiled again, and removes what is gone."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                check=True, capture_output=True, text=True).stdout
        names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for name in sorted(names):
            source, target = ROOT / name, self.sources / name
            content = source.read_bytes()
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            target.chmod(source.stat().st_mode)
        if not (self.sources / ".git").exists():  # git must not take the copy for a part of what it lies in
            subprocess.run(["git", "init", "-q", str(self.sources)], check=True)
        for path in self.sources.rglob("*"):
            name = path.relative_to(self.sources)
            if path.is_file() and name.parts[0] not in (".git", "build") and str(name) not in names:
                path.unlink()

    def configure(self):
        code, said = run(["cmake", "--preset", "release"], self.sources)
        if code != 0:
            raise WrongList("cannot configure:\n" + said)

    def compile(self, targets):
        return run(["ninja", "-C", str(self.build), "-j", str(self.jobs), *sorted(set(targets))], self.sources)

    def test(self, line, seconds=None):
        """Runs a test: a program of the build and its arguments, a script that is given the command, or tests of the
        Python package with arguments of pytest."""
        words = shlex.split(line)
        if line.startswith("python/tests/"):
            return run(["env", f"FURLONG={self.build / 'furlong'}", DEBIAN_PYTHON, "-m", "pytest", "-q", *words],
                       self.sources, seconds)
        if words[0].endswith(".py"):
            return run([DEBIAN_PYTHON, words[0], str(self.build / "furlong"), *words[1:]], self.sources, seconds)
        programs = [path for path in self.build.rglob(words[0]) if path.is_file() and os.access(path, os.X_OK)]
        if len(programs) != 1:
            raise WrongList(f"{words[0]}: {len(programs)} programs of the build have this name")
        return run([str(programs[0]), *words[1:]], self.sources, seconds)  # as CTest does


def last_lines(said, count=15):
    return "\n".join(said.splitlines()[-count:])


def base_times(copy, mutations):
    """How long each test takes without a mutation; it must pass."""
    code, said = copy.compile([target for one in mutations for target in one.targets()])
    if code != 0:
        raise WrongList("does not build without any mutation:\n" + last_lines(said))
    times, wrong = {}, []
    for test in dict.fromkeys(test for one in mutations for test in one.tests):
        began = time.monotonic()
        code, said = copy.test(test, max(BASE_SECONDS, copy.patience))
        times[test] = time.monotonic() - began
        # Boost.Test has no failure where a filter that was once right finds nothing to run.
        if re.search(r"no test cases matching filter|Test setup error", said):
            wrong.append(f"runs no test: {test}")
        elif code != 0:
            wrong.append(f"fails without any mutation: {test}\n{last_lines(said)}")
    if wrong:
        raise WrongList("\n".join(wrong))
    return times


def killed_by(copy, one, times):
    """The first test that noticed, and how; or none."""
    path = copy.sources / one.file
    original = path.read_text()
    path.write_text(one.apply_to(original))
    try:
        code, said = copy.compile(one.targets())
        if code != 0:
            raise WrongList(f"{one.name}: does not compile:\n{last_lines(said)}")
        for test in one.tests:
            code, _ = copy.test(test, max(copy.patience, SLOWER * times[test]))
            if code != 0:
                return test + (": too slow" if code is None else "")
        return None
    finally:
        path.write_text(original)  # with a new time: it is compiled again when it is needed


def judge_all(copy, mutations):
    times = base_times(copy, mutations)
    survivors = []
    wrong = []
    for number, one in enumerate(mutations, 1):
        began = time.monotonic()
        try:
            test = killed_by(copy, one, times)
        except WrongList as why:
            wrong.append(str(why))
            test = "wrong"
        if test is None:
            survivors.append(one)
        word = "SURVIVED" if test is None else "wrong" if test == "wrong" else "killed"
        print(f"{number:3}/{len(mutations)} {word:8} {one.name} ({time.monotonic() - began:.0f} s)"
              + (f" [{test}]" if word == "killed" else ""), flush=True)
    for one in survivors:
        print(f"survivor: {one.name} ({one.file})")
    for why in wrong:
        print(why, file=sys.stderr)
    killed = len(mutations) - len(survivors) - len(wrong)
    share = killed / len(mutations)
    print(f"killed {killed} of {len(mutations)}: {100 * share:.1f} %, the bar is {100 * BAR:.0f} %")
    return 2 if wrong else 0 if share >= BAR else 1


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", metavar="PATTERN", help="mutations whose name or file has this pattern")
    options.add_argument("--list", action="store_true", help="print the mutations; build and run nothing")
    options.add_argument("--folder", type=Path, default=ROOT / "build" / "mutate", help="where the copy is")
    options.add_argument("--jobs", type=int, default=int(os.environ.get("FURLONG_JOBS", os.cpu_count() or 1)),
                         help="compilers at once")
    options.add_argument("--patience", type=float, default=LEAST_SECONDS, metavar="SECONDS",
                         help="time that every test has with a mutation")
    chosen = options.parse_args()
    try:
        mutations = read_list(chosen.only)
        if not mutations:
            raise WrongList(f"no mutation has {chosen.only}")
        if chosen.list:
            for one in mutations:
                print(f"{one.file}: {one.name} [{', '.join(one.tests)}]")
            print(f"{len(mutations)} mutations")
            return 0
        copy = Copy(chosen.folder.resolve(), chosen.jobs, chosen.patience)
        copy.update()
        copy.configure()
        return judge_all(copy, mutations)
    except WrongList as why:
        print(why, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
