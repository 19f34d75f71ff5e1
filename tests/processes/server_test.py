#!/usr/bin/env python3
"""Servers and aggregators that stop, die and come back.

usage: server_test.py FURLONG [TEST...]
"""
import json
import signal
import socket

from case import LONG, Case, main
from federation import FAILURE, INTERRUPTED, USAGE, acknowledged, folded_tasks


class Server(Case):
    def check_books(self, f, summary: dict) -> None:
        """Besides, what a node was told is durable is in a version, and the nodes' stores are whole."""
        super().check_books(f, summary)
        durable = {(base, client, attempt) for _, base, client, attempt in folded_tasks(f.lines(f.ledger))}
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
        """Private values are kept after the round that has the update, as in one process; and where the server goes
        back behind that round, they are not."""
        self.interrupt(signal.SIGKILL, settings=LONG | {"private.commit": "after-ack"})

    def test_killed_exact_state(self):
        """What the server keeps is a sum of what clients keep: their values are pending until it has their updates."""
        self.interrupt(signal.SIGKILL, settings=LONG | {"algorithm.kind": "scaffold"},
                       same=("model_sha256", "added_sha256", "eval", "folded", "selected"))

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

    def test_over(self):
        """A run that is over waits for nobody when it is resumed, and says how it ended; with more rounds to make it is
        unfinished again."""
        with self.federation(settings={"scenario.rounds": 3}) as f:
            f.start(aggregators=0)
            f.end()
            again = ["serve", f.scenario, "--listen", "127.0.0.1:0", "--out", f.out, "--resume", "--format", "json",
                     *f.trust("server", "server"), *f.sets()]
            done = f.run(*again)
            self.assertIn("the run is over, after 3 rounds", done.stderr)
            self.assertEqual(json.loads(done.stdout), f.summary())
            summary = f.out / "summary.json"
            summary.write_text(json.dumps(f.summary() | {"failed": "training diverged"}))
            self.assertIn("the run is over, and failed: training diverged", f.run(*again, expect=USAGE).stderr)
            # All rounds are made, and what it ended with is not on record: it waits for clients to score the model, and
            # stopped before they are there it has not ended.
            summary.unlink()
            server = f.serve_again(operators=False)
            server.terminate()
            self.assertEqual(server.wait(), INTERRUPTED)
            self.assertFalse(summary.exists())
            f.settings["scenario.rounds"] = 4
            server = f.serve_again(operators=False)
            self.assertFalse(summary.exists())
            server.terminate()
            self.assertEqual(server.wait(), INTERRUPTED)
            self.assertFalse(summary.exists())

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
            self.assertIn("clients 0 to 49 are connected", f.processes["aggregator1"].text())
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
            again.wait_for("accepted this aggregator")
            f.processes["node3"].kill()
            f.join(3)
            again.wait_for("clients 150 to 199 are connected")
            self.check_books(f, f.finish())

    def test_ports_that_cannot_be_opened(self):
        """One line and an exit code, whichever port it is; and a server leaves no folder."""
        with self.federation() as f, socket.create_server(("127.0.0.1", 0)) as busy:
            taken = f"127.0.0.1:{busy.getsockname()[1]}"
            in_use = "cannot listen there: Address already in use; choose an address of this machine and a free port"
            nosuch = 64 * "x"  # longer than a label may be: nobody is asked for it
            serve = ["serve", f.scenario, "--out", f.out, *f.trust("server", "server")]
            aggregate = ["aggregate", "--server", "127.0.0.1:1", *f.trust("aggregator", "west")]
            free = ["--listen", "127.0.0.1:0"]
            for words, code, why in (
                    ([*serve, "--listen", taken], FAILURE, f"{taken}: {in_use}"),
                    ([*serve, *free, "--operator", taken], FAILURE, f"{taken}: {in_use}"),
                    ([*serve, *free, "--dashboard", taken], FAILURE, f"--dashboard: {taken}: {in_use}"),
                    ([*aggregate, "--listen", taken], FAILURE, f"{taken}: {in_use}"),
                    ([*aggregate, *free, "--operator", taken], FAILURE, f"{taken}: {in_use}"),
                    ([*serve, *free, "--dashboard", "8080"], USAGE, "--dashboard: 8080: has no host"),
                    ([*aggregate, "--listen", "0.0.0.0:0"], USAGE, "--advertise: is missing: others would be sent to"),
                    ([*aggregate, "--listen", "[::]:0", "--advertise", "west"], USAGE, "--advertise: west: has no port"),
                    ([*aggregate, *free, "--operator", "0.0.0.0:0"], USAGE, "--advertise-operator: is missing"),
                    ([*serve, "--listen", "192.0.2.1:7400"], FAILURE, "192.0.2.1:7400: cannot listen there: "),
                    ([*serve, "--listen", f"{nosuch}:7400"], USAGE, f"{nosuch}:7400: no address has this name"),
                    ([*serve, *free, "--operator", f"{nosuch}:7401"], USAGE, f"{nosuch}:7401: no address has"),
                    ([*serve, *free, "--dashboard", f"{nosuch}:8080"], USAGE,
                     f"--dashboard: {nosuch}:8080: no address has"),
                    ([*serve, *free, "--dashboard", "nowhere"], USAGE, "--dashboard: nowhere")):
                done = f.run(*words, expect=code)
                self.assertIn(f"furlong: {why}", done.stderr)
                self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("furlong: ")][1:], [])
                self.assertFalse(f.out.exists(), why)


if __name__ == "__main__":
    main()
