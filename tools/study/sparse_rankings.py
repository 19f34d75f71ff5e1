"""The study of docs/sparse-rankings.md: kept, reconstructed and solved values of users in rankings of items, if users take
part rarely. As sparse_participation.py: each seed chooses the settings of each algorithm by its validation figures at
p = TUNED_AT, trains with these at every p, and reads the test figures once."""
import math
from dataclasses import dataclass

import figure
from intervals import mean_interval
from sweeps import Sweep
from tables import bins, figures as figures_of, number, sections, select, table, text, values_of

SIZES = ("full", "reduced", "smoke")
DATA = ("ml-1m",)
SCENARIO = "sparse-rankings/ml-1m.toml"
PARTICIPATIONS = (30, 10, 3, 1, 0.5)
TUNED_AT = 3
COHORT = 10  # a round asks 10 p users
METRIC = "full_hr_10"
SHOWN = {"full_hr_10": "HR@10, all films", "sampled_hr_10": "HR@10, 99 drawn films"}
# Rounds, and what is set beside them. Of the reduced size 906 users train.
ROUNDS = {"full": 604, "reduced": 91, "smoke": 3}
SETTINGS = {"full": {}, "reduced": {"data.unseen_users.test": 0.85, "model.rank": 16}, "smoke": {}}
WORDS = {"full": "all 6,040 users", "reduced": "906 of the 6,040 users, rank 16", "smoke": "a few"}


@dataclass(frozen=True)
class Algorithm:
    name: str
    style: tuple  # in figures
    settings: dict
    tried: dict  # values of one setting
    task_ms: float  # CPU of a task, measured
    start_ms: float = 1500  # of a run beside its tasks


RATES = {"algorithm.server.lr": (5.0, 20.0)}
ALGORITHMS = {
    "furl": Algorithm("FURL: kept", ("#d55e00", "square"), {"algorithm.kind": "furl"}, RATES, 0.2),
    "furl-cold-start": Algorithm("FURL + cold start: kept, else reconstructed", ("#b8860b", "diamond"), {
        "algorithm.kind": "furl", "private.cold_start": "reconstruct"}, RATES, 0.25, 4000),
    "fedrecon": Algorithm("FedRecon: reconstructed", ("#0072b2", "circle"), {"algorithm.kind": "fedrecon"}, RATES, 0.5,
                          7000),
    "ials": Algorithm("Implicit ALS: solved", ("#000000", "triangle"), {
        "algorithm.kind": "ials", "model.loss": "squared", "model.item_bias": False, "algorithm.server.lr": 1.0},
                      {"algorithm.ials.ridge": (0.003, 0.01)}, 0.2, 9000),
}
REFERENCE = "fedrecon"


# ---- runs ------------------------------------------------------------------------------------------------------------


def sweep_of(key, name, participations, seeds, size, settings, grid):
    one = ALGORITHMS[key]
    cohorts = [round(COHORT * p) for p in participations]
    points = len(seeds) * math.prod(len(values) for values in grid.values())
    return Sweep(SCENARIO, f"{key}/{name}", {"algorithm": key}, {"participation.per_round": cohorts, **grid}, seeds,
                 {"scenario.rounds": ROUNDS[size], **SETTINGS[size], **one.settings, **settings},
                 smoke=size == "smoke", group=one.name,
                 cpu_seconds=points * (sum(cohorts) * ROUNDS[size] * one.task_ms + len(cohorts) * one.start_ms) / 1000)


def choose(key, rows):
    """The setting with the best validation figure; the first if none was run."""
    (setting, values), = ALGORITHMS[key].tried.items()
    if not rows:
        return {setting: values[0]}
    best = max(rows, key=lambda row: row["summary"]["eval"]["validation"][METRIC])
    return {setting: best["grid"][setting]}


