#!/usr/bin/env python3
"""A server's work for its nodes and aggregators: throughput of the transport against the libraries that it uses, the size
of an update, and a real server to which 100 nodes upload 1 MB each at once.

usage: nodes.py [BUILD_DIR] [--smoke]

Exits 1 if a figure misses its bar.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/processes"))
from federation import Federation  # noqa: E402

MODEL = 1_000_000  # bytes of the shared model: 25,000 items with 9 factors and a bias
FEW, MANY = 10, 100  # nodes, of a client each
SCENARIO = """
[scenario]
name = "nodes"
rounds = 1000000
[data]
source = "synthetic-ratings"
users = NODES
items = 25000
rank = 1
ratings_per_user = 4
unseen_users = {validation = 0, test = 0}
split = [1.0, 0.0, 0.0]
[model]
kind = "matrix-factorization"
rank = 9
item_bias = true
private = ["user"]
[algorithm]
kind = "furl"
client = {lr = 0.05, batch_size = 4}
[participation]
per_round = NODES
[evaluation]
every = 0
[checkpoint]
every = 0
"""
# Ratios of cases that must be reached: (case, metric) -> bar.
BARS = {("gateway", "throughput"): 0.70, ("link-tls", "throughput"): 0.70, ("update-1MB", "encoded_size"): 1 / 1.01}
MOST_FOLD_CPU = 0.3  # ms of an update of 1 MB: decoded, validated, aggregated
MOST_MODELS = 64     # in a server's memory in addition to that before the first node
MOST_PER_NODE = 0.3  # models per additional node, while all upload

faulty: list[str] = []


def figure(case: str, metric: str, value: float, unit: str, baseline=None, ratio=None) -> None:
    print(json.dumps({"bench": "nodes", "case": case, "metric": metric, "value": value, "unit": unit,
                      "baseline": baseline, "ratio": ratio}), flush=True)


def run(program: Path, *words) -> dict[tuple[str, str], dict]:
    """Passes on the figures of an executable under this name."""
    done = subprocess.run([str(program), *map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    for one in figures:
        figure(one["case"], one["metric"], one["value"], one["unit"], one["baseline"], one["ratio"])
        bar = BARS.get((one["case"], one["metric"]))
        if bar and one["ratio"] is not None and one["ratio"] < bar:
            faulty.append(f"{one['case']} {one['metric']}: {one['ratio']:.2f} of {one['baseline']}, must be {bar:.2f}")
    return {(one["case"], one["metric"]): one for one in figures}


class Server:
    """The processor time and the memory of a process."""

    def __init__(self, pid: int):
        self.proc = Path(f"/proc/{pid}")

    def cpu(self) -> float:
        fields = (self.proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, which: str) -> int:
        return int(re.search(rf"{which}:\s+(\d+)", (self.proc / "status").read_text())[1]) << 10

    def forget_peak(self) -> None:
        (self.proc / "clear_refs").write_text("5")


def upload(build: Path, nodes: int, rounds: int, tls: float) -> float:
    """Rounds in which all nodes upload at once; models in the server's memory. `tls`: processor ms that bare TLS takes to
    send a MB and to receive it."""
    with Federation(str((build / "furlong").resolve()), scenario=SCENARIO.replace("NODES", str(nodes))) as f:
        f.serve(operators=False)
        server = Server(f.processes["server"].process.pid)
        idle = server.memory("VmRSS")
        server.forget_peak()
        f.process("load").start([str((build / "bench/bench_nodes_load").resolve()), "--pki", str(f.folder / "pki"),
                                 "--server", str(f.join_port), "--nodes", str(nodes)], f.environment)
        f.wait_for_version(2)  # the accumulator is allocated
        cpu, begun, first = server.cpu(), time.monotonic(), f.version()
        for version in range(first + 1, first + rounds + 1):
            f.wait_for_version(version)
        assert f.processes["server"].running and f.processes["load"].running, "the federation fell apart"
        made, used, took = f.version() - first, server.cpu() - cpu, time.monotonic() - begun
        peak = server.memory("VmHWM")
        f.processes["load"].kill()
    updates, case = made * nodes, f"server-{nodes}-nodes"
    figure(case, "updates", updates, "1")
    figure(case, "updates_per_second", round(updates / took, 1), "1/s")
    figure(case, "cpu_per_update", round(1e3 * used / updates, 3), "ms")
    # An update is received and the model sent: one side of TLS each.
    beyond = 1e3 * used / updates - 2 * MODEL / 1e6 * tls / 2
    figure(case, "cpu_per_update_beyond_tls", round(beyond, 3), "ms")
    figure(case, "memory_beyond_idle", round((peak - idle) / 2**20, 1), "MiB")
    models = (peak - idle) / MODEL
    figure(case, "models_in_memory", round(models, 1), "models")
    return models


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?", default=Path(os.environ.get("FURLONG_BUILD", "build/release")))
    parser.add_argument("--smoke", action="store_true", help="a few of everything")
    chosen = parser.parse_args()
    bench, smoke = chosen.build / "bench", chosen.smoke
    transport = run(bench / "bench_nodes_transport", "--frames", 100 if smoke else 1000, "--repetitions", 3 if smoke else 7)
    fold = run(bench / "bench_nodes_load", "--fold", 50 if smoke else 500)
    if fold["update-1MB", "decode_validate_fold_cpu"]["value"] > MOST_FOLD_CPU:
        faulty.append(f"an update of 1 MB costs more than {MOST_FOLD_CPU} ms to decode, validate and fold")
    rounds, tls = 3 if smoke else 20, transport["bare-tls", "cpu_both_sides"]["value"]
    few, many = (upload(chosen.build, nodes, rounds, tls) for nodes in (FEW, MANY))
    each = (many - few) / (MANY - FEW)
    figure("server", "models_per_further_node", round(each, 3), "models")
    if many > MOST_MODELS or each > MOST_PER_NODE:
        faulty.append(f"the server held {many:.0f} models, {each:.2f} for each further node; at most {MOST_MODELS} and "
                      f"{MOST_PER_NODE} may be")
    if faulty:
        print(*faulty, sep="\n", file=sys.stderr)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
