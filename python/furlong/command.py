"""Starts the furlong command, shows its progress, and stops it so that it can be resumed."""

from __future__ import annotations

import codecs
import collections
import contextlib
import fcntl
import os
import pty
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any, Deque, Dict, List, Optional, Sequence

from .errors import ProblemError, place_of_caller, text_of

#: Set by the command for its trainers, and by furlong.check while it uses a problem.
TRAINER = "FURLONG_TRAINER"
_PACKED = Path("_bin", "furlong")  # in the package of a wheel (tools/ship/make_wheel.py)
_PREFIX = "furlong: "  # of the command's errors
_STOPPED = 5  # exit code of a run that can be resumed
_KILLED = 128  # and more: what a shell reports of a command that a signal ended


class CommandError(Exception):
    """The command failed. `code` is its exit code (docs/commands.md)."""

    __module__ = "furlong"  # where users find it

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Stop(Exception):
    """Raised by on_round or on_evaluation of furlong.run: stops the run once its round is done, as Ctrl-C does. run()
    then returns the run, which resume=True continues."""

    __module__ = "furlong"


class Interrupted(KeyboardInterrupt):
    """The run was stopped by Ctrl-C or by interrupting the notebook's cell; the message says how to resume it."""


def find() -> str:
    """The path of the command: the environment's FURLONG, else the one packed with this package in a wheel, else from
    PATH, else the release build of this checkout.

    Raises FileNotFoundError."""
    named = os.environ.get("FURLONG")
    if named:
        if os.path.isfile(named):
            return named
        raise FileNotFoundError(f"FURLONG={named} is no file; set it to the furlong command")
    packed = Path(__file__).resolve().parent / _PACKED
    if packed.is_file():
        return str(packed)
    found = shutil.which("furlong")
    if found:
        return found
    built = Path(__file__).resolve().parents[2] / "build" / "release" / "furlong"
    if built.is_file():
        return str(built)
    raise FileNotFoundError("no furlong command in PATH; install the package furlong, or set FURLONG to its path")


def main() -> None:
    """The script `furlong` of a wheel: becomes the packed command, whose trainers use this interpreter."""
    # PYTHONPATH may have given the script a package without a command.
    packed = next(path for path in (Path(folder, "furlong", _PACKED) for folder in sys.path) if path.is_file())
    os.environ.setdefault("FURLONG_PYTHON", sys.executable)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
        signal.signal(number, signal.SIG_DFL)
    os.execv(packed, ["furlong", *sys.argv[1:]])


