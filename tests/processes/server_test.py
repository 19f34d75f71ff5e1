#!/usr/bin/env python3
"""Servers and aggregators that stop, die and come back.

usage: server_test.py FURLONG [TEST...]
"""
import signal

from federation import (INTERRUPTED, Case, accounted, acknowledged, folded_tasks, main, twice, unbalanced_rounds)

LONG = {"scenario.rounds": 60, "evaluation.every": 0, "checkpoint.every": 4}


class Server(Case):
    def check_books(self, f, summary: dict) -> None:
        self.assertEqual(accounted(summary), summary["selected"])
        self.assertEqual(unbalanced_rounds(f.lines(f.out / "metrics.jsonl")), [])
        tasks = folded_tasks(f.lines(f.ledger))
        self.assertEqual(twice(tasks), [])
        self.assertEqual(len(tasks), summary["folded"])
        durable = {(base, client, attempt) for _, base, client, attempt in tasks}
        for number in range(4):
            lost = acknowledged(f.processes[f"node{number}"].log.read_text()) - durable
            self.assertEqual(lost, set(), f"acknowledged to node{number} and in no version")
            self.assertTrue(f.sound(number))

    def interrupt(self, with_signal: signal.Signals, same=("model_sha256", "eval", "folded", "selected"), **more):
        """The server is interrupted twice; nobody else is touched. It ends like one that never was."""
        with self.federation(**more) as f:
            alone = f.alone()
            f.start()
            for version in (8, 24):
                f.wait_for_version(version)
                server = f.processes["server"]
                self.assertTrue(server.running, "the run was over before it could be interrupted")
                server.signal(with_signal)
                code = server.wait()
                self.assertEqual(code, INTERRUPTED if with_signal == signal.SIGTERM else -with_signal)
                f.serve_again()
            summary = f.end()
            for key in same:
                self.assertEqual(summary[key], alone[key], key)
            self.check_books(f, summary)

    def test_stopped(self):
        self.interrupt(signal.SIGTERM, settings=LONG)

    def test_killed(self):
        self.interrupt(signal.SIGKILL, settings=LONG)

    def test_killed_after_ack(self):
        """Private values are kept when the server says that the update is durable. With a checkpoint after every round
        that is after the round, as in one process; but for the last one, whose evaluation comes before it."""
        self.interrupt(signal.SIGKILL, same=("model_sha256", "folded", "selected"),
                       settings=LONG | {"private.commit": "after-ack", "checkpoint.every": 1})

    def test_stopped_with_open_tasks(self):
        """Tasks that a checkpoint holds open end in the next life, before its first round: in its books too."""
        with self.federation(settings=LONG | {"participation.over_selection": 1.4}) as f:
            f.start()
            f.wait_for_version(8)
            frozen, server = f.processes["node1"], f.processes["server"]
            frozen.stop()
            f.wait_for_version(f.version() + 2)
            server.terminate()
            self.assertEqual(server.wait(), INTERRUPTED)
            f.serve_again("--set", "network.start=0.7")
            frozen.resume()
            summary = f.end()
            self.check_books(f, summary)
            self.assertGreater(summary["surplus"] + sum(summary["dropped"].values()), 0)

    def test_killed_insecure(self):
        self.interrupt(signal.SIGKILL, settings=LONG, secure=False)

    def test_aggregator_killed(self):
        """Its nodes go on at the other one."""
        with self.federation(settings=LONG) as f:
            alone = f.alone()
            f.start()
            f.wait_for_version(10)
            self.assertTrue(f.processes["server"].running)
            f.processes["aggregator0"].kill()
            summary = f.end()
            self.check_books(f, summary)
            self.assertIn("clients 0 to 49 are here", f.processes["aggregator1"].text())
            if summary["folded"] == summary["selected"]:  # nobody was too slow to come back
                self.assertEqual(summary["model_sha256"], alone["model_sha256"])

    def test_all_aggregators_killed(self):
        """The nodes go on at the server; an aggregator that is started again is used by nodes that join later."""
        with self.federation(settings=LONG | {"scenario.rounds": 100_000}) as f:
            f.start()
            f.wait_for_version(10)
            for name in ("aggregator0", "aggregator1"):
                f.processes[name].kill()
            at = f.version()
            f.wait_for_version(at + 5)
            again = f.aggregate("aggregator0")
            again.wait_for("took this aggregator in")
            f.processes["node3"].kill()
            f.join(3)
            again.wait_for("clients 150 to 199 are here")
            self.check_books(f, f.finish())


if __name__ == "__main__":
    main()
