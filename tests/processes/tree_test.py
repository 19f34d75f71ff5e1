#!/usr/bin/env python3
"""Trees of aggregators: two at the server, and two below each of them.

usage: tree_test.py FURLONG [TEST...]
"""
import re

from case import LONG, Case, main
from federation import wait_until

TREE = {"topology.fan_in": 2}
NODES, EACH = 8, 25


class Tree(Case):
    def grow(self, f) -> list[str]:
        """Six aggregators at a server with room for two, and eight nodes with 25 clients each; the names of those that
        were sent on."""
        f.serve()
        for number in range(6):
            one = f.aggregate(f"aggregator{number}", "--operator", "127.0.0.1:0")
            one.wait_for("accepted this aggregator")
        for number in range(NODES):  # one by one, so that each goes to where the fewest are
            self.join(f, number).wait_for("accepted this node")
        return [name for name, one in f.processes.items() if "the parent redirects this aggregator to" in one.text()]

    def join(self, f, number: int):
        return f.join(number, number * EACH, number * EACH + EACH - 1)

    def hosts(self, f, name: str) -> list[int]:
        """Numbers of the nodes that came to this aggregator."""
        return [int(first) // EACH for first in re.findall(r"clients (\d+) to \d+ are connected", f.processes[name].text())]

    def test_parity(self):
        """The model is that of one process, however deep the tree."""
        with self.federation(settings=TREE) as f:
            alone = f.alone()
            sent_on = self.grow(f)
            self.assertEqual(len(sent_on), 4)
            for name in sent_on:
                self.assertTrue(self.hosts(f, name), f"no node came to {name}")
            direct = [name for name in f.processes if name.startswith("aggregator") and name not in sent_on]
            for name in direct:  # two below each
                self.assertEqual(len(re.findall(r"aggregator \d \(.*\) is connected", f.processes[name].text())), 2, name)
            summary = f.end()
            for key in ("model_sha256", "eval", "selected", "folded", "clients_trained", "bytes_up"):
                self.assertEqual(summary[key], alone[key], key)
            self.check_books(f, summary)

    def test_killed_below(self):
        """kill -9 of an aggregator below another one, with tasks at work: its nodes go on elsewhere."""
        with self.federation(settings=TREE | LONG) as f:
            below = self.grow(f)[0]
            f.wait_for_version(5)
            node = self.hosts(f, below)[0]
            f.processes[f"node{node}"].stop()  # so that tasks of its clients are open
            self.stands_still(f)
            f.processes[below].kill()
            wait_until("the server hears of lost tasks",
                       lambda: re.search(r"aggregator \d+ lost another one below it, and with it \d+ tasks", f.log()))
            f.processes[f"node{node}"].resume()
            summary = f.end()
            self.check_books(f, summary)
            self.assertEqual(summary["rounds"], LONG["scenario.rounds"])

    def test_killed_above(self):
        """kill -9 of an aggregator with others below it: they come back at the server, and so do the nodes of all."""
        with self.federation(settings=TREE | LONG) as f:
            sent_on = self.grow(f)
            f.wait_for_version(5)
            above = next(name for name in f.processes if name.startswith("aggregator") and name not in sent_on)
            f.processes[above].kill()
            summary = f.end()
            self.check_books(f, summary)
            again = [name for name in sent_on if f.processes[name].text().count("accepted this aggregator") > 1]
            self.assertEqual(len(again), 2)


if __name__ == "__main__":
    main()
