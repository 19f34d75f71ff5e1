#!/usr/bin/env python3
"""Nodes that come late, leave, die and freeze.

usage: nodes_test.py FURLONG [TEST...]
"""
import re
import time

from federation import INTERRUPTED, Case, accounted, folded_tasks, main, twice, unbalanced_rounds, wait_until
from proxy import Proxy

# Rounds that wait for nobody longer than 2.5 s, as many as it takes.
QUICK = {"scenario.rounds": 100_000, "evaluation.every": 0, "network.heartbeat": 0.5, "network.timeout": 2.0,
         "network.start": 0.7}
SILENCE = QUICK["network.heartbeat"] + QUICK["network.timeout"]


def stalls(f) -> int:
    """The version at which the run stands still, waiting for somebody."""
    def look():
        before = f.version()
        time.sleep(0.6)
        return before if f.version() == before else 0
    return wait_until("the run stands still", look)


class Nodes(Case):
    def takes_part(self, f, number: int, after: int) -> None:
        """Clients of node `number` are in a version after `after`."""
        def look():
            return any(line["version"] > after and any(task[1] // 50 == number for task in line["folded"])
                       for line in f.lines(f.ledger) if "version" in line)
        wait_until(f"node{number} takes part after version {after}", look)

    def check_books(self, f, summary: dict) -> None:
        self.assertEqual(accounted(summary), summary["selected"])
        self.assertEqual(unbalanced_rounds(f.lines(f.out / "metrics.jsonl")), [])
        tasks = folded_tasks(f.lines(f.ledger))
        self.assertEqual(twice(tasks), [])
        self.assertEqual(len(tasks), summary["folded"])

    def test_late(self):
        """The run begins without the fourth node, which takes part once it is there."""
        with self.federation(settings=QUICK) as f:
            f.start(nodes=3)
            f.wait_for_version(3)
            f.join(3)
            self.takes_part(f, 3, after=3)
            self.check_books(f, f.finish())

    def test_leaving(self):
        """SIGTERM: the node drains, reports what it had begun, and ends with code 5; nothing is dropped."""
        with self.federation(settings=QUICK) as f:
            f.start()
            f.wait_for_version(3)
            leaving = f.processes["node2"]
            leaving.terminate()
            self.assertEqual(leaving.wait(), INTERRUPTED)
            self.assertTrue(f.sound(2))
            f.processes.pop("node2")
            self.check_books(f, f.finish(start=0.6))

    def test_killed(self):
        """kill -9 in mid-round: noticed at once; the round goes on without it; back again it takes part."""
        with self.federation(settings=QUICK) as f:
            f.start(aggregators=1)
            f.wait_for_version(3)
            node, aggregator = f.processes["node1"], f.processes["aggregator0"]
            node.stop()  # so that it is killed with tasks at work
            at = stalls(f)
            told = len(aggregator.text())
            begun = time.monotonic()
            node.kill()
            wait_until("the aggregator notices", lambda: "node1/" in aggregator.text()[told:])
            self.assertLess(time.monotonic() - begun, 1.0, "noticed when the connection broke, not by silence")
            f.wait_for_version(at + 1)
            self.assertTrue(f.sound(1))
            f.join(1)
            self.takes_part(f, 1, after=f.version())
            summary = f.finish()
            self.check_books(f, summary)
            self.assertGreater(sum(summary["dropped"].values()), 0)
            self.assertTrue(f.sound(1))

    def test_frozen(self):
        """SIGSTOP: given up after network.heartbeat + network.timeout; SIGCONT: it comes back by itself."""
        with self.federation(settings=QUICK) as f:
            f.start(aggregators=0)
            f.wait_for_version(3)
            node = f.processes["node1"]
            told = len(f.log())
            begun = time.monotonic()
            node.stop()
            wait_until("the server gives it up", lambda: re.search("node1/.*silent", f.log()[told:]))
            took = time.monotonic() - begun
            self.assertGreater(took, QUICK["network.heartbeat"])
            self.assertLess(took, SILENCE + 2.0)
            at = f.version()
            f.wait_for_version(at + 1)
            node.resume()
            self.takes_part(f, 1, after=f.version())
            self.check_books(f, f.finish())

    def test_cut_off(self):
        """A cable that is cut, and mended: as if the node had frozen, on both sides."""
        with self.federation(settings=QUICK) as f:
            f.serve(operators=False)
            for i in (0, 2, 3):
                f.join(i)
            way = Proxy(lambda: f.join_port)
            self.addCleanup(way.close)
            f.way_in = way.port
            f.join(1).wait_for("took this node in")
            self.takes_part(f, 1, after=f.version())
            told = len(f.log())
            way.cut()
            wait_until("the server gives it up", lambda: re.search("node1/.*silent", f.log()[told:]))
            f.wait_for_version(f.version() + 2)
            f.processes["node1"].wait_for("session: silent")
            way.heal()
            self.takes_part(f, 1, after=f.version())
            self.check_books(f, f.finish())


if __name__ == "__main__":
    main()
