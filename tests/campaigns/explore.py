#!/usr/bin/env python3
"""Plays random federations under random faults in virtual time for an hour, from a new seed (tests/explore).

usage: explore.py [--seconds N] [--seed N]

Exits 1 when something is wrong in one of them; it says the seed and the faults.
"""
import argparse
import re
import subprocess
import sys
import time

from campaign import BUILD, figure


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000 % 10**12 * 1000)
    chosen = parser.parse_args()
    program = BUILD / "tests/explore/explore"
    done = subprocess.run([program, str(chosen.seconds), "--seed", str(chosen.seed)], stdout=subprocess.PIPE, text=True)
    print(done.stdout, file=sys.stderr, end="")
    worlds, tasks, speed = re.search(r"(\d+) worlds .* (\d+) tasks, .* (\d+) tasks a second",
                                     done.stdout.splitlines()[-1] if done.returncode == 0 else
                                     "0 worlds of 0 tasks, 0 tasks a second").groups()
    for metric, value, unit in (("worlds", worlds, "worlds"), ("tasks", tasks, "tasks"), ("speed", speed, "tasks/s")):
        figure(f"seed {chosen.seed}", metric, int(value), unit)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
