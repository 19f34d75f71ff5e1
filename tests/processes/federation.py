"""A federation of real processes on this machine, for tests: starts server, aggregators and nodes, stops, kills and
restarts them, and leaves nothing behind.

Ports are chosen by the system; a server that is started again listens where it did before. Every wait is bounded, and a
wait that fails shows the ends of all logs.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Waits end as soon as what they wait for is there: the bounds only decide when a test gives up.
PATIENCE = float(os.environ.get("FURLONG_TEST_PATIENCE", "60"))
DONE, USAGE, MISSING, FAILURE, INTERRUPTED = 0, 2, 3, 4, 5

SYNTHETIC_RATINGS = """
[data]
source = "synthetic-ratings"
users = 200
items = 100
rank = 2
ratings_per_user = 20
split = [0.8, 0.1, 0.1]
unseen_users = {validation = 0.1, test = 0.1}
"""
SCENARIO = """
[scenario]
name = "small"
rounds = 10
""" + SYNTHETIC_RATINGS + """
[model]
kind = "matrix-factorization"
rank = 4
user_bias = true
item_bias = true
mean = true
initial_mean = 3.5
private = ["user", "user_bias"]
[algorithm]
kind = "furl"
client = {lr = 0.05, batch_size = 4}
reconstruction = {lr = 0.1, epochs = 2}
[private]
cold_start = "reconstruct"
[participation]
per_round = 20
retry = 0.2
[evaluation]
every = 5
[checkpoint]
every = 2
"""


def wait_until(what: str, holds, seconds: float = PATIENCE):
    """Whatever `holds` returns, once it is true."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"nothing after {seconds:g} s: {what}")
        time.sleep(0.02)


class Process:
    """One process with its log. `lives` counts its starts; the log keeps them all."""

    def __init__(self, name: str, log: Path):
        self.name, self.log, self.lives, self.process, self.begins = name, log, 0, None, 0

    def start(self, command: list[str], environment: dict) -> None:
        self.lives += 1
        self.begins = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def text(self) -> str:
        """What it wrote in this life."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(self.begins)
            return log.read().decode(errors="replace")

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> re.Match:
        """The first place in this life's log that matches; fails when the process ends without it."""
        def look():
            gone = not self.running
            found = re.search(pattern, self.text(), re.M)
            if not found and gone:
                raise AssertionError(f"{self.name} ended ({self.process.returncode}) without writing {pattern!r}")
            return found
        return wait_until(f"{self.name} writes {pattern!r}", look, seconds)

    def wait(self, seconds: float = PATIENCE) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds:g} s") from None

    def signal(self, what: signal.Signals) -> None:
        if self.running:
            self.process.send_signal(what)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        self.signal(signal.SIGTERM)


