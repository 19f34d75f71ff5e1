"""The tables of docs/crossover.md, from the rows that crossover.py collects."""
import math
import statistics

NAMES = {"furl": "FURL", "furl-cold-start": "FURL + cold start", "fedrecon": "FedRecon, exact",
         "fedrecon-sgd": "FedRecon, SGD", "fedavg": "FedAvg, fine-tuned", "fedavg-shared": "FedAvg"}
BINNED = (3, 30)  # the p whose users are told apart by how often they took part
STATEFUL, STATELESS = ("furl", "furl-cold-start"), ("fedrecon", "fedrecon-sgd")


def select(rows, **wanted):
    """The rows with these values, in the order of their seeds."""
    return sorted((row for row in rows if all(row[key] == value for key, value in wanted.items())),
                  key=lambda row: row["seed"])


def mean_sd(values):
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def rmse(rows, group):
    return [row["summary"]["eval"][group]["rmse"] for row in rows]


def text(values, sign=False):
    if not values:
        return "-"
    mean, sd = mean_sd(values)
    return f"{mean:+.4f} ± {sd:.4f}" if sign else f"{mean:.4f} ± {sd:.4f}"


def number(value):
    return f"{value:g}"


def table(header, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines]) + "\n"


def values_of(rows, key):
    return sorted({row[key] for row in rows}, reverse=key == "participations")


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


PAIRS = [(ours, theirs) for ours in STATEFUL for theirs in (*STATELESS, "fedavg")]
BINNED_PAIR = ("furl", "fedrecon-sgd")  # the pair that crosses


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


def bins(rows, algorithm, participations):
    """Per bin of seen users: (least, most, share of the users, RMSE per seed), over the seeds."""
    runs = select(rows, algorithm=algorithm, participations=participations, dropout=0)
    seen = [run["summary"]["eval"]["seen"] for run in runs]
    collected = []
    for same in zip(*(group["by_participation"] for group in seen)):
        share = statistics.mean(one["clients"] / group["clients"] for one, group in zip(same, seen))
        collected.append((min(one["least"] for one in same), max(one["most"] for one in same), share,
                          [one["rmse"] for one in same]))
    return collected


def by_bin(rows, participations):
    algorithms = [*STATEFUL, *STATELESS]
    columns = {a: bins(rows, a, participations) for a in algorithms}
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


def markdown(rows, ridge_rows):
    sections = [
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
    ]
    return "\n".join(f"### {title}\n\n{body}" for title, body in sections)
