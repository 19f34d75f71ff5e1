#!/usr/bin/env python3
"""Random faults in a federation: processes are killed and restarted, stopped, frozen and disconnected; then the faults
stop, the run must end, and its accounting must add up.

usage: chaos.py [BUILD_DIR] [--minutes N] [--smoke] [--mode sync|async] [--seed N]
       (default 20 minutes of synchronous rounds with a deadline; --smoke: half a minute)

Exits 1 if a round's tasks are not all accounted for, an update is aggregated twice, an acknowledged one is missing, a
private store is damaged, a process does not end, or there is no progress for a minute. The folder of such a run is kept.
"""
import argparse
import random
import re
import signal
import statistics
import sys
import time
from pathlib import Path

from campaign import BUILD, figure
from federation import (INTERRUPTED, SCENARIO, Federation, accounted, acknowledged, folded_tasks,
                        twice, unbalanced_rounds)
from proxy import Proxy

NODES, AGGREGATORS = 4, 2
ENDLESS = 1_000_000
SETTINGS = {"scenario.rounds": ENDLESS, "data.ratings_per_user": 80, "evaluation.every": 0, "checkpoint.every": 5,
            "network.heartbeat": 0.5, "network.timeout": 1.5, "network.start": 0.2}
MODES = {"sync": {"participation.over_selection": 1.25, "participation.min_reports": 5, "participation.deadline": 3},
         "async": {"participation.mode": "async", "participation.buffer": 20, "participation.concurrency": 40}}
MOST_AT_ONCE = 3   # faults
STANDSTILL = 60.0  # seconds without a new version


def role_of(name: str) -> str:
    return re.sub(r"\d+$", "", name)


