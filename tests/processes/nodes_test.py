#!/usr/bin/env python3
"""Nodes that come late, leave, die and freeze.

usage: nodes_test.py FURLONG [TEST...]
"""
import json
import re
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from case import QUICK, Case, main
from federation import FAILURE, INTERRUPTED, SCENARIO, folded_tasks, wait_until
from proxy import Proxy

SILENCE = QUICK["network.heartbeat"] + QUICK["network.timeout"]
# Updates of 8 MB.
LARGE = SCENARIO.replace("items = 100", "items = 20_000").replace("rank = 4", "rank = 100")


def small_disk(folder: Path) -> list[str]:
    """What stands before a command whose `folder` is a disk of its own; it becomes that command."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            f'mkdir -p {folder} && mount -t tmpfs -o size=16m none {folder} && exec "$@"', "sh"]


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*small_disk(Path(folder)), "true"], capture_output=True).returncode == 0


class Nodes(Case):
    def test_late(self):
        """The run begins without the fourth node, which takes part once it is there."""
        with self.federation(settings=QUICK) as f:
            f.start(nodes=3)
            f.wait_for_version(3)
            f.join(3)
            self.takes_part(f, 3, after=3)
            self.check_books(f, f.finish())

    def test_waiting(self):
        """Too few clients are here: the server says how many of how many, and which are missing."""
        with self.federation(settings=QUICK) as f:
            server = f.serve(operators=False)
            f.join(1).wait_for("accepted this node, which waits for tasks")
            said = server.wait_for(r"waiting for nodes: (\d+) of 160 training clients are here, and the run begins with "
                                   r"112 \(network\.start\); missing: (\d+)-(\d+), (\d+)-(\d+)\n")
            here, first, last, next_first, next_last = (int(group) for group in said.groups())
            self.assertTrue(0 < here < 50 and first <= last < 50 and 100 <= next_first < next_last < 200, said[0])
            wait_until("the log says so too", lambda: said[0] in f.log())

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

    def test_leaving_slowly(self):
        """SIGTERM to a node whose updates take seconds to arrive: they do."""
        with self.federation(scenario=LARGE, settings=QUICK | {"participation.per_round": 8}) as f:
            f.serve(operators=False)
            for i in (0, 1, 3):
                f.join(i)
            way = Proxy(lambda: f.join_port, rate=2e6)
            self.addCleanup(way.close)
            f.way_in = way.port
            leaving = f.join(2)
            leaving.wait_for("accepted this node")
            f.way_in = 0
            f.wait_for_version(1)
            at = self.stands_still(f, 2.0)  # all wait for updates of this node, 4 s for each
            leaving.terminate()
            self.assertEqual(leaving.wait(), INTERRUPTED)
            self.assertIn("furlong: drained", leaving.text())
            f.processes.pop("node2")
            f.wait_for_version(at + 1)
            made = next(line for line in f.lines(f.ledger) if line.get("version") == at + 1)
            self.assertEqual(len(made["folded"]), 8)
            self.assertTrue(any(task[1] // 50 == 2 for task in made["folded"]))
            self.check_books(f, f.finish(start=0.6))

    def test_no_hello(self):
        """Anyone who has a node's certificate and says no hello cannot announce an update."""
        with self.federation(scenario=LARGE, settings=QUICK) as f:
            f.serve(operators=False)
            own = f.issue("node", "node0", "0-49")
            how = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            how.load_cert_chain(own / "certificate.pem", own / "key.pem")
            how.load_verify_locations(own / "authority.pem")
            with socket.create_connection(("127.0.0.1", f.join_port), 10) as bare, \
                    how.wrap_socket(bare, server_hostname="127.0.0.1") as node:
                # The first of several pieces of a frame, and its whole length: actors/net/detail/framing.hpp.
                node.sendall(struct.pack("<IQ", 0xF0000000 | 1 << 20, 8_000_000))
                wait_until("it is turned away", lambda: re.search(
                    r"rejected: .* node0/0-49/\d+: .*a frame of 8000000 bytes is announced, and \d+ are allowed",
                    f.log()), 10)

    def test_killed(self):
        """kill -9 in mid-round: noticed at once; the round goes on without it; back again it takes part."""
        with self.federation(settings=QUICK) as f:
            f.start(aggregators=1)
            f.wait_for_version(3)
            node, aggregator = f.processes["node1"], f.processes["aggregator0"]
            node.stop()  # so that it is killed with tasks at work
            at = self.stands_still(f)
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

    def test_killed_before_the_verdict(self):
        """Pending values survive their node: a client whose update is in the model has the value that belongs to it,
        whenever its node was killed."""
        with self.federation(settings=QUICK | {"algorithm.kind": "scaffold"}) as f:
            f.start(aggregators=1)
            f.wait_for_version(3)
            for kill in range(3):
                at = f.version()
                f.processes["node1"].kill()
                f.join(1)
                self.takes_part(f, 1, after=at)
                time.sleep(0.01 * kill)
            summary = f.finish()
            self.check_books(f, summary)
            last = {}
            for _, base, client, _ in folded_tasks(f.lines(f.ledger)):
                last[client] = max(base, last.get(client, 0))
            stored = {}
            for number in range(4):
                listed = json.loads(f.run("store", "ls", f.store(number), "--format", "json").stdout)
                stored |= {one["client"]: one["version"] for one in listed["clients"]}
            self.assertEqual(stored, last)

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

    def test_shown(self):
        """Killed in mid-round: until its tasks are dropped, the status has them as adrift and the node as gone."""
        with self.federation(settings=QUICK) as f:
            f.start(0, 4, "--dashboard", "127.0.0.1:0")
            page = f.processes["server"].wait_for(r"dashboard at (http://\S+)")[1]
            f.wait_for_version(3)

            def status():
                with urllib.request.urlopen(page.rstrip("/") + "/api/status", timeout=10) as answer:
                    return json.load(answer)

            def all_at_work():
                now = status()
                there = sum(one["connected"] for one in now["nodes"])
                return now["clients"] if there == 4 and now["clients"]["at_work"] else None

            before = wait_until("all are shown", all_at_work)
            self.assertEqual(before["adrift"], 0)
            node = f.processes["node1"]
            node.stop()  # so that it is killed with tasks at work
            self.stands_still(f)
            node.kill()

            def adrift():
                return now if (now := status()["clients"])["adrift"] else None

            clients = wait_until("its tasks are adrift", adrift)
            self.assertEqual(clients["at_work"], 0)
            self.assertLess(clients["reached"], before["reached"])
            gone = [one for one in status()["nodes"] if not one["connected"]]
            self.assertEqual([(one["first"], one["at_work"]) for one in gone], [(50, 0)])
            lost = wait_until("the loss is an event",
                              lambda: [one for one in status()["events"] if one["event"] == "connection lost"])
            self.assertIn("(clients 50-99)", lost[0]["who"])
            wait_until("they are dropped", lambda: status()["clients"]["adrift"] == 0)
            f.join(1)
            self.takes_part(f, 1, after=f.version())
            self.check_books(f, f.finish())

    @unittest.skipUnless(may_mount(), "needs the right to mount")
    def test_disk_full(self):
        """A node whose store cannot be written stops with one error; the others go on without it."""
        with self.federation(settings=QUICK) as f:
            f.prefix_of = lambda name: small_disk(f.store(1)) if name == "node1" else []
            f.start(aggregators=0)
            f.wait_for_version(3)
            node = f.processes.pop("node1")
            # Its disk, seen from here.
            filler = Path(f"/proc/{node.process.pid}/root{f.store(1)}/filler")
            with self.assertRaises(OSError), filler.open("wb") as file:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
            self.assertEqual(node.wait(), FAILURE)
            full = [line for line in node.text().splitlines() if "No space left on device" in line]
            self.assertEqual(len(full), 1, full[:3])
            self.assertRegex(full[0], "^furlong: .*store.*; (check the disk and its free space|free disk space)$")
            f.wait_for_version(f.version() + 2)
            summary = f.finish(start=0.6)
            self.check_books(f, summary)
            self.assertEqual(summary["rejected"].get("client-failed", 0), 0)

    def test_cut_off(self):
        """A cable that is cut and repaired: as if the node had frozen, on both sides."""
        with self.federation(settings=QUICK) as f:
            f.serve(operators=False)
            for i in (0, 2, 3):
                f.join(i)
            way = Proxy(lambda: f.join_port)
            self.addCleanup(way.close)
            f.way_in = way.port
            f.join(1).wait_for("accepted this node")
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
