#!/usr/bin/env python3
"""Servers that lie to real nodes under secure aggregation, or that make rounds again: nothing is opened that could show
one update.

usage: rogue_test.py FURLONG [TEST...]
"""
import socket

from case import Case, main
from federation import FAILURE, folded_tasks
from proxy import Proxy

MASKED = {"algorithm.aggregation.rule": "uniform-mean", "algorithm.aggregation.norm_bound": "fixed",
          "privacy.secure_aggregation": "true", "participation.min_reports": 14, "network.task_timeout": 5,
          "evaluation.every": 0}


class Rewriter(Proxy):
    """The way to a server, on which one text of what it says becomes another of the same length."""

    def __init__(self, target, text: bytes, becomes: bytes):
        assert len(text) == len(becomes)
        self.text, self.becomes, self.changes = text, becomes, 0
        super().__init__(target)

    def _pass(self, one: socket.socket, other: socket.socket, *more) -> None:
        to_node = (other, one) in self.pairs
        super()._pass(one, _Changed(other, self) if to_node else other, *more)


class _Changed:
    """A socket to a node. A text that is split over two of its messages stays as it is."""

    def __init__(self, to: socket.socket, by: Rewriter):
        self.to, self.by = to, by

    def sendall(self, got: bytes) -> None:
        self.by.changes += got.count(self.by.text)
        self.to.sendall(got.replace(self.by.text, self.by.becomes))

    def shutdown(self, how: int) -> None:
        self.to.shutdown(how)


class Rogue(Case):
    def test_other_terms(self):
        """One node is sent another scenario. Nobody signs keys: the others' secrets do not fit to its own."""
        with self.federation(settings=MASKED | {"scenario.rounds": 4}, secure=False) as f:
            f.serve(operators=False)
            for number in range(3):
                f.join(number)
            lie = Rewriter(lambda: f.join_port, b"min_reports = 14", b"min_reports = 3 ")
            f.way_in = lie.port
            f.join(3)
            self.assertEqual(f.processes["server"].wait(), FAILURE)
            lie.close()
            self.assertGreater(lie.changes, 0)
            f.processes["server"].wait_for("in every round too few clients reported to open the sum")
            self.assertEqual(folded_tasks(f.lines(f.ledger)), [])
            self.assertIn("were sent the same list of updates in the sum", f.processes["node3"].text())

    def test_second_list(self):
        """A killed server makes rounds again, without the clients of one node: the others help to open no other sum of
        them."""
        with self.federation(settings=MASKED | {"scenario.rounds": 12, "checkpoint.every": 6, "network.start": 1.0,
                                                "network.heartbeat": 0.5, "network.timeout": 2.0}) as f:
            f.start(aggregators=0)
            f.wait_for_version(4)
            f.processes["server"].kill()
            before = f.lines(f.ledger)
            f.processes["node3"].kill()
            f.settings["network.start"] = 0.7
            f.serve_again(operators=False)
            self.assertEqual(f.end()["rounds"], 12)
            lines = f.lines(f.ledger)[len(before):]
            opened = {line["version"]: line["folded"] for line in before if "version" in line}
            self.assertGreater(max(opened), lines[0]["from"] + 1)
            for line in lines[1:]:
                if line["version"] in opened:
                    self.assertIn(line["folded"], ([], opened[line["version"]]))
                elif line["version"] > max(opened) + 1:  # the next one's list may have been confirmed
                    self.assertTrue(line["folded"], line)
            refusal = "has taken part in another sum of its task of version"
            self.assertTrue(any(refusal in f.processes[f"node{number}"].text() for number in range(3)))


if __name__ == "__main__":
    main()
