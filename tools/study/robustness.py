"""The study of docs/robustness.md: what do attacks do to global and to personal models, with the written settings and
without a defence?"""
import itertools
import os
import pathlib
import shutil
import subprocess
import sys

from sweeps import Sweep
from tables import number, sections, select, table, text

SIZES = ("full", "smoke")
DATA = ("ml-1m",)
LATER = 1_000_000  # a first attacked round that no run reaches: the same clients are bad, and honest

# ---- the settings, written before the attacks were run ---------------------------------------------------------------

AGGREGATION = "algorithm.aggregation"
DIGITS_DEFENCE = {f"{AGGREGATION}.rule": "trimmed-mean", f"{AGGREGATION}.before": ["arc", "nnm"]}  # and tolerate = f
RATINGS_DEFENCE = {f"{AGGREGATION}.rule": "trimmed-mean", f"{AGGREGATION}.tolerate": 0.49,
                   f"{AGGREGATION}.rows": "per-row", f"{AGGREGATION}.row_quantile": 0.9}
DEFENCES = ("none", "written")

# ---- digits ----------------------------------------------------------------------------------------------------------

HONEST = 10
SIMILAR = (0.0, 0.33, 0.66, 1.0)
BAD = (1, 2, 3, 4)
DIGITS_ATTACKS = {"sign flip": {"attack.kind": "ipm", "attack.strength": 1.0},  # of the honest mean, as byzfl has it
                  "opt-ipm": {"attack.kind": "opt-ipm"}, "opt-alie": {"attack.kind": "opt-alie"}}
CLEAN = "none"
MODELS = {"global": {"algorithm.kind": "fedavg"},
          "personal": {"algorithm.kind": "furl", "model.private": ["head.weight", "head.bias"]}}
DECLARED = (1, 2, 3, 4, 5)  # bad updates that the rule is told to tolerate
DECLARED_SIMILAR = 0.33
DIGITS_SECONDS = 2.5  # CPU of a run, trainers included; measured

# ---- ml-1m -----------------------------------------------------------------------------------------------------------

COLD = "56"  # a film with 9 ratings
SHARES = (0.001, 0.01, 0.03, 0.05)  # of the users
RATINGS_ATTACKS = {"promote-item": {"attack.kind": "promote-item", "attack.profile": "popular"},
                   "fedrec-attack": {"attack.kind": "fedrec-attack"}}
RATINGS_MODELS = {"shared films": {"algorithm.kind": "furl"},
                  "own copies": {"algorithm.kind": "ditto", "model.private": []},
                  "one user": {"algorithm.kind": "fedavg", "model.private": []}}
RATINGS_SECONDS = 15.0  # CPU of a run: 8 by the mean, 20 by the written setting; measured


# ---- runs ------------------------------------------------------------------------------------------------------------


def seeds_of(size):
    return (1, 2) if size == "smoke" else (1, 2, 3)


def digits_sweeps(size):
    models = ("global",) if size == "smoke" else MODELS
    bad = BAD[:1] if size == "smoke" else BAD
    for model, count, defence, attack in itertools.product(models, bad, DEFENCES, (CLEAN, *DIGITS_ATTACKS)):
        if size == "smoke" and attack not in (CLEAN, "opt-ipm"):
            continue
        settings = {**MODELS[model], "python.options.bad": count, "participation.per_round": HONEST + count,
                    "attack.list": list(range(HONEST, HONEST + count)), "attack.knows": "all",
                    f"{AGGREGATION}.norm_bound": "fixed", f"{AGGREGATION}.max_norm": 16.0,
                    **(DIGITS_ATTACKS[attack] if attack != CLEAN else
                       {**DIGITS_ATTACKS["sign flip"], "attack.from_round": LATER}),
                    **({**DIGITS_DEFENCE, f"{AGGREGATION}.tolerate": count} if defence == "written" else {}),
                    **({"scenario.rounds": 2} if size == "smoke" else {})}
        similar = SIMILAR[:1] if size == "smoke" else SIMILAR
        seeds = seeds_of(size)
        yield Sweep("robustness/digits.toml", f"digits/{model}/{count}-bad/{defence}/{attack.replace(' ', '-')}",
                    {"data": "digits", "model": model, "bad": count, "defence": defence, "attack": attack},
                    {"python.options.similar": similar}, seeds, settings, may_diverge=True,
                    group=f"digits, {model}", cpu_seconds=len(seeds) * len(similar) * DIGITS_SECONDS)


