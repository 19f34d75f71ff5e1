#!/usr/bin/env python3
"""How soon a server detects a lost node, and whether its rounds continue: kill -9, which ends the connection, and SIGSTOP,
which leaves it open.

usage: notice.py [BUILD_DIR] [--times N] [--smoke]      (default 20 of each; exits 1 if a bound is missed)
"""
import argparse
import re
import statistics
import sys
import time
from pathlib import Path

from campaign import BUILD, figure
from federation import Federation, wait_until

# The times of the network are the defaults.
SETTINGS = {"scenario.rounds": 1_000_000, "evaluation.every": 0, "network.start": 0.7}
HEARTBEAT, TIMEOUT = 2.0, 3.0
AT_ONCE = 0.05


def noticed_after(f: Federation, told: int, strike, words: str) -> float:
    """Seconds from `strike` to the line in the server's log."""
    log = (f.out / "log.txt").open()
    log.seek(told)
    text, begun = "", time.monotonic()
    strike()
    while not re.search(words, text):
        text += log.read()
        assert time.monotonic() - begun < 60, f"the server did not write {words!r}"
        time.sleep(0.0005)
    return time.monotonic() - begun


def comes_back(f: Federation, told: int) -> None:
    wait_until("node3 is back", lambda: re.search(r"node3/.*: clients 150 to 199 are connected", f.log()[told:]))
    at = f.version()
    f.wait_for_version(at + 3)


def measure(f: Federation, case: str, times: int) -> list[float]:
    found = []
    for _ in range(times):
        f.wait_for_version(f.version() + 3)
        node, told = f.processes["node3"], len(f.log())
        if case == "kill -9":
            found.append(noticed_after(f, told, node.kill, "node3/"))
            f.wait_for_version(f.version() + 1)
            f.join(3)
        else:
            found.append(noticed_after(f, told, node.stop, "node3/.*silent"))
            f.wait_for_version(f.version() + 1)
            node.resume()
        comes_back(f, told)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?", default=BUILD)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--smoke", action="store_true", help="twice")
    chosen = parser.parse_args()
    times = 2 if chosen.smoke else chosen.times
    missed = False
    with Federation(str((chosen.build / "furlong").resolve()), settings=SETTINGS) as f:
        f.start(aggregators=0)
        for case, bound in (("kill -9", AT_ONCE), ("SIGSTOP", HEARTBEAT + TIMEOUT)):
            found = measure(f, case, times)
            figure(case, "median", round(statistics.median(found), 5), "s", bound)
            figure(case, "max", round(max(found), 5), "s", bound)
            # A timer may be late by scheduling delays.
            missed |= statistics.median(found) > bound * 1.02
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
