#!/usr/bin/env python3
"""Kills and stops aggregators at random while a federation trains; the server and the nodes are not disturbed. The model
must equal that of `furlong run`, bit for bit.

usage: aggregators.py [BUILD_DIR] [--shape flat|tree|both] [--seconds N] [--runs N] [--rounds N] [--seed N]
                      [--least N] [--schedules N]
       (default: 5 minutes of each shape, one run, 6 rounds for each second and 600 at least, no schedules)

flat: two aggregators; every 0.2 to 0.7 s one is killed with SIGKILL and restarted at once, or in one of ten cases
      stopped for 6 s.
tree: five with fan_in = 2; the same, stopped in two of five cases, at most two at once.

The model is evaluated every 20 rounds, and the best one is kept, so that evaluations are disturbed too. The faults end
with the run, or after N seconds and --least N faults; the run then continues to its end. Exits 1 if a model or an
evaluation differs, a task is dropped or late, or abandoned that is not so without faults, or a process does not end; the
folder of such a run is kept.

--schedules: first runs N schedules of kills, stops and disconnections in the simulated network; none may differ.
"""
import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from campaign import BUILD, ROOT, figure
from federation import Federation

NODES, EACH = 4, 300
SHAPES = {"flat": (2, 0.1, 1, {}), "tree": (5, 0.4, 2, {"topology.fan_in": 2})}
EVALUATIONS = {"evaluation.every": 20, "evaluation.select": '"best"'}
STOPPED = 6.0     # seconds
STANDSTILL = 120  # seconds without a new version


class Siege:
    def __init__(self, furlong: str, shape: str, rounds: int, seed: int):
        aggregators, self.stops, self.most_stopped, settings = SHAPES[shape]
        self.shape = shape
        self.f = Federation(furlong, scenario=(ROOT / "scenarios/federation.toml").read_text(),
                            settings={"scenario.rounds": rounds} | EVALUATIONS | settings)
        self.names = [f"aggregator{i}" for i in range(aggregators)]
        self.random = random.Random(seed)
        self.stopped: dict[str, float] = {}  # until when
        self.faults = {"kill": 0, "stop": 0}

    def aggregate(self, name: str):
        return self.f.aggregate(name, *(["--operator", "127.0.0.1:0"] if self.shape == "tree" else []))

    def start(self) -> None:
        self.f.serve()
        for name in self.names:
            self.aggregate(name).wait_for("accepted this aggregator")
        for number in range(NODES):
            self.f.join(number, number * EACH, number * EACH + EACH - 1)
        self.f.wait_for_version(1)

    def strike(self) -> None:
        name = self.random.choice([name for name in self.names if name not in self.stopped])
        process = self.f.processes[name]
        if len(self.stopped) < self.most_stopped and self.random.random() < self.stops:
            process.stop()
            self.stopped[name] = time.monotonic() + STOPPED
            self.faults["stop"] += 1
            return
        process.kill()
        self.aggregate(name)
        self.faults["kill"] += 1

    def resume(self, now: float) -> None:
        for name in [name for name, until in self.stopped.items() if until <= now]:
            del self.stopped[name]
            self.f.processes[name].resume()

    def rage(self, seconds: float, least: int) -> None:
        end = time.monotonic() + seconds
        while self.f.processes["server"].running:
            now = time.monotonic()
            if now >= end and sum(self.faults.values()) >= least:
                break
            self.strike()
            self.resume(now)
            time.sleep(self.random.uniform(0.2, 0.7))
        self.resume(float("inf"))

    def wait_for_the_end(self) -> None:
        server, moved = self.f.processes["server"], (self.f.version(), time.monotonic())
        while server.running:
            version = self.f.version()
            if version != moved[0]:
                moved = (version, time.monotonic())
            if time.monotonic() - moved[1] > STANDSTILL:
                raise AssertionError(f"nothing has moved for {STANDSTILL} s at version {version}")
            time.sleep(0.1)

    def run(self, seconds: float, least: int) -> list[str]:
        """Returns the errors of the run."""
        alone = self.f.alone()
        self.start()
        began, first = time.monotonic(), self.f.version()
        self.rage(seconds, least)
        lasted, made = time.monotonic() - began, self.f.version() - first
        self.wait_for_the_end()
        summary = self.f.end()
        figure(self.shape, "kills", self.faults["kill"], "1")
        figure(self.shape, "stops", self.faults["stop"], "1")
        figure(self.shape, "seconds_of_faults", round(lasted, 1), "s")
        figure(self.shape, "versions_meanwhile", made, "1")
        # Abandoned is the first version, which only measures updates.
        wrong = [key for key in ("model_sha256", "eval", "selected", "folded", "rejected", "abandoned")
                 if summary[key] != alone[key]]
        for key in ("late", "surplus"):
            if summary[key]:
                wrong.append(f"{summary[key]} {key}")
        if sum(summary["dropped"].values()):
            wrong.append(f"dropped: {summary['dropped']}")
        return wrong


def simulate(build: Path, schedules: int) -> bool:
    """Whether all of them end like the runs without faults."""
    done = subprocess.run([build / "tests/federated/test_federated", "--run_test=aggregator_losses"],
                          env=os.environ | {"FURLONG_LOSS_SCHEDULES": str(schedules)}, capture_output=True, text=True)
    print(done.stdout, done.stderr, file=sys.stderr)
    figure("simulated", "schedules", schedules, "1")
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?", default=BUILD)
    parser.add_argument("--shape", choices=[*SHAPES, "both"], default="both")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=0)
    chosen = parser.parse_args()
    rounds = chosen.rounds or max(600, int(6 * chosen.seconds))
    shapes = list(SHAPES) if chosen.shape == "both" else [chosen.shape]
    different = 0
    failed = chosen.schedules > 0 and not simulate(chosen.build, chosen.schedules)
    for number in range(chosen.runs):
        for shape in shapes:
            siege = Siege(str((chosen.build / "furlong").resolve()), shape, rounds, chosen.seed + number)
            with siege.f:
                try:
                    wrong = siege.run(chosen.seconds, chosen.least)
                except AssertionError as why:
                    wrong = [str(why)]
                different += bool(wrong)
                print(f"{shape} {chosen.seed + number}: {siege.faults['kill']} kills, {siege.faults['stop']} stops; "
                      f"{'wrong: ' + ', '.join(wrong) if wrong else 'as if nothing had happened'}", file=sys.stderr)
                if wrong:
                    siege.f.show_logs()
                    siege.f.keep = True
                    print(f"kept: {siege.f.folder}", file=sys.stderr)
    figure("all", "runs", chosen.runs * len(shapes), "1")
    figure("all", "runs_that_differ", different, "1")
    return 1 if different or failed else 0


if __name__ == "__main__":
    sys.exit(main())
