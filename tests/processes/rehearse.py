#!/usr/bin/env python3
"""Rehearses a scenario with real processes: starts a server, aggregators and nodes, and does to them what the
scenario's [[event]] tables say. At the end the books must balance.

usage: rehearse.py BUILD_DIR SCENARIO [--nodes N] [--aggregators N] [--clients N] [--data DIR] [--set KEY=VALUE]...
                   [--compare]

--compare: `furlong run` of the same scenario, in virtual time, must end with the same model.

Nodes and aggregators are those of [topology], where it has nodes. An event befalls whole nodes: without
topology.nodes the clients are divided among nodes so that the clients of an event have nodes of their own; a share of all clients becomes as many of the nodes, drawn by the scenario's seed. kill is kill -9, restart and join
start the node's process, leave is SIGTERM (and erases what the node stored of its clients when the event says so);
partition takes the node off its network, for which every process gets a network namespace: that needs root. "round N" is
when the server has made N - 1 versions; a time counts from the beginning of the run. A real federation goes on while
that is looked at, so that an event comes some rounds later.
"""
import argparse
import json
import random
import re
import sys
import time
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from federation import DONE, INTERRUPTED, Federation, accounted, folded_tasks, twice, unbalanced_rounds, wait_until
from namespaces import Network, permitted

KINDS = ("join", "leave", "kill", "restart", "partition", "heal")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Unfit(Exception):
    """The scenario cannot be rehearsed; says why."""


@dataclass
class Event:
    round: int | None   # before that round, or
    seconds: float      # so long after the beginning
    kind: str
    what: str           # "client", "node" or "aggregator"
    whom: tuple[int, int] | float
    erase: bool

    def is_due(self, version: int, elapsed: float) -> bool:
        return version >= self.round - 1 if self.round is not None else elapsed >= self.seconds


def read_event(written: dict) -> Event:
    kind = next(key for key in KINDS if key in written)
    what, whom, erase = "client", written[kind], written.get("erase", False)
    if isinstance(whom, str):
        process, first, last = re.fullmatch(r"(?:(node|aggregator)s? +)?(\d+)(?:-(\d+))?", whom).groups()
        what, whom = process or what, (int(first), int(last or first))
    if found := re.fullmatch(r"round (\d+)", written["at"]):
        return Event(int(found[1]), 0.0, kind, what, whom, erase)
    number, unit = re.fullmatch(r"([\d.]+)\s*([a-z]+)", written["at"]).groups()
    return Event(None, float(number) * SECONDS[unit], kind, what, whom, erase)


def divide(clients: int, nodes: int, events: list[Event]) -> list[tuple[int, int]]:
    """Clients of each node: about as many nodes as asked for, and more where an event's clients end."""
    starts = {round(i * clients / nodes) for i in range(nodes)}
    for event in events:
        if isinstance(event.whom, tuple):
            starts |= {event.whom[0], event.whom[1] + 1}
    cuts = sorted(start for start in starts if start < clients) + [clients]
    return [(first, after - 1) for first, after in zip(cuts, cuts[1:])]


def overrides_of(words: list[str]) -> dict:
    return dict(word.split("=", 1) for word in words)


