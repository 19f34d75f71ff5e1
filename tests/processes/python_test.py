#!/usr/bin/env python3
"""Models of Python classes: equal results for any number of trainers, after kills of trainers and of furlong, and in a
federation; classes that fail.

usage: python_test.py FURLONG [TEST...]
"""
import csv
import json
import os
import random
import re
import signal
import sys
import time
import unittest

from case import main
from federation import DONE, FAILURE, INTERRUPTED, USAGE, wait_until
from python_case import ROOT, SCENARIO, PythonCase, children_of, numpy

SORTED = f"""
[scenario]
name = "sorted"
rounds = 15
[data]
source = "python"
[python]
problem = "{ROOT}/tests/processes/sorted_classes.py:Classes"
interpreter = "{sys.executable}"
[model]
kind = "python"
private = ["bias"]
[algorithm]
kind = "fedavg"
client = {{lr = 1.0, epochs = 3, batch_size = 5}}
reconstruction = {{lr = 1.0, epochs = 3}}
[private]
cold_start = "reconstruct"
[participation]
per_round = 15
"""
KINDS = ("fedavg", "fedsgd", "furl", "fedrep", "fedalt", "fedbabu", "fedrecon", "ditto", "pfedme", "apfl", "scaffold",
         "feddyn", "centralized")


