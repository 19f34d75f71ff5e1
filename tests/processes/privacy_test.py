#!/usr/bin/env python3
"""Differential privacy of federations: the noise of a seed as in one process, and that of a secret key.

usage: privacy_test.py FURLONG [TEST...]
"""
from case import Case, main

NOISY = {"algorithm.aggregation.rule": "uniform-mean", "privacy.clip": 0.5, "privacy.noise": 1.1}


class Privacy(Case):
    def compare(self, more: dict) -> dict:
        with self.federation(settings=NOISY | {"privacy.noise_key": "seed"} | more) as f:
            alone = f.alone()
            f.start()
            end = f.end()
            self.check_same(f, end, alone)
            self.assertTrue(end["privacy"]["simulated"])
            self.assertEqual(end["added_sha256"] if "added_sha256" in alone else None, alone.get("added_sha256"))
            return end

    def test_adaptive_clipping(self) -> None:
        end = self.compare({"privacy.clip_quantile": 0.4, "privacy.clip_noise": 2})
        self.assertNotEqual(end["privacy"]["clip"]["bound"], 0.5)

    def test_tree(self) -> None:
        end = self.compare({"privacy.mechanism": "tree", "privacy.tree_rounds": 4, "participation.min_separation": 4})
        self.assertEqual(end["privacy"]["tree"], {"rounds": 4, "min_separation": 4})
        self.assertLessEqual(end["participation"]["max"], 3)

    def test_secret(self) -> None:
        """A federation draws a key, and another one when it is resumed. Cohorts and model are not those of a seed."""
        with self.federation(settings=NOISY | {"participation.policy": "poisson", "participation.rate": 0.15,
                                               "participation.cap": 160, "scenario.rounds": 60,
                                               "evaluation.every": 0}) as f:
            alone = f.alone()
            self.assertTrue(alone["privacy"]["simulated"])
            f.start()
            f.wait_for_version(4)
            f.process("server").kill()
            f.serve_again()
            end = f.end()
            self.assertFalse(end["privacy"]["simulated"])
            self.assertEqual(end["privacy"]["epsilon"], alone["privacy"]["epsilon"])
            self.assertNotEqual(end["model_sha256"], alone["model_sha256"])
            self.assertNotEqual(end["selected"], alone["selected"])


if __name__ == "__main__":
    main()
