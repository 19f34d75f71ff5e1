"""Runs scenarios with the furlong command, and opens, compares and reports runs."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import command, sources, toml
from .algorithm import Algorithm
from .callbacks import Callback, Callbacks
from .inline import Inline
from .problem import Problem
from .results import Comparison, Run, Sweep, Tuning

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
ClassName = Union[str, type, None]
#: Values of a key; of several keys that change together, tuples of values.
Grid = Mapping[Union[str, Tuple[str, ...]], Sequence[Any]]
Runs = Sequence[Union[Run, Sweep, str, "os.PathLike[str]"]]


def run(scenario: Scenario, *, set: Optional[Mapping[str, Any]] = None,
        out: Union[str, "os.PathLike[str]", None] = None, problem: ClassName = None, algorithm: ClassName = None,
        seed: Optional[int] = None, threads: Optional[int] = None, resume: bool = False,
        stop_after: Optional[int] = None, on_round: Callback = None, on_evaluation: Callback = None,
        trainer: str = "processes", progress: bool = True, accept_changed_code: bool = False) -> Run:
    """Runs a scenario and returns the run.

    scenario  a path, or a dict with the tables and keys of a scenario file
    set       keys to replace, such as {"algorithm.kind": "furl"}
    out       run directory (default runs/NAME-SEED)
    problem   a class derived from furlong.Problem in a Python file, or "file.py:Class"; replaces python.problem
    algorithm a class derived from furlong.Algorithm, or "file.py:Class"; replaces python.algorithm, and algorithm.kind
              by "python"
    seed      replaces scenario.seed
    threads   of the command (default: one per core)
    resume    continue the run in `out` from its checkpoint; without one, start it with a warning
    stop_after  evaluate and stop after this round; resume=True continues
    on_round  called with a dict after each round: a row of Run.rounds
    on_evaluation  called with a dict after each evaluation, for each group of clients: a row of Run.evaluations
    trainer   "inline": this process trains, so that breakpoints and classes of a notebook work
    progress  show the command's messages
    accept_changed_code  go on although files of the class have changed since the beginning

    Raises CommandError if the command fails, and Interrupted (a KeyboardInterrupt) after Ctrl-C. An exception of
    on_round or on_evaluation is a warning, once, and Stop stops the run: run.ended is then False.
    """
    if trainer not in ("processes", "inline"):
        raise ValueError(f'trainer={trainer!r} is none; write "processes" or "inline"')
    calls = Callbacks(on_round, on_evaluation)
    inline = trainer == "inline"
    classes = [one if isinstance(one, type) else None for one in (problem, algorithm)]
    beside = [calls, Inline(*classes)] if inline else [calls]
    with _file_of(scenario) as file:
        arguments = ["run", file, *_settings(set, problem, algorithm, accept_changed_code, inline)]
        if out is not None:
            arguments += ["--out", str(out)]
        if seed is not None:
            arguments += ["--seed", str(seed)]
        if threads is not None:
            arguments += ["--threads", str(threads)]
        if resume:
            arguments.append("--resume")
        if stop_after is not None:
            arguments += ["--stop-after", str(stop_after)]
        where = f"out={str(out)!r}, " if out is not None else ""
        hint = f"continue it with furlong.run(..., {where}resume=True)"
        command.run([*arguments, "--format", "json"], progress, hint, _hidden(scenario, file), beside,
                    stop_after is not None)
    assert calls.folder is not None  # the command has named it before the first round
    return open(calls.folder, *classes)


def sweep(scenario: Scenario, *, grid: Grid, seeds: Optional[Sequence[int]] = None,
          set: Optional[Mapping[str, Any]] = None, out: Union[str, "os.PathLike[str]"], problem: ClassName = None,
          algorithm: ClassName = None, jobs: Optional[int] = None, threads: Optional[int] = None, smoke: bool = False,
          progress: bool = True, accept_changed_code: bool = False) -> Sweep:
    """Runs a scenario for every combination of the values in `grid`, with each seed; finished runs are kept.

    grid      values by key; {("a.x", "a.y"): [(1, 10), (2, 20)]} changes two keys together
    jobs      runs at once (default: one per core)
    smoke     the scenario's small variant
    accept_changed_code  keep finished runs although files of the class have changed since

    Other arguments and errors as in run().
    """
    with _file_of(scenario) as file:
        arguments = ["sweep", file, *_settings(set, problem, algorithm, accept_changed_code), "--out", str(out),
                     *_grid(grid, seeds, jobs, threads, smoke)]
        command.run(arguments, progress, "call it again: finished runs are kept", _hidden(scenario, file))
    return Sweep(out)


def tune(scenario: Scenario, *, grid: Optional[Grid] = None,
         ranges: Optional[Mapping[str, Union[str, Sequence[float]]]] = None, samples: Optional[int] = None,
         metric: Optional[str] = None, budget: Optional[int] = None, factor: Optional[int] = None,
         seeds: Optional[Sequence[int]] = None, set: Optional[Mapping[str, Any]] = None,
         out: Union[str, "os.PathLike[str]"], problem: ClassName = None, algorithm: ClassName = None,
         jobs: Optional[int] = None, threads: Optional[int] = None, smoke: bool = False, progress: bool = True,
         accept_changed_code: bool = False) -> Tuning:
    """Finds the best of many settings by the validation clients, at a part of the cost (docs/tuning.md); an interrupted
    tuning goes on when it is called again.

    grid      every combination of these values, as in sweep()
    ranges    values drawn between two ends: (low, high), or "log:1e-3..1" for draws that are even in the logarithm
    samples   settings drawn from the ranges, for each combination of the grid (default 27)
    metric    "eval.validation.KEY" (default: the figure that evaluation.metric names)
    budget    rounds of all runs together (default: as many as let the best settings be trained whole)
    factor    every rung keeps the best of this many settings (default 3)
    accept_changed_code  go on although files of the class have changed since

    Other arguments and errors as in sweep().
    """
    with _file_of(scenario) as file:
        arguments = ["tune", file, *_settings(set, problem, algorithm, accept_changed_code), "--out", str(out),
                     *_grid(grid or {}, seeds, jobs, threads, smoke)]
        for key, ends in (ranges or {}).items():
            arguments += ["--range", f"{key}={ends if isinstance(ends, str) else '..'.join(_value(v) for v in ends)}"]
        for name, value in (("--samples", samples), ("--metric", metric), ("--budget", budget), ("--factor", factor)):
            if value is not None:
                arguments += [name, str(value)]
        command.run(arguments, progress, "call it again: it goes on where it was stopped", _hidden(scenario, file))
    return Tuning(out)


def compare(runs: Runs, *, metrics: Optional[Sequence[str]] = None,
            baseline: Optional[str] = None) -> Comparison:
    """Compares configurations: means over seeds with intervals, and differences paired by seed.

    runs      runs and sweeps, or their directories
    metrics   keys of summary.json, such as "eval.unseen.rmse" (default: all metrics of the evaluations)
    baseline  the label of a configuration, or a part of it (default: the first)

    Raises CommandError.
    """
    arguments = ["compare", *_paths(runs)]
    for key in metrics or ():
        arguments += ["--metric", key]
    if baseline is not None:
        arguments += ["--baseline", baseline]
    return Comparison(json.loads(command.output_of([*arguments, "--format", "json"])))


def write_report(runs: Union[Run, Sweep, Runs], *, out: Union[str, "os.PathLike[str]", None] = None,
                 embeddings: bool = False, clients: bool = False) -> Path:
    """Writes one HTML file about a run, or comparing several, and returns its path.

    runs        runs and sweeps, or their directories
    out         the file (default: report.html in the run, comparison.html beside several)
    embeddings  with a picture of the user embeddings: the file then shows private values
    clients     with the distribution of quality over clients: scores all clients of each run

    Raises CommandError.
    """
    one = isinstance(runs, (Run, Sweep, str, os.PathLike))
    arguments = ["report", *_paths([runs] if one else runs)]  # type: ignore[list-item, arg-type]
    if out is not None:
        arguments += ["--out", str(out)]
    arguments += [f"--{name}" for name, wanted in (("embeddings", embeddings), ("clients", clients)) if wanted]
    return Path(json.loads(command.output_of([*arguments, "--format", "json"]))["report"])


def open(path: Union[str, "os.PathLike[str]"], problem: Optional[type] = None,
         algorithm: Optional[type] = None) -> Run:
    """The run in a directory; of classes that were defined in a notebook or at the prompt with these. Raises
    FileNotFoundError."""
    given = problem, algorithm
    here_alone = any(one is not None and _file_of_class(one) is None for one in given)
    return Run(path, *(given if here_alone else ()))


def name_of(given: Union[str, type], base: type = Problem, inline: bool = False) -> str:
    """ "/path/file.py:Class" of a class derived from `base`, or of a relative name. For a trainer in this process, also
    of one that no file has: "/path/notebook:Class". Raises TypeError and ValueError."""
    what = base.__name__.lower()
    if isinstance(given, str):
        file, separator, name = given.rpartition(":")
        if not separator:
            raise ValueError(f'{what}={given!r} names no class; write "file.py:Class"')
        return f"{os.path.abspath(file)}:{name}"
    if not (isinstance(given, type) and issubclass(given, base)):
        raise TypeError(f"{what}={given!r} is no class derived from furlong.{base.__name__}; "
                        'pass the class or "file.py:Class"')
    file = _file_of_class(given)
    if file is None and inline:
        return f"{os.path.abspath(sources.CELLS)}:{given.__name__}"
    if file is None:
        where = "in a function" if "<locals>" in given.__qualname__ else "in a notebook or at the prompt"
        raise ValueError(f"class {given.__name__} is defined {where}, and the trainer processes import it from a "
                         f"file; move it to a file, such as {what}.py (in a notebook: %%writefile {what}.py), and "
                         f'pass {what}="{what}.py:{given.__name__}"; or let this process train: furlong.run(..., '
                         'trainer="inline")')
    return f"{os.path.abspath(file)}:{given.__qualname__}"


def _file_of_class(kind: type) -> Optional[str]:
    """The file that a process can import it from, or None."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file if file is not None and os.path.isfile(file) and "<locals>" not in kind.__qualname__ else None


