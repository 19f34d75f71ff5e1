#!/usr/bin/env python3
"""Federations with a part of another library that breaks its contract: every process ends, and says why.

usage: broken_parts_test.py PROGRAM [TEST...]   (PROGRAM: furlong with such a part)
"""
from case import Case, main
from federation import FAILURE, USAGE


class BrokenParts(Case):
    def test_policy(self):
        """The server fails in the round, and neither nodes nor aggregators wait for it to come back."""
        with self.federation(settings={"participation.policy": "broken"}) as f:
            f.start(aggregators=1)
            server = f.processes["server"]
            self.assertEqual(server.wait(), FAILURE)
            self.assertIn("selected for round 3 client 1000000000, which does not train", server.text())
            for name, one in f.processes.items():
                if name != "server":
                    self.assertEqual(one.wait(), FAILURE, name)
                    self.assertIn("the run has failed: participation.policy: ", one.text())

    def test_training(self):
        """All nodes fail, some of them behind an aggregator: the server does not wait for them to come back."""
        with self.federation(settings={"algorithm.kind": "broken"}) as f:
            f.start(aggregators=1)
            server = f.processes["server"]
            self.assertEqual(server.wait(), FAILURE)
            told = "the nodes: all of them have failed; the last one: its algorithm.kind failed, and its output says how"
            self.assertIn(told, server.text())
            for name, one in f.processes.items():
                self.assertEqual(one.wait(), FAILURE, name)
                own = "no idea how to train"  # may be private: the node alone says it
                self.assertEqual(own in one.text(), name.startswith("node"), name)
                self.assertIn("algorithm.kind", one.text(), name)

    def test_sums(self):
        """Nobody can aggregate, neither the server nor an aggregator, and nobody waits for that."""
        for aggregators in (0, 1, 2):
            with self.subTest(aggregators=aggregators), self.federation(
                    settings={"algorithm.aggregation.rule": "broken"}) as f:
                f.start(aggregators=aggregators)
                for name, one in f.processes.items():
                    self.assertEqual(one.wait(), FAILURE, name)
                    self.assertIn("is \"broken\", which failed in encode(): no idea how to add", one.text(), name)

    def test_one_node(self):
        """One that fails ends nothing: the others go on, and a correct one takes its place."""
        with self.federation(settings={"algorithm.kind": "broken"}) as f:
            f.environment["TRAIN_SOUNDLY"] = "yes"
            f.serve()
            for number in range(1, 4):
                f.join(number)
            del f.environment["TRAIN_SOUNDLY"]
            failing = f.join(0)
            self.assertEqual(failing.wait(), FAILURE)
            f.environment["TRAIN_SOUNDLY"] = "yes"
            f.join(0)
            f.end()

    def test_registration(self):
        """What cannot be registered is told, with an exit code and no signal."""
        with self.federation(secure=False) as f:
            f.environment["REGISTER_WRONG_RULE"] = "yes"
            done = f.run("validate", f.scenario, expect=USAGE)
            self.assertIn("the option algorithm.aggregation.noise is a key already: rename it", done.stderr)

    def test_policy_alone(self):
        """The same in one process."""
        with self.federation(settings={"participation.policy": "broken"}) as f:
            done = f.run("run", f.scenario, "--out", f.folder / "alone", *f.sets(), expect=FAILURE)
            self.assertIn("selected for round 3 client 1000000000, which does not train", done.stderr)


if __name__ == "__main__":
    main()
