"""The study of docs/sparse-participation.md: which algorithms with state on the clients pay, if clients take part rarely?

Each seed is an experiment by itself: it draws the split, chooses the settings of each algorithm by its validation figures
at p = TUNED_AT without dropout, trains with these at every p and rate of dropout, and reads the test figures once.
"""
import itertools
import math
from dataclasses import dataclass, field

import figure
from intervals import mean_interval
from sweeps import Sweep, toml
from tables import bins, number, sections, select, table, text, values_of

SIZES = ("full", "reduced", "smoke")
DATA = ("ml-1m", "furl-openstack")
TUNED_AT = 3
RATES = (0, 50)  # dropout, percent of the tasks
REFERENCES = ("furl", "fedrecon")  # of the paired differences
RATING_RANGE = 4.0  # from 1 to 5 stars


@dataclass(frozen=True)
class Size:
    clients: int  # that train
    rounds: int
    settings: dict
    words: str
    start_ms: float  # CPU of a run beside its tasks, measured
    slowness: float = 1.0  # of a task, compared with the full size
    left_out: dict = field(default_factory=dict)  # algorithm: participations that would cost too much


SMOKE = Size(0, 3, {}, "a few", 100)
TEXTS = Size(180, 60, {"data.max_users": 200}, "reduced: the first 200 of the 746 users, 180 of them train", 400)


@dataclass(frozen=True)
class Data:
    """A round asks `cohort` p clients; `clients` is about `cohort` times the rounds."""
    title: str
    kind: str  # ratings or texts
    participations: tuple
    cohort: int
    sizes: dict
    best: tuple = ()  # a figure that no model can beat, and its name

    @property
    def metric(self):
        return {"ratings": "rmse", "texts": "accuracy"}[self.kind]


DATA_SETS = {
    "ml-1m": Data("MovieLens-1M", "ratings", (30, 10, 3, 1, 0.5), 10, {
        "full": Size(5436, 544, {}, "all 6,040 users, 5,436 of them train; SCAFFOLD not at p = 30", 250,
                     left_out={"scaffold": (30,)}),
        "reduced": Size(906, 91, {"data.unseen_users.test": 0.85, "model.rank": 10},
                        "906 of the 6,040 users train, all others are unseen; rank 10; SCAFFOLD not at p = 30", 250, 0.6,
                        {"scaffold": (30,)}),
        "smoke": SMOKE}),
    "synthetic": Data("Synthetic ratings", "ratings", (30, 10, 3, 1, 0.5), 10, {
        "full": Size(3600, 360, {}, "4,000 users, 3,600 of them train", 200),
        "reduced": Size(900, 90, {"data.users": 1000}, "1,000 users, 900 of them train", 100),
        "smoke": SMOKE},
        best=(0.6, "noise: no model is better")),
    "texts": Data("Subject lines (furl-openstack)", "texts", (10, 3, 1), 3, {
        "full": TEXTS, "reduced": TEXTS, "smoke": SMOKE}),
}

LR, REBUILD = "algorithm.client.lr", "algorithm.reconstruction."
SIX = {"ratings": (0.01, 0.02, 0.04, 0.08, 0.16, 0.32), "texts": (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)}
THREE = {"ratings": (0.02, 0.06, 0.18), "texts": (0.1, 0.3, 0.9)}
TWO = {"ratings": (0.03, 0.1), "texts": (0.15, 0.5)}
RIDGES, REBUILD_LRS = (0.05, 0.15), (0.15, 0.5)  # per rating; of texts
PLAIN_SERVER = {"algorithm.server": {"optimizer": "sgd", "lr": 1.0}}


@dataclass(frozen=True)
class Algorithm:
    """Settings on top of the data's scenario, and the values that are tried; each by the kind of data. The settings of
    None are those of both kinds; a kind without an entry in `tried` is left out."""
    name: str
    style: tuple  # in figures
    settings: dict
    tried: dict
    task_ms: tuple  # CPU of a task, measured: ml-1m, synthetic, texts

    def settings_for(self, kind):
        return {**self.settings.get(None, {}), **self.settings.get(kind, {})}


