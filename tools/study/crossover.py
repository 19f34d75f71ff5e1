"""The study of docs/crossover.md: when does keeping private values pay, compared with reconstructing them?"""
import math

import figure
from sweeps import Sweep
from tables import bins, figures as rmse, number, sections, select, table, text, values_of

SIZES = ("full", "smoke")
DATA = ("ml-1m",)
NAMES = {"furl": "FURL", "furl-cold-start": "FURL + cold start", "fedrecon": "FedRecon, exact",
         "fedrecon-sgd": "FedRecon, SGD", "fedavg": "FedAvg, fine-tuned", "fedavg-shared": "FedAvg"}
STATEFUL, STATELESS = ("furl", "furl-cold-start"), ("fedrecon", "fedrecon-sgd")
# A round asks 10 p clients: the scenarios' 483 rounds ask each of 4,832 training users p times on average.
COHORT = 10
ROUNDS = 483
PARTICIPATIONS = (100, 30, 10, 3, 1, 0.5)
WITH_DROPOUT = (30, 10, 3, 1, 0.5)  # all but the dearest
DROPOUT = (0, 10, 30, 50)  # percent of the tasks
# The ridge of these is also varied, by these factors, on all ratings and on the first 20 of each user.
RIDGES = {"furl-cold-start": 0.07, "fedrecon": 6.0, "fedavg": 0.07}
FACTORS = (0.3, 1, 3, 10, 30)
RIDGE_RATINGS = (0, 20)  # most of a user; 0: all
RIDGE_PARTICIPATIONS = (10, 1)
CPU_MS_PER_TASK = 0.13  # the mean of all six

BINNED = (3, 30)  # the p whose users are distinguished by how often they took part
PAIRS = [(ours, theirs) for ours in STATEFUL for theirs in (*STATELESS, "fedavg")]
BINNED_PAIR = ("furl", "fedrecon-sgd")  # the pair that crosses

# Colour (Okabe and Ito: distinguished by colour-blind people too), marker.
STYLE = {"furl": ("#d55e00", "square"), "furl-cold-start": ("#b8860b", "diamond"), "fedrecon": ("#0072b2", "circle"),
         "fedrecon-sgd": ("#009e73", "triangle"), "fedavg": ("#cc79a7", "plus"), "fedavg-shared": ("#666666", "cross")}
PERSONAL = [a for a in STYLE if a != "fedavg-shared"]  # that one is far above the others: it would flatten them


# ---- runs ------------------------------------------------------------------------------------------------------------


def sweep_of(algorithm, folder, about, participations, size, settings=None, grid=None):
    seeds = (1, 2) if size == "smoke" else (1, 2, 3)
    cohorts = [round(COHORT * p) for p in participations]
    settings, grid = settings or {}, {"participation.per_round": cohorts, **(grid or {})}
    points = len(seeds) * math.prod(len(values) for key, values in grid.items() if key != "participation.per_round")
    return Sweep(f"crossover/{algorithm}.toml", folder, {"algorithm": algorithm, **about}, grid, seeds, settings,
                 smoke=size == "smoke", group=algorithm,
                 cpu_seconds=points * ROUNDS * sum(cohorts) * CPU_MS_PER_TASK / 1000)


def dropout_sweeps(size):
    """All algorithms. Without dropout every update reaches the server, and it does not matter when clients commit."""
    for rate in (0, 50) if size == "smoke" else DROPOUT:
        participations = (30, 3) if size == "smoke" else PARTICIPATIONS if rate == 0 else WITH_DROPOUT
        stage = 1 - (1 - rate / 100) ** 0.5  # twice: while training, and while sending the update
        settings = {"dropout.train": round(stage, 6), "dropout.upload": round(stage, 6)} if rate > 0 else {}
        for algorithm in NAMES:
            for commit in ("after-training", "after-ack") if rate > 0 and algorithm in STATEFUL else ("after-training",):
                after_ack = commit == "after-ack"
                yield sweep_of(algorithm, f"{algorithm}-dropout-{rate}" + "-after-ack" * after_ack,
                               {"dropout": rate, "commit": commit}, participations, size,
                               {**settings, **({"private.commit": commit} if after_ack else {})})


def ridge_sweeps(size):
    for ratings in (20,) if size == "smoke" else RIDGE_RATINGS:
        for algorithm, ridge in RIDGES.items():
            ridges = [float(f"{ridge * factor:g}") for factor in ((1, 10) if size == "smoke" else FACTORS)]
            yield sweep_of(algorithm, f"{algorithm}-ridge" + (f"-{ratings}-ratings" if ratings else ""),
                           {"ratings": ratings}, (3,) if size == "smoke" else RIDGE_PARTICIPATIONS, size,
                           {"data.max_examples": ratings}, {"algorithm.reconstruction.ridge": ridges})


def with_participations(rows):
    for row in rows:
        row["participations"] = row["grid"]["participation.per_round"] / COHORT
    return rows