class Chaos:
    def __init__(self, furlong: str, mode: str, seed: int):
        scenario = SCENARIO if mode == "sync" else SCENARIO.replace("per_round = 20\n", "")
        self.f = Federation(furlong, scenario=scenario, settings=SETTINGS | MODES[mode])
        self.random = random.Random(seed)
        self.healing: dict[str, tuple[float, callable]] = {}  # by victim: when its fault ends, and how
        self.recovering: dict[str, float] = {}                # by process: started again at
        self.recoveries: dict[str, list[float]] = {"server": [], "aggregator": [], "node": []}
        self.faults: dict[str, int] = {}
        self.faulty: list[str] = []  # violations
        self.version = self.resumed_from = 0
        self.moved_at = time.monotonic()
        self.proxies: dict[str, Proxy] = {}

    # ---- the federation ----------------------------------------------------------------------------------------------

    def gateway_port(self, name: str) -> int:
        found = re.search(r"nodes join at port (\d+)", self.f.process(name).text())
        return int(found[1]) if found else 0

    def start(self) -> None:
        f = self.f
        f.serve()
        self.proxies["nodes-server"] = Proxy(lambda: f.join_port)
        self.proxies["aggregators-server"] = Proxy(lambda: f.operator_port)
        f.way_in, f.operator_way_in = self.proxies["nodes-server"].port, self.proxies["aggregators-server"].port
        for i in range(AGGREGATORS):
            name = f"aggregator{i}"
            self.proxies[f"nodes-{name}"] = Proxy(lambda name=name: self.gateway_port(name))
            self.start_again(name)
        for i in range(NODES):
            self.start_again(f"node{i}")

    def start_again(self, name: str) -> None:
        role = role_of(name)
        self.recovering[name] = time.monotonic()
        if role == "server":
            self.f.serve_again()
            self.resumed_from = self.f.version()
        elif role == "aggregator":
            self.f.aggregate(name, "--advertise", f"127.0.0.1:{self.proxies['nodes-' + name].port}")
        else:
            self.f.join(int(name.removeprefix("node")))

    def has_recovered(self, name: str) -> bool:
        if name == "server":
            return self.f.version() > self.resumed_from
        words = "accepted this aggregator" if role_of(name) == "aggregator" else "accepted this node"
        return words in self.f.processes[name].text()

    # ---- faults ------------------------------------------------------------------------------------------------------

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def after(self, victim: str, least: float, most: float, heal) -> None:
        self.healing[victim] = (time.monotonic() + self.random.uniform(least, most), heal)

    def kill(self, name: str) -> None:
        self.f.processes[name].kill()
        self.after(name, 0.0, 4.0, lambda: self.start_again(name))

    def terminate(self, name: str) -> None:
        process = self.f.processes[name]
        process.terminate()
        try:
            code = process.wait(30)
            if code == -signal.SIGTERM and not process.text():
                pass  # just started: it does not handle signals yet
            elif code != INTERRUPTED:
                self.faulty.append(f"{name} ended with {code} when it was asked to stop")
        except AssertionError as why:
            self.faulty.append(str(why))
            process.kill()
        self.after(name, 0.0, 2.0, lambda: self.start_again(name))

    def freeze(self, name: str) -> None:
        self.f.processes[name].stop()
        self.after(name, 0.2, 6.0, self.f.processes[name].resume)

    def cut(self, way: str) -> None:
        self.proxies[way].cut()
        self.after(way, 0.2, 6.0, self.proxies[way].heal)

    def strike(self) -> None:
        if self.random.random() < 0.2:
            way = self.random.choice(sorted(self.proxies))
            if way not in self.healing:
                self.count("cut off")
                self.cut(way)
            return
        names = ["server"] + [f"aggregator{i}" for i in range(AGGREGATORS)] + [f"node{i}" for i in range(NODES)]
        weights = [1.5] + [1.5] * AGGREGATORS + [1.0] * NODES
        name = self.random.choices(names, weights)[0]
        process = self.f.processes[name]
        if name in self.healing or (name in self.recovering and self.random.random() < 0.8):
            return
        if not process.running:
            self.faulty.append(f"{name} ended by itself with {process.process.returncode}")
            return self.start_again(name)
        fault = self.random.choices(["kill", "terminate", "freeze"], [5, 2, 3])[0]
        self.count(f"{fault} {role_of(name)}")
        getattr(self, fault)(name)

    # ---- time --------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        now = time.monotonic()
        for victim, (at, heal) in list(self.healing.items()):
            if now >= at:
                del self.healing[victim]
                heal()
        for name, since in list(self.recovering.items()):
            if not self.f.processes[name].running:
                self.recovering.pop(name)
            elif self.has_recovered(name):
                self.recoveries[role_of(name)].append(time.monotonic() - since)
                self.recovering.pop(name)
        version = self.f.version()
        if version != self.version:
            self.version, self.moved_at = version, now
        if now - self.moved_at > STANDSTILL:
            raise AssertionError(f"nothing has moved for {STANDSTILL:g} s at version {version}")

    def rage(self, seconds: float) -> None:
        end, next_strike = time.monotonic() + seconds, 0.0
        while (now := time.monotonic()) < end:
            if now >= next_strike and len(self.healing) < MOST_AT_ONCE:
                self.strike()
                next_strike = time.monotonic() + self.random.uniform(0.1, 1.5)
            self.look()
            time.sleep(0.02)

    def calm(self) -> None:
        """Ends all faults; sets after how many more rounds the server ends the run."""
        for _, heal in list(self.healing.values()):
            heal()
        self.healing.clear()
        end = time.monotonic() + STANDSTILL
        while self.recovering and time.monotonic() < end:
            self.look()
            time.sleep(0.02)
        server = self.f.processes["server"]
        server.terminate()
        code = server.wait()
        if code != INTERRUPTED:
            self.faulty.append(f"the server ended with {code} when it was asked to stop")
        # A process that is disconnected when the run ends is not told, and waits for the server.
        self.f.settings |= {"scenario.rounds": self.f.version() + 20, "network.start": 1}
        self.f.serve_again()
        self.judge(self.f.end())

    # ---- accounting --------------------------------------------------------------------------------------------------

    def judge(self, summary: dict) -> None:
        f = self.f
        tasks = folded_tasks(f.lines(f.ledger))
        held = {task[1:] for task in tasks}
        told = set().union(*(acknowledged(f.processes[f"node{i}"].log.read_text(errors="replace"))
                             for i in range(NODES)))
        checks = {
            "rounds that do not balance": len(unbalanced_rounds(f.lines(f.out / "metrics.jsonl"))),
            "tasks without an end": abs(accounted(summary) - summary["selected"]),
            "updates folded twice": len(twice(tasks)),
            "updates missing in the ledger": abs(len(tasks) - summary["folded"]),
            "acknowledged updates lost": len(told - held),
            "damaged stores": sum(not f.sound(i) for i in range(NODES)),
        }
        for what, count in checks.items():
            figure("books", what.replace(" ", "_"), count, "1")
            if count:
                self.faulty.append(f"{count} {what}")
        figure("run", "versions", summary["rounds"], "1")
        figure("run", "folded", summary["folded"], "updates")
        figure("run", "acknowledged", len(told), "updates")
        figure("run", "dropped", sum(summary["dropped"].values()), "tasks")

    def report(self, seconds: float) -> None:
        for fault, count in sorted(self.faults.items()):
            figure("faults", fault.replace(" ", "_"), count, "1")
        figure("faults", "time", seconds, "s")
        for role, times in self.recoveries.items():
            if times:
                figure(role, "recovery_median", round(statistics.median(times), 3), "s")
                figure(role, "recovery_max", round(max(times), 3), "s")
        figure("books", "faults_of_furlong", len(self.faulty), "1")
        for what in self.faulty:
            print(what, file=sys.stderr)
        print(f"{sum(self.faults.values())} faults in {seconds:.0f} s, {len(self.faulty)} things that must not happen",
              file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?", default=BUILD)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--smoke", action="store_true", help="30 seconds of faults")
    parser.add_argument("--mode", choices=sorted(MODES), default="sync")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    seconds = 30.0 if chosen.smoke else chosen.minutes * 60
    chaos = Chaos(str((chosen.build / "furlong").resolve()), chosen.mode, chosen.seed)
    with chaos.f:
        try:
            chaos.start()
            chaos.rage(seconds)
            chaos.calm()
        except AssertionError as why:
            chaos.faulty.append(str(why))
        chaos.report(seconds)
        if chaos.faulty:
            chaos.f.show_logs()
            chaos.f.keep = True
            print(f"kept: {chaos.f.folder}", file=sys.stderr)
    return 1 if chaos.faulty else 0


if __name__ == "__main__":
    sys.exit(main())
