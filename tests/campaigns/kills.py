#!/usr/bin/env python3
"""Kills a FURL run at random moments, resumes it each time, and compares the result with a run that was never killed.

usage: kills.py [BUILD_DIR [KILLS]]      (default 100; exits 1 if a hash differs)
"""
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from campaign import BUILD, ROOT, figure

SAME = ["model_sha256", "private_sha256", "eval", "selected", "folded", "bytes_up"]


def command(furlong: Path, out: Path, *more: str) -> list[str]:
    return [str(furlong), "run", str(ROOT / "scenarios/quickstart.toml"), "--out", str(out), "--set",
            "scenario.rounds=4000", "--set", "checkpoint.every=10", "--set", "evaluation.every=500", *more]


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD
    furlong, kills = build / "furlong", int(sys.argv[2]) if len(sys.argv) > 2 else 100
    random.seed(1)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch) / "whole", Path(scratch) / "killed"
        begun = time.monotonic()
        subprocess.run(command(furlong, whole), check=True, **quiet)
        length = time.monotonic() - begun
        hit = 0
        for i in range(kills):
            process = subprocess.Popen(command(furlong, killed, "--resume", "--threads", str(1 + i % 3)), **quiet)
            time.sleep(random.uniform(0.02, 0.1) * length)
            process.send_signal(signal.SIGKILL)
            hit += process.wait() == -signal.SIGKILL
        subprocess.run(command(furlong, killed, "--resume"), check=True, **quiet)
        ends = [json.loads((run / "summary.json").read_text()) for run in (whole, killed)]
        different = [key for key in SAME if ends[0][key] != ends[1][key]]
        lines = [(run / "metrics.jsonl").read_text() for run in (whole, killed)]
        if lines[0] != lines[1]:
            different.append("metrics.jsonl")
    figure("furl", "kills_at_work", hit, "kills")
    figure("furl", "differences", len(different), "keys")
    print(f"{hit} of {kills} kills found the run at work; different afterwards: {different or 'nothing'}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
