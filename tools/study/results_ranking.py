"""The tables of docs/results-ranking.md: methods of recommendation by hit ratio and NDCG on MovieLens-1M, with honest
negatives and with the leak of published code (docs/ranking-leak.md). Settings are those of the scenario files."""
from dataclasses import dataclass, field

from intervals import mean_interval
from sweeps import Sweep
from tables import figures as figures_of, sections, select, table, text

SIZES = ("full", "smoke")
DATA = ("ml-1m",)
SEEDS = (1, 2, 3)
SHOWN = {"sampled_hr_10": "sampled HR@10", "sampled_ndcg_10": "NDCG@10", "full_hr_10": "full HR@10",
         "full_ndcg_10": "NDCG@10"}
LEAK = {"algorithm.client.exclude": "all"}


@dataclass(frozen=True)
class Method:
    """A line of the first table; those that draw negatives have one in the second."""
    name: str
    scenario: str
    who: str  # trains: data in one place, all users, or some in each round
    seconds: float  # CPU of a run, measured
    settings: dict = field(default_factory=dict)
    negatives: bool = True


ROWS = "algorithm.pfedrec.evaluate"
METHODS = {
    "popularity": Method("popularity", "ml1m-popularity", "all, once", 1, negatives=False),
    "bpr": Method("matrix factorization, BPR", "ml1m-bpr", "central, 60 passes", 14),
    "bce": Method("matrix factorization, logistic", "ml1m-bce", "central, 20 passes", 20),
    "ials-3": Method("implicit ALS, rank 64", "ml1m-ials", "all, 3 rounds", 9, {"scenario.rounds": 3}, False),
    "ials": Method("implicit ALS, rank 64", "ml1m-ials", "all, 10 rounds", 27, negatives=False),
    "pfedrec-30": Method("PFedRec, own rows", "ml1m-pfedrec", "all, 30 rounds", 14,
                         {ROWS: "own", "scenario.rounds": 30}),
    "pfedrec-own": Method("PFedRec, own rows", "ml1m-pfedrec", "all, 100 rounds", 44, {ROWS: "own"}),
    "pfedrec": Method("PFedRec, shared rows", "ml1m-pfedrec", "all, 100 rounds", 44),
    "ials-sparse": Method("implicit ALS, rank 64", "ml1m-ials-sparse", "100 a round, 100 rounds", 20, negatives=False),
    "fedrecon-sparse": Method("FedRecon", "ml1m-fedrecon-sparse", "100 a round, 100 rounds", 9),
    "fedncf": Method("FedNCF", "ml1m-fedncf", "60 a round, 1,500 rounds", 80),
    "fedrap": Method("FedRAP", "ml1m-fedrap", "200 a round, 100 rounds", 96),
}


def results(run, size):
    """The rows of all methods, honest and with the leak."""
    seeds = SEEDS[:1] if size == "smoke" else SEEDS
    rows = []
    for key, one in METHODS.items():
        for leaks in (False, True) if one.negatives else (False,):
            about = {"method": key, "leaks": leaks}
            # Evaluations on the way change nothing.
            settings = {"evaluation.every": 0, **({} if size == "smoke" else one.settings), **(LEAK if leaks else {})}
            rows += run(Sweep(f"{one.scenario}.toml", f"{key}-leak" if leaks else key, about, {}, seeds, settings,
                              smoke=size == "smoke", group=one.name, cpu_seconds=len(seeds) * one.seconds))
    return rows


def found(rows, key, leaks, metric):
    return figures_of(select(rows, method=key, leaks=leaks), "seen", metric)


def mean_of(rows, quantity):
    values = [quantity(row["summary"]) for row in rows]
    return sum(values) / len(values) if values else 0.0


def cell(values, sign=False):
    return text(values, sign, mean_interval, 3)


def comparison(rows):
    lines = []
    for key, one in METHODS.items():
        mine = select(rows, method=key, leaks=False)
        sent = mean_of(mine, lambda summary: summary.get("bytes_up", 0) / max(summary.get("folded", 0), 1) / 1000)
        seconds = mean_of(mine, lambda summary: summary["cpu_seconds"])
        lines.append([one.name, one.who, *(cell(found(rows, key, False, metric)) for metric in SHOWN),
                      f"{seconds:.0f}" if mine else "-", f"{sent:.0f}" if sent else "-"])
    return table(["method", "training", *SHOWN.values(), "CPU s", "kB a report"], lines)


def leak(rows):
    lines = []
    for key, one in METHODS.items():
        if not one.negatives:
            continue
        line = [one.name, one.who]
        for metric in ("sampled_hr_10", "full_hr_10"):
            honest, leaking = (found(rows, key, leaks, metric) for leaks in (False, True))
            line += [cell(leaking), cell([b - a for a, b in zip(honest, leaking)], True)]
        lines.append(line)
    return table(["method", "training", "sampled HR@10, leaking", "minus honest", "full HR@10, leaking", "minus honest"],
                 lines)


def tables(rows, size):
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    return sections([(f"Honest negatives (size of these runs: {size}; seeds {seeds})", comparison(rows)),
                     ("The same with the leak", leak(rows))])


def figures(_rows, _size):
    return {}
