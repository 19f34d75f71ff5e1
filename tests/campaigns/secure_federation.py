#!/usr/bin/env python3
"""A federation of 1 server, 2 aggregators and 4 nodes with 1,200 clients under secure aggregation: it ends with the model
of the plain run, survives random kills of every process, and neither server nor aggregators receive or keep anything of
single clients or of a part of them.

usage: secure_federation.py [BUILD_DIR] [--kills N] [--seed N] [--smoke]
       (default 200 kills; --smoke: 6 kills)

Exits 1 if the models differ, a task is not accounted for, an update is aggregated twice, a sum is opened below the
threshold, there is no new version for two minutes, masked words are not uniform, or a plain update or partial sum is in
the memory, the logs or the files of the server or an aggregator. Needs numpy, and root to read the memory of processes.
"""
# packages: python3-numpy
import argparse
import contextlib
import random
import re
import sys
import time
from pathlib import Path

import numpy as np

from campaign import BUILD, ROOT, figure
from case import QUICK
from federation import Federation, accounted, folded_tasks, twice, unbalanced_rounds
from proxy import Proxy
from secure_bytes import (PlainValues, masked_words, memory_of, partial_sums, updates,
                          worst_deviation)

CLIENTS, NODES, AGGREGATORS, COHORT = 1200, 4, 2, 100
STANDSTILL = 120.0  # seconds without a new version
# Of a standard normal value: one in a million is above.
MOST_DEVIATION = 4.75


def join(f: Federation, number: int) -> None:
    share = CLIENTS // NODES
    f.join(number, number * share, (number + 1) * share - 1)


def start(f: Federation) -> None:
    f.serve()
    agents = [f.aggregate(f"aggregator{i}") for i in range(AGGREGATORS)]
    for one in agents:
        one.wait_for("accepted this aggregator")
    for i in range(NODES):
        join(f, i)


def federation(furlong: str, settings: dict) -> Federation:
    return Federation(furlong, scenario=(ROOT / "scenarios/secure.toml").read_text(), settings=settings)


def parity(furlong: str, rounds: int) -> list[str]:
    with federation(furlong, {"scenario.rounds": rounds}) as f:
        f.settings["privacy.secure_aggregation"] = "false"
        plain = f.alone()
        del f.settings["privacy.secure_aggregation"]
        start(f)
        secure = f.end()
    figure("parity", "folded", secure["folded"], "updates")
    same = secure["model_sha256"] == plain["model_sha256"]
    return [] if same else [f"model {secure['model_sha256']}, and that of the plain run is {plain['model_sha256']}"]


def restart(f: Federation, name: str) -> None:
    if name == "server":
        f.serve_again()
    elif name.startswith("aggregator"):
        f.aggregate(name)
    else:
        join(f, int(name[-1]))