def both(grid):
    """A grid whose values are given for each kind, or are the same for both."""
    return {kind: {key: values[kind] if isinstance(values, dict) else values for key, values in grid.items()}
            for kind in ("ratings", "texts")}


def rebuilding(lrs=THREE):
    """A learning rate, and one setting of the reconstruction: ridge regression of ratings, SGD of texts."""
    return {"ratings": {LR: lrs["ratings"], REBUILD + "ridge": RIDGES},
            "texts": {LR: lrs["texts"], REBUILD + "lr": REBUILD_LRS}}


# Six combinations are tried for each: the learning rate of the clients alone, or with the one setting of its own that the
# algorithm depends on most.
ALGORITHMS = {
    "fedavg": Algorithm("FedAvg", ("#666666", "cross"), {None: {"algorithm.kind": "fedavg"}}, both({LR: SIX}),
                        (0.08, 0.015, 1.3)),
    "fedavg-tuned": Algorithm("FedAvg, fine-tuned", ("#cc79a7", "plus"), {
        None: {"algorithm.kind": "fedavg"}, "ratings": {"evaluation.reconstruct": ["user", "user_bias"]},
        "texts": {"evaluation.reconstruct": ["output", "output_bias"]}}, rebuilding(), (0.07, 0.015, 1.3)),
    "furl": Algorithm("FURL", ("#d55e00", "square"), {None: {"algorithm.kind": "furl"}}, both({LR: SIX}),
                      (0.1, 0.033, 1.4)),
    "furl-cold-start": Algorithm("FURL + cold start", ("#b8860b", "diamond"), {
        None: {"algorithm.kind": "furl", "private.cold_start": "reconstruct"}}, rebuilding(), (0.11, 0.033, 1.6)),
    "fedsim": Algorithm("FedSim", ("#e69f00", "triangle"), {None: {"algorithm.kind": "furl"}},
                        both({LR: TWO, "algorithm.furl.private_lr": THREE}), (0.08, 0.033, 1.4)),
    "fedalt": Algorithm("FedAlt", ("#e69f00", "circle"), {
        None: {"algorithm.kind": "fedalt", "algorithm.fedalt.private_epochs": 2}},
                        both({LR: TWO, "algorithm.fedalt.private_lr": THREE}), (0.1, 0.033, 2.1)),
    "fedrep": Algorithm("FedRep", ("#d55e00", "plus"), {
        None: {"algorithm.kind": "fedrep", "algorithm.fedrep.head_epochs": 10, "algorithm.client.epochs": 1}},
                        both({LR: SIX}), (0.11, 0.05, 4.2)),
    "fedbabu": Algorithm("FedBABU", ("#56b4e9", "square"), {None: {"algorithm.kind": "fedbabu"}}, rebuilding(),
                         (0.05, 0.02, 1.1)),
    "fedrecon": Algorithm("FedRecon", ("#0072b2", "circle"), {
        None: {"algorithm.kind": "fedrecon", REBUILD + "split": False}}, rebuilding(), (0.06, 0.02, 2.7)),
    "als": Algorithm("ALS", ("#000000", "diamond"), {
        "ratings": {"algorithm.kind": "als", REBUILD + "ridge_per_example": False, **PLAIN_SERVER}}, {
        "ratings": {REBUILD + "ridge": (2.0, 6.0, 18.0), "algorithm.als.ridge_per_rating": (0.05, 0.2)}},
                     (0.5, 0.05, 0.0)),
    "ditto": Algorithm("Ditto", ("#009e73", "square"), {None: {"algorithm.kind": "ditto"}},
                       both({LR: THREE, "algorithm.ditto.lambda": (0.1, 1.0)}), (0.64, 0.11, 5.5)),
    "pfedme": Algorithm("pFedMe", ("#009e73", "triangle"), {
        None: {"algorithm.kind": "pfedme", "algorithm.pfedme.outer_lr": 0.05}},
                        both({LR: THREE, "algorithm.pfedme.lambda": (1.0, 15.0)}), (1.15, 0.115, 9.0)),
    "apfl": Algorithm("APFL", ("#009e73", "cross"), {None: {"algorithm.kind": "apfl"}}, both({LR: SIX}),
                      (0.8, 0.115, 5.4)),
    "scaffold": Algorithm("SCAFFOLD", ("#7b3294", "diamond"), {
        None: {"algorithm.kind": "scaffold", "private.layout": "per-client"}}, both({LR: SIX}), (6.0, 0.3, 5.0)),
    "feddyn": Algorithm("FedDyn", ("#7b3294", "circle"), {None: {"algorithm.kind": "feddyn", **PLAIN_SERVER}},
                        both({LR: THREE, "algorithm.feddyn.alpha": (0.1, 1.0)}), (0.64, 0.11, 3.0)),
}


