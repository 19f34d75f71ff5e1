"""Runs scenarios with the furlong command and reads run directories."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import numpy

from . import command, toml
from .algorithm import Algorithm
from .problem import Problem

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
ClassName = Union[str, type, None]


class Run:
    """A run directory. Files are read when they are asked for; frames are pandas DataFrames where pandas is installed,
    else lists of dicts."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = Path(path)
        if not (self.path / "scenario.toml").is_file():
            raise FileNotFoundError(f"{self.path} is no run directory: it has no scenario.toml")

    def __repr__(self) -> str:
        return f"furlong.open({str(self.path)!r})"

    @property
    def summary(self) -> Dict[str, Any]:
        """summary.json. Raises FileNotFoundError if the run has not ended."""
        file = self.path / "summary.json"
        if not file.is_file():
            raise FileNotFoundError(f"{file} is not there: the run has not ended; continue it with resume=True")
        return json.loads(file.read_text())

    @property
    def rounds(self) -> Any:
        """One row for each round: metrics.jsonl without evaluations."""
        return _frame([{k: v for k, v in row.items() if k != "eval"} for row in self._lines("metrics.jsonl")])

    @property
    def evaluations(self) -> Any:
        """One row for each evaluation and group of clients: round, time (s, of the run's clock), group, figures."""
        rows = []
        for row in self._lines("metrics.jsonl"):
            for group, figures in row.get("eval", {}).items():
                plain = {k: v for k, v in figures.items() if not isinstance(v, (list, dict))}
                rows.append({"round": row["round"], "time": row.get("ended"), "group": group, **plain})
        return _frame(rows)

    @property
    def events(self) -> Any:
        """One row for each line of events.jsonl."""
        return _frame(self._lines("events.jsonl"))

    def model(self) -> Dict[str, numpy.ndarray]:
        """The shared parameters by name, float32; of a PyTorch module all entries of its state_dict() that are not
        private."""
        return self._export("--model")

    def groups(self) -> Dict[str, numpy.ndarray]:
        """What the server has of the algorithm's groups (broadcast and shared ones), by KIND/GROUP/TENSOR: of a group
        with a shape "python/GROUP/values". Raises CommandError if there are none."""
        return self._export("--groups")

    def private(self, client: int) -> Dict[str, numpy.ndarray]:
        """The private parameters that a client has in the store, by name. Raises CommandError if it has none."""
        stored = json.loads(command.output_of(["store", "show", str(self.path), "--client", str(client), "--format",
                                               "json"]))["tensors"]
        exported = self._export("--model", "--client", str(client))  # the store has no shapes
        return {name: exported[name] for name in stored}

    def predict(self, client: int, *arguments: str) -> Any:
        """What ``furlong infer RUN --client ID --format json`` prints; `arguments` are further ones."""
        return json.loads(command.output_of(["infer", str(self.path), "--client", str(client), *arguments,
                                             "--format", "json"]))

    def export(self, **files: Union[str, "os.PathLike[str]"]) -> None:
        """``furlong export RUN --NAME FILE`` for each: model and groups (.npz or .safetensors), curves, predictions, split (CSV),
        tensorboard (a folder)."""
        command.output_of(["export", str(self.path), *(a for k, v in files.items() for a in (f"--{k}", str(v)))])

    def _export(self, option: str, *arguments: str) -> Dict[str, numpy.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "values.npz")
            command.output_of(["export", str(self.path), option, str(file), *arguments])
            with numpy.load(file) as arrays:
                return {name: arrays[name] for name in arrays.files}

    def _lines(self, name: str) -> List[Dict[str, Any]]:
        file = self.path / name
        if not file.is_file():
            return []
        # The last line of a run that is at work may be incomplete.
        return [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


class Sweep:
    """The folder of a sweep: `runs` by name, and `table`, one row for each combination of values."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = Path(path)
        self.runs = {p.parent.name: Run(p.parent) for p in sorted(self.path.glob("*/summary.json"))}

    @property
    def table(self) -> Any:
        """sweep.csv."""
        text = (self.path / "sweep.csv").read_text()
        return _frame([{k: _number(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))])


class Tuning:
    """The folder of a tuning: tune.json in `data`, and `runs` by name; frames as those of a Run."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = Path(path)
        self.data: Dict[str, Any] = json.loads((self.path / "tune.json").read_text())
        self.runs = {p.parent.name: Run(p.parent) for p in sorted(self.path.glob("*/summary.json"))}

    def __repr__(self) -> str:
        return f"<furlong.Tuning of {self.data['scenario']}: {len(self.data['settings'])} settings>"

    @property
    def best(self) -> Dict[str, Any]:
        """The best setting: its values by key of the scenario. Raises KeyError if the tuning has not ended."""
        return self.data["best"]["grid"]

    @property
    def scenario(self) -> Path:
        """The file of a scenario with the best setting, for run()."""
        return self.path / "best.toml"

    @property
    def table(self) -> Any:
        """One row for each setting, the best first: rank, its values by key, rounds of each of its runs, and figure: the
        mean over the seeds of the metric (None: without a usable result)."""
        return _frame([{"rank": one["rank"], **one["grid"], "rounds": one["rounds"], "figure": one["figure"]}
                       for one in sorted(self.data["settings"], key=lambda one: one["rank"])])


class Comparison:
    """What ``furlong compare --format json`` prints, in `data`. Runs that differ in the seed alone are one
    configuration; frames as those of a Run."""

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<furlong.Comparison of {', '.join(one['label'] for one in self.data['configurations'])}>"

    @property
    def baseline(self) -> str:
        """The label of the configuration that the others are compared with."""
        return self.data["baseline"]

    @property
    def table(self) -> Any:
        """One row for each figure and configuration: n, mean, sd (of the sample), low and high (95 % interval by
        Student's t), and best: whether it is better than each other one in the interval of the paired difference."""
        return _frame([{"figure": figure["figure"], "configuration": one["label"],
                        **{k: one[k] for k in ("n", "mean", "sd", "low", "high")},
                        "best": figure["best"] == one["label"]}
                       for figure in self.data["figures"] for one in figure["configurations"]])

    @property
    def differences(self) -> Any:
        """One row for each figure and configuration but the baseline: the differences from the baseline within the
        seeds that both have, as n, mean, sd, low, high and excludes_zero."""
        return _frame([{"figure": figure["figure"], "configuration": one["label"], "baseline": self.baseline,
                        **one["difference"]}
                       for figure in self.data["figures"] for one in figure["configurations"] if "difference" in one])

    @property
    def values(self) -> Any:
        """One row for each figure and run that counts: configuration, seed, value."""
        return _frame([{"figure": figure["figure"], "configuration": one["label"], **value}
                       for figure in self.data["figures"] for one in figure["configurations"]
                       for value in one["values"]])


def run(scenario: Scenario, *, set: Optional[Mapping[str, Any]] = None,
        out: Union[str, "os.PathLike[str]", None] = None, problem: ClassName = None, algorithm: ClassName = None,
        seed: Optional[int] = None, threads: Optional[int] = None, resume: bool = False,
        progress: bool = True, accept_changed_code: bool = False) -> Run:
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
    progress  show the command's messages
    accept_changed_code  go on although files of the class have changed since the beginning

    Raises CommandError if the command fails, and Interrupted (a KeyboardInterrupt) after Ctrl-C.
    """
    with _file_of(scenario) as file:
        arguments = ["run", file, *_settings(set, problem, algorithm, accept_changed_code)]
        if out is not None:
            arguments += ["--out", str(out)]
        if seed is not None:
            arguments += ["--seed", str(seed)]
        if threads is not None:
            arguments += ["--threads", str(threads)]
        if resume:
            arguments.append("--resume")
        where = f"out={str(out)!r}, " if out is not None else ""
        hint = f"continue it with furlong.run(..., {where}resume=True)"
        summary = json.loads(command.run([*arguments, "--format", "json"], progress, hint, _hidden(scenario, file)))
    return Run(out if out is not None else Path("runs", f"{summary['scenario']}-{summary['seed']}"))


def sweep(scenario: Scenario, *, grid: Mapping[str, Sequence[Any]], seeds: Optional[Sequence[int]] = None,
          set: Optional[Mapping[str, Any]] = None, out: Union[str, "os.PathLike[str]"], problem: ClassName = None,
          algorithm: ClassName = None, jobs: Optional[int] = None, threads: Optional[int] = None, smoke: bool = False,
          progress: bool = True, accept_changed_code: bool = False) -> Sweep:
    """Runs a scenario for every combination of the values in `grid`, with each seed; finished runs are kept.

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


def tune(scenario: Scenario, *, grid: Optional[Mapping[str, Sequence[Any]]] = None,
         ranges: Optional[Mapping[str, Union[str, Sequence[float]]]] = None, samples: Optional[int] = None,
         metric: Optional[str] = None, budget: Optional[int] = None, factor: Optional[int] = None,
         seeds: Optional[Sequence[int]] = None, set: Optional[Mapping[str, Any]] = None,
         out: Union[str, "os.PathLike[str]"], problem: ClassName = None, algorithm: ClassName = None,
         jobs: Optional[int] = None, threads: Optional[int] = None, smoke: bool = False, progress: bool = True,
         accept_changed_code: bool = False) -> Tuning:
    """Finds the best of many settings by the validation clients, at a part of the cost (docs/tuning.md); an interrupted
    tuning goes on when it is called again.

    grid      every combination of these values
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


def compare(runs: Sequence[Union[Run, Sweep, str, "os.PathLike[str]"]], *, metrics: Optional[Sequence[str]] = None,
            baseline: Optional[str] = None) -> Comparison:
    """Compares configurations: means over seeds with intervals, and differences paired by seed.

    runs      runs and sweeps, or their directories
    metrics   keys of summary.json, such as "eval.unseen.rmse" (default: all metrics of the evaluations)
    baseline  the label of a configuration, or a part of it (default: the first)

    Raises CommandError.
    """
    arguments = ["compare", *(str(one.path if isinstance(one, (Run, Sweep)) else one) for one in runs)]
    for key in metrics or ():
        arguments += ["--metric", key]
    if baseline is not None:
        arguments += ["--baseline", baseline]
    return Comparison(json.loads(command.output_of([*arguments, "--format", "json"])))


def open(path: Union[str, "os.PathLike[str]"]) -> Run:
    """The run in a directory. Raises FileNotFoundError."""
    return Run(path)


def name_of(given: Union[str, type], base: type = Problem) -> str:
    """ "/path/file.py:Class" of a class derived from `base`, or of a relative name. Raises TypeError and ValueError."""
    what = base.__name__.lower()
    if isinstance(given, str):
        file, separator, name = given.rpartition(":")
        if not separator:
            raise ValueError(f'{what}={given!r} names no class; write "file.py:Class"')
        return f"{os.path.abspath(file)}:{name}"
    if not (isinstance(given, type) and issubclass(given, base)):
        raise TypeError(f"{what}={given!r} is no class derived from furlong.{base.__name__}; "
                        'pass the class or "file.py:Class"')
    module = sys.modules.get(given.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not os.path.isfile(file) or "<locals>" in given.__qualname__:
        where = "in a function" if "<locals>" in given.__qualname__ else "in a notebook or at the prompt"
        raise ValueError(f"class {given.__name__} is defined {where}, and the trainer processes import it from a "
                         f"file; move it to a file, such as {what}.py (in a notebook: %%writefile {what}.py), and "
                         f'pass {what}="{what}.py:{given.__name__}"')
    return f"{os.path.abspath(file)}:{given.__qualname__}"


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
              accept_changed_code: bool) -> List[str]:
    arguments = ["--accept-changed-code"] if accept_changed_code else []
    for key, value in (changes or {}).items():
        arguments += ["--set", f"{key}={_value(value)}"]
    if problem is not None:
        arguments += ["--set", f"python.problem={name_of(problem)}"]
    if algorithm is not None:
        arguments += ["--set", "algorithm.kind=python", "--set", f"python.algorithm={name_of(algorithm, Algorithm)}"]
    return arguments


def _grid(grid: Mapping[str, Sequence[Any]], seeds: Optional[Sequence[int]], jobs: Optional[int],
          threads: Optional[int], smoke: bool) -> List[str]:
    arguments: List[str] = []
    for key, values in grid.items():
        arguments += ["--grid", f"{key}={','.join(_value(v) for v in values)}"]
    if seeds is not None:
        arguments += ["--seeds", ",".join(str(s) for s in seeds)]
    for name, number in (("--jobs", jobs), ("--threads", threads)):
        if number is not None:
            arguments += [name, str(number)]
    return [*arguments, "--smoke"] if smoke else arguments


def _value(value: Any) -> str:
    """As --set and --grid take it: strings without quotes."""
    return value if isinstance(value, str) else toml.literal(value)


def _frame(rows: List[Dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
