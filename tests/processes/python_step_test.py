#!/usr/bin/env python3
"""The server's step of algorithms in Python: with any number of threads and trainers, in federations, killed, failed and
resumed.

usage: python_step_test.py FURLONG [TEST...]
"""
import json
import re
import sys
import unittest

from case import main
from federation import FAILURE, USAGE
from python_case import ROOT, SCENARIO, PythonCase, numpy

STEPPED = f"{ROOT}/tests/processes/stepped.py"
RATINGS = f"{ROOT}/tests/processes/ratings.py:Ratings"


@unittest.skipIf(numpy is None, "needs python3-numpy")
class Step(PythonCase):
    def by(self, name: str, trouble: str = "", **settings):
        return self.problem(trouble, **{"algorithm.kind": "python", "python.algorithm": f"{STEPPED}:{name}", **settings})

    def named(self, name: str) -> tuple:
        """What a node adds to its command."""
        return "--python", RATINGS, "--algorithm", f"{STEPPED}:{name}"

    def same(self, one: dict, other: dict) -> None:
        super().same(one, other)
        self.assertEqual(one["added_sha256"], other["added_sha256"])

    def groups(self, f, name: str) -> dict:
        """What the server has at the end of a run."""
        f.run("export", f.folder / name, "--groups", f.folder / f"{name}.npz")
        with numpy.load(f.folder / f"{name}.npz") as file:
            return {key: file[key].copy() for key in file.files}

    def test_threads(self):
        """It learns; threads, trainers and the reference loop change nothing, and the step's values are there."""
        with self.by("Served") as f:
            alone = self.result(f, "one", "--threads", "1")
            self.assertLess(alone["eval"]["seen"]["loss"], 2.0)
            self.same(alone, self.result(f, "two", "--threads", "2"))
            self.same(alone, self.result(f, "four", "--threads", "4", "--set", "python.workers=1"))
            reference = self.result(f, "reference", "--engine", "reference")
            for key in ("model_sha256", "added_sha256", "eval"):
                self.assertEqual(reference[key], alone[key], key)
            groups = self.groups(f, "one")
            self.assertEqual(groups["python/seen/values"].tolist(), [[alone["folded"]]])
            self.assertTrue(groups["python/velocity/weights"].any())
            self.assertIn('"velocity server 0 = shared"', (f.folder / "one" / "scenario.toml").read_text())
            other = self.result(f, "other", "--set", "algorithm.python.keep=0.25")
            self.assertNotEqual(other["model_sha256"], alone["model_sha256"])

    def test_default(self):
        """A step that does what the server does by itself ends in the same bits, with every server optimizer."""
        for optimizer in ("sgd", "adam"):
            own = {"algorithm.server.optimizer": optimizer, "algorithm.server.lr": 0.5}
            with self.subTest(optimizer), self.by("Plain", **own) as f:
                plain = self.result(f, "plain")
                f.settings["python.algorithm"] = f"{STEPPED}:Default"
                self.same(plain, self.result(f, "default"))

    def test_trainers_killed(self):
        """A trainer that is killed in a step is started again, and nothing changes."""
        with self.by("Served") as f:
            whole = self.result(f, "whole")
            marks = f.folder / "marks"
            marks.mkdir()
            f.environment |= {"TROUBLE": "die", "MARKS": str(marks)}
            self.same(whole, self.result(f, "killed", "--threads", "2"))
            self.assertEqual(len(list(marks.iterdir())), 4)

    def test_furlong_killed(self):
        """The run goes on where it was, and what the server has agrees with what clients keep."""
        for name in ("Served", "Scaffold"):
            with self.subTest(name), self.by(name, "slow", **{"scenario.rounds": 20}) as f:
                whole = self.result(f, "whole")
                self.same(whole, self.killed_run(f, 3))
                if name == "Scaffold":
                    self.check_mean(f, "killed")

    def check_mean(self, f, name: str) -> None:
        """c is the mean of all c_i."""
        store = json.loads(f.run("store", "ls", f.folder / name / "private", "--format", "json").stdout)
        total = numpy.zeros(3)
        for one in store["clients"]:
            f.run("export", f.folder / name, "--model", f.folder / "own.npz", "--client", one["client"])
            with numpy.load(f.folder / "own.npz") as own:
                total += own["python/own/weights"].ravel()
        c = self.groups(f, name)["python/c/weights"].ravel()
        self.assertGreater(abs(c).max(), 1e-3)
        for found, expected in zip(c, total / 160):
            self.assertAlmostEqual(found, expected, delta=1e-5)

    def test_failures(self):
        """A step that fails ends the run, after its last round; a resumed run makes the version as if nothing had
        been."""
        cases = (("raise step", r"stepped\.py:\d+: ValueError: no step in this round \(the server's step, round 7\)"),
                 ("infinite step", r'stepped\.py:\d+: step\(\) leaves values in s\["seen"\] that are not finite'),
                 ("long step", r"stepped\.py:\d+: the call takes too long"),
                 ("exit step", r"stepped\.py.*the trainer ended 5 times at the same work"))
        with self.by("Served") as f:
            whole = self.result(f, "whole")
            for number, (trouble, text) in enumerate(cases):
                with self.subTest(trouble):
                    f.environment["TROUBLE"] = trouble
                    out = f.folder / f"run{number}"
                    more = ("--set", "python.timeout=1", "--set", "python.on_error=drop")
                    done = f.run("run", f.scenario, "--out", out, *f.sets(), *more, expect=FAILURE)
                    self.assertRegex(done.stderr, text)
                    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
                    self.assertEqual([line["round"] for line in lines], [1, 2, 3, 4, 5, 6])
                    f.environment["TROUBLE"] = ""
                    self.same(whole, self.result(f, out.name, "--resume", *more))

    def test_failures_elsewhere(self):
        """The same in the reference loop, and with simulated nodes, where the last checkpoint is gone on from."""
        with self.by("Served", "raise step") as f:
            done = f.run("run", f.scenario, "--out", f.folder / "reference", *f.sets(), "--engine", "reference",
                         expect=FAILURE)
            self.assertRegex(done.stderr, r"stepped\.py:\d+: ValueError: no step in this round")
            f.settings |= {"topology.nodes": 3, "scenario.clock": "virtual"}
            done = f.run("run", f.scenario, "--out", f.folder / "nodes", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"stepped\.py:\d+: ValueError: no step in this round")
            f.environment["TROUBLE"] = ""
            whole = self.result(f, "whole")
            self.same(whole, self.result(f, "nodes", "--resume"))

    def test_asynchronous(self):
        """In virtual time any number of threads gives the same, and a failed step is made again."""
        own = {"participation.mode": "async", "participation.buffer": 10, "participation.concurrency": 30,
               "scenario.clock": "virtual"}
        with self.by("Served", **own) as f:
            f.scenario.write_text(SCENARIO.replace("per_round = 20\n", ""))
            one = self.result(f, "one", "--threads", "1")
            self.same(one, self.result(f, "two", "--threads", "2"))
            f.environment["TROUBLE"] = "raise step"
            f.run("run", f.scenario, "--out", f.folder / "failed", *f.sets(), expect=FAILURE)
            f.environment["TROUBLE"] = ""
            self.same(one, self.result(f, "failed", "--resume"))

    def test_federation(self):
        """The server makes the steps, behind an aggregator without Python: the model of the single process."""
        for name in ("Served", "Scaffold"):
            with self.subTest(name), self.by(name) as f:
                alone = f.alone()
                mine = self.named(name)
                f.serve()
                own = f.environment.copy()
                f.environment["FURLONG_PYTHON"] = "/bin/false"
                f.aggregate("aggregator0").wait_for("accepted this aggregator")
                f.environment |= own
                f.join(0, 0, 99, *mine)
                f.join(1, 100, 199, *mine)
                together = f.end()
                self.check_same(f, together, alone)
                self.assertEqual(together["added_sha256"], alone["added_sha256"])
                self.assertNotIn("stepped.py", f.processes["aggregator0"].text())

    def test_slow_step(self):
        """While a step takes longer than network.timeout, links are served, even by one thread."""
        with self.by("Scaffold", "slow step", **{"scenario.rounds": 5, "network.heartbeat": 0.5, "network.timeout": 2}) as f:
            f.serve(threads=1)
            for number in range(2):
                f.aggregate(f"aggregator{number}").wait_for("accepted this aggregator")
            for number in range(2):
                f.join(number, 100 * number, 100 * number + 99, *self.named("Scaffold"))
            f.end()
            for name in ("aggregator0", "aggregator1", "node0", "node1"):
                text = f.processes[name].text()
                self.assertEqual(len(re.findall("accepted this", text)), 1, text)
                self.assertNotIn("lost", text)

    def test_failed_federation(self):
        """The server ends with exit code 4, nodes wait for it, and keep nothing of the version that was not made."""
        for name in ("Served", "Scaffold"):
            with self.subTest(name), self.by(name) as f:
                alone = f.alone()
                f.environment["TROUBLE"] = "raise step"
                server = f.serve(operators=False)
                f.environment["TROUBLE"] = ""
                for number in range(2):
                    f.join(number, 100 * number, 100 * number + 99, *self.named(name))
                self.assertEqual(server.wait(), FAILURE)
                self.assertRegex(server.text(), r"stepped\.py:\d+: ValueError: no step in this round")
                f.serve_again(operators=False)
                together = f.end()
                self.check_same(f, together, alone)
                self.assertEqual(together["added_sha256"], alone["added_sha256"])

    def test_secure_federation(self):
        """The step has the sums alone, which are masked on their way."""
        with self.by("Served", secure=True, **{"privacy.secure_aggregation": "true",
                                                "algorithm.aggregation.rule": "uniform-mean"}) as f:
            alone = f.alone()
            f.serve()
            for number in range(2):
                f.join(number, 100 * number, 100 * number + 99, *self.named("Served"))
            together = f.end()
            for key in ("model_sha256", "added_sha256", "eval", "folded"):
                self.assertEqual(together[key], alone[key], key)

    def test_cohort(self):
        """The updates of single clients are seen, in one order, and each client receives its own values."""
        with self.by("Addressed", "slow") as f:
            alone = self.result(f, "one", "--threads", "1")
            self.same(alone, self.result(f, "two", "--threads", "2", "--set", "topology.aggregators=3"))
            reference = self.result(f, "reference", "--engine", "reference")
            for key in ("model_sha256", "added_sha256", "eval"):
                self.assertEqual(reference[key], alone[key], key)
            last = self.groups(f, "one")["python/last/weights"]
            self.assertEqual(last.shape, (200, 3))
            asked = [one for one in range(200) if last[one].any()]
            self.assertGreater(len(asked), 100)
            self.assertTrue(all(one % 10 < 8 for one in asked))  # those that train
            self.assertEqual(len({last[one].tobytes() for one in asked}), len(asked))
            f.settings["scenario.rounds"] = 20
            self.same(self.result(f, "whole"), self.killed_run(f, 3))

    def test_cohort_refused(self):
        """Where nobody can see single updates it says so, with the key."""
        secure = {"privacy.secure_aggregation": "true", "algorithm.aggregation.rule": "uniform-mean"}
        noise = {"algorithm.aggregation.noise": 0.1}
        for settings, key in ((secure, "privacy.secure_aggregation"), (noise, "algorithm.aggregation.noise"),
                              ({"topology.nodes": 2}, "topology.nodes"),
                              ({"participation.mode": "async", "participation.concurrency": 10}, "participation.mode")):
            with self.subTest(key), self.by("Addressed", **settings) as f:
                done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr + done.stdout, f"{key}: .*has cohort\\(\\), which sees the updates")
        with self.by("Addressed") as f:
            done = f.run("serve", f.scenario, "--listen", "127.0.0.1:0", "--insecure", "--out", f.out, *f.sets(),
                         expect=USAGE)
            self.assertRegex(done.stderr, "python.algorithm: has cohort.*use furlong run")

    def test_wrong_replies(self):
        """A trainer that does not follow the protocol ends the run, and says in what."""
        with self.by("Served", **{"scenario.rounds": 1}) as f:
            trainer = f.folder / "trainer"
            trainer.write_text(f"#!{sys.executable}\n" + (ROOT / "tests/processes/wrong_trainer.py").read_text())
            trainer.chmod(0o755)
            f.settings["python.interpreter"] = trainer
            for number, wrong in enumerate(("10 ", "10 02000000", "10 0000000000")):
                with self.subTest(wrong):
                    f.environment["WRONG"] = wrong
                    done = f.run("run", f.scenario, "--out", f.folder / str(number), *f.sets(), expect=FAILURE)
                    self.assertRegex(done.stderr, "a step does not say what it has written")


if __name__ == "__main__":
    main()