class Federation:
    """Its processes, in a folder of their own. Use with `with`: whatever happens, no process survives it."""

    def __init__(self, furlong: str, scenario: str = SCENARIO, secure: bool = True, settings: dict | None = None):
        self.furlong, self.secure, self.settings = furlong, secure, dict(settings or {})
        self.folder = Path(tempfile.mkdtemp(prefix="furlong-processes-"))
        self.processes: dict[str, Process] = {}
        self.scenario = self.folder / "scenario.toml"
        self.scenario.write_text(scenario)
        self.out, self.ledger = self.folder / "run", self.folder / "ledger.jsonl"
        self.join_port = self.operator_port = 0
        # Ports by which others reach the server, where they are not its own.
        self.way_in = self.operator_way_in = 0
        self.keep = False  # the folder, afterwards
        self.environment = dict(os.environ)
        self.data: Path | None = None  # of the nodes
        # Which command a node is, where a process runs, and at which address others reach it: this one, all here, unless
        # a test says otherwise.
        self.command_of = lambda name: self.furlong
        self.prefix_of = lambda name: []
        self.host_of = lambda name: "127.0.0.1"
        if secure:
            self.certify("init", "--out", self.folder / "pki")

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        if kind is not None:
            self.show_logs()
        for one in self.processes.values():
            one.kill()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def show_logs(self) -> None:
        for one in self.processes.values():
            state = "runs" if one.running else f"ended {one.process.returncode}" if one.process else "never started"
            tail = one.log.read_text(errors="replace").splitlines()[-25:] if one.log.exists() else []
            print(f"---- {one.name} ({state})", *tail, sep="\n", file=sys.stderr)
        log = self.out / "log.txt"
        if log.exists():
            print("---- log.txt", *log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)

    # ---- commands ----------------------------------------------------------------------------------------------------

    def run(self, *words, expect: int | None = DONE) -> subprocess.CompletedProcess:
        """A command to its end; `expect`: its exit code."""
        done = subprocess.run([self.furlong, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE * 2,
                              env=self.environment)
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"furlong {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def certify(self, *words) -> None:
        self.run("certs", *words)

    def issue(self, role: str, name: str, clients: str = "", folder: str = "", pki: str = "pki") -> Path:
        """The --tls folder of a process, made on first use."""
        place = self.folder / f"tls-{folder or name}"
        if not place.exists():
            more = ["--clients", clients] if clients else []
            if role != "node":
                more += ["--host", self.host_of(name)]
            self.certify("issue", "--pki", self.folder / pki, "--role", role, "--name", name, *more, "--out", place)
        return place

    def trust(self, role: str, name: str, clients: str = "") -> list[str]:
        return ["--tls", str(self.issue(role, name, clients))] if self.secure else ["--insecure"]

    def sets(self) -> list[str]:
        return [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]

    def alone(self) -> dict:
        """The summary of `furlong run` of the same scenario."""
        out = self.folder / "alone"
        self.run("run", self.scenario, "--out", out, *self.sets())
        return json.loads((out / "summary.json").read_text())

    # ---- processes ---------------------------------------------------------------------------------------------------

    def process(self, name: str) -> Process:
        return self.processes.setdefault(name, Process(name, self.folder / f"{name}.log"))

    def serve(self, *more: str, resume: bool = False, operators: bool = True, threads: int = 2) -> Process:
        server = self.process("server")
        host = self.host_of("server")
        words = [*self.prefix_of("server"), self.furlong, "serve", str(self.scenario), "--listen",
                 f"{host}:{self.join_port}", "--out",
                 str(self.out), "--ledger", str(self.ledger), "--threads", str(threads), *self.trust("server", "server"),
                 *self.sets(), *more]
        if operators:
            words += ["--operator", f"{host}:{self.operator_port}"]
        server.start(words + (["--resume"] if resume else []), self.environment)
        ports = server.wait_for(r"nodes join at port (\d+)(?:, aggregators at port (\d+))?")
        self.join_port, self.operator_port = int(ports[1]), int(ports[2] or 0)
        return server

    def serve_again(self, *more: str, operators: bool = True) -> Process:
        return self.serve(*more, resume=True, operators=operators)

    def aggregate(self, name: str, *more: str) -> Process:
        process = self.process(name)
        process.start([*self.prefix_of(name), self.furlong, "aggregate", "--server",
                       f"{self.host_of('server')}:{self.operator_way_in or self.operator_port}",
                       "--listen", f"{self.host_of(name)}:0", "--name", name, "--threads", "1", *more,
                       *self.trust("aggregator", name)], self.environment)
        return process

    def join(self, number: int, first: int | None = None, last: int | None = None, *more: str) -> Process:
        """Node `number` of four with 50 clients each, or with other clients."""
        first = number * 50 if first is None else first
        last = number * 50 + 49 if last is None else last
        name = f"node{number}"
        process = self.process(name)
        data = ["--data", str(self.data)] if self.data else []
        process.start([*self.prefix_of(name), self.command_of(name), "join", "--server",
                       f"{self.host_of('server')}:{self.way_in or self.join_port}", "--clients", f"{first}-{last}",
                       "--store", str(self.store(number)), "--log-level", "debug", *data, *more,
                       *self.trust("node", name, f"{first}-{last}")], self.environment)
        return process

    def join_as_operator(self, number: int) -> Process:
        """The same at the operator port, with a certificate of the operator that names no clients."""
        name = f"node{number}"
        process = self.process(name)
        process.start([self.furlong, "join", "--server", f"127.0.0.1:{self.operator_port}", "--clients",
                       f"{number * 50}-{number * 50 + 49}", "--operator-trust", "--store", str(self.store(number)),
                       "--log-level", "debug", *self.trust("aggregator", f"lab{number}")], self.environment)
        return process

    def store(self, number: int) -> Path:
        return self.folder / f"store{number}"

    def start(self, aggregators: int = 2, nodes: int = 4, *more: str) -> None:
        """Server, aggregators and nodes; the run begins once the nodes are there."""
        self.serve(*more, operators=aggregators > 0)
        agents = [self.aggregate(f"aggregator{i}") for i in range(aggregators)]
        for one in agents:
            one.wait_for("accepted this aggregator")
        for i in range(nodes):
            self.join(i)

    # ---- what came of it ---------------------------------------------------------------------------------------------

    def log(self) -> str:
        """Of the server, all lives."""
        path = self.out / "log.txt"
        return path.read_text(errors="replace") if path.exists() else ""

    def lines(self, file: Path) -> list[dict]:
        """The whole lines of a file of JSON lines."""
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text().split("\n")[:-1]]

    def version(self) -> int:
        """Versions made so far."""
        if not self.ledger.exists():
            return 0
        with self.ledger.open("rb") as ledger:  # its end: it can be long
            ledger.seek(max(0, ledger.seek(0, os.SEEK_END) - (1 << 18)))
            whole = ledger.read().rpartition(b"\n")[0].rpartition(b"\n")[2]
        last = json.loads(whole) if whole else {}
        return last.get("version", last.get("from", 0))

    def wait_for_version(self, version: int) -> None:
        server = self.processes["server"]
        wait_until(f"version {version}", lambda: self.version() >= version or not server.running)

    def summary(self) -> dict:
        return json.loads((self.out / "summary.json").read_text())

    def end(self) -> dict:
        """Waits for the end of the run, and of every process; the summary."""
        code = self.processes["server"].wait(PATIENCE * 2)
        assert code == DONE, f"the server ended with {code}"
        for one in self.processes.values():
            if one.name.startswith("aggregator"):
                assert self.settle(one) in (DONE, INTERRUPTED, -signal.SIGKILL), f"{one.name} failed"
            elif one.running:
                code = one.wait()
                assert code == DONE, f"{one.name} ended with {code}"
        return self.summary()

    def settle(self, aggregator: Process) -> int:
        """Its exit code. One that was on its way back when the run ended waits for the server: it is told to stop."""
        try:
            return aggregator.wait(2)
        except AssertionError:
            aggregator.terminate()
            return aggregator.wait()

    def finish(self, rounds: int = 5, start: float = 1.0) -> dict:
        """Ends a run that would last too long: stops the server and lets it make `rounds` more, once this share of the
        clients is there again. (Whoever is not there when the run ends is not told, and waits for the server.)"""
        server = self.processes["server"]
        server.terminate()
        code = server.wait()
        assert code == INTERRUPTED, f"the server ended with {code} when it was asked to stop"
        self.settings |= {"scenario.rounds": self.version() + rounds, "network.start": start}
        self.serve_again(operators=self.operator_port > 0)
        return self.end()

    def sound(self, number: int) -> bool:
        return self.run("store", "verify", self.store(number), expect=None).returncode == DONE