def declared_sweeps(size):
    """What the rule is told to tolerate against what there is, at one similarity, under opt-alie."""
    for count in BAD[:1] if size == "smoke" else BAD:
        seeds = seeds_of(size)
        settings = {**MODELS["global"], **DIGITS_DEFENCE, **DIGITS_ATTACKS["opt-alie"], "python.options.bad": count,
                    "python.options.similar": DECLARED_SIMILAR, "participation.per_round": HONEST + count,
                    "attack.list": list(range(HONEST, HONEST + count)), "attack.knows": "all",
                    f"{AGGREGATION}.norm_bound": "fixed", f"{AGGREGATION}.max_norm": 16.0,
                    **({"scenario.rounds": 2} if size == "smoke" else {})}
        yield Sweep("robustness/digits.toml", f"digits/declared/{count}-bad", {"data": "declared", "bad": count},
                    {f"{AGGREGATION}.tolerate": DECLARED[:1] if size == "smoke" else DECLARED}, seeds, settings,
                    may_diverge=True, group="digits, declared and true numbers",
                    cpu_seconds=len(seeds) * len(DECLARED) * DIGITS_SECONDS)


def ratings_sweeps(size):
    models = ("shared films",) if size == "smoke" else RATINGS_MODELS
    for model, defence, attack in itertools.product(models, DEFENCES, (CLEAN, *RATINGS_ATTACKS)):
        if size == "smoke" and attack == "fedrec-attack":
            continue
        shares = SHARES[-1:] if size == "smoke" else SHARES
        settings = {**RATINGS_MODELS[model], "attack.target": [COLD],
                    **(RATINGS_ATTACKS[attack] if attack != CLEAN else
                       {**RATINGS_ATTACKS["promote-item"], "attack.from_round": LATER}),
                    **(RATINGS_DEFENCE if defence == "written" else {})}
        seeds = seeds_of(size)
        yield Sweep("robustness/ml-1m.toml", f"ml-1m/{model.replace(' ', '-')}/{defence}/{attack}",
                    {"data": "ml-1m", "model": model, "defence": defence, "attack": attack}, {"attack.clients": shares},
                    seeds, settings, smoke=size == "smoke", may_diverge=True, group=f"ml-1m, {model}",
                    cpu_seconds=len(seeds) * len(shares) * RATINGS_SECONDS)


def use_python(environment):
    """Puts a python3 that can read the digits first in PATH. Exit code 3: there is none, as of data that are missing."""
    for python in (shutil.which("python3"), sys.executable, "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import numpy, sklearn"], capture_output=True,
                                     check=False).returncode == 0:
            environment["PATH"] = f"{pathlib.Path(python).parent}{os.pathsep}{environment['PATH']}"
            return
    print("robustness: no python3 has numpy and scikit-learn, which the digits are from", file=sys.stderr)
    sys.exit(3)


def results(run, size):
    if hasattr(run, "environment"):  # else nothing is run
        use_python(run.environment)
    digits = [row for sweep in digits_sweeps(size) for row in run(sweep)]
    declared = [row for sweep in declared_sweeps(size) for row in run(sweep)]
    ratings = [row for sweep in ratings_sweeps(size) for row in run(sweep)]
    for row in digits:
        row["similar"] = row["grid"]["python.options.similar"]
    for row in ratings:
        row["share"] = row["grid"]["attack.clients"]
    for row in declared:
        row["declared"] = row["grid"][f"{AGGREGATION}.tolerate"]
    return digits, declared, ratings


