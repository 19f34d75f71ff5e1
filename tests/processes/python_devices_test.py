#!/usr/bin/env python3
"""Modules with values of their own, on the path of a device: the results of those that have none, wherever they run.

usage: python_devices_test.py FURLONG [TEST...]
"""
import sys
import unittest

from case import main
from federation import USAGE
from python_case import ROOT, PythonCase

try:
    import torch
except ImportError:
    torch = None

FILE = f"{ROOT}/tests/processes/normalized.py"
COPY = '["cpu:copy"]'


@unittest.skipIf(torch is None, "needs python3-torch")
class Devices(PythonCase):
    def normalized(self, name: str = "Normalized", trouble: str = "", **settings):
        return self.problem(trouble, **{"python.problem": f"{FILE}:{name}", "participation.per_round": 12,
                                        "model.private": "[]", "algorithm.kind": "fedavg", "scenario.rounds": 4,
                                        **settings})

    def test_algorithms(self):
        """The same model, private values and figures, with any number of threads and workers."""
        for kind, name, private in (("fedavg", "Normalized", ""), ("furl", "Normalized", "*bn*"), ("ditto", "Fitted", ""),
                                    ("fedrecon", "Normalized", "last.*"), ("fedrep", "Fitted", "last.*"),
                                    ("scaffold", "Fitted", ""), ("pfedme", "Normalized", "")):
            with self.subTest(kind), self.normalized(name, **{"algorithm.kind": kind, "python.loop": "trainer",
                                                              "model.private": f'["{private}"]' if private else "[]"}) as f:
                views = self.result(f, "views")
                f.settings["python.devices"] = COPY
                self.same(views, self.result(f, "copies"))
                self.same(views, self.result(f, "worker", "--threads", "3", "--set", "python.workers=1"))
                self.assertRegex(views["arithmetic"], f"^torch {torch.__version__.partition('+')[0]}, ")

    def test_federation(self):
        """Nodes have devices of their own: the model of the single process."""
        with self.normalized("Fitted", **{"algorithm.kind": "furl", "model.private": '["*bn*"]'}) as f:
            alone = f.alone()
            mine = ("--python", f"{FILE}:Fitted")
            f.serve()
            f.join(0, 0, 5, *mine)
            f.join(1, 6, 11, *mine, "--devices", "cpu:copy,cpu:copy")
            self.check_same(f, f.end(), alone)

    def test_furlong_killed(self):
        """The run goes on where it was; another arithmetic is noted."""
        with self.normalized("Named", "slow", **{"scenario.rounds": 12, "python.devices": COPY,
                                                 "participation.per_round": 6}) as f:
            whole = self.result(f, "whole")
            self.same(whole, self.killed_run(f, 2))
            self.result(f, "half", "--set", "scenario.rounds=6")
            f.environment["ARITHMETIC"] = "torch 99, abacus"
            resumed = f.run("run", f.scenario, "--out", f.folder / "half", *f.sets(), "--resume")
            self.assertRegex(resumed.stderr, "note: the checkpoint was computed with torch .*, and this process has torch "
                             "99, abacus: the results will differ")

    def test_refused(self):
        """Names that are no device, algorithms without a loop, and devices that the machine lacks."""
        for settings, text in (({"python.devices": '["gpu"]'}, "python.devices.*has gpu, which is no device; .*cuda:0"),
                               ({"python.devices": COPY, "algorithm.kind": "fedsgd"},
                                "trainers with python.devices take the steps; .*remove python.devices"),
                               ({"python.devices": COPY, "python.problem": f"{ROOT}/tests/processes/ratings.py:Ratings"},
                                "Ratings is no problem in PyTorch; .*remove python.devices")):
            with self.subTest(text), self.normalized(**settings) as f:
                done = f.run("validate", f.scenario, *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr + done.stdout, text)
        if not torch.cuda.is_available():
            with self.normalized(**{"python.devices": '["cuda:0"]'}) as f:
                done = f.run("run", f.scenario, "--out", f.folder / "run", *f.sets(), expect=USAGE)
                self.assertRegex(done.stderr, "python.devices.*the interpreter has no device \"cuda\"")


if __name__ == "__main__":
    main()
