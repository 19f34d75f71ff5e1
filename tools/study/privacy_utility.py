"""The study of docs/privacy-utility.md: what does differential privacy cost, with a private part of the model and without?

The settings of each algorithm at each epsilon are chosen by the validation users of a split of its own (seed 101); runs
of three other seeds then train with these, and their test figures are read once.
"""
import itertools
import math
from dataclasses import dataclass, field

import figure
from intervals import mean_interval
from sweeps import Sweep
from tables import number, sections, select, table, text

SIZES = ("full", "smoke")
DATA = ("ml-1m",)
NONE = 0  # as an epsilon: no clipping and no noise
# `furlong privacy --epsilon E --rate 0.1 --cap 580 --clients 4832 --rounds 60 --delta 1e-4`; every run is checked by the
# epsilon of its summary.
CLIENTS, RATE, ROUNDS = 4832, 0.1, 60
NOISE = {1: 2.7142, 2: 1.641, 4: 1.0826, 8: 0.7658}
EPSILONS = (*NOISE, NONE)
TUNING_SEED = 101
START_SECONDS = 0.5  # CPU of a run beside its tasks; measured

CLIP, CLIENT_LR, SERVER_LR = "privacy.clip", "algorithm.client.lr", "algorithm.server.lr"
RIDGE, PER_RATING, GAMMA = "algorithm.als.ridge", "algorithm.als.ridge_per_rating", "algorithm.als.gamma"


@dataclass(frozen=True)
class Algorithm:
    """Settings on top of the scenario."""
    name: str
    style: tuple  # in the figure
    settings: dict
    task_ms: float  # CPU of a task; measured
    noisy: dict = field(default_factory=lambda: {CLIP: (0.03, 0.1, 0.3), SERVER_LR: (0.02, 0.05)})  # tried with noise
    plain: dict = field(default_factory=lambda: {CLIENT_LR: (0.05, 0.1), SERVER_LR: (0.03, 0.06, 0.12)})  # and without


ALGORITHMS = {
    "furl": Algorithm("FURL", ("#d55e00", "square"), {"algorithm.kind": "furl"}, 0.06),
    "fedrecon": Algorithm("FedRecon", ("#0072b2", "circle"),
                          {"algorithm.kind": "fedrecon", "algorithm.reconstruction.split": False}, 0.025),
    # Nearly all updates are longer than this bound, so that another one with ridges in proportion is the same mechanism.
    "als": Algorithm("ALS", ("#009e73", "triangle"), {"algorithm.kind": "als"}, 0.03,
                     noisy={CLIP: (3,), RIDGE: (25, 50, 100), GAMMA: (0.98, 0.99)},
                     plain={RIDGE: (6, 12, 24), PER_RATING: (0.005, 0.015)}),
    "fedavg-tuned": Algorithm("FedAvg, fine-tuned", ("#cc79a7", "plus"),
                              {"algorithm.kind": "fedavg", "evaluation.reconstruct": ["user", "user_bias"]}, 0.01),
    "fedavg": Algorithm("FedAvg", ("#666666", "cross"), {"algorithm.kind": "fedavg"}, 0.01),
}


def tried(key, epsilon):
    return ALGORITHMS[key].plain if epsilon == NONE else ALGORITHMS[key].noisy


def points_of(grid):
    return math.prod(map(len, grid.values()))


def choose(rows, grid):
    """The settings with the least validation error; the first of all if none was run or all diverged."""
    finished = [row for row in rows if "eval" in row["summary"]]
    if not finished:
        return {key: values[0] for key, values in grid.items()}
    best = min(finished, key=lambda row: row["summary"]["eval"]["validation"]["rmse"])
    return {key: best["grid"][key] for key in grid}


def check_account(row, epsilon, size):
    """The noise is what its epsilon asks for."""
    spent = row["summary"].get("privacy", {}).get("epsilon")
    if size != "smoke" and epsilon != NONE and "eval" in row["summary"]:
        assert 0.999 * epsilon < spent <= epsilon, f"{row['algorithm']}: epsilon {spent} instead of {epsilon}"


class Experiment:
    """One algorithm at one epsilon."""

    def __init__(self, key, epsilon, size):
        self.key, self.algorithm, self.epsilon, self.size = key, ALGORITHMS[key], epsilon, size
        self.seeds = (1, 2) if size == "smoke" else (1, 2, 3)
        self.grid = tried(key, epsilon)
        if size == "smoke":
            last = list(self.grid)[-1]
            self.grid = {setting: values[:1 + (setting == last)] for setting, values in self.grid.items()}

    def sweep(self, name, seeds, settings, grid):
        privacy = {} if self.epsilon == NONE else {"privacy.noise": NOISE[self.epsilon]}
        runs = len(seeds) * points_of(grid)
        return Sweep("privacy-utility/ml-1m.toml", f"{self.key}/epsilon-{self.epsilon}/{name}",
                     {"algorithm": self.key, "epsilon": self.epsilon}, grid, seeds,
                     {**self.algorithm.settings, **privacy, **settings}, smoke=self.size == "smoke", may_diverge=True,
                     group=self.algorithm.name,
                     cpu_seconds=runs * (START_SECONDS + ROUNDS * RATE * CLIENTS * self.algorithm.task_ms / 1000))

    def run(self, run):
        """The rows of the main runs, and those of the choice."""
        tuned = run(self.sweep("tuning", (TUNING_SEED,), {"evaluation.groups": ["validation"]}, self.grid))
        chosen = choose(tuned, self.grid)
        rows = [{**row, "chosen": chosen} for row in run(self.sweep("runs", self.seeds, chosen, {}))]
        for row in (*rows, *tuned):
            check_account(row, self.epsilon, self.size)
        return rows, tuned