def kills(furlong: str, wanted: int, draw: random.Random) -> list[str]:
    names = ["server", *(f"aggregator{i}" for i in range(AGGREGATORS)), *(f"node{i}" for i in range(NODES))]
    done: dict[str, int] = {}
    began = time.monotonic()
    with federation(furlong, QUICK | {"network.task_timeout": 10, "checkpoint.every": 1}) as f:
        start(f)
        version, moved = 0, time.monotonic()
        while sum(done.values()) < wanted:
            time.sleep(draw.uniform(0.2, 1.5))
            name = draw.choice(names)
            if not f.processes[name].running:
                return [f"{name} ended by itself ({f.processes[name].process.returncode})"]
            f.processes[name].kill()
            role = re.sub(r"\d+$", "", name)
            done[role] = done.get(role, 0) + 1
            time.sleep(draw.uniform(0.0, 0.4))
            restart(f, name)
            if f.version() != version:
                version, moved = f.version(), time.monotonic()
            if time.monotonic() > moved + STANDSTILL:
                f.show_logs()
                return [f"no version after {version} for {STANDSTILL:g} s"]
        summary = f.finish()
        metrics = f.lines(f.out / "metrics.jsonl")
        tasks = folded_tasks(f.lines(f.ledger))
    wrong = []
    if accounted(summary) != summary["selected"]:
        wrong.append(f"{summary['selected']} tasks, and {accounted(summary)} outcomes")
    if unbalanced := unbalanced_rounds(metrics):
        wrong.append(f"rounds {unbalanced} are not accounted for")
    if again := twice(tasks):
        wrong.append(f"aggregated twice: {again}")
    opened = [line for line in metrics if line["folded"]]
    wrong += [f"round {line['round']} was opened with {line['folded']} updates of {line['sent_keys']} clients"
              for line in opened if line["folded"] < line["sent_keys"] - line["sent_keys"] // 3]
    for role, count in sorted(done.items()):
        figure("kills", role, count, "kills")
    figure("kills", "time", time.monotonic() - began, "s")
    figure("kills", "opened rounds", len(opened), "rounds")
    figure("kills", "abandoned rounds", len(metrics) - len(opened), "rounds")
    figure("kills", "fewest updates of an opened round", min(line["folded"] for line in opened), "updates")
    figure("kills", "least share of the clients that sent keys",
           min(line["folded"] / line["sent_keys"] for line in opened), "1")
    return wrong


class Recording:
    """What the server and the aggregators of a run received, and what they kept at some moments."""

    def __init__(self, furlong: str, secure: bool, rounds: int):
        settings = {"scenario.rounds": rounds, "privacy.secure_aggregation": str(secure).lower(),
                    "network.timeout": 60}  # processes are stopped while their memory is read
        scenario = (ROOT / "scenarios/secure.toml").read_text()
        with contextlib.ExitStack() as held:
            f = held.enter_context(Federation(furlong, scenario, secure=False, settings=settings))

            def recorder(target):
                made = Proxy(target, record=True)
                held.callback(made.close)
                return made

            f.serve()
            above = recorder(lambda: f.operator_port)
            f.operator_way_in = above.port
            below, ports = [], [0] * AGGREGATORS
            for i in range(AGGREGATORS):
                below.append(recorder(lambda i=i: ports[i]))
                agent = f.aggregate(f"aggregator{i}", "--advertise", f"127.0.0.1:{below[i].port}")
                ports[i] = int(agent.wait_for(r"nodes join at port (\d+)")[1])
                agent.wait_for("accepted this aggregator")
            for i in range(NODES):
                join(f, i)
            observed = [f.processes[name] for name in ("server", *(f"aggregator{i}" for i in range(AGGREGATORS)))]
            self.memory: list[bytes] = []
            for version in range(1, rounds, max(1, rounds // 4)):
                f.wait_for_version(version)
                time.sleep(0.03)
                self.memory += memory_of(observed)
            self.model = f.end()["model_sha256"]
            self.files = [one.read_bytes() for one in f.out.rglob("*") if one.is_file()]
            self.files += [one.log.read_bytes() for one in observed]
        self.from_nodes = [stream for one in below for stream in one.heard]
        self.from_aggregators = above.heard


def received(furlong: str, rounds: int) -> list[str]:
    plain, secure = (Recording(furlong, masked, rounds) for masked in (False, True))
    known = PlainValues(updates(plain.from_nodes), partial_sums(plain.from_aggregators))
    wrong = [] if plain.model == secure.model else ["the recorded runs end with different models"]
    recorded = sum(len(of_node) for by_node in updates(plain.from_nodes).values() for of_node in by_node)
    if recorded != rounds * COHORT:
        wrong.append(f"{recorded} updates of the plain run were recorded, and {rounds * COHORT} were sent")
    for name, run in (("plain", plain), ("secure", secure)):
        for what, streams in (("updates", run.from_nodes), ("partial sums", run.from_aggregators)):
            if run is plain and what == "updates":
                continue  # they are float32
            words = masked_words(streams)
            figure(name, what, len(words), what)
            if len(words) != rounds * (COHORT if what == "updates" else AGGREGATORS):
                wrong.append(f"{len(words)} {what} of the {name} run were recorded, in {rounds} rounds")
            deviation = worst_deviation(np.concatenate(words))
            figure(name, f"deviation of {what} from uniform words", deviation, "sigma")
            if (deviation > MOST_DEVIATION) != (run is plain):
                wrong.append(f"the test of uniformity of {what} says {deviation:.1f} sigma in the {name} run")
        for what, contents in (("memory", run.memory), ("logs and files", run.files)):
            found = sum(map(known.count, contents))
            figure(name, f"{what} searched", sum(map(len, contents)) / 1e6, "MB")
            figure(name, f"plain values in {what}", found, "places")
            if run is secure and found or run is plain and what == "memory" and not found:
                wrong.append(f"{found} places with plain values in {what} of the {name} run")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=BUILD)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    furlong = str((Path(given.build) / "furlong").resolve())
    wrong = parity(furlong, 3 if given.smoke else 20)
    wrong += received(furlong, 3 if given.smoke else 20)
    wrong += kills(furlong, 6 if given.smoke else given.kills, random.Random(given.seed))
    for line in wrong:
        print("secure_federation:", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
