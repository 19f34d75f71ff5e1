"""Loads a problem from "path/file.py:Class", calls and checks its methods, and finds the user's line of an error."""

from __future__ import annotations

import importlib.util
import inspect
import os
import random
import re
import sys
import sysconfig
import traceback
from types import ModuleType
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Tuple

import numpy

from .problem import PARTS, Client, Problem

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = tuple(
    {os.path.join(path, "") for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")}
    | {os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(numpy.__file__))), "")}
)
_NAME = re.compile(r"[A-Za-z0-9_.:\[\]-]+")

#: random.seed() of integers, without its conversions of other types: each step seeds.
_generator: Any = random._inst  # type: ignore[attr-defined]
_seed_random = super(random.Random, _generator).seed

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
        if code is not None and not code.co_filename.startswith(_PACKAGE):
            return code.co_filename, code.co_firstlineno
    module = sys.modules.get(kind.__module__)
    return getattr(module, "__file__", None), 1


def place_of(error: BaseException, file: Optional[str]) -> Place:
    """File and line of an error: the deepest frame of the user's code, else the deepest outside of furlong."""
    if isinstance(error, ProblemError):
        return error.place
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith(_LIBRARIES):
        return error.filename, error.lineno
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith((_PACKAGE, "<frozen"))
    ]
    own = [frame for frame in frames if frame[0] == file or not frame[0].startswith(_LIBRARIES)]
    if own or frames:
        return (own or frames)[-1]
    return file, None


def text_of(error: BaseException) -> Tuple[str, str]:
    """The error in one line, and the fix if there is a certain one, else ""."""
    if isinstance(error, ProblemError):
        return error.reason, error.fix
    if isinstance(error, SystemExit):
        return f"the problem called exit({error.code!r})", "return from the method, or raise an exception with a reason"
    if isinstance(error, TimedOut):
        return "the call takes too long", "correct the loop that does not end, or raise the timeout"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}", ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return str(error), f"install {error.name} for {sys.executable}, or name another interpreter"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text.replace("\n", " "), ""


def traceback_of(error: BaseException, lines: int = 20) -> str:
    """The last lines of the traceback, without furlong's own frames."""
    if isinstance(error, ProblemError):
        return ""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PACKAGE, "<frozen"))
    ]
    text = "".join(traceback.format_list(frames) + traceback.format_exception_only(type(error), error))
    return "\n".join(text.rstrip().splitlines()[-lines:])


def report_in_child(error: BaseException) -> NoReturn:
    """Ends a child that the user's code forked, as the interpreter would: the connection is its parent's."""
    if isinstance(error, SystemExit):
        os._exit(error.code if isinstance(error.code, int) else int(error.code is not None))
    traceback.print_exception(type(error), error, error.__traceback__)
    os._exit(1)


def seed_globals(seed: int) -> None:
    """Seeds random and numpy.random. PyTorch's generator is seeded by furlong.torch."""
    _seed_random(seed)
    _generator.gauss_next = None
    numpy.random.seed(seed & 0xFFFFFFFF)


def split_name(problem: str) -> Tuple[str, str]:
    """ "path/taste.py:Taste" -> ("path/taste.py", "Taste"). Raises ProblemError."""
    file, separator, name = problem.rpartition(":")
    if not separator or not file or not name:
        raise ProblemError(f'the problem "{problem}" names no class', 'write FILE.py:CLASS, such as "taste.py:Taste"')
    return file, name


def _import(file: str) -> ModuleType:
    folder, base = os.path.split(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(base)[0]
    if name in sys.modules:  # a module of a library has this name
        name = "furlong_problem_" + name
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, base))
    if spec is None or spec.loader is None:
        raise ProblemError(f"{file} is no Python file", "give the problem a file whose name ends in .py", (file, None))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that pickle and multiprocessing find its classes
    spec.loader.exec_module(module)
    return module


def load(problem: str, seed: int = 0) -> Problem:
    """Imports the file and constructs the class. Raises ProblemError, or whatever the user's code raises."""
    file, name = split_name(problem)
    if not os.path.isfile(file):
        raise ProblemError(f"{file} does not exist", "correct the path; it is relative to the scenario file",
                           (file, None))
    seed_globals(seed)
    module = _import(file)
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        there = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Problem)
                 and value.__module__ == module.__name__]
        fix = f"its problems are: {', '.join(there)}" if there else "derive a class from furlong.Problem in it"
        raise ProblemError(f"{file} has no class {name}", fix, (file, None))
    if not issubclass(kind, Problem):
        raise ProblemError(f"class {name} is not a problem", "derive it from furlong.Problem or furlong.torch.Problem",
                           place_of_method(kind, "__init__"))
    abstract = [method for method in _required(kind) if _is_missing(kind, method)]
    if abstract:
        raise ProblemError(f"class {name} has no method {abstract[0]}()", "define it; see docs/python.md",
                           _place_of_class(kind))
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    return kind()


def _required(kind: type) -> Tuple[str, ...]:
    return getattr(kind, "_required", ("parameters", "clients", "gradient"))


def _is_missing(kind: type, method: str) -> bool:
    """True if the method is still that of the package."""
    code = getattr(getattr(kind, method, None), "__code__", None)
    return code is None or code.co_filename.startswith(_PACKAGE)


def _place_of_class(kind: type) -> Place:
    try:
        return inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return place_of_method(kind, "__init__")