@contextmanager
def _file_of(scenario: Scenario) -> Iterator[str]:
    """The path of a scenario file; a dict is written to a temporary one."""
    if not isinstance(scenario, Mapping):
        yield str(scenario)
        return
    tables = {k: dict(v) if isinstance(v, Mapping) else v for k, v in scenario.items()}
    python = tables.get("python")
    for name in ("problem", "algorithm") if isinstance(python, dict) else ():
        if isinstance(python.get(name), str):
            python[name] = name_of(python[name])  # relative to the working directory, not to the temporary file
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scenario.toml")
        file.write_text(toml.document(tables))
        yield str(file)


def _hidden(scenario: Scenario, file: str) -> Optional[str]:
    """The temporary file of a dict, which messages must not name."""
    return file if isinstance(scenario, Mapping) else None


def _settings(changes: Optional[Mapping[str, Any]], problem: ClassName, algorithm: ClassName,
              accept_changed_code: bool, inline: bool = False) -> List[str]:
    arguments = ["--accept-changed-code"] if accept_changed_code else []
    for key, value in (changes or {}).items():
        arguments += ["--set", f"{key}={_value(value)}"]
    if problem is not None:
        arguments += ["--set", f"python.problem={name_of(problem, inline=inline)}"]
    if algorithm is not None:
        name = name_of(algorithm, Algorithm, inline)
        arguments += ["--set", "algorithm.kind=python", "--set", f"python.algorithm={name}"]
    return arguments