class Rehearsal:
    def __init__(self, chosen: argparse.Namespace):
        self.path = chosen.scenario.resolve()
        written = tomllib.loads(self.path.read_text())
        self.events = [read_event(one) for one in written.get("event", [])]
        clients = chosen.clients or written.get("data", {}).get("users", 0)
        if clients < 1:
            raise Unfit("the scenario does not say how many clients there are: add --clients N")
        for event in self.events:
            if event.what == "client" and isinstance(event.whom, tuple) and event.whom[1] >= clients:
                raise Unfit(f"an event is about client {event.whom[1]}, and there are {clients}")
        self.compare = chosen.compare
        topology = written.get("topology", {})
        if nodes := topology.get("nodes", 0):  # as furlong run has them
            self.ranges = [(clients * i // nodes, clients * (i + 1) // nodes - 1) for i in range(nodes)]
            aggregators = topology.get("aggregators", 1)
            chosen.aggregators = aggregators if aggregators > 1 else 0
            for event in self.events:
                if event.what == "client" and isinstance(event.whom, tuple) and not self.is_whole(event.whom):
                    raise Unfit(f"an event is about clients {event.whom[0]}-{event.whom[1]}, which are not whole nodes")
        else:
            self.ranges = divide(clients, chosen.nodes, self.events)
        self.aggregators = [f"aggregator{i}" for i in range(chosen.aggregators)]
        self.draw = random.Random(written.get("scenario", {}).get("seed", 0))
        self.due = sorted(self.events, key=lambda one: (one.round is None, one.round or one.seconds))
        self.needs_network = any(one.kind in ("partition", "heal") for one in self.events)
        self.f = Federation(str((chosen.build / "furlong").resolve()), settings=overrides_of(chosen.set or []))
        self.f.scenario, self.f.data = self.path, chosen.data
        self.network: Network | None = None
        self.here: set[int] = set()   # nodes whose process should run
        self.cut: set[int] = set()

    def is_whole(self, clients: tuple[int, int]) -> bool:
        """Whether these clients begin and end where nodes do."""
        return any(low == clients[0] for low, _ in self.ranges) and any(high == clients[1] for _, high in self.ranges)

    def nodes_of(self, event: Event) -> list[int]:
        if event.what == "node":
            return list(range(event.whom[0], event.whom[1] + 1))
        if event.what == "aggregator":
            return []
        if isinstance(event.whom, tuple):
            first, last = event.whom
            return [i for i, (low, high) in enumerate(self.ranges) if first <= low and high <= last]
        drawn = self.draw.sample(range(len(self.ranges)), len(self.ranges))
        return sorted(drawn[:max(1, round(event.whom * len(drawn)))])

    def comes_later(self, number: int) -> bool:
        """Whether what first happens to that node is that it joins."""
        for event in self.due:
            if event.kind in ("join", "leave") and isinstance(event.whom, tuple) and number in self.nodes_of(event):
                return event.kind == "join"
        return False

    def world(self):
        if not self.needs_network:
            return nullcontext()
        if why := permitted():
            raise Unfit(f"a partition needs network namespaces: {why}")
        nodes = [f"node{i}" for i in range(len(self.ranges))]
        self.network = Network(["server", *self.aggregators, *nodes])
        self.f.prefix_of, self.f.host_of = self.network.prefix, self.network.address
        return self.network

    # ---- what happens ------------------------------------------------------------------------------------------------

    def befall_aggregator(self, kind: str, name: str) -> None:
        if kind == "kill":
            self.f.processes[name].kill()
        elif kind == "restart" and not self.f.processes[name].running:
            self.f.aggregate(name)
        elif kind == "partition":
            self.network.cut(name)
        elif kind == "heal":
            self.network.heal(name)

    def start_node(self, number: int) -> None:
        self.f.join(number, *self.ranges[number])
        self.here.add(number)

    def befall(self, kind: str, number: int, erase: bool) -> None:
        process = self.f.processes.get(f"node{number}")
        if kind in ("join", "restart"):
            if number not in self.here:
                self.start_node(number)
        elif kind == "partition":
            self.network.cut(f"node{number}")
            self.cut.add(number)
        elif kind == "heal":
            self.network.heal(f"node{number}")
            self.cut.discard(number)
        elif number in self.here:
            self.here.discard(number)
            process.kill() if kind == "kill" else self.leave(number, process, erase)

    def leave(self, number: int, process, erase: bool) -> None:
        process.terminate()
        code = process.wait()
        assert code in (DONE, INTERRUPTED), f"node{number} ended with {code} when it was asked to"
        if erase:
            for client in range(self.ranges[number][0], self.ranges[number][1] + 1):
                self.f.run("store", "erase", self.f.store(number), "--client", client)

    def carry_out(self, event: Event) -> None:
        nodes = self.nodes_of(event)
        names = ", ".join(f"node{i} ({self.ranges[i][0]}-{self.ranges[i][1]})" for i in nodes)
        if event.what == "aggregator":
            names = ", ".join(self.aggregators[event.whom[0]:event.whom[1] + 1])
            for name in self.aggregators[event.whom[0]:event.whom[1] + 1]:
                self.befall_aggregator(event.kind, name)
        print(f"version {self.f.version()}: {event.kind} {names}", flush=True)
        for number in nodes:
            self.befall(event.kind, number, event.erase)

    def play(self) -> None:
        server = self.f.serve(operators=bool(self.aggregators))
        for name in self.aggregators:
            self.f.aggregate(name).wait_for("accepted this aggregator")
        for number in range(len(self.ranges)):
            if not self.comes_later(number):
                self.start_node(number)
        wait_until("the run begins", lambda: "the run begins" in self.f.log() or not server.running)
        begun = time.monotonic()
        while server.running:
            while self.due and self.due[0].is_due(self.f.version(), time.monotonic() - begun):
                self.carry_out(self.due.pop(0))
            for number in self.here:
                code = self.f.processes[f"node{number}"].process.poll()
                assert code in (None, DONE), f"node{number} ended with {code}"
            time.sleep(0.01)
        assert server.wait() == DONE, f"the server ended with {server.wait()}"

    # ---- what came of it ---------------------------------------------------------------------------------------------

    def judge(self) -> list[str]:
        """What is wrong; everything else was said."""
        for number in self.cut:  # it hears of nothing
            self.f.processes[f"node{number}"].kill()
        summary = self.f.summary()
        tasks = folded_tasks(self.f.lines(self.f.ledger))
        wrong = {"events that did not come": len(self.due),
                 "rounds that do not balance": len(unbalanced_rounds(self.f.lines(self.f.out / "metrics.jsonl"))),
                 "tasks without an end": abs(accounted(summary) - summary["selected"]),
                 "updates folded twice": len(twice(tasks)),
                 "updates missing in the ledger": abs(len(tasks) - summary["folded"]),
                 "damaged stores": sum(not self.f.sound(i) for i in range(len(self.ranges)) if self.f.store(i).exists())}
        print(f"{summary['rounds']} versions, {summary['selected']} tasks, {summary['folded']} folded, dropped "
              f"{sum(summary['dropped'].values())}; model {summary['model_sha256'][:16]}")
        return [f"{count} {what}" for what, count in wrong.items() if count] + (self.differences(summary)
                                                                                 if self.compare else [])

    def differences(self, summary: dict) -> list[str]:
        """From the same scenario in virtual time."""
        out = self.f.folder / "simulated"
        self.f.run("run", self.path, "--out", out, *self.f.sets())
        simulated = json.loads((out / "summary.json").read_text())
        print(f"in virtual time: {simulated['rounds']} versions, {simulated['folded']} folded; model "
              f"{simulated['model_sha256'][:16]}")
        return [f"{key} is {simulated[key]} in virtual time" for key in ("model_sha256", "rounds", "selected", "folded")
                if simulated[key] != summary[key]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--nodes", type=int, default=4, help="about how many (4)")
    parser.add_argument("--aggregators", type=int, default=2)
    parser.add_argument("--clients", type=int, default=0, help="how many there are, where data.users does not say it")
    parser.add_argument("--data", type=Path, help="folder with the nodes' data")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE")
    parser.add_argument("--compare", action="store_true", help="with the same scenario in virtual time")
    try:
        rehearsal = Rehearsal(parser.parse_args())
        with rehearsal.f, rehearsal.world():
            rehearsal.play()
            wrong = rehearsal.judge()
    except Unfit as why:
        print(f"rehearse: {why}", file=sys.stderr)
        return 2
    for what in wrong:
        print(what, file=sys.stderr)
    print("the books balance" if not wrong else "the books do not balance")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