def parameters_of(problem: Problem, seed: int) -> Dict[str, numpy.ndarray]:
    """Calls parameters() and checks names, shapes and types. Raises ProblemError."""
    seed_globals(seed)
    given = problem.parameters(seed)
    place = place_of_method(problem, "parameters")
    if not isinstance(given, Mapping) or not given:
        raise ProblemError(f"parameters() returned {_short(given)}", "return a dict of arrays by name", place)
    arrays: Dict[str, numpy.ndarray] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ProblemError(f"parameters() has the name {name!r}",
                               "use letters, digits and the characters _ . : - [ ]", place)
        try:
            array = value if isinstance(value, numpy.ndarray) else numpy.asarray(value, numpy.float32)
        except (TypeError, ValueError):
            raise ProblemError(f'parameter "{name}" is {_short(value)}', "return a float32 array", place) from None
        if array.dtype != numpy.float32:
            raise ProblemError(f'parameter "{name}" is an array of {array.dtype}',
                               "return float32: array.astype(numpy.float32)", place)
        if array.size == 0:
            raise ProblemError(f'parameter "{name}" has the shape {array.shape}, so no values',
                               "leave it out, or give it a size", place)
        if not numpy.isfinite(array).all():
            raise ProblemError(f'parameter "{name}" has values that are not finite (NaN or infinity)',
                               "correct its initial values", place)
        arrays[name] = array
    return arrays


def metrics_of(problem: Problem) -> Dict[str, str]:
    """The metrics with their better directions, checked, in the order of their names. Raises ProblemError."""
    metrics = problem.metrics
    place = _place_of_class(type(problem))
    if not isinstance(metrics, Mapping):
        raise ProblemError(f"metrics is {_short(metrics)}", 'set it to a dict such as {"accuracy": "max"}', place)
    for name, better in metrics.items():
        if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name) or name in (
                "loss", "examples", "clients"):
            raise ProblemError(f"metrics has the name {name!r}",
                               "use small letters, digits and _, and not loss, examples or clients", place)
        if better not in ("max", "min"):
            raise ProblemError(f'metrics["{name}"] is {better!r}', 'write "max" if more is better, else "min"', place)
    return dict(sorted(metrics.items()))


def clients_of(problem: Problem) -> List[Client]:
    """Calls clients() and checks names, sizes and groups. Raises ProblemError."""
    place = place_of_method(problem, "clients")
    try:
        clients = list(problem.clients())
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise ProblemError("clients() returned no list", "return a list of furlong.Client", place) from None
        raise
    if not clients:
        raise ProblemError("clients() returned no client", "return a list of furlong.Client", place)
    seen = set()
    for index, client in enumerate(clients):
        if not isinstance(client, Client):
            raise ProblemError(f"clients()[{index}] is {_short(client)}",
                               "return furlong.Client(name, train, validation, test, group)", place)
        if not isinstance(client.name, str) or not client.name or client.name in seen:
            raise ProblemError(f"clients()[{index}] has the name {client.name!r}, which is empty or used twice",
                               "give each client a name of its own", place)
        seen.add(client.name)
        for part in PARTS:
            size = getattr(client, part)
            if isinstance(size, bool) or not isinstance(size, (int, numpy.integer)) or not 0 <= size < 2**32:
                raise ProblemError(f'client "{client.name}" has {part} = {size!r}', "give a number of examples", place)
        if client.group not in PARTS:
            raise ProblemError(f'client "{client.name}" has the group {client.group!r}',
                               'use "train", "validation" or "test"', place)
    return clients


def check_loss(problem: Problem, method: str, value: Any) -> float:
    """The returned mean loss as a float. Raises ProblemError."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise ProblemError(f"{method}() returned {_short(value)}", "return the mean loss of the batch, a number",
                           place_of_method(problem, method)) from None


def check_scores(problem: Problem, names: List[str], scores: Any, examples: int) -> List[float]:
    """The sums and counts of "loss" and the metrics, flat, in the order of `names`. Raises ProblemError."""
    method = "score" if hasattr(problem, "score") else "evaluate"
    place = place_of_method(problem, method)
    if not isinstance(scores, Mapping):
        raise ProblemError(f"{method}() returned {_short(scores)}", "return a dict of (sum, count) by name", place)
    flat: List[float] = []
    for name in names:
        if name not in scores:
            raise ProblemError(f'{method}() returned no "{name}"',
                               f'return "{name}": (sum, count), or take it out of metrics', place)
        try:
            total, count = scores[name]
            flat += (float(total), float(count))
        except (TypeError, ValueError, RuntimeError):
            raise ProblemError(f'{method}() returned {_short(scores[name])} for "{name}"', "return (sum, count)",
                               place) from None
    if flat[1] != examples:
        raise ProblemError(f'{method}() returned "loss" with the count {flat[1]:g} for {examples} examples',
                           "count examples; a mean over something else, such as tokens, is a metric of its own", place)
    if len(scores) > len(names):
        extra = sorted(set(scores) - set(names))[0]
        raise ProblemError(f'{method}() returned "{extra}", which is not in metrics',
                           f'add "{extra}" to metrics', place)
    return flat


def check_predictions(problem: Problem, predictions: Any, examples: int) -> List[Any]:
    """The predictions as a list with one entry for each example. Raises ProblemError."""
    place = place_of_method(problem, "predictions" if hasattr(problem, "predictions") else "predict")
    if hasattr(predictions, "tolist"):
        predictions = predictions.tolist()
    if not isinstance(predictions, (list, tuple)) or len(predictions) != examples:
        count = f"{len(predictions)} entries" if hasattr(predictions, "__len__") else _short(predictions)
        raise ProblemError(f"the predictions of {examples} examples are {count}",
                           "return a list with one entry for each", place)
    return list(predictions)


def _short(value: Any) -> str:
    """A description of a value for messages: its type, and its text if that is short."""
    if value is None:
        return "None"
    text = repr(value)
    kind = type(value).__name__
    return f"{text} ({kind})" if len(text) <= 40 and "\n" not in text else f"a value of type {kind}"