def algorithms_for(data):
    return {key: one for key, one in ALGORITHMS.items() if data.kind in one.tried}


# ---- runs ------------------------------------------------------------------------------------------------------------


def dropout_of(rate):
    """Two stages with the same probability each: while training, and while sending the update."""
    stage = round(1 - (1 - rate / 100) ** 0.5, 6)
    return {"train": stage, "upload": stage}


RATE_OF = {toml(dropout_of(rate)): rate for rate in RATES}


class Experiment:
    """One algorithm on one data set."""

    def __init__(self, data_key, algorithm_key, size):
        self.data_key, self.data = data_key, DATA_SETS[data_key]
        self.algorithm_key, self.algorithm = algorithm_key, ALGORITHMS[algorithm_key]
        self.size = size
        self.seeds = (1, 2) if size == "smoke" else (1, 2, 3)

    def sweep(self, name, participations, seeds, settings, grid):
        size = self.data.sizes[self.size]
        cohorts = [round(self.data.cohort * p) for p in participations]
        points = len(seeds) * math.prod(len(values) for values in grid.values())
        task_ms = self.algorithm.task_ms[list(DATA_SETS).index(self.data_key)]
        return Sweep(f"sparse-participation/{self.data_key}.toml", f"{self.data_key}/{self.algorithm_key}/{name}",
                     {"data": self.data_key, "algorithm": self.algorithm_key},
                     {"participation.per_round": cohorts, **grid}, seeds,
                     {"scenario.rounds": size.rounds, **size.settings, **self.algorithm.settings_for(self.data.kind),
                      **settings},
                     smoke=self.size == "smoke", may_diverge=True, group=f"{self.data_key}, {self.algorithm.name}",
                     cpu_seconds=points * (sum(cohorts) * size.rounds * task_ms * size.slowness
                                           + len(cohorts) * size.start_ms) / 1000)

    def tuning(self):
        grid = self.algorithm.tried[self.data.kind]
        if self.size == "smoke":
            grid = {key: values[:1 + (key == list(grid)[-1])] for key, values in grid.items()}
        return self.sweep("tuning", (TUNED_AT,), self.seeds, {"evaluation.groups": ["validation"]}, grid)

    def choose(self, rows):
        """The settings with the best validation figure; the first of all if none was run or all diverged."""
        grid = self.algorithm.tried[self.data.kind]
        finished = [row for row in rows if "eval" in row["summary"]]
        if not finished:
            return {key: values[0] for key, values in grid.items()}
        sign = 1 if self.data.metric == "rmse" else -1
        best = min(finished, key=lambda row: sign * row["summary"]["eval"]["validation"][self.data.metric])
        return {key: best["grid"][key] for key in grid}

    def run(self, run):
        """The rows of the main runs, and those of the choice."""
        tuned = run(self.tuning())
        left_out = self.data.sizes[self.size].left_out.get(self.algorithm_key, ())
        participations = (TUNED_AT,) if self.size == "smoke" else [p for p in self.data.participations if p not in left_out]
        rows = []
        for seed in self.seeds:
            chosen = self.choose([row for row in tuned if row["seed"] == seed])
            sweep = self.sweep(f"seed-{seed}", participations, (seed,), chosen, {"dropout": list(map(dropout_of, RATES))})
            for row in run(sweep):
                row.update(chosen=chosen, dropout=RATE_OF[row["grid"]["dropout"]],
                           participations=row["grid"]["participation.per_round"] / self.data.cohort)
                rows.append(row)
        return rows, tuned


