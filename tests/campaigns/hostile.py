#!/usr/bin/env python3
"""Hostile inputs to every port of a running federation: the server's and an aggregator's gateway and the operator port,
while two nodes train and a third one joins; and damaged frames to the decoder.

usage: hostile.py [BUILD_DIR] [--inputs N] [--smoke] [--seed N]
       (default 100,000 inputs to the ports and as many to the decoder; --smoke: 3,000)

Exits 1 if a process ends, a connection is not ended, memory or file descriptors grow, rounds stop, a node cannot join, a
kind of rejection is not counted, or the run fails. The folder of such a run
is kept.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from campaign import BUILD, figure
from federation import Federation, accounted, wait_until

SETTINGS = {"scenario.rounds": 1_000_000, "evaluation.every": 0, "checkpoint.every": 10, "network.start": 0.4,
            "participation.deadline": 2, "participation.min_reports": 2, "network.heartbeat": 1, "network.timeout": 4}
MOST_GROWTH = 24 << 20  # bytes; permitted growth from the first inputs to 100,000
# Rejections that each gateway must have counted.
REFUSALS = ["protocol", "untrusted", "expired", "denied", "not-a-node", "not-its-clients", "bad-frame"]
SERVER, AGGREGATOR = "server", "aggregator0"


def resident(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) << 10


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


class Hostile:
    def __init__(self, build: Path, seed: int):
        self.program, self.seed = build / "tests/campaigns/campaign_hostile", seed
        self.f = Federation(str((build / "furlong").resolve()), settings=SETTINGS)
        self.faulty: list[str] = []

    def pid(self, name: str) -> int:
        return self.f.processes[name].process.pid

    def start(self) -> None:
        f = self.f
        f.serve("--dashboard", "127.0.0.1:0")
        self.page = f.processes[SERVER].wait_for(r"dashboard at (http://\S+)")[1].rstrip("/")
        f.aggregate(AGGREGATOR).wait_for("accepted this aggregator")
        self.gateway = int(f.processes[AGGREGATOR].wait_for(r"nodes join at port (\d+)")[1])
        f.issue("node", "stranger", "150-189")
        f.issue("node", "banned", "190-199")
        f.certify("deny", "--pki", f.folder / "pki", "banned", "--copy-to", f.folder / "tls-server", "--copy-to",
                  f.folder / f"tls-{AGGREGATOR}")
        for i in (0, 1):
            f.join(i)
        f.wait_for_version(3)

    def fire(self, inputs: int, out=None) -> subprocess.Popen:
        f = self.f
        return subprocess.Popen([str(self.program), "--pki", str(f.folder / "pki"), "--good", str(f.folder / "tls-stranger"),
                                 "--denied", str(f.folder / "tls-banned"), "--server", str(f.join_port), "--aggregator",
                                 str(self.gateway), "--operator", str(f.operator_port), "--inputs", str(inputs), "--seed",
                                 str(self.seed)], stdout=out)

    def quiet(self, before: dict[str, int] | None) -> dict[str, int]:
        """File descriptors of both processes once they are back to `before`, or as they are after a while."""
        def counts():
            return {name: descriptors(self.pid(name)) for name in (SERVER, AGGREGATOR)}
        if before is None:
            time.sleep(3)  # ended connections linger for a second
            return counts()
        try:
            wait_until("file descriptors are given back", lambda: all(c <= before[n] for n, c in counts().items()), 40)
        except AssertionError as why:
            self.faulty.append(str(why))
        return counts()

    def attack(self, inputs: int) -> None:
        f = self.f
        if self.fire(max(inputs // 20, 400), subprocess.DEVNULL).wait() != 0:  # warm-up: one-time allocations
            self.faulty.append("the first inputs could not be sent")
        files = self.quiet(None)
        memory = {name: resident(self.pid(name)) for name in files}
        begun, version = time.monotonic(), f.version()
        sender = self.fire(inputs)
        time.sleep(1.0)
        newcomer, asked = f.join(2), time.monotonic()
        joined = 0.0
        while sender.poll() is None:
            if not joined and "accepted this node" in newcomer.text():
                joined = time.monotonic() - asked
            time.sleep(0.05)
        if not joined:  # it joined after the last input
            newcomer.wait_for("accepted this node")
            joined = time.monotonic() - asked
        took, made = time.monotonic() - begun, f.version() - version
        figure("federation", "seconds_under_attack", round(took, 1), "s")
        figure("federation", "rounds_meanwhile", made, "1")
        figure("federation", "node_joined_after", round(joined, 3), "s")
        if sender.returncode != 0:
            self.faulty.append(f"campaign_hostile ended with {sender.returncode}")
        if made < 2:
            self.faulty.append(f"only {made} rounds were made meanwhile")
        files[AGGREGATOR] += 1  # the node that joined
        after = self.quiet(files)
        for name in files:
            grown = resident(self.pid(name)) - memory[name]
            figure(name, "resident_before", memory[name] / 2**20, "MiB")
            figure(name, "resident_growth", grown / 2**20, "MiB")
            figure(name, "descriptors_left", after[name] - files[name], "1")
            if grown > MOST_GROWTH:
                self.faulty.append(f"the {name} grew by {grown >> 20} MiB")
        for name, process in f.processes.items():
            if not process.running:
                self.faulty.append(f"{name} ended with {process.process.returncode}")

    def judge(self) -> None:
        f = self.f
        with urllib.request.urlopen(self.page + "/api/status", timeout=10) as answer:
            status = json.load(answer)
        written = sum(len(process.log.read_bytes()) for process in f.processes.values()) + len(f.log())
        summary = f.finish(rounds=3, start=0.6)
        if accounted(summary) != summary["selected"]:
            self.faulty.append("the books do not balance")
        counted = {SERVER: status["refused_connections"]}
        told = re.findall(r"rejected at the gateway: ([^;\n]*)", f.processes[AGGREGATOR].text())
        counted[AGGREGATOR] = {w: int(n) for w, n in re.findall(r"([a-z-]+) (\d+)", told[-1] if told else "")}
        for name, reasons in counted.items():
            for reason, count in reasons.items():
                figure(name, "refused_" + reason.replace("-", "_"), count, "1")
            for reason in REFUSALS:
                if not reasons.get(reason):
                    self.faulty.append(f"the {name} counted no rejection for {reason}")
        for reason, count in status["unasked"].items():
            figure(SERVER, "unasked_" + reason.replace("-", "_"), count, "1")
        figure("federation", "log_written", round(written / 2**20, 2), "MiB")

    def decode(self, inputs: int) -> None:
        if subprocess.run([str(self.program), "--decoder", str(inputs), "--seed", str(self.seed)]).returncode != 0:
            self.faulty.append("the decoder did not survive")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?", default=BUILD)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--smoke", action="store_true", help="3,000 inputs")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    inputs = 3_000 if chosen.smoke else chosen.inputs
    hostile = Hostile(chosen.build, chosen.seed)
    with hostile.f:
        try:
            hostile.decode(inputs)
            hostile.start()
            hostile.attack(inputs)
            hostile.judge()
        except (AssertionError, OSError) as why:
            hostile.faulty.append(str(why))
        figure("all", "things_that_must_not_happen", len(hostile.faulty), "1")
        if hostile.faulty:
            hostile.f.show_logs()
            hostile.f.keep = True
            print(*hostile.faulty, f"kept: {hostile.f.folder}", sep="\n", file=sys.stderr)
    return 1 if hostile.faulty else 0


if __name__ == "__main__":
    sys.exit(main())