def _paths(runs: Runs) -> List[str]:
    return [str(one.path if isinstance(one, (Run, Sweep)) else one) for one in runs]


def _grid(grid: Grid, seeds: Optional[Sequence[int]], jobs: Optional[int],
          threads: Optional[int], smoke: bool) -> List[str]:
    arguments: List[str] = []
    for keys, values in grid.items():
        if isinstance(keys, str):
            keys, values = (keys,), [(value,) for value in values]
        if any(not isinstance(row, (tuple, list)) or len(row) != len(keys) for row in values):
            raise ValueError(f"grid[{keys!r}] has entries that are no tuples of {len(keys)} values; write "
                             f"{{{keys!r}: [(...), (...)]}}, a value for each key")
        for option, key, column in zip(("--grid", *["--with"] * len(keys)), keys, zip(*values)):
            arguments += [option, f"{key}={','.join(map(_value, column))}"]
    if seeds is not None:
        arguments += ["--seeds", ",".join(str(s) for s in seeds)]
    for name, number in (("--jobs", jobs), ("--threads", threads)):
        if number is not None:
            arguments += [name, str(number)]
    return [*arguments, "--smoke"] if smoke else arguments


def _value(value: Any) -> str:
    """As --set and --grid take it: strings without quotes."""
    return value if isinstance(value, str) else toml.literal(value)