def results(run, size):
    """All rows of the main runs, and those of the choices."""
    rows, tuned = [], []
    for key, data in DATA_SETS.items():
        for algorithm in algorithms_for(data):
            made = Experiment(key, algorithm, size).run(run)
            rows += made[0]
            tuned += made[1]
    return rows, tuned


# ---- tables ----------------------------------------------------------------------------------------------------------


def figures_of(rows, group, metric):
    """A figure for each row, as a number or in percent; None for a run that diverged: it ended without an evaluation,
    or with predictions further off than ratings can lie apart."""
    scale = 100 if metric == "accuracy" else 1
    found = [scale * row["summary"]["eval"][group][metric] if "eval" in row["summary"] else None for row in rows]
    return [None if metric == "rmse" and one is not None and one > RATING_RANGE else one for one in found]


def cell(values, metric, sign=False):
    """Mean and 95 % interval; or how many runs diverged."""
    if None in values:
        return f"{values.count(None)} of {len(values)} diverged"
    return text(values, sign, mean_interval, 4 if metric == "rmse" else 1)


def differences(ours, theirs):
    return [None if a is None or b is None else a - b for a, b in zip(ours, theirs)]


class Results:
    """The main runs of a data set."""

    def __init__(self, data_key, rows):
        self.data, self.rows = DATA_SETS[data_key], [row for row in rows if row["data"] == data_key]
        self.points = values_of(self.rows, "participations")

    def runs(self, algorithm, p, rate):
        return select(self.rows, algorithm=algorithm, participations=p, dropout=rate)

    def values(self, algorithm, p, rate, group="seen"):
        return figures_of(self.runs(algorithm, p, rate), group, self.data.metric)

    def against(self, reference, algorithm, p, rate):
        """Differences seed by seed: same users, same split, same cohorts."""
        return differences(self.values(algorithm, p, rate), self.values(reference, p, rate))

    def table(self, values, rate, sign=False, leave_out=()):
        """An algorithm a line, a p a column; values(algorithm, p, rate)."""
        return table(["", *(f"p = {number(p)}" for p in self.points)],
                     [[one.name, *(cell(values(key, p, rate), self.data.metric, sign) for p in self.points)]
                      for key, one in algorithms_for(self.data).items() if key not in leave_out])

    def chosen(self):
        """What was tried, and chosen by each seed."""
        lines = []
        for key, one in algorithms_for(self.data).items():
            rows = self.runs(key, TUNED_AT, 0)
            for setting, values in one.tried[self.data.kind].items():
                lines.append([one.name, f"`{setting}`", ", ".join(map(number, values)),
                              ", ".join(number(row["chosen"][setting]) for row in rows)])
        return table(["", "setting", "tried", "chosen by seeds 1, 2, 3"], lines)

    def by_bin(self):
        """Seen users by how often they took part, at p = TUNED_AT without dropout."""
        found = {}
        for key in algorithms_for(self.data):
            rows = self.runs(key, TUNED_AT, 0)
            if all("eval" in row["summary"] for row in rows):
                found[key] = bins(rows, self.data.metric)
        scale = 100 if self.data.metric == "accuracy" else 1
        heads = [f"{least} ({100 * share:.0f} %)" if least == most else f"{least} to {most} ({100 * share:.0f} %)"
                 for least, most, share, _ in next(iter(found.values()), [])]
        return table(["", *heads], [[ALGORITHMS[key].name,
                                     *(cell([scale * value for value in one[3]], self.data.metric) for one in line)]
                                    for key, line in found.items()])

    def participation(self):
        """What is the same for all: who never trained, and how old the values are that FURL keeps."""
        lines = []
        for rate in RATES:
            runs = [[row["summary"] for row in self.runs("furl", p, rate)] for p in self.points]
            never = [[100 * one["participation"]["never_folded"] / one["participation"]["clients"] for one in same]
                     for same in runs]
            age = [[one["private_staleness"]["mean"] for one in same] for same in runs]
            lines += [[f"{rate} % dropout: users without an aggregated update, %",
                       *(text(values, spread=mean_interval, digits=1) for values in never)],
                      [f"{rate} % dropout: mean age of FURL's stored values, rounds",
                       *(text(values, spread=mean_interval, digits=1) for values in age)]]
        return table(["", *(f"p = {number(p)}" for p in self.points)], lines)

    def sections(self):
        what = {"rmse": "RMSE", "accuracy": "accuracy in percent"}[self.data.metric]
        better = {"rmse": "below", "accuracy": "above"}[self.data.metric]
        made = []
        for rate in RATES:
            made.append((f"seen users, {rate} % dropout ({what})", self.table(self.values, rate)))
        for reference, rate in itertools.product(REFERENCES, RATES):
            made.append((f"minus {ALGORITHMS[reference].name}: seen users, {rate} % dropout ({better} zero, the algorithm "
                         "is better)", self.table(lambda *which, r=reference: self.against(r, *which), rate, True,
                                                  (reference,))))
        made.append((f"seen users by how often they took part (share of users), p = {TUNED_AT}, no dropout ({what})",
                     self.by_bin()))
        made.append((f"unseen users, no dropout ({what})",
                     self.table(lambda *which: self.values(*which, "unseen"), 0)))
        made.append(("participation", self.participation()))
        made.append(("chosen settings", self.chosen()))
        return [(f"{self.data.title}: {title}", body) for title, body in made]


