#!/usr/bin/env python3
"""furlong compare: means, intervals and paired differences against scipy (Debian: python3-scipy; without it that test is
skipped), and what the command and the Python package make of run directories.

usage: compare_test.py FURLONG
"""
import csv
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from scipy import stats
except ImportError:
    stats = None

ROOT = Path(__file__).resolve().parent.parent.parent
FURLONG = ""
METRICS = {"rmse": 0.9, "accuracy": 0.4, "hits": 0.2, "odd": 1e-6}  # the last two are those of a model in Python


def write_run(folder, name, lr, seed, shift, failed="", **more):
    """A run as far as a comparison reads it. Figures are one random number a seed, one a run, and a shift."""
    common, own = random.Random(f"seed {seed}"), random.Random(f"{name} {lr} {seed}")
    figures = {key: at * (1 + 0.1 * common.gauss(0, 1) + 0.02 * own.gauss(0, 1) + shift) for key, at in METRICS.items()}
    summary = {"scenario": name, "seed": seed, "algorithm": "furl", "model": "python", "rounds": 4,
               "smaller_is_better": {"hits": False, "odd": True}, "bytes_up": 100 + seed,
               "eval": {"unseen": {**figures, "loss": figures["rmse"] ** 2, "examples": 9, "clients": 3}}}
    if failed:
        summary["failed"] = failed
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(f'[scenario]\nname = "{name}"\nseed = {seed}\n[data]\nsplit_seed = {seed}\n'
                                          f"[algorithm.client]\nlr = {lr}\n")
    (folder / "summary.json").write_text(json.dumps(dict(summary, **more)))
    (folder / "metrics.jsonl").write_text("".join(
        json.dumps({"round": r, "loss": 1 / r, **({"eval": summary["eval"]} if r == 4 else {})}) + "\n"
        for r in range(1, 5)))
    return figures