def with_factors(rows):
    for row in rows:
        row["factor"] = float(f"{row['grid']['algorithm.reconstruction.ridge'] / RIDGES[row['algorithm']]:.3g}")
    return rows


def results(run, size):
    """The rows of all dropout rates, and those with another ridge."""
    rows = [row for sweep in dropout_sweeps(size) for row in run(sweep)]
    ridge_rows = [row for sweep in ridge_sweeps(size) for row in run(sweep)]
    return with_participations(rows), with_factors(with_participations(ridge_rows))


# ---- tables ----------------------------------------------------------------------------------------------------------


def by_participation(rows, group):
    plain = select(rows, dropout=0)
    lines = [[number(p), *(text(rmse(select(plain, algorithm=a, participations=p), group)) for a in NAMES)]
             for p in values_of(plain, "participations")]
    return table(["p", *NAMES.values()], lines)


def differences(rows, ours, theirs, participations, dropout=0):
    """RMSE for seen users of one algorithm minus that of another, seed by seed: same users, same split, same cohorts."""
    here = select(rows, dropout=dropout, participations=participations, commit="after-training")
    pairs = zip(rmse(select(here, algorithm=ours), "seen"), rmse(select(here, algorithm=theirs), "seen"))
    return [a - b for a, b in pairs]


def crossing(curve):
    """Where a curve of differences, as (p, difference) from large p to small, last changes sign: what holds below that p,
    which is found linearly in log p between the neighbours measured."""
    word = "worse" if curve[-1][1] >= 0 else "better"
    for (p, d), (q, e) in reversed(list(zip(curve, curve[1:]))):
        if (d < 0) != (e < 0):
            return f"{word} below {p * math.exp(math.log(q / p) * d / (d - e)):.1f}"
    return f"{word} at every p"


def crossings_of(rows, pair, dropout):
    """A word per seed; one word where all agree."""
    points = values_of(select(rows, dropout=dropout), "participations")
    curves = zip(*(differences(rows, *pair, p, dropout) for p in points))
    found = [crossing(list(zip(points, curve))) for curve in curves]
    if len({word.rsplit(" ", 1)[0] for word in found}) > 1:
        return "; ".join(found)
    beginning = found[0].rsplit(" ", 1)[0]
    return found[0] if len(set(found)) == 1 else f"{beginning} " + ", ".join(word.rsplit(" ", 1)[1] for word in found)


def pair_name(pair):
    return " − ".join(NAMES[one] for one in pair)


PAIR_NAMES = [pair_name(pair) for pair in PAIRS]


def paired(rows):
    points = values_of(select(rows, dropout=0), "participations")
    return table(["p", *PAIR_NAMES],
                 [[number(p), *(text(differences(rows, *pair, p), sign=True) for pair in PAIRS)] for p in points])


def crossings(rows):
    return table(["dropout", *PAIR_NAMES],
                 [[f"{rate} %", *(crossings_of(rows, pair, rate) for pair in PAIRS)]
                  for rate in values_of(rows, "dropout")])


def by_dropout(rows, group):
    columns = []
    for a in NAMES:
        columns.append((a, "after-training", NAMES[a]))
        if a in STATEFUL:
            columns.append((a, "after-ack", NAMES[a] + ", after-ack"))
    lines = []
    for p in sorted({row["participations"] for row in rows if row["dropout"] > 0}, reverse=True):
        for rate in values_of(rows, "dropout"):
            here = select(rows, participations=p, dropout=rate)
            lines.append([number(p), f"{rate} %",
                          *(text(rmse(select(here, algorithm=a, commit=c), group)) for a, c, _ in columns)])
    return table(["p", "dropout", *(name for _, _, name in columns)], lines)


def bins_of(rows, algorithm, participations):
    return bins(select(rows, algorithm=algorithm, participations=participations, dropout=0))


def by_bin(rows, participations):
    algorithms = [*STATEFUL, *STATELESS]
    columns = {a: bins_of(rows, a, participations) for a in algorithms}
    lines = []
    for i, (least, most, share, _) in enumerate(columns["furl"]):
        against = [a - b for a, b in zip(*(columns[one][i][3] for one in BINNED_PAIR))]
        lines.append([str(least) if least == most else f"{least} to {most}", f"{100 * share:.0f} %",
                      *(text(columns[a][i][3]) for a in algorithms), text(against, sign=True)])
    return table(["took part", "users", *(NAMES[a] for a in algorithms), pair_name(BINNED_PAIR)], lines)


def by_ridge(rows, group):
    """A row for each number of ratings, p and algorithm, a column for each factor of the scenario's ridge."""
    factors = sorted({row["factor"] for row in rows})
    lines = []
    for ratings in sorted({row["ratings"] for row in rows}):
        for p in values_of(rows, "participations"):
            here = select(rows, ratings=ratings, participations=p)
            lines += [[number(ratings) if ratings else "all", number(p), NAMES[a],
                       *(text(rmse(select(here, algorithm=a, factor=factor), group)) for factor in factors)]
                      for a in NAMES if select(here, algorithm=a)]
    return table(["ratings a user", "p", "", *(f"ridge × {number(factor)}" for factor in factors)], lines)


