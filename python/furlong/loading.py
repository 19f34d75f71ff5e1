"""Loads a problem from "path/file.py:Class": its file, its options and the digests of its sources."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import json
import keyword
import math
import os
import random
import re
import sys
import tempfile
import time
from types import ModuleType
from typing import Any, Dict, Mapping, NoReturn, Optional, Tuple, Union

import numpy

from .errors import LIBRARIES, PACKAGE, Place, ProblemError, describe, place_of_method
from .problem import Problem

#: random.seed() of integers, without its conversions of other types: each step seeds.
_generator: Any = random._inst  # type: ignore[attr-defined]
_seed_random = super(random.Random, _generator).seed

_STARTED = time.time() - 0.02  # the times of files are those of the clock's last tick

#: Methods whose default asks self.data, a furlong.data.Data.
_GIVEN_BY_DATA = {"clients", "batch"}

#: A value of an option.
Option = Union[bool, int, float, str]


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


def load(problem: str, seed: int = 0, options: Optional[Mapping[str, Any]] = None) -> Problem:
    """Imports the file and constructs the class with its options: the given values, else the defaults. Raises
    ProblemError, or whatever the user's code raises."""
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
    abstract = [method for method in _required(kind) if is_missing(kind, method)]
    for method in abstract:
        if method not in _GIVEN_BY_DATA:
            _refuse_missing(kind, method, "")
    values = {**options_of(kind), **_given_options(kind, options or {})}
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    made = _construct(kind, values)
    for method in abstract:
        if not hasattr(getattr(made, "data", None), method):
            _refuse_missing(kind, method, ", or set self.data = furlong.data.Data(...) in __init__()")
    return made


def _refuse_missing(kind: type, method: str, instead: str) -> NoReturn:
    raise ProblemError(f"class {kind.__name__} has no method {method}()", f"define it{instead}; see docs/python.md",
                       place_of_class(kind))


def options_of(kind: type) -> Dict[str, Option]:
    """The options that a class declares, with their defaults, checked. Raises ProblemError."""
    declared = getattr(kind, "options")
    place = place_of_class(kind)
    if not isinstance(declared, Mapping):
        raise ProblemError(f"options is {describe(declared)}", 'set it to a dict such as {"alpha": 0.1}', place)
    for name, default in declared.items():
        if not isinstance(name, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
            raise ProblemError(f"options has the name {name!r}",
                               "use letters, digits and _: it becomes an attribute and a key of the scenario", place)
        hidden = getattr(kind, name, None)
        if hasattr(Problem, name) or callable(hidden) or isinstance(hidden, property):
            raise ProblemError(f'the option "{name}" hides {kind.__name__}.{name}', "give it another name", place)
        if type(default) not in (bool, int, float, str) or not _fits(default):
            raise ProblemError(f'the option "{name}" has the default {describe(default)}',
                               "give a finite number, a string, True or False", place)
    return dict(declared)


def _fits(value: Any) -> bool:
    """Whether a scenario can have this value."""
    return math.isfinite(value) if type(value) is float else type(value) is not int or -2**63 <= value < 2**63


def _given_options(kind: type, given: Mapping[str, Any]) -> Dict[str, Option]:
    declared = options_of(kind)
    place = place_of_class(kind)
    values: Dict[str, Option] = {}
    for name, value in given.items():
        if name not in declared:
            near = difflib.get_close_matches(name, declared, 1, 0.4)
            fix = (f'the nearest is "{near[0]}"' if near else f"it has: {', '.join(declared)}" if declared else
                   f'declare it on the class: options = {{"{name}": {value!r}}}')
            raise ProblemError(f'class {kind.__name__} has no option "{name}"', fix, place)
        wanted = type(declared[name])
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted or not _fits(value):
            raise ProblemError(f'the option "{name}" is {describe(value)}, and its default {describe(declared[name])}',
                               f"give a value of type {wanted.__name__}", place)
        values[name] = value
    return values


def option_of_text(text: str) -> Tuple[str, Option]:
    """ "alpha=0.3" -> ("alpha", 0.3): numbers, true and false are values of their type, all else is a string. Raises
    ProblemError."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ProblemError(f'the option "{text}" has no value', 'write NAME=VALUE, such as "alpha=0.3"')
    try:
        found = json.loads(value)
    except ValueError:
        return name, value
    return name, found if isinstance(found, (bool, int, float, str)) else value


def _construct(kind: type, values: Mapping[str, Option]) -> Problem:
    """The object, whose options are attributes before its constructor runs."""
    needed = [p.name for p in list(inspect.signature(kind.__init__).parameters.values())[1:]
              if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        raise ProblemError(f'{kind.__name__}.__init__() has the argument "{needed[0]}", and is called without',
                           f'declare an option on the class: options = {{"{needed[0]}": DEFAULT}}; '
                           f"self.{needed[0]} is set before __init__ runs", place_of_method(kind, "__init__"))
    problem = kind.__new__(kind)
    for name, value in values.items():
        setattr(problem, name, value)
    problem.__init__()
    for name, value in values.items():
        now = getattr(problem, name, None)
        if now != value:
            raise ProblemError(f'__init__() sets self.{name} to {describe(now)}, and the option "{name}" is {value!r}',
                               "read the option, and keep what is computed from it by another name",
                               place_of_method(kind, "__init__"))
    return problem


def digests_of_sources(file: str) -> Dict[str, str]:
    """SHA-256 of each imported file of the user: the sources, wherever they are, and all else in or below the folder of
    the problem's file. By names from there; not those of libraries and of this package."""
    own = os.path.abspath(file)
    found: Dict[str, str] = {}
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None)
        if not isinstance(source, str):
            continue
        source = os.path.abspath(source)
        steps = os.path.relpath(source, os.path.dirname(own)).split(os.sep)
        library = source.startswith((PACKAGE, *LIBRARIES)) or "site-packages" in steps or "dist-packages" in steps
        if not os.path.isfile(source) or (library and source != own):
            continue
        if steps[0] == os.pardir and (not source.endswith(".py") or _is_generated(source)):
            continue
        with open(source, "rb") as stream:
            found["/".join(steps)] = hashlib.sha256(stream.read()).hexdigest()
    return dict(sorted(found.items()))


def _is_generated(source: str) -> bool:
    """Whether a library has written this file for the process, as torch.distributed.nn does, by another name each
    time."""
    return source.startswith(os.path.join(tempfile.gettempdir(), "")) and os.stat(source).st_mtime >= _STARTED


def _required(kind: type) -> Tuple[str, ...]:
    required: Tuple[str, ...] = getattr(kind, "_required", ("parameters", "clients", "gradient"))
    if "gradient" in required and is_missing(kind, "gradient") and not is_missing(kind, "fit"):
        return (*(name for name in required if name != "gradient"), "evaluate")
    return required


def is_missing(kind: type, method: str) -> bool:
    """True if the method is still that of the package."""
    code = getattr(getattr(kind, method, None), "__code__", None)
    return code is None or code.co_filename.startswith(PACKAGE)


def place_of_class(kind: type) -> Place:
    try:
        return inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return place_of_method(kind, "__init__")
