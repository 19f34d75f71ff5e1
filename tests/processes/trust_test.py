#!/usr/bin/env python3
"""Who is let in: certificates of others, denied ones, clients beyond a certificate, clients that are there already. The
federation goes on whoever knocks.

usage: trust_test.py FURLONG [TEST...]
"""
import shutil

from federation import FAILURE, MISSING, Case, accounted, main, wait_until

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
            node.wait_for("session: ")
            wait_until("the server says so", lambda: "on the deny list" in f.log())
            self.assertNotIn("took this node in", node.text())
            node.kill()
            f.processes.pop("node0")
            summary = f.finish(start=0.6)
            self.assertEqual(accounted(summary), summary["selected"])

    def test_beyond_its_certificate(self):
        with self.federation(settings=LONG) as f:
            f.start()
            f.wait_for_version(2)
            node = self.intrude(f, f.issue("node", "node0"), "0-99")
            node.wait_for("its certificate does not allow it to host clients 0 to 99")
            self.finish(f, node)

    def test_replaced(self):
        """A second node with the same clients takes the place of the first, which fails and says why."""
        with self.federation(settings=LONG) as f:
            f.start(aggregators=0)
            f.wait_for_version(2)
            first = f.processes["node2"]
            second = f.process("second")
            second.start([f.furlong, "join", "--server", f"127.0.0.1:{f.join_port}", "--clients", "100-149", "--store",
                          str(f.folder / "store-second"), *f.trust("node", "node2", "100-149")], f.environment)
            self.assertEqual(first.wait(), FAILURE)
            self.assertIn("furlong: the gateway ended the session for good: another session of these clients began",
                          first.text())
            f.processes.pop("node2")
            f.wait_for_version(f.version() + 3)
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
