#!/usr/bin/env python3
"""What does not belong together is refused, and the remedy is named: never taken silently.

usage: mismatch_test.py FURLONG [TEST...]
"""
import signal

from case import LONG, QUICK, Case, main
from federation import INTERRUPTED, USAGE

LOWEST = "x86-64"


class Mismatch(Case):
    def served(self, f, version: int = 8) -> None:
        """A federation that was stopped after some rounds; its nodes still run."""
        f.start(aggregators=0)
        f.wait_for_version(version)
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

    def pinned(self, f, level: str | None) -> None:
        """Processes that are started from now on compute with kernels of this level."""
        f.environment.pop("FURLONG_KERNEL_LEVEL", None)
        if level:
            f.environment["FURLONG_KERNEL_LEVEL"] = level

    def test_kernel_levels(self):
        """A node of another level is refused at any gateway, and so is an aggregator; where that is allowed, the
        summary names all levels."""
        with self.federation(settings=QUICK) as f:
            f.serve()
            f.aggregate("aggregator0").wait_for("took this aggregator in")
            self.pinned(f, LOWEST)
            node = f.join(1)
            self.assertEqual(node.wait(), USAGE)
            self.assertRegex(node.text(), f"its kernels are of level {LOWEST}, the server's of level x86-64-v[34]: "
                             ".* FURLONG_KERNEL_LEVEL, here and on the server, or set network.kernel_levels")
            other = f.aggregate("aggregator1")
            self.assertEqual(other.wait(), USAGE)
            self.assertIn("does not let this aggregator in: its kernels are of level", other.text())
            f.processes.pop("aggregator1")
            self.pinned(f, None)
            for i in range(4):
                f.join(i)
            f.wait_for_version(3)
            f.settings["network.kernel_levels"] = "any"
            summary = f.finish()
            self.assertEqual(summary["kernel_levels"], [summary["kernel_level"]])

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
