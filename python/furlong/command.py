"""Starts the furlong command, shows its progress, and stops it so that it can be resumed."""

from __future__ import annotations

import collections
import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Deque, Dict, Optional, Sequence


class CommandError(Exception):
    """The command failed. `code` is its exit code (docs/commands.md)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C or by interrupting the notebook's cell; the message says how to resume it."""


def find() -> str:
    """The path of the command: the environment's FURLONG, else from PATH, else the release build of this checkout.

    Raises FileNotFoundError."""
    named = os.environ.get("FURLONG")
    if named:
        if os.path.isfile(named):
            return named
        raise FileNotFoundError(f"FURLONG={named} is no file; set it to the furlong command")
    found = shutil.which("furlong")
    if found:
        return found
    built = Path(__file__).resolve().parents[2] / "build" / "release" / "furlong"
    if built.is_file():
        return str(built)
    raise FileNotFoundError("no furlong command in PATH; install the package furlong, or set FURLONG to its path")


def output_of(arguments: Sequence[str]) -> str:
    """Runs the command and returns its standard output. Raises CommandError."""
    done = subprocess.run([find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=_environment())
    if done.returncode != 0:
        raise CommandError(done.stderr.strip() or f"furlong ended with exit code {done.returncode}", done.returncode)
    return done.stdout


def run(arguments: Sequence[str], progress: bool, resume: str) -> str:
    """Runs a long command, shows its standard error as progress, and returns its standard output.

    Raises CommandError, and on Ctrl-C Interrupted with the text `resume` after the command has stopped cleanly."""
    show = sys.stderr if progress else None
    terminal = show is not None and show.isatty()
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        _copy_size(show.fileno(), theirs)
    # In a session of its own the command gets SIGINT once, from here, and not from the terminal as well.
    process = subprocess.Popen([find(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
                               env=_environment(), start_new_session=True)
    os.close(theirs)
    last: Deque[str] = collections.deque(maxlen=40)
    pump = threading.Thread(target=_pump, args=(ours, show, last), daemon=True)
    pump.start()
    output = b""
    interrupted = False
    while True:
        try:
            output += process.communicate()[0]
            break
        except KeyboardInterrupt:
            if interrupted:
                process.kill()
            else:
                process.send_signal(signal.SIGINT)
            interrupted = True
    pump.join(timeout=10)
    os.close(ours)
    if interrupted and process.returncode != 0:
        raise Interrupted(f"the run was stopped (exit code {process.returncode}); {resume}")
    if process.returncode != 0:
        message = "\n".join(last).strip()
        raise CommandError(message or f"furlong ended with exit code {process.returncode}", process.returncode)
    return output.decode(errors="replace")


def _environment() -> Dict[str, str]:
    """Trainers use this interpreter, unless the scenario names another, and this package."""
    package = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return {"FURLONG_PYTHON": sys.executable, **os.environ, "PYTHONPATH": path}


def _pump(source: int, show: Optional[object], last: Deque[str]) -> None:
    """Copies the command's standard error to `show`, and its last lines to `last`."""
    line = ""
    while True:
        try:
            data = os.read(source, 4096)
        except OSError:  # how a terminal ends
            data = b""
        if not data:
            break
        text = data.decode(errors="replace")
        if show is not None:
            show.write(text)  # type: ignore[attr-defined]
            show.flush()  # type: ignore[attr-defined]
        *whole, line = (line + text).split("\n")
        last.extend(part.rstrip("\r").rpartition("\r")[2] for part in whole)
    last.append(line)


def _copy_size(source: int, target: int) -> None:
    try:
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        pass
