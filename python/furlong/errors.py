"""Mistakes in a problem: place, reason and fix, and the user's line of any other error."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import sysconfig
import traceback
from types import FrameType
from typing import Any, NoReturn, Optional, Tuple

import numpy

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
LIBRARIES = tuple(
    {os.path.join(path, "") for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")}
    | {os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(numpy.__file__))), "")}
)

_LONGEST = 1000

Place = Tuple[Optional[str], Optional[int]]


class ProblemError(Exception):
    """A mistake in a problem, with its place, reason and fix."""

    def __init__(self, reason: str, fix: str, place: Place = (None, None)) -> None:
        super().__init__(f"{reason}; {fix}")
        self.reason = reason
        self.fix = fix
        self.place = place


class TimedOut(BaseException):
    """A call of the user's code took too long."""


def place_of_method(problem: Any, name: str) -> Place:
    """File and first line of a method of the problem's class, or of the class's nearest code."""
    kind = problem if isinstance(problem, type) else type(problem)
    for attribute in (name, "gradient", "module", "clients", "parameters", "batch", "__init__"):
        method = getattr(kind, attribute, None)
        code = getattr(method, "__code__", None)
        if code is not None and not code.co_filename.startswith(PACKAGE):
            return code.co_filename, code.co_firstlineno
    module = sys.modules.get(kind.__module__)
    return getattr(module, "__file__", None), 1


def place_of_class(kind: type) -> Place:
    """File and first line of a class."""
    try:
        return inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return place_of_method(kind, "__init__")


def place_of(error: BaseException, file: Optional[str]) -> Place:
    """File and line of an error: the deepest frame of the user's code, else the deepest outside of furlong."""
    if isinstance(error, ProblemError):
        return error.place
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith(LIBRARIES):
        return error.filename, error.lineno
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith((PACKAGE, "<frozen"))
    ]
    own = [frame for frame in frames if frame[0] == file or not frame[0].startswith(LIBRARIES)]
    if own or frames:
        return (own or frames)[-1]
    return file, None


def text_of(error: BaseException) -> Tuple[str, str]:
    """The error in one line, and the fix if there is a certain one, else ""."""
    if isinstance(error, ProblemError):
        return in_one_line(error.reason), in_one_line(error.fix)
    if isinstance(error, SystemExit):
        return f"the problem called exit({error.code!r})", "return from the method, or raise an exception with a reason"
    if isinstance(error, TimedOut):
        return "the call takes too long", "correct the loop that does not end, or raise the timeout"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}", ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return in_one_line(str(error)), f"install {error.name} for {sys.executable}, or name another interpreter"
    try:
        text = str(error)
    except Exception:  # of the user's __str__
        text = ""
    return in_one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__), ""


def in_one_line(text: str) -> str:
    """A text that can be sent and read: at most some hundred characters on one line, in valid UTF-8."""
    text = text.replace("\n", " ")
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
    return text.encode("utf-8", "backslashreplace").decode()


def traceback_of(error: BaseException, lines: int = 20) -> str:
    """The last lines of the traceback, without furlong's own frames."""
    if isinstance(error, ProblemError):
        return ""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((PACKAGE, "<frozen"))
    ]
    text = "".join(traceback.format_list(frames) + traceback.format_exception_only(type(error), error))
    return "\n".join(map(in_one_line, text.rstrip().splitlines()[-lines:]))


def report_in_child(error: BaseException) -> NoReturn:
    """Ends a child that the user's code forked, as the interpreter would: the connection is its parent's."""
    if isinstance(error, SystemExit):
        os._exit(error.code if isinstance(error.code, int) else int(error.code is not None))
    traceback.print_exception(type(error), error, error.__traceback__)
    os._exit(1)


def describe(value: Any) -> str:
    """A description of a value for messages: its type, and its text if that is short."""
    if value is None:
        return "None"
    kind = type(value).__name__
    try:
        text = "\n" if hasattr(value, "__len__") and len(value) > 40 else repr(value)
    except Exception:  # of the user's __len__ and __repr__
        text = "\n"
    return f"{text} ({kind})" if len(text) <= 40 and "\n" not in text else f"a value of type {kind}"


def place_of_caller() -> Place:
    """File and line of the nearest caller outside of this package."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else (None, None)


def tell(name: str, error: BaseException) -> None:
    """Prints place, reason and fix to standard error."""
    file = os.path.abspath(name.rpartition(":")[0])
    place = place_of(error, file)
    reason, fix = text_of(error)
    where = f"{os.path.relpath(place[0]) if place[0] else name}" + (f":{place[1]}" if place[1] else "")
    trace = traceback_of(error)
    if trace and not isinstance(error, (SystemExit, SyntaxError, TimedOut)):
        print(trace, file=sys.stderr)
    print(f"{where}: {reason}" + (f"; {fix}" if fix else ""), file=sys.stderr)


def say(text: str) -> None:
    """Prints a line. If nobody reads it, as after ``| head``, this ends the process, as SIGPIPE ends other programs."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os._exit(128 + signal.SIGPIPE)
