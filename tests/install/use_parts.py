#!/usr/bin/env python3
"""Per-FedAvg, IFCA, FedProto and Oort, registered from outside, in every command, in federations over TLS, with secure
aggregation, and stopped and killed, on two groups of clients whose labels contradict each other; and, on ratings, in
infer and store.

usage: use_parts.py FURLONG
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "processes"))
from federation import Federation  # noqa: E402

furlong = sys.argv[1]
CLIENTS, FEATURES, EXAMPLES = 200, 6, 30
SCENARIO = """
[scenario]
name = "clusters"
seed = 5
rounds = 30
[data]
source = "leaf"
task = "vectors"
path = "leaf"
split = [0.7, 0.0, 0.3]
[model]
kind = "{model}"
[algorithm]
kind = "{kind}"
client = {{lr = 0.3, batch_size = 10}}
{options}
[participation]
per_round = 40
policy = "oort"
exploration = 0.8
seconds = 0.4
[evaluation]
every = 10
[checkpoint]
every = 1
"""
OPTIONS = {"per-fedavg": "[algorithm.per-fedavg]\nalpha = 0.5", "ifca": "[algorithm.ifca]\nclusters = 2"}
KEPT = {"per-fedavg": ["personal/weight", "personal/bias"],
        "ifca": ["cluster/number"],
        "fedproto": ["own/hidden", "own/output", "own/output_bias"]}
KEPT_OF_RATINGS = {"per-fedavg": ["personal/user", "personal/item", "personal/item_bias", "personal/mean"],
                   "ifca": ["cluster/number"]}
MODELS = {"fedproto": "perceptron"}  # it needs features
# infer recommends items, of which vectors are none.
RATINGS = """
[scenario]
name = "ratings"
seed = 5
rounds = 12
[data]
source = "synthetic-ratings"
users = 60
items = 40
rank = 2
ratings_per_user = 20
split = [0.8, 0.0, 0.2]
[model]
kind = "matrix-factorization"
rank = 3
item_bias = true
mean = true
initial_mean = 3.5
[algorithm]
kind = "{kind}"
client = {{lr = 0.05, batch_size = 4}}
{options}
[participation]
per_round = 10
policy = "oort"
[evaluation]
every = 12
"""
SECURE = {"privacy.secure_aggregation": "true", "algorithm.aggregation.rule": '"uniform-mean"'}


def call(*words, expect: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([furlong, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def write_data(file: Path) -> None:
    draws = random.Random(7)
    users = [f"u{number:03}" for number in range(CLIENTS)]
    data = {}
    for number, user in enumerate(users):
        x = [[round(draws.gauss(0, 1), 3) for _ in range(FEATURES)] for _ in range(EXAMPLES)]
        side = 1 if number % 2 else -1
        data[user] = {"x": x, "y": [int(side * (one[0] - one[1] + 0.5 * one[2]) > 0) for one in x]}
    file.write_text(json.dumps({"users": users, "num_samples": [EXAMPLES] * CLIENTS, "user_data": data}))


def settings_of(more: dict) -> list:
    return [word for key, value in more.items() for word in ("--set", f"{key}={value}")]


class Use:
    """One algorithm with the policy."""

    def __init__(self, work: Path, kind: str) -> None:
        self.work, self.kind = work / kind, kind
        self.work.mkdir()
        self.scenario = self.work / "scenario.toml"
        self.scenario.write_text(SCENARIO.format(kind=kind, options=OPTIONS.get(kind, ""),
                                                 model=MODELS.get(kind, "logistic-regression")))

    def run(self, out: str, *more) -> dict:
        call("run", self.scenario, "--out", self.work / out, *more)
        return json.loads((self.work / out / "summary.json").read_text())

    def same(self, one: dict, other: dict, *more: str) -> None:
        for key in ("model_sha256", "added_sha256", "eval", "folded", *more):
            assert one.get(key) == other.get(key), f"{self.kind}: {key}: {one.get(key)} is not {other.get(key)}"

    def check_shifts(self, always: dict) -> None:
        """A model of availability, which has a version of its own: the run depends on it, and goes on with it alone."""
        chosen = ("--set", "devices.availability.kind=shifts", "--set", "devices.availability.count=4")
        said = call("validate", self.scenario, *chosen, "--set", "devices.availability.counts=3", expect=2).stderr
        assert "did you mean devices.availability.count?" in said, said
        call("check-part", "availability", "shifts")
        whole = self.run("shifts", *chosen)
        assert whole["parts"]["devices.availability.kind=shifts"] == "1", whole["parts"]
        assert any(whole.get(key) != always.get(key) for key in ("model_sha256", "added_sha256"))
        self.run("shifts-part", *chosen, "--set", "scenario.rounds=7")
        self.same(whole, self.run("shifts-part", *chosen, "--resume", "--set", "scenario.rounds=30"))

    def check_commands(self) -> dict:
        call("validate", self.scenario)
        said = call("validate", self.scenario, "--set", "participation.explorations=1", expect=2).stderr
        assert "did you mean participation.exploration?" in said, said
        idle = call("validate", self.scenario, "--set", "participation.policy=uniform")
        assert "participation.seconds has no effect: participation.policy is" in idle.stdout + idle.stderr, idle
        for name in (self.kind, "oort"):
            assert f'"{name}"' in call("reference", name).stdout
        self.check_laws()
        one = self.run("one", "--threads", "1")
        self.same(one, self.run("two", "--threads", "2"), "private_sha256")
        uniform = self.run("uniform", "--set", "participation.policy=uniform")
        assert uniform["model_sha256"] != one["model_sha256"] or uniform["added_sha256"] != one["added_sha256"]
        self.check_shifts(one)
        self.run("part", "--set", "scenario.rounds=7")
        self.same(one, self.run("part", "--resume", "--set", "scenario.rounds=30"), "private_sha256")
        call("sweep", self.scenario, "--out", self.work / "sweep", "--seeds", "1,2", "--set", "scenario.rounds=3")
        call("report", self.work / "one", "--out", self.work / "report.html")
        call("export", self.work / "one", "--clients", self.work / "clients.csv")
        call("replay", self.work / "one", "--without", 3, "--out", self.work / "replayed")
        return one

    def check_store(self, run: Path, kept: list) -> int:
        """What clients kept; the number of one."""
        listed = json.loads(call("store", "ls", run, "--format", "json").stdout)["clients"]
        assert len(listed) == json.loads((run / "summary.json").read_text())["private_clients"] > 0, listed
        call("store", "verify", run)
        client = listed[0]["client"]
        shown = json.loads(call("store", "show", run, "--client", client, "--format", "json").stdout)["tensors"]
        assert sorted(shown) == sorted(f"{self.kind}/{name}" for name in kept), shown
        if self.kind == "ifca":
            assert shown["ifca/cluster/number"] in ([0.0], [1.0]), shown
        else:
            assert any(any(values) for values in shown.values()), shown
        return client

    def check_answers(self, kept: list) -> None:
        """infer by what a client kept and, once that is erased, by its examples alone, as for somebody new."""
        scenario, run = self.work / "ratings.toml", self.work / "ratings"
        scenario.write_text(RATINGS.format(kind=self.kind, options=OPTIONS[self.kind]))
        call("run", scenario, "--out", run)

        def answer(*words) -> dict:
            return json.loads(call("infer", run, *words, "--top", 3, "--format", "json").stdout)

        client = self.check_store(run, kept)
        stored = answer("--client", client)
        assert stored["personal"] == "stored" and len(stored["top"]) == 3, stored
        ratings = self.work / "mine.csv"
        ratings.write_text("".join(f"{item['feature']},3.0\n" for item in stored["top"]))
        somebody = answer("--ratings", ratings)
        without = {"per-fedavg": "fine-tuned", "ifca": "model"}[self.kind]
        assert somebody["personal"] == without and somebody["known"] == 3, somebody
        call("store", "erase", run, "--client", client)
        erased = answer("--client", client)
        assert erased["personal"] == without, erased
        # A stored cluster is mostly the one that is found again; a personal model is of an older round.
        assert self.kind == "ifca" or erased["top"] != stored["top"], erased

    def check_features(self) -> None:
        """Which models have some; they have them too where their first values are from a file."""
        said = call("validate", self.scenario, "--set", "model.kind=logistic-regression", expect=2).stderr
        assert "which needs the features that a linear head predicts from, and logistic-regression does not" in said
        call("export", self.work / "one", "--model", self.work / "one.npz")
        started = self.run("started", "--set", f"model.start_from={self.work / 'one.npz'}")
        assert started["model_sha256"] == json.loads((self.work / "one" / "summary.json").read_text())["model_sha256"]
        plain = self.run("plain", "--set", "algorithm.fedproto.lambda=0")
        assert plain["added_sha256"] != started["added_sha256"], plain
        predictions = self.work / "predictions.csv"
        call("export", self.work / "one", "--predictions", predictions)
        assert len(predictions.read_text().splitlines()) == 1 + CLIENTS * EXAMPLES * 3 // 10, predictions

    def check_laws(self) -> None:
        """In the small scenarios that the command has, and in this one."""
        for kind, name in (("algorithm", self.kind), ("policy", "oort"), ("rule", "sign-majority")):
            for where in ([], [self.scenario]):
                said = call("check-part", kind, name, *where).stdout
                assert f"{kind} {name}: " in said and ", 0 broken, " in said, said
        said = call("check-part", "policy", "orot", expect=2).stderr
        assert "did you mean oort?" in said, said

    def check_kills(self, one: dict) -> None:
        """Killed at three moments and resumed."""
        for number in range(3):
            words = [furlong, "run", str(self.scenario), "--out", str(self.work / "killed")]
            with subprocess.Popen(words + (["--resume"] if number else []), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                time.sleep(0.05 + 0.1 * number)
                process.send_signal(signal.SIGKILL)
        has_begun = (self.work / "killed" / "checkpoint").exists()
        self.same(one, self.run("killed", *(["--resume"] if has_begun else [])), "private_sha256")

    def check_federations(self) -> None:
        """With Oort, who knows no times there, and equal to one process with another policy."""
        for more in ({}, {"participation.policy": "uniform"}, SECURE | {"participation.policy": "uniform"}):
            with Federation(furlong, scenario=self.scenario.read_text(), settings=more) as f:
                f.data = self.work.parent / "leaf"
                f.start(aggregators=1, nodes=4)
                together = f.end()
            if more:
                self.same(together, self.run(f"alone{len(more)}", *settings_of(more)))
            else:
                assert together["rounds"] == 30 and together["folded"] == 30 * 40, together


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        os.environ["FURLONG_DATA"] = folder
        (work / "leaf").mkdir()
        write_data(work / "leaf" / "data.json")
        accuracy = {}
        for kind in ("fedavg", "per-fedavg", "ifca", "fedproto"):
            use = Use(work, kind)
            if kind == "fedavg":
                accuracy[kind] = use.run("one")["eval"]["seen"]["accuracy"]
                continue
            one = use.check_commands()
            use.check_store(use.work / "one", KEPT[kind])
            use.check_kills(one)
            accuracy[kind] = one["eval"]["seen"]["accuracy"]
            use.check_federations()
            if kind in KEPT_OF_RATINGS:
                use.check_answers(KEPT_OF_RATINGS[kind])
            else:
                use.check_features()
        assert accuracy["fedavg"] < 0.55 < 0.65 < accuracy["per-fedavg"] < 0.9 < accuracy["ifca"], accuracy
        assert accuracy["fedproto"] > 0.65, accuracy


if __name__ == "__main__":
    main()
