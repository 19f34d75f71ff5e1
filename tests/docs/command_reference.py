#!/usr/bin/env python3
"""docs/commands.md must equal the --help texts of the command, and name each environment variable that it reads.

usage: command_reference.py FURLONG ROOT [--write]

With --write the page is regenerated.
"""
import re
import subprocess
import sys
from pathlib import Path

HEAD = """# Commands

Generated from `furlong --help` and the `--help` of each command; a test compares them.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | `furlong test`: an expectation failed; `furlong audit`: the measured bound of ε is above the claim; `furlong check-part`: the part breaks a law |
| 2 | an invalid command line or scenario; resuming a run that is over and failed; a node that was replaced by another |
| 3 | data, keys or certificates missing, unreadable or damaged; no answer to `status` |
| 4 | failure at run time, or training diverged |
| 5 | stopped by a signal; `--resume` continues |

[Scenarios as tests](testing-scenarios.md) and [deployment](deployment.md) have the details.

`--format json` prints one JSON object to stdout, for scripts; messages and progress go to stderr. A run directory is the
output of `run` or `serve`.

| environment | |
|---|---|
| `FURLONG_DATA` | the folder of datasets; by default `data` in the working directory |
| `FURLONG_PYTHON` | the Python interpreter of models in Python, unless the scenario sets `python.interpreter`; by default `python3`, with the command of a wheel the interpreter of its environment |
| `FURLONG` | path of the command `furlong`, for the Python package; by default the one in the package's wheel, then `furlong` in `PATH`, then the release build |
| `FURLONG_PARENT`, `FURLONG_LINES`, `FURLONG_CALLER`, `FURLONG_TRAINER` | set by the Python package and by the command: the process with which the command ends; the descriptors that it writes rounds and evaluations to, and that lead to a [trainer in the calling process](trainer-protocol.md#in-the-calling-process); that a process is a trainer, which starts no command |
| `FURLONG_KERNEL_LEVEL` | `portable`, `x86-64-v3` or `x86-64-v4` (on ARM `portable` or `neon`): selects the kernels, so that other machines give the same bits; every processor has `portable` |
"""


def help_of(furlong: str, words: list[str]) -> str:
    return subprocess.run([furlong, *words, "--help"], capture_output=True, text=True, check=True).stdout


def entries(text: str, title: str) -> list[tuple[str, str]]:
    """Names and descriptions of a section, which ends at a line that is not indented. A long name has its own line."""
    found: list[tuple[str, str]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != title:
            continue
        for entry in lines:
            if not entry.strip() or not entry.startswith(" "):
                break
            words = re.fullmatch(r" +(\S.*?)(?:  +(\S.*))?", entry)
            if words[2] is None and len(entry) - len(entry.lstrip()) > 20:  # goes with the name above
                found[-1] = (found[-1][0], words[1])
            else:
                found.append((words[1], words[2] or ""))
    return found


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def section(furlong: str, words: list[str]) -> list[str]:
    text = help_of(furlong, words)
    rows = entries(text, "Positionals:") + entries(text, "Options:")
    rows = [(name if name.startswith("-") else name.split(" ", 1)[1], what)  # "scenario SCENARIO"
            for name, what in rows if not name.startswith("-h,")]
    out = [f"## furlong {' '.join(words)}", "", text.splitlines()[0][0].upper() + text.splitlines()[0][1:] + ".", ""]
    return out + ["| | |", "|---|---|", *(f"| `{cell(name)}` | {cell(what)} |" for name, what in rows), ""]


def page(furlong: str) -> str:
    lines = HEAD.splitlines() + [""]
    for name, _ in entries(help_of(furlong, []), "Subcommands:"):
        below = entries(help_of(furlong, [name]), "Subcommands:")
        for words in [[name, one] for one, _ in below] or [[name]]:
            lines += section(furlong, words)
    return "\n".join(lines).rstrip() + "\n"


def variables_read(root: Path) -> set[str]:
    """The environment variables of Furlong's own that the command and the Python package read."""
    sources = [file for folder in ("base", "models", "federated", "wire", "storage", "actors", "scenarios", "tools")
               for file in (root / folder).rglob("*.cpp")] + list((root / "python" / "furlong").rglob("*.py"))
    pattern = re.compile(r"""(?:getenv|environ\.get)\("(FURLONG\w*)\"""")
    return {name for file in sources for name in pattern.findall(file.read_text())}


def main() -> int:
    furlong, root = sys.argv[1], Path(sys.argv[2])
    file, expected = root / "docs" / "commands.md", page(furlong)
    missing = sorted(name for name in variables_read(root) if f"| `{name}` |" not in HEAD)
    if missing:
        print(f"{Path(__file__).name}: HEAD has no row for {', '.join(missing)}", file=sys.stderr)
        return 1
    if "--write" in sys.argv[3:]:
        file.write_text(expected)
    elif not file.exists() or file.read_text() != expected:
        print(f"{file} is not what --help says: write it again with\n  {' '.join(sys.argv)} --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
