#!/usr/bin/env python3
"""furlong audit: what it prints against the formulas of the paper by scipy (Debian: python3-scipy; without it that test is
skipped), exit codes, and what it refuses.

usage: audit_test.py FURLONG
"""
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from scipy import stats
    from scipy.optimize import brentq
except ImportError:
    stats = None

FURLONG = ""
SCENARIO = """
[scenario]
name = "audited"
rounds = 4
[data]
source = "synthetic-ratings"
users = 700
items = 250
rank = 2
ratings_per_user = 12
split = [0.8, 0.1, 0.1]
unseen_users = {validation = 0.1, test = 0.1}
[model]
kind = "matrix-factorization"
rank = 4
user_bias = true
item_bias = true
private = ["user", "user_bias"]
[algorithm]
kind = "furl"
client = {lr = 0.05, batch_size = 4}
aggregation = {rule = "uniform-mean"}
[participation]
policy = "poisson"
rate = 0.5
cap = 400
[privacy]
clip = 0.5
noise = 1.5
delta = 1e-5
"""


def p_value(m, r, v, epsilon, delta):
    """Steinke, Nasr, Jagielski 2023, theorem 5.2."""
    q = 1 / (1 + math.exp(-epsilon))
    below = (stats.binom.cdf(v - 1, r, q) - stats.binom.cdf(v - i - 1, r, q) for i in range(1, v + 1))
    steepest = max((one / i for i, one in enumerate(below, 1)), default=0)
    return min(1, stats.binom.sf(v - 1, r, q) + 2 * m * delta * steepest)


class Audit(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="furlong-audit-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "audited.toml").write_text(SCENARIO)

    def furlong(self, *words):
        return subprocess.run([FURLONG, "audit", "audited.toml", *map(str, words)], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def audit(self, *words, code=0):
        done = self.furlong("--format", "json", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_the_figures_are_those_of_scipy(self):
        if stats is None:
            self.skipTest("no scipy")
        for words in ((), ("--canaries", 500, "--confidence", 0.9), ("--seed", 2, "--delta", 1e-4)):
            made = self.audit(*words)
            m, r, v, delta = (made[key] for key in ("canaries", "guesses", "right", "delta"))
            least = (1 - made["confidence"]) / made["tried"]
            bound = 0.0
            if p_value(m, r, v, 0, delta) <= least:
                bound = brentq(lambda epsilon: p_value(m, r, v, epsilon, delta) - least, 0, 60, xtol=1e-12)
            self.assertAlmostEqual(made["lower_bound"], bound, delta=1e-7)
            self.assertEqual(made["claimed"], made["account"]["epsilon"])
            self.assertLessEqual(made["lower_bound"], made["claimed"])
            self.assertGreater(made["p_value"], 0.05)
            self.assertLessEqual(made["p_value"], made["tried"] * p_value(m, r, v, made["claimed"], delta) + 1e-9)

    def test_a_claim_that_is_too_low_is_contradicted(self):
        # Weak noise on clients that all take part in all rounds: the attack is right nearly always.
        loud = ("--set", "privacy.noise=0.8", "--set", "participation.rate=1.0", "--set", "participation.cap=700")
        made = self.audit(*loud, "--claim", 1.5, code=1)
        self.assertTrue(made["contradicted"])
        self.assertGreater(made["lower_bound"], 1.5)
        self.assertLess(made["p_value"], 0.05)
        honest = self.audit(*loud)
        self.assertFalse(honest["contradicted"])
        self.assertEqual(honest["lower_bound"], made["lower_bound"])
        text = self.furlong(*loud, "--claim", 1.5)
        self.assertEqual(text.returncode, 1)
        self.assertIn("CONTRADICTED", text.stdout)

    def test_threads_change_nothing(self):
        self.assertEqual(self.audit("--threads", 1), self.audit("--threads", 2))

    def test_canaries_are_tossed_and_others_are_told_apart_by_the_model(self):
        made = self.audit("--canaries", 200)
        self.assertEqual(made["canaries"], 200)
        self.assertTrue(70 < made["in"] < 130)
        self.assertEqual(made["refused"], 0)
        self.assertEqual(made["membership"]["others"], 140)
        self.assertTrue(300 < made["membership"]["members"] <= 360)  # of 360; each takes part with 15 / 16
        self.assertTrue(abs(made["membership"]["auc"] - 0.5) < 3 * made["membership"]["half_width"])
        self.assertIsNone(self.audit("--canaries", 560)["membership"])

    def test_what_cannot_be_audited_is_refused(self):
        for words, said in (
                (("--set", "privacy.noise=0"), "nothing is claimed"),
                (("--canaries", 600), "560 clients train"),
                (("--canaries", 3), "8"),
                (("--set", "participation={policy='power-of-choice', per_round=20}"), "selects by losses"),
                (("--set", "participation={policy='uniform', mode='async', buffer=10, concurrency=20}"), "several versions")):
            done = self.furlong(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    FURLONG = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
