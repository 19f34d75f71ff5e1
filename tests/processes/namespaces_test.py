#!/usr/bin/env python3
"""A federation whose processes are on machines of their own, as far as the network goes: a namespace for each.

usage: namespaces_test.py FURLONG [TEST...]
"""
import re
import unittest

from case import QUICK, Case, main
from federation import wait_until
from namespaces import Network, permitted

SITES = ["server", "aggregator0", "aggregator1", "node0", "node1", "node2", "node3"]
WHY_NOT = permitted()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Namespaces(Case):
    def network(self, f) -> Network:
        network = Network(SITES)
        f.prefix_of, f.host_of = network.prefix, network.address
        return network

    def test_parity(self):
        """Over a network that is slow and loses packets the run ends as in one process."""
        with self.federation() as f, self.network(f) as network:
            print("worse by", {network.worsen(site) for site in SITES})
            f.start()
            there, alone = f.end(), f.alone()
            for key in ("model_sha256", "eval", "selected", "folded", "rounds"):
                self.assertEqual(there[key], alone[key], key)

    def test_node_cut_off(self):
        """A node's cable is pulled: given up by silence, the rounds go on without it; plugged in again it takes part."""
        with self.federation(settings=QUICK) as f, self.network(f) as network:
            f.start(aggregators=0)
            self.takes_part(f, 1, after=2)
            told = len(f.log())
            network.cut("node1")
            wait_until("the server gives it up", lambda: re.search("node1/.*silent", f.log()[told:]))
            f.wait_for_version(f.version() + 2)
            f.processes["node1"].wait_for("session: silent")
            network.heal("node1")
            self.takes_part(f, 1, after=f.version())
            self.check_books(f, f.finish())

    def test_aggregator_cut_off(self):
        """An aggregator's cable is pulled: its nodes go on elsewhere; plugged in again it is taken in."""
        with self.federation(settings=QUICK) as f, self.network(f) as network:
            f.start()
            for number in range(4):
                self.takes_part(f, number, after=1)
            aggregator = f.processes["aggregator0"]
            network.cut("aggregator0")
            at = f.version()
            for number in range(4):
                self.takes_part(f, number, after=at + 1)
            told = len(aggregator.text())
            network.heal("aggregator0")
            wait_until("it is taken in", lambda: "accepted this aggregator" in aggregator.text()[told:])
            self.check_books(f, f.finish())


if __name__ == "__main__":
    main()
