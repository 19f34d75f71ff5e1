#!/usr/bin/env python3
"""What does not belong together is refused, and the remedy is named: never taken silently.

usage: mismatch_test.py FURLONG [TEST...]
"""
import signal

from case import LONG, Case, main
from federation import INTERRUPTED, USAGE


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


if __name__ == "__main__":
    main()