def results(run, size):
    """The rows of the main runs."""
    seeds = (1, 2) if size == "smoke" else (1, 2, 3)
    rows = []
    for key, one in ALGORITHMS.items():
        tuned = run(sweep_of(key, "tuning", (TUNED_AT,), seeds, size, {"evaluation.groups": ["validation"]}, one.tried))
        for seed in seeds:
            chosen = choose(key, select(tuned, seed=seed))
            participations = (TUNED_AT,) if size == "smoke" else PARTICIPATIONS
            for row in run(sweep_of(key, f"seed-{seed}", participations, (seed,), size, chosen, {})):
                rows.append({**row, "chosen": chosen,
                             "participations": row["grid"]["participation.per_round"] / COHORT})
    return rows


# ---- tables ----------------------------------------------------------------------------------------------------------


def values(rows, key, p, metric=METRIC):
    return figures_of(select(rows, algorithm=key, participations=p), "seen", metric)


def differences(rows, key, p, metric=METRIC):
    """Minus the reference, seed by seed: same candidates, same cohorts."""
    return [ours - theirs for ours, theirs in zip(values(rows, key, p, metric), values(rows, REFERENCE, p, metric))]


def by_participations(rows, found, keys=tuple(ALGORITHMS), sign=False):
    points = values_of(rows, "participations")
    return table(["", *(f"p = {number(p)}" for p in points)],
                 [[ALGORITHMS[key].name, *(text(found(rows, key, p), sign, mean_interval) for p in points)]
                  for key in keys])


def by_bin(rows):
    """Users by how often they took part, at p = TUNED_AT."""
    found = {key: bins(select(rows, algorithm=key, participations=TUNED_AT), METRIC) for key in ALGORITHMS}
    heads = [f"{least} ({100 * share:.0f} %)" if least == most else f"{least} to {most} ({100 * share:.0f} %)"
             for least, most, share, _ in found["furl"]]
    return table(["", *heads], [[ALGORITHMS[key].name, *(text(one[3], spread=mean_interval) for one in line)]
                                for key, line in found.items()])


def chosen(rows):
    lines = []
    for key, one in ALGORITHMS.items():
        (setting, tried), = one.tried.items()
        taken = [row["chosen"][setting] for row in select(rows, algorithm=key, participations=TUNED_AT)]
        lines.append([one.name, f"`{setting}`", ", ".join(map(number, tried)), ", ".join(map(number, taken))])
    return table(["", "setting", "tried", "chosen by each seed"], lines)


def tables(rows, size):
    shown = [(title, by_participations(rows, lambda *which, m=metric: values(*which, m)))
             for metric, title in SHOWN.items()]
    others = [key for key in ALGORITHMS if key != REFERENCE]
    return sections([
        *shown,
        (f"{SHOWN[METRIC]}: minus {ALGORITHMS[REFERENCE].name}", by_participations(rows, differences, others, True)),
        (f"{SHOWN[METRIC]}: users by how often they took part (share of users), p = {TUNED_AT}", by_bin(rows)),
        ("Chosen settings", chosen(rows)),
        (f"Size of these runs: {size}, {WORDS[size]}",
         table(["runs", "CPU s"],
               [[str(len(rows)), f"{sum(row['summary'].get('cpu_seconds', 0) for row in rows):.0f}"]])),
    ])


# ---- figure ----------------------------------------------------------------------------------------------------------


def panel(rows, place, title, found):
    points = values_of(rows, "participations")
    curves = [figure.Curve(one.style, [(p, found(rows, key, p)) for p in points]) for key, one in ALGORITHMS.items()]
    return figure.drawn(place, title, "p, mean participations a user", curves, [(p, number(p)) for p in points],
                        log_x=True, spread=mean_interval)


def figures(rows, _size):
    legend, _, bottom = figure.legend([(one.name, one.style) for one in ALGORITHMS.values()])
    seeds = len({row["seed"] for row in rows})
    parts = [*legend, *panel(rows, (figure.LEFT, bottom + 56), SHOWN[METRIC], values),
             *panel(rows, (figure.RIGHT, bottom + 56), f"The same minus {ALGORITHMS[REFERENCE].name}", differences)]
    return {"sparse-rankings.svg": figure.svg(
        "Sparse participation: rankings on MovieLens-1M", f"higher is better; mean and 95 % interval, {seeds} seeds",
        "Hit ratio of four algorithms by mean participations", bottom + 56 + figure.PANEL_STEP, parts)}
