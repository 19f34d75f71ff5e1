"""Digests of the source files of a class: changed code is refused when a run goes on."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import linecache
import os
import sys
import tempfile
import time
from types import CodeType, FunctionType, ModuleType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

from .errors import LIBRARIES, PACKAGE

_STARTED = time.time() - 0.02  # the times of files are those of the clock's last tick
#: In the place of a file's name: the cells of a notebook.
CELLS = "notebook"


def digests(file: str, *further: str, of: Optional[Sequence[type]] = None) -> Dict[str, str]:
    """SHA-256 of each imported file of the user: the sources, wherever they are, and all else in or below the folder of
    the problem's file. By names from there; not those of libraries and of this package, but for the given files.

    of  in a process that has imported more: the classes, whose code and imports count
    """
    own, given = os.path.abspath(file), {os.path.abspath(one) for one in (file, *further)}
    found: Dict[str, str] = {}
    used = _Used(of) if of is not None else None
    for module in list(sys.modules.values()) if used is None else used.modules:
        source = getattr(module, "__file__", None)
        if not isinstance(source, str):
            continue
        source = os.path.abspath(source)
        steps = os.path.relpath(source, os.path.dirname(own)).split(os.sep)
        if not os.path.isfile(source) or (_is_of_library(source, steps) and source not in given):
            continue
        if steps[0] == os.pardir and (not source.endswith(".py") or _is_generated(source)):
            continue
        with open(source, "rb") as stream:
            found["/".join(steps)] = hashlib.sha256(stream.read()).hexdigest()
    if used is not None and used.cells:
        text = "".join(sorted("".join(linecache.getlines(name)) for name in used.cells))
        found[CELLS] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return dict(sorted(found.items()))


def _is_of_library(source: str, steps: Sequence[str]) -> bool:
    return source.startswith((PACKAGE, *LIBRARIES)) or "site-packages" in steps or "dist-packages" in steps


def _is_generated(source: str) -> bool:
    """Whether a library has written this file for the process, as torch.distributed.nn does, by another name each
    time."""
    return source.startswith(os.path.join(tempfile.gettempdir(), "")) and os.stat(source).st_mtime >= _STARTED


class _Used:
    """What the code of classes is in, and what it imports or names: modules, and cells of notebooks."""

    def __init__(self, kinds: Sequence[type]) -> None:
        self.modules: List[ModuleType] = []
        self.cells: Set[str] = set()
        self._seen: Set[int] = set()
        for kind in kinds:
            self._add(kind)

    def _add(self, value: Any) -> None:
        """A module, class or function."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        module = value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
        file = getattr(module, "__file__", None)
        if module is None or module.__name__ in sys.builtin_module_names:
            return
        if file is not None and os.path.isfile(file):
            if not _is_of_library(file, file.split(os.sep)):
                self._add_module(module)
        elif not isinstance(value, ModuleType):
            self._add_from_cell(value, vars(module))

    def _add_module(self, module: ModuleType) -> None:
        if module in self.modules:
            return
        self.modules.append(module)
        for name in _imported(module):
            if name in sys.modules:
                self._add(sys.modules[name])

    def _add_from_cell(self, value: Any, names: Dict[str, Any]) -> None:
        """A class or function that has no file, with what it names."""
        if isinstance(value, type):
            for base in value.__mro__[1:]:
                self._add(base)
            functions = [getattr(one, "__func__", getattr(one, "fget", one)) for one in vars(value).values()]
        else:
            functions = [value]
        for function in functions:
            if isinstance(function, FunctionType):
                self.cells.add(function.__code__.co_filename)
                for name in _names(function.__code__):
                    if isinstance(names.get(name), (ModuleType, type, FunctionType)):
                        self._add(names[name])


def _names(code: CodeType) -> Iterator[str]:
    """Global names that it uses, also in functions within."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _imported(module: ModuleType) -> Iterator[str]:
    """Names of the modules that a source file imports, with some that are none."""
    source = module.__file__ or ""
    if not source.endswith(".py"):
        return
    with open(source, "rb") as stream:
        nodes = list(ast.walk(ast.parse(stream.read())))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if node.level:
                name = importlib.util.resolve_name(name, module.__package__)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)
