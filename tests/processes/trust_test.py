#!/usr/bin/env python3
"""Who is let in: certificates of others, denied ones, clients beyond a certificate, clients that are there already. The
federation continues whatever connects.

usage: trust_test.py FURLONG [TEST...]      FURLONG_ROGUE_OPERATOR names tests/processes/rogue_operator
"""
import os
import shutil
import time

from case import Case, main
from federation import DONE, FAILURE, MISSING, USAGE, accounted, wait_until

LONG = {"scenario.rounds": 100_000, "evaluation.every": 0, "network.timeout": 1.5, "network.start": 0.7}


class Trust(Case):
    def finish(self, f, intruder) -> None:
        """The run ends well while the intruder still knocks."""
        f.wait_for_version(f.version() + 3)
        if intruder.running:
            intruder.kill()
        f.processes.pop(intruder.name)
        summary = f.finish()
        self.assertEqual(summary["folded"], summary["selected"])
        self.assertEqual(accounted(summary), summary["selected"])

    def intrude(self, f, certificate, clients: str):
        """A fifth node with that --tls folder."""
        node = f.process("intruder")
        node.start([f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", clients, "--store",
                    str(f.folder / "store-intruder"), "--tls", str(certificate)], f.environment)
        return node

    def test_wrong_authority(self):
        with self.federation(settings=LONG) as f:
            f.certify("init", "--out", f.folder / "others")
            theirs = f.issue("node", "stranger", "0-49", pki="others")
            f.start()
            f.wait_for_version(2)
            node = self.intrude(f, theirs, "0-49")
            node.wait_for("session: .*(certificate|verify|authority)")
            self.finish(f, node)

    def test_two_authorities(self):
        """A certificate of others beside our authority is refused before anybody is asked."""
        with self.federation() as f:
            f.certify("init", "--out", f.folder / "others")
            theirs, ours = f.issue("node", "stranger", "0-49", pki="others"), f.issue("node", "node0", "0-49")
            shutil.copy(ours / "authority.pem", theirs)
            node = self.intrude(f, theirs, "0-49")
            self.assertEqual(node.wait(), MISSING)
            self.assertIn("take certificate and authority from one folder", node.text())

    def test_denied(self):
        """A node that is denied is not let in again; the others go on without it."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            f.certify("deny", "--pki", f.folder / "pki", "node0", "--copy-to", f.folder / "tls-server", "--copy-to",
                      f.folder / "tls-aggregator0", "--copy-to", f.folder / "tls-aggregator1")
            f.processes["node0"].kill()
            node = f.join(0)
            self.assertEqual(node.wait(), USAGE)
            self.assertIn("the gateway rejects this node: ", node.text())
            self.assertIn("the certificate is on the deny list", node.text())
            wait_until("the server says so", lambda: "on the deny list" in f.log())
            self.assertNotIn("accepted this node", node.text())
            f.processes.pop("node0")
            summary = f.finish(start=0.6)
            self.assertEqual(accounted(summary), summary["selected"])

    def test_denied_meanwhile(self):
        """A session that is open ends when its certificate is denied, within a heartbeat; the run goes on without it.
        At the server's gateway and at an aggregator's."""
        for aggregators in (0, 1):
            with self.subTest(aggregators=aggregators), self.federation(settings=LONG) as f:
                f.start(aggregators=aggregators)
                f.wait_for_version(2)
                node = f.processes["node1"]
                node.wait_for("accepted this node")
                folders = ["tls-server"] + [f"tls-aggregator{i}" for i in range(aggregators)]
                copies = [word for folder in folders for word in ("--copy-to", f.folder / folder)]
                f.certify("deny", "--pki", f.folder / "pki", "node1", *copies)
                begun = time.monotonic()
                node.wait_for("the gateway says: the certificate is on the deny list")
                self.assertLess(time.monotonic() - begun, 1.0 + 3.0, "network.heartbeat, and time to run")
                self.assertEqual(node.wait(), USAGE)  # nor does it come in again
                f.processes.pop("node1")
                f.wait_for_version(f.version() + 2)
                for i in (0, 2, 3):
                    self.assertTrue(f.processes[f"node{i}"].running)
                summary = f.finish(start=0.6)
                self.assertEqual(accounted(summary), summary["selected"])

    def test_beyond_its_certificate(self):
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            node = self.intrude(f, f.issue("node", "node0"), "0-99")
            self.assertEqual(node.wait(), USAGE)
            self.assertIn("--clients: 0-99 are not all of the certificate in", node.text())
            self.assertNotIn("intruder", f.log())
            self.finish(f, node)

    def test_refused_for_good(self):
        """A node that asks for clients that there are not is told, and does not come back."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            node = self.intrude(f, f.issue("node", "greedy", "200-249"), "200-249")
            self.assertEqual(node.wait(), USAGE)
            self.assertIn("furlong: the gateway rejects this node: there is no client 249", node.text())
            self.finish(f, node)
            self.assertNotIn("another session of these clients", f.processes["node3"].text())

    def test_not_ready(self):
        """A node that finds that it cannot work on the run takes nobody's place."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            for more, code, why in ((("--data", str(f.folder)), USAGE, "which reads no files"),
                                    (("--data", str(f.folder / "none")), MISSING, "none: the folder does not exist"),
                                    (("--store", str(f.store(3))), FAILURE, "another process is using this store")):
                node = f.process("intruder")
                words = [f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", "100-149",
                         "--accept-state-loss", *more]
                if "--store" not in more:
                    words += ["--store", str(f.folder / "store-intruder")]
                node.start([*words, *f.trust("node", "node2", "100-149")], f.environment)
                self.assertEqual(node.wait(), code, node.text())
                self.assertIn(why, node.text())
            self.assertTrue(f.processes["node2"].running)
            self.finish(f, node)

    def test_operator_port(self):
        """A node at the operator port is told why it is not let in, unless the scenario lets it."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            f.processes["node1"].kill()
            node = f.join_as_operator(1)
            self.assertEqual(node.wait(), USAGE)
            self.assertIn("set network.trust = \"operator\"", node.text())
            self.assertIn("it connected to the operator port", f.log())
            f.join(1).wait_for("accepted this node")
            summary = f.finish()
            self.assertEqual(accounted(summary), summary["selected"])

    def test_operator_port_missing(self):
        with self.federation(settings=LONG | {"network.trust": "operator"}) as f:
            done = f.run("serve", f.scenario, "--listen", "127.0.0.1:0", "--out", f.out, *f.trust("server", "server"),
                         *f.sets(), expect=USAGE)
            self.assertIn("network.trust: accepts nodes at the operator port, and there is none", done.stderr)

    def test_denied_operator(self):
        """An aggregator whose certificate is on the deny list is not let in at the operator port, and ends."""
        with self.federation(settings=LONG) as f:
            f.start(aggregators=1)
            f.wait_for_version(2)
            with (f.folder / "tls-server" / "deny.txt").open("a") as denied:
                denied.write("west\n")
            west = f.aggregate("west")
            self.assertEqual(west.wait(), USAGE)
            self.assertIn("the parent rejects this aggregator: ", west.text())
            self.assertIn("the certificate is on the deny list", west.text())
            wait_until("the server says so", lambda: "on the deny list" in f.log())
            f.processes.pop("west")
            self.assertTrue(f.processes["aggregator0"].running)
            summary = f.finish()
            self.assertEqual(accounted(summary), summary["selected"])

    def test_rogue_operator(self):
        """Whatever the holder of an operator certificate sends to the operator port, server and run go on."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            rogue = f.process("rogue")
            rogue.start([os.environ["FURLONG_ROGUE_OPERATOR"], "--server", f"127.0.0.1:{f.operator_port}", "--tls",
                         str(f.issue("aggregator", "rogue"))], f.environment)
            self.assertEqual(rogue.wait(), DONE, rogue.text())
            f.processes.pop("rogue")
            f.wait_for_version(f.version() + 3)
            for name in ("server", "aggregator0", "aggregator1", "node0", "node3"):
                self.assertTrue(f.processes[name].running, name)
            summary = f.finish()
            self.assertEqual(accounted(summary), summary["selected"])

    def test_replaced(self):
        """A second node with the same clients takes the place of the first, which says why and ends as one that is not worth
        starting again."""
        with self.federation(settings=LONG) as f:
            f.start(aggregators=0)
            f.wait_for_version(2)
            first = f.processes["node2"]
            second = f.process("second")
            second.start([f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", "100-149", "--store",
                          str(f.folder / "store-second"), "--accept-state-loss",
                          *f.trust("node", "node2", "100-149")], f.environment)
            self.assertEqual(first.wait(), USAGE)
            self.assertIn("furlong: the gateway ended the session for good: another session of these clients began",
                          first.text())
            f.processes.pop("node2")
            f.wait_for_version(f.version() + 3)
            summary = f.finish()
            self.assertEqual(accounted(summary), summary["selected"])

    def test_replaced_elsewhere(self):
        """The same at two gateways: the first node hears of it from its own. The second then moves, and goes on."""
        with self.federation(settings=LONG) as f:
            f.serve()
            for i in range(4):
                f.join(i)
            f.wait_for_version(2)
            aggregator = f.aggregate("aggregator0")
            aggregator.wait_for("accepted this aggregator")
            second = f.process("second")
            second.start([f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", "100-149", "--store",
                          str(f.folder / "store-second"), "--accept-state-loss",
                          *f.trust("node", "node2", "100-149")], f.environment)
            aggregator.wait_for("clients 100 to 149 are connected")
            first = f.processes.pop("node2")
            self.assertEqual(first.wait(), USAGE)
            self.assertIn("furlong: the gateway ended the session for good: another session of these clients began",
                          first.text())
            aggregator.kill()  # the second goes on at the server
            f.wait_for_version(f.version() + 3)
            self.assertTrue(second.running)
            summary = f.finish()
            self.assertEqual(accounted(summary), summary["selected"])

    def test_no_certificate(self):
        """Plain text at a port that wants TLS, and a folder without certificates."""
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            node = f.process("intruder")
            node.start([f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", "0-49", "--store",
                        str(f.folder / "store-intruder"), "--insecure"], f.environment)
            node.wait_for("session: ")
            self.finish(f, node)


if __name__ == "__main__":
    main()
