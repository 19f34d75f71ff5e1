#!/usr/bin/env python3
"""A node with a valid certificate sends what must not be folded: each update is refused by its reason, and the model is
that of a run in which its clients failed.

usage: rejection_test.py FURLONG [TEST...]      FURLONG_ROGUE_NODE names tests/processes/rogue_node
"""
import json
import os
import re
import urllib.request
from http.client import HTTPException

from case import Case, main
from federation import DONE, accounted, folded_tasks, twice, unbalanced_rounds, wait_until

ROUNDS = 240
SETTINGS = {"scenario.rounds": ROUNDS, "evaluation.every": 12, "algorithm.aggregation.max_norm": 100.0,
            "algorithm.aggregation.max_weight": 1000}
ROGUE = 3  # of four nodes; it has the clients from 150 to 199

# Attacks that end their task, by the reason that it has then.
ENDING = {"nan": "not-finite", "infinity": "not-finite", "huge-norm": "norm-bound", "overweight": "weight-bound",
          "duplicate": "not-finite"}
# Updates that nobody asked for. The second of a task can come when its round is over.
STRAY = {"stale": "stale-version", "wrong-run": "unknown-task", "wrong-attempt": "unknown-task",
         "others-task": "unknown-task", "unknown-task": "unknown-task"}
SECOND = ["duplicate", "after-failure"]
# Updates that cannot be read, and end the session.
MISSHAPEN = ["wrong-shape", "tensor-count"]
# Sessions that end before they have begun.
SESSIONS = {"hello-of-others": "not-its-clients", "holds-of-others": "not-its-clients", "no-hello": "out-of-turn",
            "hello-twice": "out-of-turn", "speaks-as-aggregator": "out-of-turn"}


def turned_away(log: str) -> tuple[dict, dict]:
    """Counts of connections and of updates by reason, as a process writes them at its end."""
    found = re.findall(r"rejected at the gateway: (.*)", log)
    assert found, "nothing about who was turned away"
    connections, _, updates = found[-1].partition("updates that ended no task: ")
    def read(text):
        return {word: int(count) for word, count in re.findall(r"([a-z-]+) (\d+)", text)}
    return read(connections), read(updates)