# ---- figures of rows -------------------------------------------------------------------------------------------------


def values(rows, read):
    """A figure of each run; runs that diverged have none."""
    return [read(row["summary"]) for row in rows if "eval" in row["summary"]]


def global_accuracy(summary):
    """Of the common test images, by the model that the server has."""
    return summary["eval"]["unseen"]["accuracy"]


def personal_accuracy(summary):
    """Of honest clients' own test images, by the model that each of them uses."""
    return summary["client_groups"]["honest"]["eval"]["seen"]["accuracy"]


def hit_ratio(summary):
    return summary["client_groups"]["honest"]["eval"]["seen"]["full_hr_10"]


def exposure(summary):
    """ER@10 of the promoted film."""
    return summary["eval"]["seen"]["attack_success"]


def cell(rows, read):
    found = values(rows, read)
    if len(found) < len(rows):
        return f"{len(rows) - len(found)} of {len(rows)} diverged"
    return text(found, digits=3)


def worst(rows, read, attacks):
    """The cell of the attack with the lowest mean: a run that diverged is worse than any."""
    by_attack = [select(rows, attack=attack) for attack in attacks]
    by_attack = [same for same in by_attack if same]
    if not by_attack:
        return "-"

    def mean(same):
        found = values(same, read)
        return sum(found) / len(found) if len(found) == len(same) else -1.0

    return cell(min(by_attack, key=mean), read)


# ---- tables ----------------------------------------------------------------------------------------------------------


def by_similarity(rows, model, read, defence, attacks):
    here = select(rows, model=model, defence=defence)
    counts = sorted({row["bad"] for row in here})
    lines = [[number(similar), *(worst(select(here, similar=similar, bad=count), read, attacks) for count in counts)]
             for similar in sorted({row["similar"] for row in here})]
    return table(["gamma", *(f"f = {count}" for count in counts)], lines)


def by_declared(rows):
    counts = sorted({row["bad"] for row in rows})
    lines = [[number(declared), *(cell(select(rows, declared=declared, bad=count), global_accuracy) for count in counts)]
             for declared in sorted({row["declared"] for row in rows})]
    return table(["declared", *(f"f = {count}" for count in counts)], lines)


def by_share(rows, read):
    shares = sorted({row["share"] for row in rows})
    lines = []
    for model, attack, defence in itertools.product(RATINGS_MODELS, (CLEAN, *RATINGS_ATTACKS), DEFENCES):
        here = select(rows, model=model, attack=attack, defence=defence)
        if here:
            lines.append([model, attack, defence, *(cell(select(here, share=share), read) for share in shares)])
    return table(["model", "attack", "defence", *(f"{100 * share:g} %" for share in shares)], lines)


def tables(found, _size):
    digits, declared, ratings = found
    made = []
    for model, read in (("global", global_accuracy), ("personal", personal_accuracy)):
        if not select(digits, model=model):
            continue
        whose = "common test images" if model == "global" else "honest clients' own test images"
        for title, defence, attacks in (("no attack, mean", "none", (CLEAN,)),
                                        ("no attack, written setting", "written", (CLEAN,)),
                                        ("worst attack, mean", "none", tuple(DIGITS_ATTACKS)),
                                        ("worst attack, written setting", "written", tuple(DIGITS_ATTACKS))):
            made.append((f"Digits, {model} model: {title} (accuracy on {whose})",
                         by_similarity(digits, model, read, defence, attacks)))
    made.append((f"Digits, global model, gamma {DECLARED_SIMILAR}: declared and true numbers of bad clients under opt-alie "
                 "(accuracy on common test images)", by_declared(declared)))
    made.append(("MovieLens-1M: ER@10 of a film with 9 ratings, by the share of bad users", by_share(ratings, exposure)))
    made.append(("MovieLens-1M: HR@10 of honest users", by_share(ratings, hit_ratio)))
    return sections(made)


def figures(_found, _size):
    return {}
