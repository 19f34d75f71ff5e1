#!/usr/bin/env python3
"""Federations with secure aggregation: they end as the plain run in one process does, and lose rounds at most.

usage: secure_test.py FURLONG [TEST...]
"""
import random
import time

from case import QUICK, Case, main
from federation import USAGE, Federation, accounted, unbalanced_rounds

PLAIN = {"algorithm.aggregation.rule": "uniform-mean", "algorithm.aggregation.norm_bound": "fixed"}
MASKED = PLAIN | {"privacy.secure_aggregation": "true"}


class Secure(Case):
    def plain(self, f: Federation) -> dict:
        """The run without masks, in one process."""
        settings, f.settings = f.settings, {k: v for k, v in f.settings.items() if not k.startswith("privacy.")}
        try:
            return f.alone()
        finally:
            f.settings = settings

    def compare(self, aggregators: int = 2, secure: bool = True, more: dict | None = None) -> None:
        with self.federation(settings=MASKED | (more or {}), secure=secure) as f:
            plain = self.plain(f)
            f.start(aggregators)
            summary = f.end()
            self.check_books(f, summary)
            for key in ("model_sha256", "folded", "selected"):
                self.assertEqual(summary[key], plain[key], key)
            self.assertEqual(summary["eval"]["seen"]["rmse"], plain["eval"]["seen"]["rmse"])
            self.assertEqual(summary["rejected"], plain["rejected"])

    def test_aggregators(self):
        self.compare()

    def test_server_alone(self):
        self.compare(aggregators=0)

    def test_semi_malicious(self):
        self.compare(more={"privacy.adversary": "semi-malicious"})

    def test_insecure(self):
        """Without certificates nobody signs keys."""
        self.compare(secure=False)

    def test_after_ack(self):
        self.compare(more={"private.commit": "after-ack"})

    def test_required_by_nodes(self):
        """A node joins no run that breaks one of its terms."""
        kept = ["privacy.secure_aggregation=true", "participation.min_reports>=14", "participation.per_round<=20"]
        broken = {"privacy.adversary=semi-malicious": 'privacy.adversary is "semi-honest"',
                  "participation.min_reports>=15": "participation.min_reports is 14",
                  "participation.per_round<=19": "participation.per_round is 20",
                  "data.nothing=1": "the run has no data.nothing"}
        with self.federation(settings=MASKED | {"participation.min_reports": 14, "scenario.rounds": 2,
                                                "network.start": 0.2}) as f:
            f.serve(operators=False)
            for term, why in broken.items():
                node = f.join(0, None, None, "--require", term)
                self.assertEqual(node.wait(), USAGE)
                node.wait_for(f'--require: "{term}" does not hold: ')
                node.wait_for(why)
            f.join(0, None, None, *(word for term in kept for word in ("--require", term)))
            self.assertEqual(f.end()["folded"], 40)

    def test_terms_that_cannot_be_checked(self):
        """They are refused before the node looks for a server."""
        for term, why in {"privacy.adversry=semi-malicious": "perhaps privacy.adversary",
                          "participation.policy=uniform": "servers do not tell nodes participation.policy",
                          "participation.min_reports": "is no term",
                          "participation.min_reports>=many": "is no term"}.items():
            with self.federation(settings=PLAIN) as f:
                node = f.join(0, None, None, "--require", term)
                self.assertEqual(node.wait(), USAGE)
                node.wait_for(why)

    def test_second_start(self):
        """A node that has helped to open a sum of a run takes part in no second start of it."""
        with self.federation(settings=MASKED | {"scenario.rounds": 2}) as f:
            f.start()
            f.end()
            f.out = f.out.with_name("again")
            f.serve(operators=False)
            node = f.join(0)
            self.assertEqual(node.wait(), USAGE)
            node.wait_for("have helped to open sums of an earlier start of this run")

    def test_noise_of_clients(self):
        """Shares that nodes draw from the scenario's seed make the noise of the run in one process; secret ones do not."""
        noisy = MASKED | {"privacy.clip": 0.5, "privacy.noise": 1.0, "privacy.noise_at": "client"}
        models = []
        for key in ("seed", "secret"):
            with self.federation(settings=noisy | {"privacy.noise_key": key}) as f:
                alone = f.alone()
                f.start(2)
                summary = f.end()
                self.check_books(f, summary)
                self.assertEqual(summary["model_sha256"] == alone["model_sha256"], key == "seed")
                self.assertEqual(summary["privacy"]["simulated"], key == "seed")
                # A server that knows the seed can subtract the noise.
                self.assertEqual(summary["privacy"].get("server", {}).get("shares"), None if key == "seed" else 14)
                models.append(summary["model_sha256"])
        self.assertNotEqual(*models)

    def test_asynchronous(self):
        """Clients whose updates fill a buffer exchange keys; a killed node and a killed server cost updates only."""
        buffered = MASKED | {"participation.mode": "async", "participation.buffer": 8, "participation.concurrency": 24,
                             "scenario.rounds": 40, "privacy.clip": 0.5, "network.task_timeout": 10,
                             "checkpoint.every": 1, "network.heartbeat": 0.5, "network.timeout": 2.0}
        with self.federation(settings=buffered) as f:
            f.start()
            f.wait_for_version(8)
            f.processes["node1"].kill()
            f.join(1)
            f.wait_for_version(16)
            f.processes["server"].kill()
            f.serve_again()
            summary = f.end()
            self.assertEqual(summary["rounds"], 40)
            self.assertEqual(summary["selected"], accounted(summary))
            metrics = f.lines(f.out / "metrics.jsonl")
            self.assertEqual(unbalanced_rounds(metrics), [])
            for line in metrics:
                self.assertLessEqual(line["change_norm"], 0.51)  # words of another exchange would be random numbers
                self.assertIn(line["folded"], [0, 6, 7, 8])
            self.assertGreater(summary["folded"], 200)

    def test_kills(self):
        """Every role is killed at random moments. Rounds may be lost; no task is, and the run ends."""
        draw = random.Random(4)
        with self.federation(settings=MASKED | QUICK | {"network.task_timeout": 10, "checkpoint.every": 1}) as f:
            f.start()
            kills = {"server": 0, "aggregator": 0, "node": 0}
            begun = time.monotonic()
            while time.monotonic() < begun + 40:
                time.sleep(draw.uniform(0.2, 1.2))
                name = draw.choice(["server", "aggregator0", "aggregator1", "node0", "node1", "node2", "node3"])
                one = f.processes[name]
                if not one.running:
                    break
                one.kill()
                kills[name.rstrip("0123456789")] += 1
                time.sleep(draw.uniform(0.0, 0.4))
                if name == "server":
                    f.serve_again()
                elif name.startswith("aggregator"):
                    f.aggregate(name)
                else:
                    f.join(int(name[-1]))
            self.assertGreater(min(kills.values()), 0, kills)
            summary = f.finish()
            self.assertEqual(summary["selected"], accounted(summary))
            self.assertEqual(unbalanced_rounds(f.lines(f.out / "metrics.jsonl")), [])
            self.assertGreater(summary["folded"], 100)
            # A round that lost too many clients was abandoned, and one that was opened had two thirds of those that sent
            # keys. A node that is killed before has sent none.
            for line in f.lines(f.out / "metrics.jsonl"):
                if line["folded"]:
                    self.assertLessEqual(line["sent_keys"], 20, line)
                    self.assertGreaterEqual(line["folded"], line["sent_keys"] - line["sent_keys"] // 3, line)


if __name__ == "__main__":
    main()