def results(run, size):
    """All rows of the main runs, and those of the choices."""
    rows, tuned = [], []
    for key, epsilon in itertools.product(ALGORITHMS, (1, NONE) if size == "smoke" else EPSILONS):
        made = Experiment(key, epsilon, size).run(run)
        rows += made[0]
        tuned += made[1]
    return rows, tuned


# ---- tables ----------------------------------------------------------------------------------------------------------


def values(rows, algorithm, epsilon, group):
    """The RMSE of each seed; None for a run that diverged."""
    return [row["summary"]["eval"][group]["rmse"] if "eval" in row["summary"] else None
            for row in select(rows, algorithm=algorithm, epsilon=epsilon)]


def cell(found, sign=False):
    """Mean and 95 % interval; or how many runs diverged."""
    if None in found:
        return f"{found.count(None)} of {len(found)} diverged"
    return text(found, sign, mean_interval)


def less(ours, theirs):
    return [None if a is None or b is None else a - b for a, b in zip(ours, theirs)]


def title_of(epsilon):
    return "no privacy" if epsilon == NONE else f"ε = {epsilon}"


def by_epsilon(rows, figures_of, sign=False, leave_out=()):
    """An algorithm a line, an epsilon a column; figures_of(algorithm, epsilon)."""
    return table(["", *map(title_of, EPSILONS)],
                 [[one.name, *(cell(figures_of(key, epsilon), sign) for epsilon in EPSILONS)]
                  for key, one in ALGORITHMS.items() if key not in leave_out])


def noise_table(rows):
    lines = []
    for epsilon in EPSILONS[:-1]:
        spent = [row["summary"]["privacy"]["epsilon"] for row in select(rows, epsilon=epsilon)
                 if "privacy" in row["summary"]]
        lines.append([number(epsilon), f"{NOISE[epsilon]:g}", f"{max(spent):.4f}" if spent else "-"])
    return table(["ε", "noise multiplier z", "accounted, the largest of all runs"], lines)


def chosen(rows):
    lines = []
    for key, one in ALGORITHMS.items():
        for epsilon in EPSILONS:
            here = select(rows, algorithm=key, epsilon=epsilon)
            for setting, all_tried in tried(key, epsilon).items():
                lines.append([one.name, title_of(epsilon), f"`{setting}`", ", ".join(map(number, all_tried)),
                              number(here[0]["chosen"][setting]) if here else "-"])
    return table(["", "", "setting", "tried", "chosen"], lines)


def cost(rows, tuned):
    return table(["runs", "number", "CPU s"],
                 [[what, str(len(of)), f"{sum(row['summary'].get('cpu_seconds', 0) for row in of):.0f}"]
                  for what, of in (("choosing settings", tuned), ("of the tables", rows))])


def tables(found, _size):
    rows, tuned = found
    made = [("Noise", noise_table(rows))]
    for group, words in (("seen", "Seen users: their own test ratings"), ("unseen", "Unseen users: their query half")):
        made += [(f"{words} (RMSE)", by_epsilon(rows, lambda *which, g=group: values(rows, *which, g))),
                 (f"{words}: what privacy costs (RMSE minus that without privacy)",
                  by_epsilon(rows, lambda key, e, g=group: less(values(rows, key, e, g), values(rows, key, NONE, g)),
                             True)),
                 (f"{words}: minus FedAvg (below zero, the algorithm is better)",
                  by_epsilon(rows, lambda key, e, g=group: less(values(rows, key, e, g), values(rows, "fedavg", e, g)),
                             True, ("fedavg",)))]
    return sections([*made, ("Chosen settings", chosen(rows)), ("Cost", cost(rows, tuned))])


# ---- figure ----------------------------------------------------------------------------------------------------------


def panel(rows, place, group, title):
    """Without privacy is drawn at the right, at twice the largest epsilon."""
    at = {epsilon: epsilon if epsilon != NONE else 2 * EPSILONS[-2] for epsilon in EPSILONS}
    curves = []
    for key, one in ALGORITHMS.items():
        points = [(at[epsilon], values(rows, key, epsilon, group)) for epsilon in EPSILONS]
        points = [point for point in points if point[1] and None not in point[1]]
        if points:
            curves.append(figure.Curve(one.style, points))
    return figure.drawn(place, title, "ε", curves, [(x, "none" if e == NONE else number(e)) for e, x in at.items()],
                        log_x=True, spread=mean_interval, margin=0.3)


def figures(found, _size):
    rows = found[0]
    legend, _, bottom = figure.legend([(one.name, one.style) for one in ALGORITHMS.values()])
    first = bottom + 56
    seeds = len({row["seed"] for row in rows})
    return {"privacy-utility.svg": figure.svg(
        "Differential privacy with a private part and without: MovieLens-1M",
        f"RMSE, lower is better; mean and 95 % interval, {seeds} seeds",
        "RMSE of FURL, FedRecon and FedAvg by epsilon, for seen and unseen users", first + figure.PANEL_STEP,
        [*legend, *panel(rows, (figure.LEFT, first), "seen", "Seen users"),
         *panel(rows, (figure.RIGHT, first), "unseen", "Unseen users")])}
