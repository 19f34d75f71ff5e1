#!/usr/bin/env python3
"""Runs every command that README.md and docs/*.md show, in order, in a scratch folder.

usage: run_commands.py FURLONG ROOT

Commands are the lines of fenced blocks marked `sh`; a block marked with a language and a file name is that file.
`furlong` stands for the built command; scripts are those of tools/, of python/examples and those that the page shows;
`python3 -m furlong.check` runs the package in python/. Problems in Python run with the first python3 that has numpy,
PyTorch, scikit-learn and matplotlib; without one, docs/python*.md and the scripts are skipped. Long scenarios run at
smoke size (a few rounds, or a sweep's --smoke); those on real data run when it is there and must otherwise say what is
missing (of MovieLens: where to get it). `./dev ...` lines are only checked to be commands that ./dev knows: what they do
is what runs this. A line that ends in `&` runs beside the others of its page; `wait` waits until all of these have
ended, and each must have ended well. The ports 74NN of a page are replaced by free ones.
"""
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SMOKE = ["--set", "scenario.rounds=3"]
MISSING_DATA = 3


def commands(page: Path) -> list[tuple[int, str]]:
    """The commands of a page with their line numbers."""
    found, inside = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside and line.strip() == "```sh"
        elif inside and line.strip() and not line.lstrip().startswith("#"):
            found.append((number, re.sub(r"\s+#\s.*$", "", line).strip()))
    return found


def write_files(page: Path, folder: Path) -> None:
    """The files that the page shows: blocks that begin with, say, ```toml shop.toml"""
    for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(), re.M | re.S):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def interpreter() -> str:
    """A Python with what the problems of the pages import; empty: none."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([candidate, "-c", "import numpy, torch, sklearn, matplotlib"], capture_output=True).returncode == 0:
            return candidate
    return ""


class Ports:
    """Free ports in place of those that a page shows. All are held until each has its number."""

    def __init__(self, text: str):
        shown = sorted(set(re.findall(r":(74[0-9]{2})\b", text)))
        held = [socket.create_server(("127.0.0.1", 0)) for _ in shown]
        self.by_shown = {port: str(one.getsockname()[1]) for port, one in zip(shown, held)}
        for one in held:
            one.close()

    def replace(self, command: str) -> str:
        return re.sub(r":(74[0-9]{2})\b", lambda found: ":" + self.by_shown[found[1]], command)


def environment_for(root: Path, furlong: str, python: str) -> dict:
    return dict(os.environ, PYTHONPATH=str(root / "python"), FURLONG=furlong, **({"FURLONG_PYTHON": python} if python else {}))


class Background:
    """The commands of a page that run beside the others."""

    def __init__(self):
        self.running = []

    def start(self, words: list[str], furlong: str, python: str, root: Path, folder: Path) -> str:
        if words[0] != "furlong":
            return "not furlong"
        log = tempfile.TemporaryFile()
        self.running.append((subprocess.Popen([furlong, *words[1:]], cwd=folder, env=environment_for(root, furlong, python),
                                              stdout=log, stderr=log), words, log))
        return ""

    def wait(self) -> str:
        """What went wrong, or nothing."""
        wrong = []
        for process, words, log in self.running:
            try:
                code = process.wait(timeout=240)
            except subprocess.TimeoutExpired:
                code = "none: it still runs"
            if code != 0:
                log.seek(0)
                wrong.append(f"{words[1]}: exit {code}: {log.read().decode(errors='replace')[-600:]}")
        self.end()
        return "; ".join(wrong)

    def end(self):
        for process, _, log in self.running:
            process.kill()
            process.wait()
            log.close()
        self.running = []


def runs_problem(words: list[str], folder: Path) -> bool:
    """Whether a command is furlong.check or a script with problems."""
    if words[0] != "python3" or words[1].startswith("tools/"):
        return False
    return words[1:3] == ["-m", "furlong.check"] or (folder / words[1]).is_file()


def run(words: list[str], furlong: str, python: str, root: Path, folder: Path) -> str:
    """What went wrong, or nothing."""
    if words[0] == "./dev":
        known = subprocess.run([root / "dev", "help"], capture_output=True, text=True, check=True).stdout
        return "" if re.search(rf"^  {re.escape(words[1])}\b", known, re.M) else "./dev does not know it"
    script = words[0] == "python3" and words[1].startswith("tools/")
    problem = runs_problem(words, folder)
    if words[0] != "furlong" and not script and not problem:
        return "neither furlong, nor a script of tools/ or of the page, nor furlong.check, nor ./dev"
    movielens = any(name in word for word in words for name in ("movielens", "ml1m-", "ml-1m.toml"))
    on_texts = r"(scenarios|runs)/(furl-|nwp-|ptb-|wikitext-|quickstart-texts)"
    texts = script or any(re.match(on_texts, word) for word in words)
    sweep = texts and words[1] == "sweep"
    small = SMOKE if movielens else ["--smoke"] if sweep else []
    # What a page sets would undo the few rounds of --smoke.
    given = [re.sub(r"^scenario\.rounds=\d+$", SMOKE[1], word) if sweep else word for word in words[1:]]
    line = [sys.executable if script else python if problem else furlong, *given, *small]
    environment = environment_for(root, furlong, python)
    if (folder / "data").exists():  # the page shows its own
        environment.pop("FURLONG_DATA", None)
    elif "FURLONG_DATA" not in environment and (root / "../shared/data/ml-1m").exists():
        environment["FURLONG_DATA"] = str((root / "../shared/data").resolve())
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode == 0:
        return ""
    # A report of text runs that could not run misses these.
    absent = "the file or folder does not exist|does not exist; name the folder of a run"
    told = r"grouplens\.org" if movielens else absent if texts else ""
    if told and done.returncode == MISSING_DATA and re.search(told, done.stdout + done.stderr):
        return ""
    return f"exit {done.returncode}: {done.stderr.strip()}"


def main() -> int:
    furlong, root = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    python = interpreter()
    failed = passed = 0
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        if page.name in ("python.md", "python-examples.md") and not python:
            print(f"docs/{page.name}: skipped: no python3 has numpy, PyTorch, scikit-learn and matplotlib")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name in ("scenarios", "tools", "python"):
                (folder / name).symlink_to(root / name)
            write_files(page, folder)
            ports, beside = Ports(page.read_text()), Background()
            for number, command in commands(page):
                words = shlex.split(ports.replace(command))
                if words[-1] == "&":
                    why = beside.start(words[:-1], furlong, python, root, folder)
                elif words == ["wait"]:
                    why = beside.wait()
                elif runs_problem(words, folder) and not python:
                    print(f"{page.relative_to(root)}:{number}: {command}: skipped: no python3 has numpy and PyTorch")
                    continue
                else:
                    why = run(words, furlong, python, root, folder)
                print(f"{page.relative_to(root)}:{number}: {command}: {why or 'ok'}")
                failed += bool(why)
                passed += not why
            beside.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