# ---- the books -------------------------------------------------------------------------------------------------------

def accounted(counts: dict) -> int:
    """Sum of what became of tasks, in summary.json's keys or in those of a line of metrics.jsonl."""
    def total(value):
        return sum(value.values()) if isinstance(value, dict) else value
    return sum(total(counts.get(key, 0)) for key in
               ("folded", "rejected", "late", "surplus", "dropped", "abandoned", "in_flight"))


def unbalanced_rounds(metrics: list[dict]) -> list[int]:
    """Rounds after which a task is not accounted for: those in flight before a round and those given out in it have
    ended in it or are in flight after it."""
    wrong, before = [], 0
    for line in metrics:
        if before + line["selected"] != accounted(line):
            wrong.append(line["round"])
        before = line["in_flight"]
    return wrong


def folded_tasks(ledger: list[dict]) -> list[tuple[int, int, int, int]]:
    """(version that took it in, base version, client, attempt) of the run's last word: what a life wrote that a resumed
    server did not know of is void."""
    valid: list[dict] = []
    for line in ledger:
        if "from" in line:
            valid = [one for one in valid if one["version"] <= line["from"]]
        else:
            valid.append(line)
    assert [one["version"] for one in valid] == list(range(1, len(valid) + 1)), "versions are missing in the ledger"
    return [(one["version"], *task) for one in valid for task in one["folded"]]


def twice(tasks: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """(base version, client) pairs that were folded more than once."""
    seen, again = set(), []
    for _, base, client, _ in tasks:
        if (base, client) in seen:
            again.append((base, client))
        seen.add((base, client))
    return again


def acknowledged(log: str) -> set[tuple[int, int, int]]:
    """(base version, client, attempt) that a node was told are durable."""
    return {tuple(map(int, found)) for found in
            re.findall(r"version (\d+) client (\d+) attempt (\d+): durable", log)}
