#!/usr/bin/env python3
"""Runs every command that README.md and docs/*.md show, in order, in a scratch folder.

usage: run_commands.py FURLONG ROOT

Commands are the lines of fenced blocks marked `sh`. `furlong` stands for the built command. Long scenarios run at smoke
size (a few rounds); those on MovieLens run when the data is there and must otherwise say where to get it. `./dev ...`
lines are only checked to be commands that ./dev knows: what they do is what runs this.
"""
import os
import re
import shlex
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


def run(words: list[str], furlong: str, root: Path, folder: Path) -> str:
    """What went wrong, or nothing."""
    if words[0] == "./dev":
        known = subprocess.run([root / "dev", "help"], capture_output=True, text=True, check=True).stdout
        return "" if re.search(rf"^  {re.escape(words[1])}\b", known, re.M) else "./dev does not know it"
    if words[0] != "furlong":
        return "neither furlong nor ./dev"
    movielens = any("movielens" in word for word in words)
    line = [furlong, *words[1:], *(SMOKE if movielens else [])]
    environment = dict(os.environ)
    if "FURLONG_DATA" not in environment and (root / "../shared/data/ml-1m").exists():
        environment["FURLONG_DATA"] = str((root / "../shared/data").resolve())
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode == 0:
        return ""
    if movielens and done.returncode == MISSING_DATA and "grouplens.org" in done.stderr:
        return ""
    return f"exit {done.returncode}: {done.stderr.strip()}"


def main() -> int:
    furlong, root = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    failed = passed = 0
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "scenarios").symlink_to(root / "scenarios")
            for number, command in commands(page):
                why = run(shlex.split(command), furlong, root, folder)
                print(f"{page.relative_to(root)}:{number}: {command}: {why or 'ok'}")
                failed += bool(why)
                passed += not why
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
