#!/usr/bin/env python3
"""Runs a fixed list of small runs and compares what they end with to runs.tsv.

A change that is not meant to change results changes none of these hashes; one that is says which and why. Kernels are
pinned to x86-64-v3. With --portable: those of portable.txt, at the level that every processor has, where every compiler,
C library and processor must get the same.

    tests/oracles/check.py build/release/furlong               compare all, exit 1 if one differs
    tests/oracles/check.py build/release/furlong -k async      only those whose name contains a word
    tests/oracles/check.py build/release/furlong --write       write those that were run to the table
    tests/oracles/check.py build/arm64/furlong --portable --under "qemu-aarch64-static -L /tmp/arm64-root"
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS = ("name", "exit", "model", "private", "folded", "figures")
SKIPPED = 3
# Of each kind of model, mode and computation on floating-point numbers one.
PORTABLE = ("quickstart-furl", "quickstart-fedrecon", "quickstart-fedatt", "fedrecon-least-squares", "adam-furl",
            "clip-noise-fedavg", "int8-furl", "async-furl", "sparse-feddyn", "logistic-fedrecon", "texts", "secure-furl")

QUICK = ["scenario.rounds=25", "evaluation.every=10"]
SPARSE = ["scenario.until.virtual_seconds=14400"]
BRANCHES = ["participation.per_round=10", "scenario.rounds=40", "evaluation.every=20", "checkpoint.every=5"]
# The kinds of algorithm that are not gone through above, with what each needs.
PERSONALISED = {
    "fedper": [], "fedrep": [], "fedalt": [], "fedbabu": [], "als": [],
    "ditto": ["model.private=[]"], "pfedme": ["model.private=[]", "algorithm.aggregation.rule=uniform-mean"],
    "apfl": ["model.private=[]", "algorithm.client.lr=0.05"], "scaffold": [], "feddyn": [],
}
SCORES = ["model.kind=score-function", 'model.private=["score", "score_bias"]']
# Runs of implicit.toml, with what each needs.
IMPLICIT = {
    "ials": [],
    "ials-differences": [],
    "pfedrec": [*SCORES, "algorithm.pfedrec.item_lr=2"],
    "fedrap": ["model.kind=score-function", "model.own_items=true",
               'model.private=["score", "score_bias", "own_item"]', "algorithm.fedrap.item_lr=0.5"],
    "furl": ["model.kind=neural-cf", "algorithm.server.optimizer=adam", "algorithm.server.lr=0.02"],
    "fedrecon": ["model.loss=logistic", "model.item_bias=true", "algorithm.reconstruction.split=false"],
    "fedper": ["model.loss=bpr"],
    "popularity": ["model.rank=1", "model.init=0", "model.item_bias=true", "model.private=[]"],
}

# Robust rules, each under another attack: what each needs.
EVERYTHING, FILM = "attack.knows=all", 'attack.target=["7"]'
PER_ROW = ["algorithm.aggregation.tolerate=0.49", "algorithm.aggregation.rows=per-row",
           "algorithm.aggregation.row_quantile=0.9"]
ROBUST = {
    ("centred-clipping", "sign-flip"): [],
    ("fltrust", "gaussian"): ["algorithm.aggregation.root=[1, 2, 3, 5, 7]", "attack.strength=0.01"],
    ("arc", "label-flip"): [],
    ("buckets", "ipm"): ["algorithm.aggregation.buckets=25"],
    ("median", "mimic"): [EVERYTHING],
    ("meamed", "alie"): [EVERYTHING],
    ("geometric-median", "min-max"): [EVERYTHING],
    ("krum", "opt-ipm"): [EVERYTHING],
    ("multi-krum", "opt-alie"): [EVERYTHING],
    ("bulyan", "fedrec-attack"): [FILM],
    ("trimmed-mean", "alie"): ['algorithm.aggregation.before=["arc", "nnm"]', EVERYTHING],
    ("trimmed-mean", "promote-item"): [*PER_ROW, FILM],
}


def cases():
    """name -> (scenario, settings)"""
    out = {}
    for kind in ("fedavg", "furl", "fedrecon", "fedatt", "centralized"):
        out[f"quickstart-{kind}"] = ("quickstart", [f"algorithm.kind={kind}", *QUICK])
    out["quickstart-fedsgd"] = ("quickstart", ["algorithm.kind=fedsgd", "algorithm.client.epochs=1", *QUICK])
    for kind in ("furl", "fedrecon", "fedavg"):
        out.update(variants(kind))
    out["furl-bucketed"] = ("sparse", [*SPARSE, "private.layout=bucketed"])
    out["furl-after-training"] = ("sparse", [*SPARSE, "private.commit=after-training"])
    out["furl-cold-default"] = ("sparse", [*SPARSE, "private.cold_start=default"])
    out["fedrecon-least-squares"] = ("quickstart", ["algorithm.kind=fedrecon", *QUICK,
                                                    "algorithm.reconstruction.solver=least-squares"])
    out["fedrecon-joint"] = ("quickstart", ["algorithm.kind=fedrecon", *QUICK, "algorithm.reconstruction.joint=true"])
    out["fedrecon-no-split"] = ("quickstart", ["algorithm.kind=fedrecon", *QUICK,
                                               "algorithm.reconstruction.split=false"])
    out["fine-tuned"] = ("quickstart", ["algorithm.kind=fedavg", *QUICK, 'evaluation.reconstruct=["*"]'])
    out["texts"] = ("quickstart-texts", ["scenario.rounds=8"])
    out["texts-fedavg"] = ("quickstart-texts", ["scenario.rounds=8", "algorithm.kind=fedavg"])
    for kind in ("furl", "fedrecon", "fedavg"):
        out[f"logistic-{kind}"] = (HERE / "logistic.toml", [f"algorithm.kind={kind}"])
        out[f"best-{kind}"] = ("quickstart", [f"algorithm.kind={kind}", *QUICK, "evaluation.select=best"])
        out[f"joins-leaves-{kind}"] = ("sparse", [
            f"algorithm.kind={kind}", *SPARSE,
            'event=[{at="0s", leave="0-299"}, {at="3600s", join="0-299"}, {at="7200s", leave="500-599", erase=true}]'])
    out["federation"] = ("federation", ["scenario.rounds=6", "evaluation.every=3"])
    out["faults"] = ("faults", [])
    for kind, needs in PERSONALISED.items():
        settings = [f"algorithm.kind={kind}", *needs]
        out[f"quickstart-{kind}"] = ("quickstart", [*settings, *QUICK])
        out[f"sparse-{kind}"] = ("sparse", [*settings, *SPARSE])
        out[f"texts-{kind}"] = ("quickstart-texts", [*settings, "scenario.rounds=4"])
    del out["texts-als"]  # for ratings only
    for kind in ("furl", "fedavg", "fedrecon"):
        out[f"secure-{kind}"] = ("secure", [f"algorithm.kind={kind}", "scenario.rounds=6", "evaluation.every=3",
                                            "dropout.upload=0.1"])
        out[f"processes-{kind}"] = ("processes", [f"algorithm.kind={kind}", "scenario.rounds=160"])
        out[f"python-{kind}"] = (ROOT / "python/examples/logistic.toml", [f"algorithm.kind={kind}"])
    for kind, needs in IMPLICIT.items():
        out[f"implicit-{kind}"] = (HERE / "implicit.toml", [f"algorithm.kind={kind}", *needs])
    out["implicit-leak"] = (HERE / "implicit.toml", [
        "algorithm.kind=pfedrec", *IMPLICIT["pfedrec"], "algorithm.pfedrec.evaluate=shared",
        "algorithm.client.exclude=all"])
    for (rule, attack), needs in ROBUST.items():
        out[f"{rule}-{attack}"] = ("quickstart", ["algorithm.kind=furl", *QUICK, f"algorithm.aggregation.rule={rule}",
                                                  f"attack.kind={attack}", *needs])
    out["secure-scaffold"] = ("secure", ["algorithm.kind=scaffold", "scenario.rounds=6"])
    out["processes-secure"] = ("processes", [*BRANCHES, "privacy.secure_aggregation=true", "event=[]",
                                             "algorithm.aggregation.rule=uniform-mean",
                                             "algorithm.aggregation.norm_bound=fixed"])
    out["private"] = ("private", ["scenario.rounds=10", "evaluation.every=5"])
    out["private-clients"] = ("private", ["scenario.rounds=10", "evaluation.every=5", "privacy.noise_at=client",
                                          "privacy.secure_aggregation=true", "participation.min_reports=130"])
    out["python-ditto"] = (ROOT / "python/examples/logistic.toml", ["algorithm.kind=ditto", "model.private=[]"])
    out["python-scaffold"] = (ROOT / "python/examples/logistic.toml", ["algorithm.kind=scaffold"])
    out["python-async"] = (ROOT / "python/examples/logistic.toml", [
        "participation.mode=async", "participation.buffer=5", "participation.concurrency=10"])
    out["python-factorization"] = (ROOT / "python/examples/factorization.toml", ["scenario.rounds=10"])
    return out


def variants(kind):
    """Modes, policies, optimizers, compression, privacy, rules and clocks of one algorithm."""
    base = [f"algorithm.kind={kind}"]
    out = {
        f"sparse-{kind}": ("sparse", [*base, *SPARSE]),
        f"sparse-{kind}-lossy": ("sparse", [*base, *SPARSE, "dropout.upload=0.5", "dropout.train=0.2"]),
        f"sparse-{kind}-pause": ("sparse", [*base, *SPARSE, "dropout.policy=pause", "dropout.train=0.3"]),
        f"async-{kind}": ("sparse", [*base, *SPARSE, "participation.mode=async", "participation.buffer=8",
                                     "participation.concurrency=30"]),
        f"fedasync-{kind}": ("sparse", [*base, *SPARSE, "participation.mode=async", "participation.update=model",
                                        "participation.weighting=hinge", "participation.concurrency=20"]),
    }
    for optimizer in ("adagrad", "adam", "yogi"):
        out[f"{optimizer}-{kind}"] = ("quickstart", [*base, *QUICK, f"algorithm.server.optimizer={optimizer}",
                                                     "algorithm.server.lr=0.1"])
    for policy in ("weight", "round-robin", "least-recent", "power-of-choice"):
        out[f"{policy}-{kind}"] = ("sparse", [*base, *SPARSE, f"participation.policy={policy}"])
    for packed in ("zstd", "float16", "int8", "int8+zstd"):
        out[f"{packed}-{kind}"] = ("quickstart", [*base, *QUICK, f"network.compression={packed}"])
    out[f"clip-noise-{kind}"] = ("quickstart", [*base, *QUICK, "privacy.clip=0.5", "privacy.noise=0.1",
                                                "algorithm.aggregation.rule=uniform-mean"])
    out[f"proximal-momentum-{kind}"] = ("quickstart", [*base, *QUICK, "algorithm.client.proximal=0.1",
                                                       "algorithm.client.momentum=0.5"])
    out[f"fedatt-rule-{kind}"] = ("quickstart", [*base, *QUICK, "algorithm.aggregation.rule=fedatt",
                                                 "algorithm.aggregation.eps=1.2"])
    out[f"uniform-mean-{kind}"] = ("quickstart", [*base, *QUICK, "algorithm.aggregation.rule=uniform-mean"])
    out[f"tree-{kind}"] = ("quickstart", [*base, *QUICK, "topology.aggregators=3"])
    out[f"real-clock-{kind}"] = ("quickstart", [*base, *QUICK, "scenario.clock=real"])
    return out


def figures(summary):
    """Accounting and every figure of every evaluated group, to 6 digits, in a fixed order."""
    texts = [f"{key}={summary[key]}" for key in ("selected", "late", "surplus", "abandoned")]
    texts.append(f"dropped={sum(summary['dropped'].values())}")
    if "added_sha256" in summary:
        texts.append(f"added={summary['added_sha256'][:16]}")
    for group, values in sorted(summary.get("eval", {}).items()):
        if isinstance(values, dict):
            texts += [f"{group}.{key}={value:.6g}" for key, value in sorted(values.items())
                      if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return ";".join(texts)


def run(furlong, folder, scenario, settings, *more, threads=2):
    """furlong: the words of the command."""
    path = scenario if isinstance(scenario, Path) else ROOT / f"scenarios/{scenario}.toml"
    command = [*furlong, "run", str(path), "--out", f"{folder}/run", "--threads", str(threads), "--format", "json",
               *more]
    for setting in settings:
        command += ["--set", setting]
    environment = dict(os.environ, FURLONG_PYTHON=sys.executable, PYTHONPATH=str(ROOT / "python"))
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)


def row_of(name, code, folder):
    """The row of a run in a folder: with its message where it made no summary."""
    path = Path(folder, "run", "summary.json")
    if not path.exists():
        return [name, str(code.returncode), "-", "-", "-", " ".join(code.stderr.split())[-300:]]
    summary = json.loads(path.read_text())
    return [name, str(code.returncode), summary["model_sha256"][:16], (summary.get("private_sha256") or "-")[:16],
            str(summary["folded"]), figures(summary)]


def measure(furlong, name, scenario, settings):
    with tempfile.TemporaryDirectory() as folder:
        return row_of(name, run(furlong, folder, scenario, settings), folder)


def resumed(furlong):
    """A run that is stopped at round 10 and goes on, and what it recommends: as if it had never stopped."""
    settings = ["algorithm.kind=furl", "evaluation.every=10", "checkpoint.every=5"]
    with tempfile.TemporaryDirectory() as folder:
        run(furlong, folder, "quickstart", [*settings, "scenario.rounds=10"])
        row = row_of("resumed", run(furlong, folder, "quickstart", [*settings, "scenario.rounds=25"], "--resume"),
                     folder)
        answer = subprocess.run([*furlong, "infer", f"{folder}/run", "--client", "3", "--top", "3", "--format", "json"],
                                capture_output=True, text=True, timeout=60)
        row[-1] = f"infer={answer.returncode};" + row[-1]
        return row


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("furlong")
    words.add_argument("-k", default="", help="only runs whose name contains this")
    words.add_argument("--write", action="store_true", help="write the rows of these runs to the table")
    words.add_argument("--portable", action="store_true", help="the runs of portable.txt at the level portable")
    words.add_argument("--under", default="", metavar="COMMAND", help="what runs the program, such as an emulator")
    options = words.parse_args()
    if not options.portable:
        try:
            import numpy  # noqa: F401  of the problems in python/examples
        except ImportError:
            print("skipped: needs python3-numpy")
            return SKIPPED
        if "avx2" not in Path("/proc/cpuinfo").read_text():
            print("skipped: needs a processor of the level x86-64-v3")
            return SKIPPED
    os.environ["FURLONG_KERNEL_LEVEL"] = "portable" if options.portable else "x86-64-v3"
    file = HERE / ("portable.txt" if options.portable else "runs.tsv")
    furlong = [*shlex.split(options.under), os.path.abspath(options.furlong)]
    chosen = {name: case for name, case in cases().items()
              if options.k in name and (not options.portable or name in PORTABLE)}
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda item: measure(furlong, item[0], *item[1]), chosen.items()))
    if options.k in "resumed" and not options.portable:
        rows.append(resumed(furlong))
    table = {}
    if file.exists():
        table = {line.split("\t")[0]: line.split("\t") for line in file.read_text().splitlines()[1:]}
    if options.write:
        table.update({row[0]: row for row in rows})
        file.write_text("".join("\t".join(row) + "\n" for row in (COLUMNS, *table.values())))
        return 0
    wrong = [row for row in rows if table.get(row[0]) != row]
    for row in wrong:
        print("differs:", *row, "\nexpected:", *(table.get(row[0]) or ["nothing"]))
    print(f"{len(rows) - len(wrong)} of {len(rows)} runs end as before")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
