#!/usr/bin/env python3
"""What does not belong together is refused, and the remedy is named: never taken silently.

usage: mismatch_test.py FURLONG [TEST...]
"""
import json
import os
import shutil
import unittest
from pathlib import Path

from case import LONG, QUICK, Case, main
from federation import INTERRUPTED, MISSING, USAGE, wait_until

LOWEST = "portable"
COMMON = {"network.kernel_levels": "common"}
FOREIGN = os.environ.get("FURLONG_FOREIGN", "")  # such as the command for ARM64, which the kernel starts by an emulator
HAS_LEVELS = " avx2 " in Path("/proc/cpuinfo").read_text()


class Mismatch(Case):
    def served(self, f, version: int = 8) -> None:
        """A federation that was stopped after some rounds; its nodes still run."""
        f.start(aggregators=0)
        f.wait_for_version(version)
        self.stop_server(f)

    def stop_server(self, f) -> None:
        server = f.processes["server"]
        server.terminate()
        self.assertEqual(server.wait(), INTERRUPTED)

    def resume(self, f, command: str):
        """What `furlong COMMAND --resume` says to the folder of the federation."""
        where = ["--listen", "127.0.0.1:0", "--insecure"] if command == "serve" else []
        return f.run(command, f.scenario, *where, "--out", f.out, "--resume", *f.sets(), expect=USAGE).stderr

    def test_run_resumes_serve(self):
        with self.federation(settings=LONG) as f:
            self.served(f)
            before = (f.out / "checkpoint" / "checkpoint.furlong").read_bytes()
            self.assertIn("is the folder of `furlong serve`", self.resume(f, "run"))
            self.assertEqual((f.out / "checkpoint" / "checkpoint.furlong").read_bytes(), before)
            f.serve_again(operators=False)
            f.end()
            self.assertIn("resume it with `furlong serve`", self.resume(f, "run"))

    def test_serve_resumes_run(self):
        with self.federation(settings=LONG) as f:
            f.run("run", f.scenario, "--out", f.out, *f.sets())
            self.assertIn("is the folder of `furlong run`", self.resume(f, "serve"))
            f.settings["scenario.rounds"] = 80  # the run is not over any more
            self.assertIn("resume it with `furlong run`", self.resume(f, "serve"))

    def stop(self, f) -> None:
        """The server first, then the nodes."""
        for name in ("server", *(name for name in f.processes if name.startswith("node"))):
            one = f.processes[name]
            one.terminate()
            self.assertEqual(one.wait(), INTERRUPTED)

    def test_server_put_back(self):
        """A server's folder that is put back to a copy, with one resume since: no node goes on as if nothing was."""
        with self.federation(settings=LONG | {"scenario.rounds": 100_000}) as f:
            self.served(f)
            shutil.copytree(f.out, f.folder / "copy")
            f.serve_again(operators=False)
            f.wait_for_version(f.version() + 8)
            f.processes["node3"].kill()
            self.stop_server(f)
            shutil.rmtree(f.out)
            shutil.copytree(f.folder / "copy", f.out)
            f.serve_again(operators=False)
            for i in range(3):
                node = f.processes[f"node{i}"]
                self.assertEqual(node.wait(), MISSING)
                self.assertRegex(node.text(), "store.: the server does not know the part of the run that this node served"
                                 " last: .*; restore the server's folder and every --store from the same copy, .*"
                                 "--accept-state-loss")
            self.assertEqual(f.join(3).wait(), MISSING)
            for i in range(4):
                f.join(i, None, None, "--accept-state-loss")
            self.takes_part(f, 3, after=f.version())
            f.finish()

    def test_all_put_back(self):
        """Server's folder and stores from one copy: the run ends as it would have."""
        with self.federation(settings=LONG) as f:
            alone = f.alone()
            f.start(aggregators=0)
            f.wait_for_version(8)
            self.stop(f)
            copied = [f.out, *(f.store(i) for i in range(4))]
            for folder in copied:
                shutil.copytree(folder, f.folder / "copy" / folder.name)
            for _ in range(2):
                f.serve_again(operators=False)
                for i in range(4):
                    f.join(i)
                f.wait_for_version(f.version() + 8)
                self.stop(f)
            for folder in copied:
                shutil.rmtree(folder)
                shutil.copytree(f.folder / "copy" / folder.name, folder)
            f.serve_again(operators=False)
            for i in range(4):
                f.join(i)
            self.assertEqual(f.end()["model_sha256"], alone["model_sha256"])

    def refused(self, f, number: int, why: str, *more: str) -> None:
        node = f.join(number, None, None, *more)
        self.assertEqual(node.wait(), USAGE)
        self.assertRegex(node.text(), why)

    def test_swapped_stores(self):
        """Two nodes with each other's stores; as they were, they go on."""
        with self.federation(settings=QUICK) as f:
            f.start(aggregators=0)
            f.wait_for_version(4)
            for i in (0, 1):
                f.processes[f"node{i}"].kill()
            shutil.move(f.store(0), f.folder / "kept")
            shutil.move(f.store(1), f.store(0))
            shutil.move(f.folder / "kept", f.store(1))
            for i, first in ((0, 0), (1, 50)):
                self.refused(f, i, rf"store{i}: has the private values of client \d+, which is not among the clients "
                                   rf"{first} to {first + 49} of this node; name the --store of these clients")
            shutil.move(f.store(0), f.folder / "kept")
            shutil.move(f.store(1), f.store(0))
            shutil.move(f.folder / "kept", f.store(1))
            for i in (0, 1):
                f.join(i)
                self.takes_part(f, i, after=f.version())
            self.assertEqual(f.finish()["state_lost"], 0)

    def test_emptied_store(self):
        """A node whose store is gone is refused at the server's gateway and at an aggregator's, also under another
        name; where the loss is accepted, it is counted."""
        with self.federation(settings=QUICK, secure=False) as f:
            f.start(1, 4, "--dashboard", "127.0.0.1:0")
            f.wait_for_version(6)
            f.processes["node1"].kill()
            shutil.move(f.store(1), f.folder / "kept")
            why = (r"rejects this node: this node has no private store for clients 50 to 99, which had one, and "
                   r"the model has updates that were made with it; name the --store .* --accept-state-loss")
            self.refused(f, 1, why)
            f.wait_for_version(f.version() + 2)  # its tasks are not waited for longer than those of a lost node
            f.store(1).mkdir()
            self.refused(f, 1, why)
            at = f.processes["aggregator0"].wait_for(r"port (\d+)")[1]
            f.way_in = int(at)
            self.refused(f, 1, "ended the session for good: its private store is not that of clients 50 to 99, which had")
            f.way_in = 0
            shutil.rmtree(f.store(1))
            f.join(1, None, None, "--accept-state-loss")
            self.takes_part(f, 1, after=f.version())
            lost = wait_until("the loss is on record", lambda: [
                line for line in f.lines(f.out / "events.jsonl") if line["event"] == "state_lost"])
            self.assertEqual([line["clients"] for line in lost], [[50, 99]])
            # The next time it is its store.
            f.processes["node1"].kill()
            f.join(1)
            self.takes_part(f, 1, after=f.version())
            # And the one of before is not.
            f.processes["node1"].kill()
            shutil.move(f.store(1), f.folder / "new")
            shutil.move(f.folder / "kept", f.store(1))
            self.refused(f, 1, "its private store is not that of clients 50 to 99")
            shutil.rmtree(f.store(1))
            shutil.move(f.folder / "new", f.store(1))
            f.join(1)
            summary = f.finish()
            self.assertEqual(lost[0]["reason"].split()[0], str(summary["state_lost"]))
            self.assertGreater(summary["state_lost"], 0)
            clients = f.run("store", "ls", f.store(1), "--format", "json").stdout
            self.assertTrue(all(50 <= one["client"] < 100 for one in json.loads(clients)["clients"]))

    def test_store_put_back(self):
        """A copy of a node's store, put back alone, is older than the model."""
        with self.federation(settings=QUICK) as f:
            f.start(aggregators=0)
            f.wait_for_version(4)
            node = f.processes["node1"]
            node.kill()
            shutil.copytree(f.store(1), f.folder / "copy")
            f.join(1)
            self.takes_part(f, 1, after=f.version() + 1)
            f.processes["node1"].kill()
            shutil.move(f.store(1), f.folder / "kept")
            shutil.move(f.folder / "copy", f.store(1))
            self.refused(f, 1, "its private store is older than the model: it is a copy that was put back, and clients 50 "
                               "to 99 have done more since; .* --accept-state-loss")
            # Also by a server that was started again.
            f.settings["checkpoint.every"] = 1
            self.stop_server(f)
            f.serve_again(operators=False)
            self.refused(f, 1, "its private store is older than the model")
            shutil.rmtree(f.store(1))
            shutil.move(f.folder / "kept", f.store(1))
            f.join(1)
            self.takes_part(f, 1, after=f.version())
            self.assertEqual(f.finish()["state_lost"], 0)

    def test_damaged_store(self):
        """What a node reported is on record in its store at once, and not only at the server's next checkpoint: where
        some of it is gone the node is refused."""
        with self.federation(settings=QUICK | {"checkpoint.every": 0}) as f:
            f.start(aggregators=0)
            f.wait_for_version(6)
            f.processes["node1"].kill()
            shutil.copytree(f.store(1), f.folder / "kept")

            def damaged(pattern: str, change, why: str) -> None:
                files = [one for one in f.store(1).glob(pattern) if one.stat().st_size > 0]
                change(max(files, key=lambda one: one.name))
                node = f.join(1)
                self.assertEqual(node.wait(), MISSING, node.text())
                self.assertRegex(node.text(), why)
                shutil.rmtree(f.store(1))
                shutil.copytree(f.folder / "kept", f.store(1))

            half = "a log or the MANIFEST in .* is truncated or missing|damaged|unreadable"
            damaged("shard-*/*.log", Path.unlink, "values are missing|is gone|missing")
            damaged("shard-*/*.log", lambda log: os.truncate(log, log.stat().st_size // 2), half)
            damaged("node.json", lambda record: os.truncate(record, 20), "node.json: is damaged")
            f.join(1)
            self.takes_part(f, 1, after=f.version())
            self.assertEqual(f.finish()["state_lost"], 0)

    def pinned(self, f, level: str | None) -> None:
        """Processes that are started from now on compute with kernels of this level."""
        f.environment.pop("FURLONG_KERNEL_LEVEL", None)
        if level:
            f.environment["FURLONG_KERNEL_LEVEL"] = level

    @unittest.skipUnless(HAS_LEVELS, "this processor has one level only")
    def test_kernel_levels(self):
        """A node of another level is refused at any gateway, and so is an aggregator; where that is allowed, the
        summary names all levels."""
        with self.federation(settings=QUICK) as f:
            f.serve()
            f.aggregate("aggregator0").wait_for("accepted this aggregator")
            self.pinned(f, LOWEST)
            node = f.join(1)
            self.assertEqual(node.wait(), USAGE)
            self.assertRegex(node.text(), f"its kernels are of level {LOWEST}, the server's of level x86-64-v[34]: "
                             ".* set network.kernel_levels = .common")
            other = f.aggregate("aggregator1")
            self.assertEqual(other.wait(), USAGE)
            self.assertIn("rejects this aggregator: its kernels are of level", other.text())
            f.processes.pop("aggregator1")
            self.pinned(f, None)
            for i in range(4):
                f.join(i)
            f.wait_for_version(3)
            f.settings["network.kernel_levels"] = "any"
            summary = f.finish()
            self.assertEqual(summary["kernel_levels"], [summary["kernel_level"]])

    def at_the_lowest_level(self, f) -> dict:
        """A run in one process at that level, of as many rounds as a federation makes."""
        self.pinned(f, LOWEST)
        alone = f.alone()
        self.pinned(f, None)
        return alone

    @unittest.skipUnless(HAS_LEVELS, "this processor has one level only")
    def test_common_kernel_level(self):
        """The last process to arrive has the lowest level only: all compute with that from the first round on, as a run
        in one process at that level does."""
        with self.federation(settings=COMMON) as f:
            alone = self.at_the_lowest_level(f)
            f.serve()
            f.aggregate("aggregator0").wait_for("accepted this aggregator")
            for i in (0, 2, 3):
                f.join(i).wait_for(r"\[run [0-9a-f]{16}\]")  # was welcome
            self.pinned(f, LOWEST)
            f.join(1)
            summary = f.end()
            self.assertEqual(summary["kernel_levels"], [LOWEST])
            self.check_same(f, summary, alone)

    @unittest.skipUnless(FOREIGN, "FURLONG_FOREIGN names no command for another processor")
    def test_other_processor(self):
        """Two nodes on another kind of processor: the model is that of a run in one process at the common level."""
        with self.federation(settings=COMMON) as f:
            alone = self.at_the_lowest_level(f)
            f.command_of = lambda name: FOREIGN if name in ("node1", "node2") else f.furlong
            f.start()
            summary = f.end()
            self.assertEqual(summary["kernel_levels"], [LOWEST])
            self.check_same(f, summary, alone)

    @unittest.skipUnless(HAS_LEVELS, "this processor has one level only")
    def test_common_kernel_level_stays(self):
        """Once the run has begun, its level stays, after restarts too: a node without it is refused."""
        with self.federation(settings=LONG | COMMON) as f:
            f.serve(operators=False)
            for i in range(4):
                self.pinned(f, LOWEST if i == 1 else None)
                f.join(i)
            f.wait_for_version(5)
            f.processes["server"].kill()
            f.processes["node1"].kill()
            self.pinned(f, None)
            f.serve_again(operators=False)
            f.environment["FURLONG_KERNEL_LEVEL"] = "x86-64-v3"
            other = f.join(1)
            self.assertEqual(other.wait(), USAGE)
            self.assertRegex(other.text(), "has kernels of the levels x86-64-v3 only, and the run computes with those of "
                             f"level {LOWEST}.*set network.kernel_levels")
            self.pinned(f, None)
            f.join(1)
            self.assertEqual(f.end()["kernel_levels"], [LOWEST])

    @unittest.skipUnless(HAS_LEVELS, "this processor has one level only")
    def test_any_kernel_level(self):
        with self.federation(settings=LONG | {"network.kernel_levels": "any"}) as f:
            f.serve(operators=False)
            for i in range(4):
                self.pinned(f, LOWEST if i == 1 else None)
                f.join(i)
            self.pinned(f, None)
            f.wait_for_version(8)
            f.processes["server"].kill()
            f.serve_again(operators=False)
            summary = f.end()
            self.assertEqual(summary["kernel_levels"], [LOWEST, summary["kernel_level"]])


if __name__ == "__main__":
    main()