class Compare(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="furlong-compare-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.figures = {}
        for lr, shift, seeds in ((0.1, 0.0, range(1, 7)), (0.2, 0.15, range(1, 6)), (0.4, 0.001, (2, 3, 5, 9))):
            for seed in seeds:
                self.add(f"lr{lr}-{seed}", lr, seed, shift)

    def add(self, run, lr, seed, shift, **more):
        self.figures[lr, seed] = write_run(self.folder / run, "films", lr, seed, shift, **more)

    def compare(self, *options, code=0, runs=None):
        runs = runs if runs is not None else sorted(p.parent for p in self.folder.glob("*/summary.json"))
        done = subprocess.run([FURLONG, "compare", *map(str, runs), *options], capture_output=True, text=True,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def json(self, *options, **more):
        return json.loads(self.compare("--format", "json", *options, **more))

    def assert_close(self, ours, theirs):
        self.assertTrue(math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-15), (ours, theirs))

    def assert_estimate(self, of, values):
        self.assertEqual(of["n"], len(values))
        self.assert_close(of["mean"], sum(values) / len(values))
        self.assert_close(of["sd"], stats.tstd(values))
        low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
        self.assert_close(of["low"], low)
        self.assert_close(of["high"], high)

    @unittest.skipIf(stats is None, "no scipy (Debian: python3-scipy)")
    def test_estimates_and_paired_differences_are_those_of_scipy(self):
        made = self.json()
        self.assertEqual(made["baseline"], "lr=0.1")
        self.assertEqual({f["figure"] for f in made["figures"]}, {f"eval.unseen.{m}" for m in [*METRICS, "loss"]})
        checked = 0
        for figure in made["figures"]:
            name = figure["figure"].rsplit(".", 1)[1]
            value = lambda lr, seed: (self.figures[lr, seed][name] if name != "loss"
                                      else self.figures[lr, seed]["rmse"] ** 2)
            of = {lr: {s: value(lr, s) for (l, s) in self.figures if l == lr} for lr in (0.1, 0.2, 0.4)}
            for one in figure["configurations"]:
                lr = float(one["label"].removeprefix("lr="))
                self.assert_estimate(one, list(of[lr].values()))
                if lr == 0.1:
                    self.assertNotIn("difference", one)
                    continue
                shared = sorted(of[lr].keys() & of[0.1].keys())
                a, b = ([of[l][s] for s in shared] for l in (0.1, lr))
                self.assert_estimate(one["difference"], [y - x for x, y in zip(a, b)])
                test = stats.ttest_rel(b, a)
                interval = test.confidence_interval(0.95)
                self.assert_close(one["difference"]["low"], interval.low)
                self.assert_close(one["difference"]["high"], interval.high)
                self.assertEqual(one["difference"]["excludes_zero"], bool(test.pvalue < 0.05))
                checked += 1
        self.assertEqual(checked, 10)

    def test_best_is_what_differs_from_each_other_one(self):
        best = {f["figure"]: (f["better"], f["best"]) for f in self.json()["figures"]}
        # 0.4 is within the noise of 0.1, so that no smallest is marked; the largest differs from both.
        self.assertEqual(best["eval.unseen.rmse"], ("smaller", None))
        self.assertEqual(best["eval.unseen.odd"], ("smaller", None))
        self.assertEqual(best["eval.unseen.accuracy"], ("larger", "lr=0.2"))
        self.assertEqual(best["eval.unseen.hits"], ("larger", "lr=0.2"))
        text = self.compare("--metric", "eval.unseen.hits")
        self.assertIn("eval.unseen.hits, larger is better\n", text)
        self.assertRegex(text, r"\nlr=0\.2 \* +5 ")
        two = [self.folder / f"lr{lr}-{s}" for lr in (0.1, 0.2) for s in (1, 2, 3, 4, 5)]
        self.assertEqual({f["figure"]: f["best"] for f in self.json(runs=two)["figures"]}["eval.unseen.rmse"], "lr=0.1")

    def test_one_shared_seed_has_no_interval_and_marks_nothing(self):
        made = self.json(runs=[self.folder / "lr0.1-1", self.folder / "lr0.2-1"])
        for figure in made["figures"]:
            self.assertIsNone(figure["best"])
            self.assertEqual([figure["configurations"][1]["difference"][k] for k in ("n", "sd", "low", "high")],
                             [1, None, None, None])
        self.assertEqual(made["notes"], ["Nothing is marked as best: with one shared seed a difference has no interval; "
                                         "run several seeds."])

    def test_failed_and_unfinished_runs_are_named_and_not_counted(self):
        before = self.json()["figures"]
        self.add("lr0.1-20", 0.1, 20, 50.0, failed="training diverged: the loss is not finite")
        self.add("lr0.1-21", 0.1, 21, 50.0)
        (self.folder / "lr0.1-21" / "summary.json").unlink()
        runs = sorted(p.parent for p in self.folder.glob("*/metrics.jsonl"))
        made = self.json(runs=runs)
        self.assertEqual(made["figures"], before)
        states = [(r["seed"], r["state"]) for r in made["configurations"][0]["runs"] if r["state"] != "done"]
        self.assertEqual(states, [(20, "diverged"), (21, "not ended")])
        self.assertIn('Not counted: lr=0.1, run "lr0.1-20": training diverged, the loss is not finite.', made["notes"])
        self.assertIn('Not counted: lr=0.1, run "lr0.1-21": not ended after 4 rounds.', made["notes"])

    def test_any_number_of_the_summary_and_any_baseline(self):
        made = self.json("--metric", "bytes_up", "--metric", "eval.unseen.hits", "--baseline", "0.4")
        self.assertEqual([f["figure"] for f in made["figures"]], ["bytes_up", "eval.unseen.hits"])
        self.assertEqual(made["baseline"], "lr=0.4")
        self.assertEqual(made["figures"][0]["configurations"][2]["mean"], 100 + (2 + 3 + 5 + 9) / 4)
        # Its seeds are shared, and their traffic is equal to the byte.
        self.assertEqual(made["figures"][0]["configurations"][0]["difference"],
                         {"n": 3, "mean": 0.0, "sd": 0.0, "low": None, "high": None, "excludes_zero": False})
        self.assertIn("name one of these: \"lr=0.1\", \"lr=0.2\", \"lr=0.4\"", self.compare("--baseline", "lr", code=2))
        self.assertIn("no finished run has such a number in its summary", self.compare("--metric", "bytes", code=2))
        self.assertIn("holds neither", self.compare(runs=[self.folder], code=3))

    def test_csv_has_the_same_figures(self):
        made = self.json()
        rows = list(csv.DictReader(io.StringIO(self.compare("--format", "csv"))))
        self.assertEqual(len(rows), 3 * len(made["figures"]))
        lines = {(f["figure"], one["label"]): one for f in made["figures"] for one in f["configurations"]}
        for row in rows:
            one = lines[row["figure"], row["configuration"]]
            for key in ("n", "mean", "sd", "low", "high"):
                self.assertEqual(float(row[key]), one[key])
            self.assertEqual(row["baseline"], "lr=0.1")
            for key in ("n", "mean", "sd", "low", "high"):
                theirs = one["difference"][key] if "difference" in one else None
                self.assertEqual(row[f"difference_{key}"], "" if theirs is None else json.dumps(theirs))

    def test_curves_are_the_rounds_of_all_runs(self):
        self.compare("--curves", "all.csv")
        rows = list(csv.DictReader(io.StringIO((self.folder / "all.csv").read_text())))
        self.assertEqual(len(rows), 4 * len(self.figures))
        last = next(r for r in rows if r["configuration"] == "lr=0.4" and r["seed"] == "9" and r["round"] == "4")
        self.assertEqual(float(last["eval.unseen.hits"]), self.figures[0.4, 9]["hits"])
        self.assertEqual((float(last["loss"]), last["state"]), (0.25, "done"))
        self.assertTrue(last["run"].endswith("lr0.4-9"))

    def test_the_folder_of_a_sweep_stands_for_its_runs(self):
        names = [f"lr{lr}-{seed}" for lr, seed in self.figures]
        lines = [{"run": name, "status": "done", "seed": int(name.rsplit("-", 1)[1])} for name in names]
        lines.append({"run": "lr0.1-30", "status": "failed", "seed": 30, "why": "exit code 4: no memory"})
        lines.append({"run": "lr0.1-31", "status": "waiting", "seed": 31})
        (self.folder / "sweep.json").write_text(json.dumps({"scenario": "films", "grid": {}, "runs": lines}))
        (self.folder / "logs").mkdir()
        (self.folder / "logs" / "lr0.1-30.toml").write_text(
            '[scenario]\nname = "films"\nseed = 30\n[data]\nsplit_seed = 30\n[algorithm.client]\nlr = 0.1\n')
        made = self.json(runs=[self.folder])
        self.assertEqual(made["figures"], self.json()["figures"])
        self.assertEqual(made["configurations"][0]["runs"][-1]["why"], "exit code 4: no memory")
        # A run is one run, however often it is named.
        self.assertEqual(self.json(runs=[self.folder, self.folder / names[0]])["figures"], made["figures"])

    def test_the_best_model_is_told_by_its_round(self):
        for seed, version in ((1, 40), (2, 52)):
            write_run(self.folder / f"best-{seed}", "best", 0.1, seed, 0.0,
                      best={"metric": "validation.rmse", "value": 0.9, "version": version})
        runs = [self.folder / "best-1", self.folder / "best-2"]
        report = subprocess.run([FURLONG, "report", *runs, "--out", self.folder / "r.html"], capture_output=True,
                                text=True, check=True).stdout
        self.assertIn("best round", report)
        self.assertIn("40-52", report)
        made = self.json(runs=runs)
        self.assertEqual([r["best_round"] for r in made["configurations"][0]["runs"]], [40, 52])
        self.assertTrue(any("evaluation.select" in note for note in made["notes"]))

    def test_a_run_in_one_place_without_personalization_says_so(self):
        write_run(self.folder / "global", "global", 0.1, 1, 0.0, algorithm="central", personalized=False)
        runs = [self.folder / "global", self.folder / "lr0.1-1"]
        self.assertEqual(self.json(runs=runs)["configurations"][0]["label"], "global (not personalized)")
        report = subprocess.run([FURLONG, "report", *runs, "--out", self.folder / "r.html"], capture_output=True,
                                text=True, check=True).stdout
        self.assertIn("global (not personalized)", report)

    def test_the_package_has_the_same_figures(self):
        sys.path.insert(0, str(ROOT / "python"))
        os.environ["FURLONG"] = FURLONG
        try:
            import furlong
        except ImportError as why:
            self.skipTest(f"{why}")
        rows = lambda frame: frame.to_dict("records") if hasattr(frame, "to_dict") else frame
        runs = sorted(p.parent for p in self.folder.glob("*/summary.json"))
        made = furlong.compare([furlong.open(runs[0]), *runs[1:]], metrics=["eval.unseen.hits"], baseline="lr=0.2")
        theirs = self.json("--metric", "eval.unseen.hits", "--baseline", "lr=0.2")
        self.assertEqual(made.data, theirs)
        self.assertEqual(made.baseline, "lr=0.2")
        table = rows(made.table)
        self.assertEqual([(r["configuration"], r["best"]) for r in table],
                         [("lr=0.1", False), ("lr=0.2", True), ("lr=0.4", False)])
        self.assertEqual([r["configuration"] for r in rows(made.differences)], ["lr=0.1", "lr=0.4"])
        self.assertEqual(rows(made.differences)[0]["mean"],
                         theirs["figures"][0]["configurations"][0]["difference"]["mean"])
        self.assertEqual(len(rows(made.values)), len(self.figures))
        with self.assertRaises(furlong.CommandError):
            furlong.compare(runs, baseline="none")


if __name__ == "__main__":
    FURLONG = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
