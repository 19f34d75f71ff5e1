"""What is in the directories of runs, sweeps and tunings, as frames and arrays."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy

from . import command
from .inline import Inline


class Run:
    """A run directory. Files are read when they are asked for; frames are pandas DataFrames where pandas is installed,
    else lists of dicts."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], problem: Optional[type] = None,
                 algorithm: Optional[type] = None) -> None:
        self.path = Path(path)
        self._classes = problem, algorithm  # that only this process has
        if not (self.path / "scenario.toml").is_file():
            raise FileNotFoundError(f"{self.path} is no run directory: it has no scenario.toml")

    def __repr__(self) -> str:
        return f"furlong.open({str(self.path)!r})"

    @property
    def ended(self) -> bool:
        """Whether it has all its rounds, or has failed: a run that was stopped, or is at work, has no summary."""
        return (self.path / "summary.json").is_file()

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
        return _frame([round_row(line) for line in self._lines("metrics.jsonl")])

    @property
    def evaluations(self) -> Any:
        """One row for each evaluation and group of clients: round, time (s, of the run's clock), group, figures."""
        return _frame([row for line in self._lines("metrics.jsonl") for row in evaluation_rows(line)])

    @property
    def events(self) -> Any:
        """One row for each line of events.jsonl."""
        return _frame(self._lines("events.jsonl"))

    @property
    def clients(self) -> Any:
        """One row for each client: participation, losses and metrics of its scored examples with the final model, its
        device (furlong export --clients). Scores all clients each time."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "clients.csv")
            self._ask(["export", str(self.path), "--clients", str(file)])
            return _frame(_rows(file.read_text(), text=("name",)))

    @property
    def cohorts(self) -> Any:
        """One row for each task: round, client, and the round whose model has its update, if any (furlong export
        --cohorts)."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cohorts.csv")
            self._ask(["export", str(self.path), "--cohorts", str(file)])
            return _frame(_rows(file.read_text()))

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
        stored = json.loads(self._ask(["store", "show", str(self.path), "--client", str(client), "--format",
                                               "json"]))["tensors"]
        exported = self._export("--model", "--client", str(client))  # the store has no shapes
        return {name: exported[name] for name in stored}

    def predict(self, client: int, *arguments: str) -> Any:
        """What ``furlong infer RUN --client ID --format json`` prints; `arguments` are further ones."""
        return json.loads(self._ask(["infer", str(self.path), "--client", str(client), *arguments,
                                             "--format", "json"]))

    def export(self, **files: Union[str, "os.PathLike[str]"]) -> None:
        """``furlong export RUN --NAME FILE`` for each: model and groups (.npz or .safetensors), curves, predictions,
        recommendations, split, clients, cohorts (CSV), tensorboard (a folder)."""
        self._ask(["export", str(self.path), *(a for k, v in files.items() for a in (f"--{k}", str(v)))])

    def _export(self, option: str, *arguments: str) -> Dict[str, numpy.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "values.npz")
            self._ask(["export", str(self.path), option, str(file), *arguments])
            with numpy.load(file) as arrays:
                return {name: arrays[name] for name in arrays.files}

    def _ask(self, arguments: Sequence[str]) -> str:
        """The standard output of a command, which opens the class."""
        return command.output_of(arguments, [Inline(*self._classes)] if any(self._classes) else [])

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
        return _frame(_rows((self.path / "sweep.csv").read_text()))


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


def round_row(line: Mapping[str, Any]) -> Dict[str, Any]:
    """A line of metrics.jsonl without its evaluation; what t.metric() counted by "metrics.NAME"."""
    row = {key: value for key, value in line.items() if key not in ("eval", "metrics")}
    return {**row, **{f"metrics.{name}": value for name, value in line.get("metrics", {}).items()}}


def evaluation_rows(line: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The evaluation of a line of metrics.jsonl, if it has one: a row for each group of clients."""
    return [{"round": line["round"], "time": line.get("ended"), "group": group,
             **{key: value for key, value in figures.items() if not isinstance(value, (list, dict))}}
            for group, figures in line.get("eval", {}).items()]


def _frame(rows: List[Dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _rows(table: str, text: Sequence[str] = ()) -> List[Dict[str, Any]]:
    """Those of a CSV file, with numbers but in the columns `text`; None where there is nothing."""
    return [{name: value if name in text else _number(value) for name, value in row.items()}
            for row in csv.DictReader(io.StringIO(table))]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None