def tables(found, _size):
    rows, ridge_rows = found
    return sections([
        ("Seen users, no dropout (RMSE of their own test ratings)", by_participation(rows, "seen")),
        ("Kept minus rebuilt: seen users, no dropout (differences within a seed; below zero, keeping is better)",
         paired(rows)),
        ("Where keeping changes from better to worse than rebuilding (p; seen users; one figure per seed)", crossings(rows)),
        ("Unseen users, no dropout (RMSE of their query half)", by_participation(rows, "unseen")),
        *((f"Seen users by how often they took part: p = {number(p)}, no dropout", by_bin(rows, p)) for p in BINNED),
        ("Seen users, with dropout", by_dropout(rows, "seen")),
        ("Unseen users, with dropout", by_dropout(rows, "unseen")),
        ("Seen users, with another ridge", by_ridge(ridge_rows, "seen")),
        ("Unseen users, with another ridge", by_ridge(ridge_rows, "unseen")),
    ])


# ---- figure ----------------------------------------------------------------------------------------------------------


def participation_panel(rows, place, group, title):
    plain = select(rows, dropout=0)
    points = values_of(plain, "participations")
    curves = [figure.Curve(STYLE[a], [(p, rmse(select(plain, algorithm=a, participations=p), group)) for p in points])
              for a in NAMES]
    return figure.drawn(place, title, "p, mean participations a user", curves, [(p, number(p)) for p in points],
                        log_x=True)


def difference_panel(rows, place):
    points = values_of(select(rows, dropout=0), "participations")
    curves = [figure.Curve(STYLE[a], [(p, differences(rows, a, "fedrecon", p)) for p in points]) for a in PERSONAL]
    return figure.drawn(place, "Seen users: RMSE minus that of FedRecon, exact", "p, mean participations a user", curves,
                        [(p, number(p)) for p in points], log_x=True, highest=0.05)


def dropout_panel(rows, place, participations):
    here = select(rows, participations=participations)
    rates = values_of(here, "dropout")
    curves = []
    for a in PERSONAL:
        for commit in ("after-training", "after-ack"):
            points = [(rate, rmse(select(here, algorithm=a, dropout=rate, commit=commit), "seen")) for rate in rates]
            points = [point for point in points if point[1]]
            if points:
                curves.append(figure.Curve(STYLE[a], points, commit == "after-ack"))
    return figure.drawn(place, f"Seen users under dropout, p = {number(participations)}", "dropout, % of the tasks",
                        curves, [(rate, number(rate)) for rate in rates], margin=2.5)


def bins_panel(rows, place, participations):
    """Differences: the users of two bins differ by chance, those of one bin are the same under every algorithm."""
    exact = bins_of(rows, "fedrecon", participations)
    ticks = [(i, number(least) if least == most else f"{least}–{most}") for i, (least, most, _, _) in enumerate(exact)]
    curves = []
    for a in PERSONAL:
        found = zip(bins_of(rows, a, participations), exact)
        points = [(i, [x - y for x, y in zip(one[3], base[3])]) for i, (one, base) in enumerate(found)]
        curves.append(figure.Curve(STYLE[a], points))
    return figure.drawn(place, f"Seen users, p = {number(participations)}: RMSE minus FedRecon, exact",
                        "how often the user took part", curves, ticks, margin=0.3)


def legend():
    parts, x, y = figure.legend([(name, STYLE[a]) for a, name in NAMES.items()])
    return [*parts, f'<path d="M{x} {y}h26" stroke="{figure.INK}" stroke-width="2" stroke-dasharray="5 4"/>'
                    f'<text x="{x + 33:.1f}" y="{y + 4}">commit after-ack</text>']


def figures(found, _size):
    rows = found[0]
    sparse, dense = BINNED
    left, right, rows_at = figure.LEFT, figure.RIGHT, (122, 466, 810)
    seeds = len({row["seed"] for row in rows})
    return {"crossover.svg": figure.svg(
        "Keeping a private part, or rebuilding it: MovieLens-1M",
        f"RMSE, lower is better; mean ± sd, {seeds} seeds",
        "RMSE of FURL, FedRecon and FedAvg by mean participations, dropout and how often a user took part", 1124,
        [*legend(),
         *participation_panel(rows, (left, rows_at[0]), "seen", "Seen users"),
         *difference_panel(rows, (right, rows_at[0])),
         *participation_panel(rows, (left, rows_at[1]), "unseen", "Unseen users"),
         *dropout_panel(rows, (right, rows_at[1]), sparse),
         *bins_panel(rows, (left, rows_at[2]), sparse),
         *bins_panel(rows, (right, rows_at[2]), dense)])}