class Rejection(Case):
    def rogue(self, f, *more):
        name = f"node{ROGUE}"
        process = f.process("rogue")
        process.start([os.environ["FURLONG_ROGUE_NODE"], "--server", f"127.0.0.1:{f.join_port}", "--clients", "150-199",
                       *f.trust("node", name, "150-199"), *more], f.environment)
        return process

    def federate(self, aggregators: int, *rogue_options) -> tuple[dict, dict, dict, dict, list]:
        """A run with a rogue node: its summary, what the rogue tells, what the gateways count, tasks that were folded."""
        with self.federation(settings=SETTINGS) as f:
            f.serve("--dashboard", "127.0.0.1:0", operators=aggregators > 0)
            page = f.processes["server"].wait_for(r"dashboard at (http://\S+)")[1]
            for i in range(aggregators):
                f.aggregate(f"aggregator{i}").wait_for("accepted this aggregator")
            rogue = self.rogue(f, *rogue_options)
            rogue_told = None
            for i in range(ROGUE):
                f.join(i)
            live = self.watch(f, page) if not rogue_options else {}
            summary = f.end()
            self.assertEqual(rogue.wait(), DONE)
            rogue_told = json.loads(rogue.text().splitlines()[-1])
            self.assertEqual(unbalanced_rounds(f.lines(f.out / "metrics.jsonl")), [])
            logs = [f.log()] + [f.processes[f"aggregator{i}"].text() for i in range(aggregators)]
            counts = [turned_away(log) for log in logs if "rejected at the gateway" in log]
            return summary, rogue_told, counts, live, folded_tasks(f.lines(f.ledger))

    def watch(self, f, page: str) -> dict:
        """The last status that the server showed in the run."""
        last: dict = {}
        def look():
            try:
                with urllib.request.urlopen(page.rstrip("/") + "/api/status", timeout=10) as answer:
                    last.update(json.load(answer))
            except (OSError, HTTPException):  # the server ends, perhaps in the middle of an answer
                pass
            return not f.processes["server"].running
        wait_until("the end of the run", look, 120)
        return last

    def check(self, aggregators: int) -> None:
        expected, told, _, _, _ = self.federate(aggregators, "--well-behaved")
        self.assertEqual(set(told["sent"]), {"failure"})
        self.assertEqual(expected["rejected"], {"client-failed": told["sent"]["failure"]})
        with self.federation(settings=SETTINGS, secure=False) as f:  # the hash does depend on these clients
            self.assertNotEqual(f.alone()["model_sha256"], expected["model_sha256"])
        summary, told, counts, live, tasks = self.federate(aggregators)
        sent = told["sent"]
        for attack in [*ENDING, *STRAY, *SECOND, *MISSHAPEN, *SESSIONS]:
            self.assertGreater(sent.get(attack, 0), 0, f"{attack} was never tried")

        self.assertEqual(summary["model_sha256"], expected["model_sha256"])
        self.assertEqual(summary["eval"], expected["eval"])
        self.assertEqual(summary["folded"], expected["folded"])
        self.assertEqual([task for task in tasks if task[2] >= 150], [])
        self.assertEqual(twice(tasks), [])
        self.assertEqual(accounted(summary), summary["selected"])

        # Tasks that ended by an attack, and those that the rogue ended itself.
        rejected = {why: sum(sent[attack] for attack in ENDING if ENDING[attack] == why) for why in set(ENDING.values())}
        rejected["client-failed"] = sum(sent[attack] for attack in [*STRAY, "after-failure"])
        self.assertEqual(summary["rejected"], rejected)
        self.assertGreaterEqual(sum(summary["dropped"].values()), sum(sent[attack] for attack in MISSHAPEN))

        connections, updates = counts[-1]
        for reason in set(SESSIONS.values()):
            at_all = sum((some.get(reason, 0) for some, _ in counts))
            self.assertEqual(at_all, sum(sent[name] for name in SESSIONS if SESSIONS[name] == reason), reason)
        self.assertEqual(connections["bad-frame"], sum(sent[attack] for attack in MISSHAPEN))
        self.assertEqual(updates["wrong-shape"], sum(sent[attack] for attack in MISSHAPEN))
        self.assertGreaterEqual(updates["stale-version"], sent["stale"])
        self.assertGreaterEqual(updates["unknown-task"], sum(sent[a] for a in STRAY if STRAY[a] == "unknown-task"))
        self.assertEqual(sum(updates.values()), sum(sent[attack] for attack in [*STRAY, *SECOND, *MISSHAPEN]))

        # The node was told why.
        self.assertGreaterEqual(told["verdicts"]["norm-bound"], sent["huge-norm"])
        self.assertGreaterEqual(told["verdicts"]["unknown-task"], sent["others-task"])
        self.assertEqual(told["verdicts"].get("durable", 0), 0)
        if aggregators == 0:
            self.assertEqual(live["refused_connections"].get("not-its-clients"), 2)
            self.assertGreater(sum(live["unasked"].values()), 0)
            self.assertGreater(live["memory"]["resident"], 0)

    def test_poison(self):
        """Updates that are far in one direction and within all bounds are folded: a robust rule bounds what they do."""
        settings = SETTINGS | {"algorithm.aggregation.norm_bound": "fixed", "algorithm.aggregation.rule": "centred-clipping",
                               "algorithm.aggregation.radius": 0.1}
        with self.federation(settings=settings) as f:
            f.serve(operators=False)
            rogue = self.rogue(f, "--poison")
            for i in range(ROGUE):
                f.join(i)
            summary = f.end()
            self.assertEqual(rogue.wait(), DONE)
            sent = json.loads(rogue.text().splitlines()[-1])["sent"]
            self.assertEqual(summary["rejected"], {})
            self.assertGreater(len([task for task in folded_tasks(f.lines(f.ledger)) if task[2] >= 150]), 100)
            self.assertGreater(sent["poison"], 100)
            # Ratings are from 1 to 5. By the mean a version would move every value by 0.75.
            self.assertLess(summary["eval"]["unseen"]["rmse"], 2.0)

    def test_server(self):
        """At the server's own gateway."""
        self.check(0)

    def test_aggregator(self):
        """At an aggregator's."""
        self.check(1)


if __name__ == "__main__":
    main()
