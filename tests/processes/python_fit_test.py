#!/usr/bin/env python3
"""Training loops in Python: the package's loop against that of the command, loops of a class's own under the
algorithms, and what ends or starts again in them.

usage: python_fit_test.py FURLONG [TEST...]
"""
import json
import sys
import unittest

from case import main
from federation import DONE, FAILURE, USAGE
from python_case import ROOT, PythonCase, numpy

#: Settings under which the two loops must agree. Each is of three rounds.
LOOPS = {
    **{kind: {"algorithm.kind": kind} for kind in
       ("fedavg", "furl", "fedper", "fedrep", "fedalt", "fedbabu", "fedrecon", "ditto", "scaffold", "feddyn")},
    "momentum": {"algorithm.client.momentum": 0.9, "algorithm.client.lr": 0.02},
    "proximal": {"algorithm.client.proximal": 0.5, "algorithm.client.epochs": 2},
    "adam": {"algorithm.client.optimizer": "adam", "algorithm.client.weight_decay": 0.1},
    "adamw": {"algorithm.client.optimizer": "adamw", "algorithm.client.weight_decay": 0.1},
    "clip": {"algorithm.client.clip": 0.3, "algorithm.client.weight_decay": 0.1, "algorithm.client.proximal": 0.5},
    "private_lr": {"algorithm.furl.private_lr": 0.2},
    "max_steps": {"algorithm.kind": "fedrep", "algorithm.client.max_steps": 5, "algorithm.client.epochs": 3},
    "one_order": {"algorithm.client.shuffle": "false", "algorithm.client.epochs": 3},
    "one_batch": {"algorithm.client.batch_size": 0, "algorithm.client.epochs": 3},
    "schedule": {"algorithm.kind": "ditto", "algorithm.client.schedule": "linear",
                 "algorithm.ditto.personal_epochs": 2},
    "joint": {"algorithm.kind": "fedrecon", "algorithm.reconstruction.joint": "true",
              "algorithm.client.proximal": 0.5},
    "support": {"algorithm.kind": "fedrecon", "algorithm.reconstruction.batch_size": 3,
                "algorithm.reconstruction.max_steps": 4},
    "cold_start": {"private.cold_start": "reconstruct"},
    "fine_tuned": {"algorithm.kind": "fedavg", "evaluation.reconstruct": '["*"]'},
    "personal": {"algorithm.kind": "ditto", "algorithm.ditto.personal": '["weights"]'},
}
OWN = ("fedavg", "furl", "fedrep", "fedalt", "fedbabu", "fedrecon", "ditto")
FITTED = f"{ROOT}/tests/processes/fitted.py"