def output_of(arguments: Sequence[str], beside: Sequence[Beside] = ()) -> str:
    """Runs the command and returns its standard output. Raises CommandError."""
    if beside:
        return run(arguments, False, "call it again", beside=beside)
    _refuse_in_trainer(arguments[0])
    done = subprocess.run([find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=_environment())
    if done.returncode != 0:
        raise _failure(done.stderr.strip(), done.returncode)
    return done.stdout


class Beside:
    """What the calling thread does while a command runs."""

    #: Of the environment: tells the command its descriptor.
    variable: str
    #: Whether it has asked for an early end, and whether it has passed Ctrl-C on.
    stopped = False
    interrupted = False
    #: An exception of the user's code that the command was told of.
    error: Optional[BaseException] = None

    def attach(self, selector: selectors.BaseSelector) -> socket.socket:
        """Registers what to call, and returns the end that the command inherits."""
        raise NotImplementedError

    def watch(self, process: "subprocess.Popen[bytes]") -> None:
        """The command has started."""

    def close(self) -> None:
        """The command has ended, or could not be started."""


def run(arguments: Sequence[str], progress: bool, resume: str, hidden: Optional[str] = None,
        beside: Sequence[Beside] = (), stops: bool = False) -> str:
    """Runs a long command, shows its standard error as progress, and returns its standard output. In both the name of
    the file `hidden`, which the caller has not given, becomes "the scenario".

    stops  whether an early end is no error, as where one of `beside` has asked for it

    Raises CommandError, and on Ctrl-C Interrupted with the text `resume` after the command has stopped cleanly."""
    _refuse_in_trainer(arguments[0])
    show = sys.stderr if progress else None
    terminal = show is not None and show.isatty()
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        _copy_size(show.fileno(), theirs)
    last: Deque[str] = collections.deque(maxlen=40)
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as after:
        ends = {}
        for one in beside:
            ends[one.variable] = after.enter_context(one.attach(selector))
            after.callback(one.close)
        # In a session of its own the command gets SIGINT once, from here, and not from the terminal as well.
        process = subprocess.Popen([find(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
                                   env={**_environment(), **{k: str(end.fileno()) for k, end in ends.items()}},
                                   pass_fds=[end.fileno() for end in ends.values()], start_new_session=True)
        os.close(theirs)
        for end in ends.values():
            end.close()
        for one in beside:
            one.watch(process)
        pump = threading.Thread(target=_pump, args=(ours, show, last, _Renamed(hidden)), daemon=True)
        pump.start()
        output = _Output(process.stdout, selector)
        interrupted = _attend(process, selector) or any(one.interrupted for one in beside)
    pump.join(timeout=10)
    os.close(ours)
    if process.returncode == _STOPPED and not interrupted and (stops or any(one.stopped for one in beside)):
        return ""
    if interrupted and process.returncode != 0:
        raise Interrupted(f"the run was stopped (exit code {process.returncode}); {resume}")
    if process.returncode != 0:
        failure = _failure("\n".join(last).strip(), process.returncode)
        causes = [one.error for one in beside if one.error is not None and text_of(one.error)[0] in str(failure)]
        raise failure from (causes[0] if causes else None)
    return output.text()


def _attend(process: "subprocess.Popen[bytes]", selector: selectors.BaseSelector) -> bool:
    """Calls what is registered until the command has ended. Returns whether Ctrl-C has stopped it."""
    interrupted = False
    while True:
        try:
            while selector.get_map():
                for key, _ in selector.select():
                    key.data()
            process.wait()
            return interrupted
        except KeyboardInterrupt:
            if interrupted:
                process.kill()
            else:
                process.send_signal(signal.SIGINT)
            interrupted = True
        except BaseException:  # of a signal handler of the script
            process.terminate()
            raise


class _Output:
    """Reads the standard output of a command."""

    def __init__(self, pipe: Any, selector: selectors.BaseSelector) -> None:
        self._pipe = pipe
        self._selector = selector
        self._parts: List[bytes] = []
        selector.register(pipe, selectors.EVENT_READ, self._read)

    def _read(self) -> None:
        data = os.read(self._pipe.fileno(), 1 << 16)
        self._parts.append(data)
        if not data:
            self._selector.unregister(self._pipe)
            self._pipe.close()

    def text(self) -> str:
        return b"".join(self._parts).decode(errors="replace")


def _refuse_in_trainer(name: str) -> None:
    if os.environ.get(TRAINER):
        raise ProblemError(f"this line starts furlong {name} in each trainer process, since those import this file",
                           'put the call under if __name__ == "__main__":', place_of_caller())


def _failure(told: str, code: int) -> CommandError:
    lines = told.splitlines()
    named = [line.startswith(_PREFIX) for line in lines]
    if any(named):  # notes and progress come before the error
        lines = lines[named.index(True):]
    message = "\n".join(line[len(_PREFIX):] if line.startswith(_PREFIX) else line for line in lines)
    if 0 < code < _KILLED:
        return CommandError(message or f"furlong ended with exit code {code}", code)
    number = -code if code < 0 else code - _KILLED
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    reason = f"furlong was killed by {name}"
    if number == signal.SIGKILL:
        reason += (": usually the system had no more memory, see dmesg; lower threads or python.workers, or the sizes "
                   "of model and data")
    return CommandError(f"{message}\n{reason}".strip(), code)


def _environment() -> Dict[str, str]:
    """Trainers use this interpreter, unless the scenario names another, and this package. The command ends with this
    process."""
    package = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return {"FURLONG_PYTHON": sys.executable, **os.environ, "PYTHONPATH": path,
            "FURLONG_PARENT": str(os.getpid())}


class _Renamed:
    """Replaces the name of a file, with the number of a line, in a text that comes in pieces."""

    def __init__(self, file: Optional[str]) -> None:
        self._file = file
        self._rest = ""

    def add(self, text: str, end: bool) -> str:
        """What can be shown by now."""
        if self._file is None:
            return text
        text = self._rest + text
        cut = len(text)
        if not end:  # a name may have come in part
            start = text.find("/", max(text.rfind(blank) for blank in " \n\r\t") + 1)
            tail = text[start:]
            if start >= 0 and (self._file.startswith(tail) or tail.startswith(self._file)):
                cut = start
        self._rest = text[cut:]
        return re.sub(re.escape(self._file) + "(:[0-9]+)*", "the scenario", text[:cut])


def _pump(source: int, show: Optional[object], last: Deque[str], renamed: _Renamed) -> None:
    """Copies the command's standard error to `show`, and its last lines to `last`."""
    line = ""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        try:
            data = os.read(source, 4096)
        except OSError:  # how a terminal ends
            data = b""
        text = renamed.add(decoder.decode(data, not data), not data)
        if show is not None:
            show.write(text)  # type: ignore[attr-defined]
            show.flush()  # type: ignore[attr-defined]
        *whole, line = (line + text).split("\n")
        last.extend(part.rstrip("\r").rpartition("\r")[2] for part in whole)
        if not data:
            break
    last.append(line)


def _copy_size(source: int, target: int) -> None:
    try:
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        pass
