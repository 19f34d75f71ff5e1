#!/usr/bin/env python3
"""Algorithms in Python: against those in C++, with any number of threads and trainers, in federations, killed and
resumed; and what is refused.

usage: python_algorithm_test.py FURLONG [TEST...]
"""
import csv
import json
import sys
import unittest

from case import main
from federation import DONE, FAILURE, USAGE
from python_case import ROOT, SCENARIO, PythonCase, numpy

try:
    import torch
except ImportError:
    torch = None

MOVED = f"{ROOT}/tests/processes/moved.py"
RATINGS = f"{ROOT}/tests/processes/ratings.py:Ratings"
MIXED_FILE = f"{ROOT}/tests/processes/mixed.py"
MIXED = {"algorithm.kind": "python", "python.problem": f"{MIXED_FILE}:Guesses", "participation.per_round": 12,
         "model.private": "[]", "scenario.rounds": 4}


@unittest.skipIf(numpy is None, "needs python3-numpy")
class Algorithm(PythonCase):
    def by(self, name: str, trouble: str = "", **settings):
        return self.problem(trouble, **{"algorithm.kind": "python", "python.algorithm": f"{MOVED}:{name}", **settings})

    def named(self, name: str) -> tuple:
        """What a node adds to its command."""
        return "--python", RATINGS, "--algorithm", f"{MOVED}:{name}"

    def test_agrees_with_built_in(self):
        """SCAFFOLD and Ditto in Python end where those in C++ do, after 3 rounds."""
        cases = (("scaffold", "Corrected", {}), ("ditto", "Personal", {"algorithm.client.shuffle": "false"}))
        for kind, name, settings in cases:
            # Ditto shares all tensors.
            shared = {"model.private": "[]"} if kind == "ditto" else {}
            common = {"scenario.rounds": 3, "evaluation.every": 3, "algorithm.client.epochs": 2, **settings, **shared}
            with self.subTest(kind), self.problem(**{"algorithm.kind": kind, **common}) as f:
                built_in = self.result(f, "built-in")
                f.settings |= {"algorithm.kind": "python", "python.algorithm": f"{MOVED}:{name}"}
                own = self.result(f, "own")
                self.assertEqual(own["folded"], built_in["folded"])
                for group in ("seen", "unseen"):
                    ratio = own["eval"][group]["loss"] / built_in["eval"][group]["loss"]
                    self.assertAlmostEqual(ratio, 1.0, delta=1e-5)

    def test_every_place(self):
        """It learns, and threads, trainers and a resolved scenario change nothing."""
        with self.by("Everywhere") as f:
            alone = self.result(f, "one", "--threads", "1")
            self.assertEqual(alone["folded"], alone["selected"])
            self.assertLess(alone["eval"]["seen"]["loss"], alone["eval"]["unseen"]["loss"])
            self.assertGreater(alone["eval"]["seen"]["before_loss"], alone["eval"]["seen"]["loss"])
            self.same(alone, self.result(f, "two", "--threads", "2"))
            self.same(alone, self.result(f, "four", "--threads", "4", "--set", "python.workers=1"))
            resolved = f.folder / "one" / "scenario.toml"
            text = resolved.read_text()
            self.assertIn('"own kept received = model"', text)
            self.assertIn("mu = 0.5", text)
            again = f.folder / "again"
            f.run("run", resolved, "--out", again)
            self.assertIn(alone["model_sha256"], (again / "summary.json").read_text())
            f.run("export", f.folder / "one", "--groups", f.folder / "groups.npz")
            with numpy.load(f.folder / "groups.npz") as groups:
                self.assertEqual(sorted(groups.files), ["python/drift/weights", "python/pull/values"])
                self.assertEqual(groups["python/pull/values"].tolist(), [[0.25]])
                self.assertTrue(numpy.isfinite(groups["python/drift/weights"]).all())
                self.assertTrue(groups["python/drift/weights"].any())
            other = self.result(f, "other", "--set", "algorithm.python.mu=1.0")
            self.assertNotEqual(other["private_sha256"], alone["private_sha256"])

    def test_files(self):
        """The summary has digests of the algorithm's file; a changed one is refused at resume."""
        with self.by("Everywhere", **{"scenario.rounds": 4}) as f:
            own = f.folder / "moved.py"
            own.write_text((ROOT / "tests/processes/moved.py").read_text())
            f.environment["PYTHONPATH"] += f":{ROOT}/tests/processes"
            f.settings["python.algorithm"] = f"{own}:Everywhere"
            self.assertIn("moved.py", str(sorted(self.result(f, "run")["code"])))
            own.write_text(own.read_text() + "\n")
            done = f.run("run", f.scenario, "--out", f.folder / "run", *f.sets(), "--resume", "--set",
                         "scenario.rounds=6", expect=USAGE)
            self.assertRegex(done.stderr, "the code of the class has changed since: .*moved.py")

    def test_inference(self):
        """Predictions and values of a client are those that evaluation scores."""
        with self.by("Everywhere") as f:
            self.result(f, "run")
            done = f.run("infer", f.folder / "run", "--client", "1")
            self.assertIn("personal parameters: stored", done.stdout)
            f.run("export", f.folder / "run", "--predictions", f.folder / "said.csv")
            self.assertGreater((f.folder / "said.csv").read_text().count("\n"), 100)

    def test_first_evaluation(self):
        """A mistake in personalize() or outputs() ends a run before its first round, and leaves no folder; a node's
        too."""
        cases = [("raise personalize", "moved.py", "no values for this user", {})]
        if torch is not None:
            cases.append(("raise outputs", "mixed.py", "no outputs for this client", MIXED | {
                "python.algorithm": f"{MIXED_FILE}:Reversed"}))
        for trouble, file, reason, settings in cases:
            with self.subTest(trouble), self.by("Everywhere", trouble, **settings) as f:
                done = f.run("run", f.scenario, "--out", f.folder / "run", *f.sets(), expect=FAILURE)
                self.assertRegex(done.stderr, rf"{file}:\d+: before the first round: .*{reason}")
                self.assertFalse((f.folder / "run").exists())
        with self.by("Everywhere") as f:
            f.serve(operators=False)
            f.environment["TROUBLE"] = "raise personalize"
            node = f.join(0, 0, 199, *self.named("Everywhere"))
            self.assertEqual(node.wait(), FAILURE)
            self.assertRegex(node.text(), r"moved\.py:\d+: before the first round: .*no values for this user")

    @unittest.skipIf(torch is None, "needs python3-torch")
    def test_outputs(self):
        """What outputs() says is scored and predicted, with and without personalize()."""
        said = {}
        for name in ("Voted", "Reversed"):
            with self.subTest(name), self.problem(**MIXED, **{"python.algorithm": f"{MIXED_FILE}:{name}"}) as f:
                alone = self.result(f, "run", "--threads", "1")
                self.same(alone, self.result(f, "two", "--threads", "2"))
                f.run("export", f.folder / "run", "--predictions", f.folder / "said.csv")
                with (f.folder / "said.csv").open() as lines:
                    rows = list(csv.DictReader(lines))
                self.assertEqual(len(rows), alone["eval"]["seen"]["examples"])
                right = sum(one["prediction"] == one["label"] for one in rows) / len(rows)
                self.assertAlmostEqual(right, alone["eval"]["seen"]["accuracy"], delta=1e-12)
                said[name] = alone["model_sha256"], right
        self.assertEqual(said["Voted"][0], said["Reversed"][0])  # they train alike
        self.assertLess(said["Reversed"][1] + 0.1, said["Voted"][1])

    def test_virtual_time(self):
        """The class says what a task costs."""
        with self.by("Everywhere", **{"devices.speed.ms_per_example": 100}) as f:
            costly = self.result(f, "costly", "--set", "algorithm.python.passes=5")
            cheap = self.result(f, "cheap", "--set", "algorithm.python.passes=1")
            self.assertGreater(costly["virtual_seconds"], 2 * cheap["virtual_seconds"])

    def test_trainers_killed(self):
        """Trainers that are killed in the middle of a task are started again, and nothing changes."""
        with self.by("Everywhere") as f:
            whole = self.result(f, "whole")
            marks = f.folder / "marks"
            marks.mkdir()
            f.environment |= {"TROUBLE": "die", "MARKS": str(marks)}
            self.same(whole, self.result(f, "killed", "--threads", "2"))
            self.assertGreater(len(list(marks.iterdir())), 3)

    def test_furlong_killed(self):
        """No trainer outlives it, and the run goes on where it was, with exact state too."""
        for name in ("Everywhere", "Corrected"):
            with self.subTest(name), self.by(name, "slow", **{"scenario.rounds": 20}) as f:
                whole = self.result(f, "whole")
                self.same(whole, self.killed_run(f, 3))

    def test_federation(self):
        """Nodes train by their own files, behind an aggregator that has none: the model of the single process."""
        for name in ("Everywhere", "Corrected"):
            with self.subTest(name), self.by(name) as f:
                alone = f.alone()
                mine = self.named(name)
                f.serve()
                f.aggregate("aggregator0").wait_for("accepted this aggregator")
                f.join(0, 0, 99, *mine)
                f.join(1, 100, 199, *mine)
                self.check_same(f, f.end(), alone)
                self.assertNotIn("moved.py", f.processes["aggregator0"].text())

    def test_secure_federation(self):
        """Sums of groups are masked as those of the model."""
        with self.by("Everywhere", secure=True, **{"privacy.secure_aggregation": "true",
                                                      "algorithm.aggregation.rule": "uniform-mean"}) as f:
            alone = f.alone()
            mine = self.named("Everywhere")
            f.serve()
            f.join(0, 0, 99, *mine)
            f.join(1, 100, 199, *mine)
            together = f.end()
            for key in ("model_sha256", "added_sha256", "eval", "folded"):
                self.assertEqual(together[key], alone[key], key)

    def test_other_kinds(self):
        """Under another kind the class has no effect, so that a sweep can compare it."""
        with self.by("Everywhere", **{"scenario.rounds": 2}) as f:
            f.settings["algorithm.kind"] = "fedavg"
            self.assertEqual(self.result(f, "run")["algorithm"], "fedavg")

    def test_asynchronous(self):
        """In virtual time the order of arrival is the same with any number of threads; a federation ends too."""
        own = {"participation.mode": "async", "participation.buffer": 10, "participation.concurrency": 30}
        scenario = SCENARIO.replace("per_round = 20\n", "")
        with self.by("Everywhere", **own) as f:
            f.scenario.write_text(scenario)
            clock = ("--set", "scenario.clock=virtual", "--threads")
            one = self.result(f, "one", *clock, "1")
            self.same(one, self.result(f, "two", *clock, "2"))
            self.assertEqual(one["folded"], 120)
            self.assertGreater(one["staleness"]["mean"], 0.5)
            self.assertLess(one["eval"]["seen"]["loss"], one["eval"]["unseen"]["loss"])
            f.serve(operators=False)
            for number in range(2):
                f.join(number, 100 * number, 100 * number + 99, *self.named("Everywhere"))
            together = f.end()
            self.assertGreaterEqual(together["folded"], 120)
            self.assertEqual(together["rejected"], {})
            self.check_books(f, together)

    def test_clipped(self):
        """Clients scale what they report to a limit, and add noise to it: as in one process, and not as without."""
        noisy = {"algorithm.aggregation.rule": "uniform-mean", "privacy.clip": 0.5, "privacy.noise": 0.4,
                 "privacy.noise_key": "seed"}
        for settings in ({"algorithm.aggregation.norm_bound": "clip"}, noisy):
            with self.subTest(settings), self.by("Summed", **settings, **{"scenario.rounds": 6}) as f:
                alone = f.alone()
                f.serve(operators=False)
                for number in range(2):
                    f.join(number, 100 * number, 100 * number + 99, *self.named("Summed"))
                together = f.end()
                self.check_same(f, together, alone)
                self.assertEqual(together["added_sha256"], alone["added_sha256"])
                self.assertEqual(together["rejected"], {})
                self.assertEqual("privacy" in together, settings is noisy)
                f.settings = {key: value for key, value in f.settings.items() if key not in settings}
                self.assertNotEqual(self.result(f, "free")["added_sha256"], alone["added_sha256"])
        with self.by("Everywhere", **noisy) as f:
            done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
            self.assertRegex(done.stderr + done.stdout, "privacy.noise: .*weighs what clients report by their examples")

    def test_names(self):
        """Runs of different classes are called by them, also one that has not ended."""
        with self.by("Everywhere", **{"scenario.rounds": 2}) as f:
            names = ("Everywhere", "Personal", "Summed")
            for name in names:
                f.settings["python.algorithm"] = f"{MOVED}:{name}"
                self.assertEqual(self.result(f, name)["algorithm"], f"python ({name})")
            (f.folder / "Summed" / "summary.json").unlink()
            done = f.run("compare", *(f.folder / name for name in names), "--format", "json")
            found = [(one["label"], one["algorithm"]) for one in json.loads(done.stdout)["configurations"]]
            self.assertEqual(found, [(f"python ({name})", f"python ({name})") for name in names])

    def test_other_algorithm(self):
        """A node whose class has other groups, or none, says so, and does not take part."""
        with self.by("Everywhere") as f:
            f.serve(operators=False)
            other = f.join(0, 0, 99, *self.named("Elsewhere"))
            self.assertNotEqual(other.wait(), DONE)
            self.assertRegex(other.text(),
                             "algorithm.python.groups.*is not what .*Elsewhere\" has: .*own kept 0 = model")
            none = f.join(1, 100, 199, "--python", RATINGS)
            self.assertNotEqual(none.wait(), DONE)
            self.assertRegex(none.text(), "--algorithm: is missing: .*name it: --algorithm FILE.py:CLASS")

    def test_exceptions(self):
        """They end the run with file and line, or only their client's task."""
        with self.by("Everywhere", "raise task", **{"participation.per_round": 160}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "stop", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"moved\.py:\d+.*no task for this user.*user 11")
            f.settings["python.on_error"] = "drop"
            dropped = self.result(f, "drop")
            self.assertEqual(dropped["rejected"], {"client-failed": 12})
            self.assertEqual(dropped["folded"], 12 * 159)

    def test_wrong_replies(self):
        """A trainer that does not follow the protocol ends the run, and says in what."""
        group = {"name": "own", "place": "kept", "of": "model", "first": 0.0}
        opened = (
            (None, "does not describe .*moved.py:Everywhere"),
            ({"options": {"groups": 1}}, 'has an option "groups", a key that furlong writes'),
            ({"groups": [group | {"name": "my own"}]}, 'names "my own", and names must not have blanks'),
            ({"groups": [group | {"place": "client"}]}, "algorithm.python.groups: has .*own client 0 = model"),
            ({"groups": [{"name": "own", "place": "kept", "first": 0.0, "shape": [1, 70000, 70000]}]},
             "has a shape with too many columns"),
            ({"groups": [{"name": "own"}]}, "its description is not understood"),
            ({"private": "some"}, "algorithm.python.traits: has .*private some"))
        bodies = (
            ("8 " + 16 * "00", FAILURE, "a task has no figures"),
            ("9 09000000", FAILURE, "does not say where its values are from"),
            ("9 00000000" + 16 * "00", FAILURE, "other figures than the problem's metrics"),
            ("12 " + b'["x"]'.hex(), FAILURE, "the costs of tasks are not one number for each size"))
        cases = [(f"1 {json.dumps(said)}", USAGE, text) for said, text in opened] + list(bodies)
        with self.by("Everywhere", **{"scenario.rounds": 1}) as f:
            trainer = f.folder / "trainer"
            trainer.write_text(f"#!{sys.executable}\n" + (ROOT / "tests/processes/wrong_trainer.py").read_text())
            trainer.chmod(0o755)
            f.settings["python.interpreter"] = trainer
            for number, (wrong, code, text) in enumerate(cases):
                with self.subTest(wrong):
                    f.environment["WRONG"] = wrong
                    done = f.run("run", f.scenario, "--out", f.folder / str(number), *f.sets(), expect=code)
                    self.assertRegex(done.stderr, text)

    def test_refused(self):
        """What cannot run is refused at the start, with the key, the reason and the fix."""
        momentum = f"{ROOT}/tests/processes/fitted.py:Momentum"
        for settings, text in (
                ({"python.algorithm": f"{MOVED}:Nothing"}, "python.algorithm: .*Nothing"),
                ({"python.algorithm": f"{MOVED}"}, "python.algorithm: .*does not name a file and a class"),
                ({"python.algorithm": "none.py:A"}, "python.algorithm: .*there is no such file"),
                ({"algorithm.python.nu": 1}, "python.algorithm: .*nu"),
                ({"algorithm.python.groups": '["own kept 0 = model"]'}, "algorithm.python.groups: is not what"),
                ({"python.algorithm": f"{MOVED}:Corrected", "python.problem": momentum}, "plain"),
                ({"python.algorithm": f"{MOVED}:Corrected", "private.commit": "after-training"}, "private.commit")):
            with self.subTest(settings), self.by("Everywhere") as f:
                f.settings |= settings
                done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr + done.stdout, text)
        with self.problem(**{"algorithm.kind": "python"}) as f:
            done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
            self.assertIn("the scenario names no class", done.stderr + done.stdout)


if __name__ == "__main__":
    main()
