"""Loads a problem or an algorithm from "path/file.py:Class"."""

from __future__ import annotations

import importlib.util
import inspect
import os
import random
import sys
from types import ModuleType
from typing import Any, Callable, Mapping, NoReturn, Optional, Tuple, Type

import numpy

from . import options as _options
from .algorithm import Algorithm
from .errors import PACKAGE, ProblemError, describe, place_of_class, place_of_method
from .problem import Problem

#: random.seed() of integers, without its conversions of other types: each step seeds.
_generator: Any = random._inst  # type: ignore[attr-defined]
_seed_random = super(random.Random, _generator).seed

#: Methods whose default asks self.data, a furlong.data.Data.
_GIVEN_BY_DATA = {"clients", "batch"}


def seed_globals(seed: int) -> None:
    """Seeds random and numpy.random. PyTorch's generator is seeded by furlong.torch."""
    _seed_random(seed)
    _generator.gauss_next = None
    numpy.random.seed(seed & 0xFFFFFFFF)


def split_name(given: str, what: str = "problem") -> Tuple[str, str]:
    """ "path/taste.py:Taste" -> ("path/taste.py", "Taste"). Raises ProblemError."""
    file, separator, name = given.rpartition(":")
    if not separator or not file or not name:
        raise ProblemError(f'the {what} "{given}" names no class', 'write FILE.py:CLASS, such as "taste.py:Taste"')
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


def load(problem: str, seed: int = 0, options: Optional[Mapping[str, Any]] = None, has_algorithm: bool = False,
         kind: Optional[Type[Any]] = None, device: str = "") -> Problem:
    """Imports the file and constructs the class with its options: the given values, else the defaults. With an
    algorithm, which may train without gradient() and fit(), it may have neither. With `kind`, constructs that class; for
    a device, if one is named. Raises ProblemError, or whatever the user's code raises."""
    if kind is None:
        kind = _class_of(problem, Problem, "problem", _import, seed)
    else:
        seed_globals(seed)
    abstract = [method for method in _required(kind, has_algorithm) if is_missing(kind, method)]
    for method in abstract:
        if method not in _GIVEN_BY_DATA:
            _refuse_missing(kind, method, "")
    made = _construct(kind, _options.values_of(kind, options or {}), seed, device)
    for method in abstract:
        if not hasattr(getattr(made, "data", None), method):
            _refuse_missing(kind, method, ", or set self.data = furlong.data.Data(...) in __init__()")
    return made


def load_algorithm(algorithm: str, problem: Problem, seed: int = 0,
                   options: Optional[Mapping[str, Any]] = None, kind: Optional[Type[Any]] = None) -> Algorithm:
    """The same of an algorithm, which may be in the file of the problem."""

    def imported(file: str) -> ModuleType:
        module = sys.modules[type(problem).__module__]
        same = os.path.abspath(getattr(module, "__file__", None) or "") == os.path.abspath(file)
        return module if same else _import(file)

    if kind is None:
        kind = _class_of(algorithm, Algorithm, "algorithm", imported, seed)
    else:
        seed_globals(seed)
    made = _construct(kind, _options.values_of(kind, options or {}), seed)
    made._check_problem(problem)
    return made


def _class_of(name: str, base: Type[Any], what: str, imported: Callable[[str], ModuleType], seed: int) -> Type[Any]:
    """The class of "file.py:Class"."""
    file, kind_name = split_name(name, what)
    if not os.path.isfile(file):
        raise ProblemError(f"{file} does not exist", "correct the path; it is relative to the scenario file",
                           (file, None))
    seed_globals(seed)
    module = imported(file)
    kind = getattr(module, kind_name, None)
    if not isinstance(kind, type):
        there = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)
                 and value.__module__ == module.__name__]
        fix = f"its {what}s are: {', '.join(there)}" if there else f"derive a class from furlong.{base.__name__} in it"
        raise ProblemError(f"{file} has no class {kind_name}", fix, (file, None))
    if not issubclass(kind, base):
        raise ProblemError(f"class {kind_name} is not {'an' if what[0] == 'a' else 'a'} {what}", "derive it from "
                           f"furlong.{base.__name__} or furlong.torch.{base.__name__}", place_of_class(kind))
    return kind


def _refuse_missing(kind: type, method: str, instead: str) -> NoReturn:
    raise ProblemError(f"class {kind.__name__} has no method {method}()", f"define it{instead}; see docs/python.md",
                       place_of_class(kind))


def _construct(kind: Type[Any], values: Mapping[str, Any], seed: int, device: str = "") -> Any:
    """The object, whose options are attributes before its constructor runs."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    needed = [p.name for p in list(inspect.signature(kind.__init__).parameters.values())[1:]
              if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        raise ProblemError(f'{kind.__name__}.__init__() has the argument "{needed[0]}", and is called without',
                           f'declare an option on the class: options = {{"{needed[0]}": DEFAULT}}; '
                           f"self.{needed[0]} is set before __init__ runs", place_of_method(kind, "__init__"))
    made = kind.__new__(kind)
    if device:
        made._use_device(device)
    for name, value in values.items():
        setattr(made, name, value)
    made.__init__()
    for name, value in values.items():
        now = getattr(made, name, None)
        if now != value:
            raise ProblemError(f'__init__() sets self.{name} to {describe(now)}, and the option "{name}" is {value!r}',
                               "read the option, and keep what is computed from it by another name",
                               place_of_method(kind, "__init__"))
    return made


def _required(kind: type, has_algorithm: bool) -> Tuple[str, ...]:
    required: Tuple[str, ...] = getattr(kind, "_required", ("parameters", "clients", "gradient"))
    others = not is_missing(kind, "fit") or (has_algorithm and not is_missing(kind, "evaluate"))
    if "gradient" in required and is_missing(kind, "gradient") and others:
        return (*(name for name in required if name != "gradient"), "evaluate")
    return required


def is_missing(kind: type, method: str) -> bool:
    """True if the method is still that of the package."""
    code = getattr(getattr(kind, method, None), "__code__", None)
    return code is None or code.co_filename.startswith(PACKAGE)