def cost(found, size):
    rows, tuned = found
    lines = []
    for key, data in DATA_SETS.items():
        runs = [row for row in (*rows, *tuned) if row["data"] == key]
        lines.append([data.title, data.sizes[size].words, str(len(runs)),
                      f"{sum(row['summary'].get('cpu_seconds', 0) for row in runs):.0f}"])
    return table(["data", "users", "runs", "CPU s"], lines)


def tables(found, size):
    per_data = [one for key in DATA_SETS for one in Results(key, found[0]).sections()]
    return sections([(f"Size of these runs: {size}", cost(found, size)), *per_data])


# ---- figures ---------------------------------------------------------------------------------------------------------


def panel(results_of, place, title, values, level=None, cut=math.inf):
    """Curves by p of what values(algorithm, p) gives; the range is that of the means, up to `cut`."""
    curves = []
    for key, one in algorithms_for(results_of.data).items():
        points = [(p, values(key, p)) for p in results_of.points]
        points = [point for point in points if point[1] and None not in point[1]]
        if points:
            curves.append(figure.Curve(one.style, points))
    means = [mean_interval(seeds)[0] for curve in curves for _, seeds in curve.points] + ([level[0]] if level else [])
    margin = 0.05 * (max(means) - min(means)) + 1e-3
    return figure.drawn(place, title, "p, mean participations a user", curves,
                        [(p, number(p)) for p in results_of.points], log_x=True, lowest=min(means) - margin,
                        highest=min(max(means) + margin, cut), spread=mean_interval, level=level)


def figure_of(key, rows):
    found = Results(key, rows)
    data = found.data
    legend, _, bottom = figure.legend([(one.name, one.style) for one in algorithms_for(data).values()])
    first = bottom + 56
    what = {"rmse": "RMSE, lower is better", "accuracy": "accuracy in %, higher is better"}[data.metric]
    cut = {"rmse": (1.05, 0.1), "accuracy": (math.inf, math.inf)}[data.metric]
    parts = list(legend)
    for place, rate in zip((figure.LEFT, figure.RIGHT), RATES):
        dropout = f"{rate} % dropout"
        parts += panel(found, (place, first), f"Seen users, {dropout}", lambda a, p, r=rate: found.values(a, p, r),
                       data.best, cut[0])
        parts += panel(found, (place, first + figure.PANEL_STEP), f"The same minus FURL, {dropout}",
                       lambda a, p, r=rate: found.against("furl", a, p, r), (0, ""), cut[1])
    seeds = len({row["seed"] for row in rows})
    return figure.svg(f"Sparse participation: {data.title}", f"{what}; mean and 95 % interval, {seeds} seeds",
                      f"{what}, of {len(algorithms_for(data))} algorithms by mean participations, without and with dropout",
                      first + 2 * figure.PANEL_STEP, parts)


def figures(found, _size):
    return {f"sparse-participation-{key}.svg": figure_of(key, found[0]) for key in DATA_SETS}