@unittest.skipIf(numpy is None, "needs python3-numpy")
class Python(PythonCase):
    def test_algorithms(self):
        """Each learns; threads, trainers and the reference loop change nothing; the metrics are the class's own."""
        with self.problem() as f:
            for kind in KINDS:
                f.settings["algorithm.kind"] = kind
                alone = self.result(f, f"{kind}-1", "--threads", "1")
                self.same(alone, self.result(f, f"{kind}-2", "--threads", "2"))
                if kind == "furl":
                    self.same(alone, self.result(f, "furl-3", "--threads", "3", "--set", "python.workers=1"))
                seen = alone["eval"]["seen"]
                self.assertAlmostEqual(seen["mse"], seen["loss"])
                self.assertNotIn("accuracy", seen)
                if kind != "fedsgd":
                    self.assertLess(seen["loss"], 4.0)
            reference = self.result(f, "reference", "--engine", "reference")
            f.settings["algorithm.kind"] = "centralized"
            self.assertEqual(reference["model_sha256"], self.result(f, "again")["model_sha256"])
            lines = re.findall("(trainer.*): looks at (.*)", (f.folder / "furl-2" / "log.txt").read_text())
            self.assertGreater(len(lines), 500)
            for what, client in lines:
                self.assertRegex(what, rf"^trainer \d \(client user {client}, (evaluation of )?round \d+\)$")

    def test_trainers_killed(self):
        """Trainers that are killed at random moments are started again, and nothing changes."""
        with self.problem("slow") as f:
            f.settings["scenario.rounds"] = 60
            whole = self.result(f, "whole")
            draw = random.Random(5)
            run = f.process("run")
            run.start([f.furlong, "run", str(f.scenario), "--out", str(f.folder / "killed"), "--threads", "2", *f.sets()],
                      f.environment)
            kills = rounds = 0
            metrics = f.folder / "killed" / "metrics.jsonl"
            while run.running:
                time.sleep(draw.uniform(0.02, 0.3))
                trainers = children_of(run.process.pid)
                # Not before a round has ended: five ends in a row at one task are the run's.
                if trainers and metrics.exists() and metrics.read_text().count("\n") > rounds:
                    try:
                        os.kill(draw.choice(trainers), signal.SIGKILL)
                        kills += 1
                        rounds = metrics.read_text().count("\n")
                    except ProcessLookupError:
                        pass
            self.assertEqual(run.wait(), DONE)
            self.assertGreater(kills, 3)
            self.same(whole, json.loads((f.folder / "killed" / "summary.json").read_text()))

    def test_furlong_killed(self):
        """No trainer outlives it, and the run goes on where it was."""
        with self.problem("slow") as f:
            f.settings["scenario.rounds"] = 30
            whole = self.result(f, "whole")
            self.same(whole, self.killed_run(f, 4))

    def test_federation(self):
        """Server, aggregator and nodes with their own file over TLS: the model of the single process."""
        with self.problem(secure=True) as f:
            alone = f.alone()
            mine = ("--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            f.serve()
            f.aggregate("aggregator0").wait_for("accepted this aggregator")
            f.join(0, 0, 99, *mine)
            f.join(1, 100, 199, *mine)
            self.check_same(f, f.end(), alone)
            self.assertNotIn("ratings.py", f.processes["aggregator0"].text())

    def test_other_shapes(self):
        """A node whose class has other parameters says so, and does not take part."""
        with self.problem() as f:
            f.serve(operators=False)
            f.environment["TROUBLE"] = "shape"
            node = f.join(0, 0, 199, "--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            self.assertNotEqual(node.wait(), DONE)
            self.assertRegex(node.text(), "model.parameters.*weights 1x4")

    def test_changed_code(self):
        """A node whose class was edited says so, and takes part only when that is accepted."""
        with self.problem("slow", **{"scenario.rounds": 100000, "evaluation.every": 0}) as f:
            own = f.folder / "ratings.py"
            own.write_text((ROOT / "tests/processes/ratings.py").read_text())
            f.serve(operators=False)
            f.join(0, 0, 99, "--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            f.join(1, 100, 199, "--python", f"{own}:Ratings")
            f.wait_for_version(3)
            f.processes.pop("node1").kill()
            own.write_text(own.read_text().replace("2 * errors.mean()", "errors.mean()"))
            node = f.join(1, 100, 199, "--python", f"{own}:Ratings")
            self.assertEqual(node.wait(), USAGE)
            self.assertRegex(node.text(), "the code of the class has changed since: ratings.py;.*--accept-changed-code")
            f.processes.pop("node1")
            f.join(1, 100, 199, "--python", f"{own}:Ratings", "--accept-changed-code")
            f.wait_for_version(f.version() + 3)

    def test_exceptions(self):
        """They end the run with file and line, or only their client's task."""
        with self.problem("raise", **{"participation.per_round": 160}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "stop", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"ratings\.py:\d+.*no gradient for this user.*user 11")
            f.settings["python.on_error"] = "drop"
            dropped = self.result(f, "drop")
            self.assertEqual(dropped["rejected"], {"client-failed": 12})
            self.assertEqual(dropped["folded"], 12 * 159)

    def test_first_evaluation(self):
        """A mistake in evaluate() or predict() ends a run before its first round, and leaves no folder."""
        for trouble, reason in (("score", "ZeroDivisionError"), ("predict", "KeyError")):
            with self.problem(trouble) as f:
                done = f.run("run", f.scenario, "--out", f.folder / "run", *f.sets(), expect=FAILURE)
                self.assertRegex(done.stderr, rf"ratings\.py:\d+: before the first round: .*{reason}")
                self.assertFalse((f.folder / "run").exists())
                f.run("validate", f.scenario)
                f.environment["TROUBLE"] = ""
                self.result(f, "run")

    def test_first_evaluation_of_a_node(self):
        """Of its own clients; the server does not evaluate."""
        with self.problem() as f:
            f.serve(operators=False)
            f.environment["TROUBLE"] = "score"
            node = f.join(0, 0, 199, "--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            self.assertEqual(node.wait(), FAILURE)
            self.assertRegex(node.text(), r"ratings\.py:\d+: before the first round: .*ZeroDivisionError")

    def test_failures_are_resumed(self):
        """A class that fails late leaves the last round; once it is corrected the run ends as if it had not failed."""
        for trouble, settings in (("late", {"checkpoint.every": 0}), ("late score", {"checkpoint.every": 0}),
                                  ("late score", {"checkpoint.every": 0, "evaluation.every": 0}),
                                  ("late", {"checkpoint.every": 0, "scenario.clock": "virtual"}),
                                  ("late", {"checkpoint.every": 5, "private.commit": "after-ack"})):
            with self.subTest(trouble=trouble, **settings), self.problem(**settings) as f:
                whole = self.result(f, "whole")
                f.environment["TROUBLE"] = trouble
                out = f.folder / "run"
                done = f.run("run", f.scenario, "--out", out, *f.sets(), expect=FAILURE)
                kept = re.search(r"the run is kept up to round (\d+): correct the class and continue with "
                                 r"--resume --accept-changed-code --out",
                                 done.stderr)
                self.assertIsNotNone(kept, done.stderr)
                lines = (out / "metrics.jsonl").read_text().splitlines()
                self.assertEqual(int(kept[1]), len(lines))
                self.assertFalse((out / "summary.json").exists())
                again = f.run("run", f.scenario, "--out", out, *f.sets(), "--resume", expect=FAILURE)
                self.assertIn(kept[0], again.stderr)
                f.environment["TROUBLE"] = ""
                self.same(whole, self.result(f, "run", "--resume"))
                for name in ("metrics.jsonl", "events.jsonl"):
                    self.assertEqual((f.folder / "whole" / name).read_text(), (out / name).read_text())

    def test_no_number(self):
        """A client whose test example is not a number is named, and decides nothing; if most are, the run fails."""
        with self.problem() as f:
            whole = self.result(f, "whole")
            f.environment["TROUBLE"] = "nan"
            run = f.run("run", f.scenario, "--out", f.folder / "nan", *f.sets())
            self.assertEqual(run.stderr.count("client 11 (user 11) of the group seen has no finite loss"), 1, run.stderr)
            self.assertNotIn("diverged", run.stderr)
            summary = json.loads((f.folder / "nan" / "summary.json").read_text())
            self.assertEqual(summary["model_sha256"], whole["model_sha256"])
            self.assertEqual(summary["eval"]["seen"]["unscored"], 1)
            self.assertEqual(summary["eval"]["seen"]["clients"], 159)
            self.assertEqual(summary["eval"]["unseen"], whole["eval"]["unseen"])
            events = [json.loads(line) for line in (f.folder / "nan" / "events.jsonl").read_text().splitlines()]
            self.assertEqual([(one["event"], one["client"], one["round"], one["reason"]) for one in events],
                             [("unscored", 11, 6, "seen loss"), ("unscored", 11, 12, "seen loss")])
            f.run("export", f.folder / "nan", "--model", f.folder / "model.npz")
            f.run("infer", f.folder / "nan", "--client", "12")
            f.environment["TROUBLE"] = "all nan"
            done = f.run("run", f.scenario, "--out", f.folder / "all", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, "training diverged: .* clients of the group .* have no finite score")
            f.run("infer", f.folder / "all", "--client", "12", expect=FAILURE)

    def test_no_number_in_a_federation(self):
        """A node's client without a finite score is named by the server and by the node."""
        with self.problem("nan") as f:
            server = f.serve(operators=False)
            node = f.join(0, 0, 199, "--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            summary = f.end()
            self.assertEqual(summary["eval"]["seen"]["unscored"], 1)
            for process in (server, node):
                self.assertEqual(process.text().count("client 11 (user 11) of the group seen has no finite loss"), 1)

    def test_failed_scores(self):
        """A client whose score fails is counted as unscored where failures are of their client alone, or on a node."""
        with self.problem("late score of one") as f:
            f.settings["python.on_error"] = "drop"
            seen = self.result(f, "drop")["eval"]["seen"]
            self.assertEqual((seen["unscored"], seen["clients"]), (1, 159))
            f.serve(operators=False)
            f.join(0, 0, 199, "--python", f"{ROOT}/tests/processes/ratings.py:Ratings")
            self.assertEqual(f.end()["eval"]["seen"], seen)

    def test_no_answer(self):
        """A step that hangs is ended by its timeout, and a trainer that ends itself is named."""
        with self.problem("hang", **{"participation.per_round": 160, "python.timeout": 0.5}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "hang", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"ratings\.py:\d+: the call takes too long.*user 11")
            f.environment["TROUBLE"] = "exit"
            done = f.run("run", f.scenario, "--out", f.folder / "exit", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"ended 5 times.*user 11.*status 3")
            f.settings["python.on_error"] = "drop"
            self.assertEqual(self.result(f, "drop")["rejected"], {"client-failed": 12})

    def test_memory_file(self):
        """A class that shortens the memory file gets an error; the command does not die of SIGBUS."""
        with self.problem("shrink", **{"participation.per_round": 160}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "run", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"ratings\.py:\d+: PermissionError.*user 11")

    def test_flood(self):
        """What a trainer prints does not fill the disk, and does not change the run."""
        with self.problem("flood", **{"scenario.rounds": 2, "python.workers": 1}) as f:
            flood = self.result(f, "flood")
            log = f.folder / "flood" / "log.txt"
            self.assertLess(log.stat().st_size, 6 << 20)
            self.assertRegex(log.read_text(), r"further lines are left out(.|\n)*lines were left out here")
            f.environment["TROUBLE"] = ""
            self.same(flood, self.result(f, "quiet"))

    def test_interpreter(self):
        """An interpreter without the package's modules is named, with what it said."""
        with self.problem() as f:
            bare = f.folder / "bare-python"
            bare.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S -c 'import numpy'\n")
            bare.chmod(0o755)
            f.environment |= {"FURLONG_PYTHON": str(bare)}
            f.scenario.write_text(SCENARIO.replace(f'interpreter = "{sys.executable}"', ""))
            done = f.run("validate", f.scenario, expect=USAGE)
            self.assertIn(f"{bare} ended with status 1, last line: ModuleNotFoundError: No module named 'numpy'; install "
                          f"numpy for it ({bare} -m pip install numpy)", done.stderr)

    def test_sorted_classes(self):
        """Clients whose examples are sorted by class learn as well as others: batches, support and query are drawn."""
        with self.problem() as f:
            f.scenario.write_text(SORTED)
            accuracy = {}
            for kind in ("fedavg", "furl", "fedrecon"):
                for is_sorted, more in ((0, {}), (1, {}), (1, {"algorithm.client.shuffle": "false"}),
                                        (1, {"algorithm.client.shuffle": "false", "python.order": "numbered"})):
                    f.environment["SORTED"] = str(is_sorted)
                    f.settings = {"algorithm.kind": kind} | more
                    summary = self.result(f, f"{kind}-{is_sorted}-{len(more)}")
                    accuracy[kind, is_sorted, len(more)] = [summary["eval"][g]["accuracy"] for g in ("seen", "unseen")]
                for i in (0, 1):
                    for settings in ((1, 0), (1, 1)):
                        self.assertGreater(accuracy[kind, *settings][i], accuracy[kind, 0, 0][i] - 0.04, (kind, accuracy))
                if kind != "fedrecon":  # in the order of the class
                    self.assertLess(accuracy[kind, 1, 2][0], accuracy[kind, 1, 0][0] - 0.03, (kind, accuracy))
            resolved = (f.folder / "furl-1-0" / "scenario.toml").read_text()
            self.assertIn("\nshuffle = true\n", resolved)
            self.assertIn('\norder = "shuffled"\n', resolved)
            # Predictions are listed by the numbers of the class.
            said = json.loads(f.run("infer", f.folder / "furl-1-0", "--client", "50", "--format", "json").stdout)
            self.assertEqual([one["prediction"] for one in said["predictions"]], [[50, "train", i] for i in range(90)])
            table = f.folder / "table.csv"
            f.settings = {"algorithm.kind": "furl", "algorithm.reconstruction.batch_size": 7}
            self.result(f, "other-batches")
            for run in ("furl-1-0", "other-batches"):
                f.run("export", f.folder / run, "--predictions", table)
                with table.open(newline="") as rows:
                    for row in csv.DictReader(rows):
                        part = "test" if row["group"] == "seen" else "train"
                        self.assertEqual(json.loads(row["prediction"]), [int(row["client"]), part, int(row["example"])])

    def test_stopped(self):
        """Ctrl-C of the terminal reaches furlong alone; it stops resumably."""
        with self.problem("slow", **{"scenario.rounds": 400}) as f:
            run = f.process("run")
            run.start([f.furlong, "run", str(f.scenario), "--out", str(f.folder / "run"), *f.sets()], f.environment)
            wait_until("a round", lambda: (f.folder / "run" / "metrics.jsonl").exists())
            run.signal(signal.SIGINT)
            self.assertEqual(run.wait(), INTERRUPTED)

    def test_bad_scenarios(self):
        """Each problem names key, reason and fix."""
        for key, value, text in (
                ("python.problem", "ratings.py", "does not name a file and a class"),
                ("python.problem", "missing.py:Ratings", "no such file"),
                ("python.problem", f"{ROOT}/tests/processes/ratings.py:Other", "Other"),
                ("python.interpreter", "/no/python3", "cannot start /no/python3"),
                ("model.private", "[\"head.*\"]", "matches no tensor"),
                ("model.kind", "gru-lm", "comes with the data"),
                ("evaluation.target", "{metric = \"seen.recall\", at_least = 1.0}", "close, mse or loss")):
            with self.subTest(key=key, value=value), self.problem() as f:
                done = f.run("validate", f.scenario, "--set", f"{key}={value}", expect=USAGE)
                self.assertIn(text, done.stderr + done.stdout)


if __name__ == "__main__":
    main()