@unittest.skipIf(numpy is None, "needs python3-numpy")
class Fit(PythonCase):
    def own(self, name: str, trouble: str = "", **settings):
        return self.problem(trouble, **{"python.problem": f"{FITTED}:{name}", **settings})

    def values(self, f, run: str) -> dict:
        """The model and all clients' private values."""
        f.run("export", f.folder / run, "--model", f.folder / f"{run}.npz")
        found = dict(numpy.load(f.folder / f"{run}.npz"))
        for client in range(0, 200, 25):
            done = f.run("export", f.folder / run, "--model", f.folder / f"{run}-{client}.npz", "--client", str(client),
                         expect=None)
            if done.returncode == DONE:
                own = numpy.load(f.folder / f"{run}-{client}.npz")
                found |= {f"{client}/{name}": own[name] for name in own if name not in found}
        return found

    def close(self, f, one: str, other: str, bound: float) -> None:
        first, second = self.values(f, one), self.values(f, other)
        self.assertEqual(first.keys(), second.keys())
        for name, value in first.items():
            scale = max(numpy.abs(value).max(), 1e-2)
            self.assertLess(numpy.abs(value - second[name]).max(), bound * scale, name)
        for file in ("metrics.jsonl",):
            lines = [[json.loads(line) for line in (f.folder / run / file).read_text().splitlines()]
                     for run in (one, other)]
            for a, b in zip(*lines, strict=True):
                self.assertAlmostEqual(a["loss"] / b["loss"], 1.0, delta=bound)
                self.assertEqual(a["folded"], b["folded"])

    def test_loops_agree(self):
        """The package's loop ends where the command's does, to 1e-6 after 3 rounds."""
        with self.problem(**{"scenario.rounds": 3, "evaluation.every": 3}) as f:
            common = dict(f.settings)
            for name, settings in LOOPS.items():
                with self.subTest(name):
                    f.settings = common | settings
                    summaries = []
                    for loop in ("auto", "trainer"):
                        f.settings["python.loop"] = loop
                        summaries.append(self.result(f, f"{name}-{loop}"))
                    self.close(f, f"{name}-auto", f"{name}-trainer", 1e-6)
                    one, other = summaries
                    self.assertEqual(one["folded"], other["folded"])
                    for group in ("seen", "unseen"):
                        self.assertAlmostEqual(one["eval"][group]["loss"] / other["eval"][group]["loss"], 1.0, delta=1e-5)

    def test_own_loops(self):
        """They learn; threads and trainers change nothing; a loop that is that of the command ends as it does."""
        for name, kinds in (("Momentum", OWN), ("Exact", ("fedavg", "furl", "fedrep")), ("Plain", ("scaffold", "feddyn"))):
            with self.own(name) as f:
                for kind in kinds:
                    with self.subTest(problem=name, kind=kind):
                        f.settings["algorithm.kind"] = kind
                        alone = self.result(f, f"{kind}-1", "--threads", "1")
                        self.same(alone, self.result(f, f"{kind}-2", "--threads", "2"))
                        self.same(alone, self.result(f, f"{kind}-3", "--threads", "3", "--set", "python.workers=1"))
                        self.assertLess(alone["eval"]["seen"]["loss"], 4.0)
                        self.assertEqual(alone["folded"], alone["selected"])
        with self.own("Plain", **{"scenario.rounds": 3}) as f:
            for kind in ("furl", "scaffold", "feddyn", "ditto"):
                f.settings |= {"algorithm.kind": kind, "python.problem": f"{FITTED}:Plain"}
                self.result(f, f"{kind}-own")
                f.settings["python.problem"] = f"{ROOT}/tests/processes/ratings.py:Ratings"
                self.result(f, f"{kind}-command")
                self.close(f, f"{kind}-own", f"{kind}-command", 1e-6)

    def test_more_epochs_weigh_no_more(self):
        """A loop that goes over the examples more often than [algorithm.client] is not rejected for its weight."""
        with self.own("Momentum", **{"algorithm.aggregation.rule": "mean"}) as f:
            summary = self.result(f, "run")
            self.assertEqual(summary["rejected"], {})
            lines = [json.loads(line) for line in (f.folder / "run" / "metrics.jsonl").read_text().splitlines()]
            self.assertTrue(all(line["examples"] > 0 for line in lines))

    def test_trainers_killed(self):
        """Trainers that are killed in the middle of a loop are started again, and nothing changes."""
        for kind in ("furl", "fedrep", "ditto"):
            with self.own("Momentum", **{"algorithm.kind": kind}) as f:
                whole = self.result(f, "whole")
                marks = f.folder / "marks"
                marks.mkdir()
                f.environment |= {"TROUBLE": "die", "MARKS": str(marks)}
                self.same(whole, self.result(f, "killed", "--threads", "2"))
                self.assertGreater(len(list(marks.iterdir())), 3)

    def test_furlong_killed(self):
        """No trainer outlives it, and the run goes on where it was."""
        with self.own("Momentum", "slow", **{"scenario.rounds": 20, "algorithm.kind": "fedrep"}) as f:
            whole = self.result(f, "whole")
            self.same(whole, self.killed_run(f, 3))

    def test_federation(self):
        """Nodes train by loops of their own class: the model of the single process."""
        with self.own("Momentum", **{"algorithm.kind": "ditto"}) as f:
            alone = f.alone()
            mine = ("--python", f"{FITTED}:Momentum")
            f.serve()
            f.join(0, 0, 99, *mine)
            f.join(1, 100, 199, *mine)
            self.check_same(f, f.end(), alone)

    def test_exceptions(self):
        """They end the run with file and line, or only their client's task."""
        with self.own("Momentum", "raise", **{"participation.per_round": 160}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "stop", *f.sets(), expect=FAILURE)
            self.assertRegex(done.stderr, r"ratings\.py:\d+.*no gradient for this user.*user 11")
            f.settings["python.on_error"] = "drop"
            dropped = self.result(f, "drop")
            self.assertEqual(dropped["rejected"], {"client-failed": 12})
            self.assertEqual(dropped["folded"], 12 * 159)

    def test_refused(self):
        """What cannot train by such a loop is refused at the start, with the key, the reason and the fix."""
        ratings = f"{ROOT}/tests/processes/ratings.py:Ratings"
        own, exact = f"{FITTED}:Momentum", f"{FITTED}:Exact"
        for kind, problem, loop, text in (
                ("fedsgd", own, "auto", "by gradients alone, and the class trains by a fit\\(\\) of its own; .*give fit"),
                ("fedsgd", ratings, "trainer", 'python.loop is "trainer"; .*remove python.loop'),
                ("centralized", own, "auto", "by gradients alone, and the class trains by a fit"),
                ("pfedme", exact, "auto", "by gradients alone, and the class has no gradient"),
                ("apfl", exact, "auto", "by gradients alone, and the class has no gradient"),
                ("scaffold", own, "auto", "corrections hold for plain gradient steps.*set plain = True"),
                ("feddyn", own, "auto", "corrections hold for plain gradient steps.*set plain = True")):
            with self.subTest(kind=kind, problem=problem, loop=loop), self.own("Momentum") as f:
                f.settings |= {"algorithm.kind": kind, "python.problem": problem, "python.loop": loop}
                done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr + done.stdout, f"algorithm.kind.*is \"{kind}\".*{text}")
        with self.own("Momentum", **{"algorithm.kind": "apfl"}) as f:
            done = f.run("validate", f.scenario, *f.sets())
            self.assertIn("fit() of the class has no effect: apfl takes steps of its own, by gradient()",
                          done.stderr + done.stdout)


if __name__ == "__main__":
    main()
