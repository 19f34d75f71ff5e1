"""Figures of runs with matplotlib, for papers and notebooks: save them as PDF or SVG.

    furlong.plot.curves({"FURL": [run1, run2], "FedRecon": [run3, run4]}, "accuracy").savefig("accuracy.pdf")
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import matplotlib
import numpy
from matplotlib.figure import Figure

from .results import Run

Runs = Union[Run, Sequence[Run]]

#: Text stays text in PDF and SVG; sizes are those of a column of a paper.
STYLE = {
    "font.size": 8, "axes.labelsize": 8, "legend.fontsize": 7, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.linewidth": 0.4, "grid.alpha": 0.5,
    "lines.linewidth": 1.2, "legend.frameon": False, "pdf.fonttype": 42, "svg.fonttype": "none",
}
#: Colours that people with colour blindness tell apart (Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.", ":")


def curves(runs: Union[Mapping[str, Runs], Runs], metric: str = "loss", *, group: str = "seen", over: str = "round",
           size: Tuple[float, float] = (3.3, 2.2)) -> Figure:
    """A metric of the evaluations over rounds, a line for each entry of `runs`.

    Of several runs of an entry, such as those of several seeds, the line is the mean and the band one standard
    deviation (of the sample) to both sides. group: "seen", "unseen" or "validation". over: "round" or "time" (s, of the
    run's clock; of the first run where they differ). size: inches. Raises ValueError if a run has no such figures.
    """
    figure, axes = _figure(size)
    for style, (name, members) in zip(_styles(), _named(runs).items()):
        rows = [_evaluations(run, metric, group, over) for run in members]
        length = min(len(x) for x, _ in rows)
        x = rows[0][0][:length]
        values = numpy.array([y[:length] for _, y in rows])
        mean = values.mean(axis=0)
        axes.plot(x, mean, label=name, **style)
        if len(values) > 1:
            spread = values.std(axis=0, ddof=1)
            axes.fill_between(x, mean - spread, mean + spread, color=style["color"], alpha=0.2, linewidth=0)
    axes.set_xlabel("round" if over == "round" else "time in seconds")
    axes.set_ylabel(f"{metric} ({group} clients)" if group != "validation" else f"validation {metric}")
    return _finish(figure, axes)


def participation(runs: Union[Mapping[str, Runs], Runs], *, size: Tuple[float, float] = (3.3, 2.2)) -> Figure:
    """How unevenly clients take part: quantiles of updates per client (10 %, median, 90 %, maximum) and the mean."""
    figure, axes = _figure(size)
    places = ("p10", "p50", "mean", "p90", "max")
    _bars(axes, _named(runs), "participation", places)
    axes.set_ylabel("updates per client")
    return _finish(figure, axes)


def staleness(runs: Union[Mapping[str, Runs], Runs], *, size: Tuple[float, float] = (3.3, 2.2)) -> Figure:
    """Rounds since the private values of a client were trained: median, mean, 90 % and maximum at the run's end.

    Raises ValueError if a run keeps no private values."""
    figure, axes = _figure(size)
    _bars(axes, _named(runs), "private_staleness", ("p50", "mean", "p90", "max"))
    axes.set_ylabel("rounds")
    return _finish(figure, axes)


class Live:
    """A figure that grows while a run computes: ``furlong.run(..., on_evaluation=furlong.plot.Live("accuracy"))`` draws a
    line for each group of clients that has the metric, and with on_round the training loss. In a notebook it is shown
    below the cell, and drawn anew at each call; elsewhere `figure` is what there is.

    size: inches."""

    def __init__(self, metric: str = "loss", *, size: Tuple[float, float] = (3.3, 2.2)) -> None:
        self.figure, self._axes = _figure(size)
        self._metric = metric
        self._lines: Dict[str, Any] = {}
        self._shown: Any = None
        self._axes.set_xlabel("round")
        self._axes.set_ylabel(metric)

    def __call__(self, row: Mapping[str, Any]) -> None:
        value = row.get(self._metric)
        if value is None:
            return
        name = row.get("group", "training")
        if name not in self._lines:
            style = _styles()[len(self._lines)]
            self._lines[name] = self._axes.plot([], [], label=name, marker=".", **style)[0]
            _finish(self.figure, self._axes)
        x, y = self._lines[name].get_data()
        self._lines[name].set_data([*x, row["round"]], [*y, value])
        self._axes.relim()
        self._axes.autoscale_view()
        self._show()

    def _show(self) -> None:
        """In a notebook."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if not hasattr(shell, "kernel"):
            return
        from IPython.display import Image, display

        picture = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            self.figure.savefig(picture, format="png", dpi=150)
        image = Image(picture.getvalue(), format="png", width=int(72 * 1.5 * self.figure.get_figwidth()))
        if self._shown is None:
            self._shown = display(image, display_id=True)
        else:
            self._shown.update(image)


def save(figure: Figure, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes a figure; the ending of the name, .pdf, .svg or .png, is the format. Equal figures give equal bytes."""
    name = str(path)
    metadata: Optional[Dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(name[-4:])
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": "furlong"}):
        figure.savefig(name, metadata=metadata, bbox_inches="tight")


def _named(runs: Union[Mapping[str, Runs], Runs]) -> Dict[str, List[Run]]:
    if isinstance(runs, Run):
        runs = [runs]
    if not isinstance(runs, Mapping):
        named: Dict[str, List[Run]] = {}
        for run in runs:
            named.setdefault(run.summary["algorithm"], []).append(run)
        return named
    return {name: [members] if isinstance(members, Run) else list(members) for name, members in runs.items()}


def _evaluations(run: Run, metric: str, group: str, over: str) -> Tuple[List[float], List[float]]:
    rows = run.evaluations
    rows = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
    found = [row for row in rows if row["group"] == group]
    # A frame has NaN where a row has no such figure.
    found = [row for row in found if row.get(metric) is not None and row[metric] == row[metric]]
    if not found:
        there = sorted({key for row in rows for key in row} - {"round", "time", "group", "examples", "clients", "unscored"})
        groups = sorted({row["group"] for row in rows})
        raise ValueError(f"{run.path} has no {metric} of {group} clients; it has {', '.join(there) or 'no figures'} of "
                         f"{', '.join(groups) or 'no clients'}")
    return [row[over] for row in found], [row[metric] for row in found]


def _bars(axes: Any, runs: Dict[str, List[Run]], table: str, places: Sequence[str]) -> None:
    width = 0.8 / max(len(runs), 1)
    for number, (style, (name, members)) in enumerate(zip(_styles(), runs.items())):
        values = []
        for run in members:
            if table not in run.summary:
                raise ValueError(f"{run.path}/summary.json has no {table}")
            values.append([run.summary[table][place] for place in places])
        mean = numpy.mean(values, axis=0)
        spread = numpy.std(values, axis=0, ddof=1) if len(values) > 1 else None
        x = numpy.arange(len(places)) + (number - (len(runs) - 1) / 2) * width
        axes.bar(x, mean, width, yerr=spread, label=name, color=style["color"], error_kw={"linewidth": 0.8})
    labels = {"p10": "10 %", "p50": "median", "p90": "90 %"}
    axes.set_xticks(range(len(places)), [labels.get(place, place) for place in places])


def _styles() -> List[Dict[str, Any]]:
    return [{"color": colour, "linestyle": line} for line in _LINES for colour in COLOURS]


def _figure(size: Tuple[float, float]) -> Tuple[Figure, Any]:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="tight")
        return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Any) -> Figure:
    axes.set_axisbelow(True)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(fontsize=STYLE["legend.fontsize"], frameon=False)
    return figure
