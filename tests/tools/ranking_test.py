#!/usr/bin/env python3
"""Rankings of whole runs on interactions: every figure equals a short numpy version; recommendations of a run.

usage: ranking_test.py FURLONG    exit code 3: numpy is not there
"""
import csv
import io
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
except ImportError:
    print("skipped: needs python3-numpy")
    sys.exit(3)

SCENARIO = """
[scenario]
name = "ranking"
rounds = 4
seed = 5
[data]
source = "interactions"
path = "plays.csv"
user_column = "listener"
item_column = "song"
time_column = "time"
min_interactions = 6
order = "time"
[model]
kind = "matrix-factorization"
loss = "logistic"
rank = 4
init = 0.5
user_table = true
item_bias = true
[algorithm]
kind = "fedavg"
client = {lr = 0.1, batch_size = 8}
[participation]
fraction = 1.0
[evaluation]
top = [1, 3, 10]
reconstruct = []
sampled = 9
exposed = ["song 3", "song, the 7th"]
"""
LEAVE_ONE_OUT = ["data.split_by=leave-one-out"]
SHARES = ["data.split=[0.6,0.2,0.2]"]
NO_VECTORS = ["model.init=0"]  # then scores are the biases of items, some of which are equal
TOP = (1, 3, 10)
SEED, DRAWN = 5, 9
PURPOSES = Path(__file__).parents[2] / "base/random.hpp"
RANKING_CANDIDATES = int(re.search(r"\branking_candidates = (\d+),", PURPOSES.read_text(encoding="utf-8"))[1])


def song(number: int) -> str:
    return "song, the 7th" if number == 7 else f"song {number}"


def write_plays(file: Path) -> None:
    """Listeners with 4 to 20 of 70 songs, in any order, many at the same time, some twice."""
    draws = random.Random(1)
    rows = []
    for listener in range(50):
        for number in draws.sample(range(70), draws.randint(4, 20)):
            rows.append([draws.randint(1, 12), song(number), f"l{listener}"])
    rows += rows[:5]
    draws.shuffle(rows)
    with file.open("w", encoding="utf-8-sig", newline="") as out:
        csv.writer(out).writerows([["time", "song", "listener"], *rows])


def kept_songs(file: Path) -> list:
    """The ids of all items, by number: of listeners with at least 6 songs, by bytes."""
    songs = {}
    with file.open(encoding="utf-8-sig", newline="") as rows:
        for row in csv.DictReader(rows):
            songs.setdefault(row["listener"], set()).add(row["song"])
    return sorted(set().union(*(own for own in songs.values() if len(own) >= 6)))


class Stream:
    """base/random.hpp: Philox 4x32-10."""

    def __init__(self, seed: int, purpose: int, client: int) -> None:
        self.key, self.counter, self.words = (seed & 0xFFFFFFFF, seed >> 32), [0, purpose, 0, client], []

    def word(self) -> int:
        if not self.words:
            x, (k0, k1) = list(self.counter), self.key
            for _ in range(10):
                a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
                x = [b >> 32 ^ x[1] ^ k0, b & 0xFFFFFFFF, a >> 32 ^ x[3] ^ k1, a & 0xFFFFFFFF]
                k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
            self.words = x
            self.counter[0] += 1
        return self.words.pop(0)

    def below(self, bound: int) -> int:
        product = self.word() * bound
        while product & 0xFFFFFFFF < bound and product & 0xFFFFFFFF < (1 << 32) % bound:
            product = self.word() * bound
        return product >> 32


def draw_candidates(client: int, never: list, items: int, validation: bool) -> list:
    each = min(DRAWN, len(never) // 2)
    stream = Stream(SEED, RANKING_CANDIDATES, client)
    if len(never) // 4 < each or items // 4 > len(never):
        drawn = list(never)
        for i in range(2 * each):
            j = i + stream.below(len(never) - i)
            drawn[i], drawn[j] = drawn[j], drawn[i]
        drawn = drawn[:2 * each]
    else:
        drawn = []
        while len(drawn) < 2 * each:
            item = stream.below(items)
            if item in never and item not in drawn:
                drawn.append(item)
    return drawn[each:] if validation else drawn[:each]


def one_figure_set(held_out, others, many: bool) -> dict:
    """Of one client, by the scores of its held-out items and of the other candidates; tied scores only with one."""
    figures = {}
    if len(held_out) == 1:
        higher, same = int((others > held_out[0]).sum()), int((others == held_out[0]).sum())
        orders = [[higher + 1 + i] for i in range(same + 1)]
    else:
        orders = [sorted(1 + int((numpy.append(others, held_out) > score).sum()) for score in held_out)]
        assert len(set(orders[0])) == len(held_out), "held-out items are tied"
    mean = lambda of: float(numpy.mean([of(ranks) for ranks in orders]))
    figures["mrr"] = mean(lambda ranks: 1 / ranks[0])
    for k in TOP:
        inside = lambda ranks, k=k: [rank for rank in ranks if rank <= k]
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(held_out)) + 1))
        figures[f"hr_{k}"] = mean(lambda ranks: float(bool(inside(ranks))))
        figures[f"ndcg_{k}"] = mean(lambda ranks: sum(1 / math.log2(rank + 1) for rank in inside(ranks))) / ideal
        if many:
            figures[f"recall_{k}"] = mean(lambda ranks: len(inside(ranks)) / len(ranks))
            figures[f"precision_{k}"] = mean(lambda ranks: len(inside(ranks)) / k)
            figures[f"map_{k}"] = mean(
                lambda ranks: sum((n + 1) / rank for n, rank in enumerate(inside(ranks))) / min(k, len(ranks)))
    return figures


class Furlong:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder

    def __call__(self, *words) -> str:
        ran = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                             env={"FURLONG_DATA": str(self.folder), "PATH": ""}, check=False)
        assert ran.returncode == 0, f"{words}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout


class Run:
    """A run, with the scores of all items for each client and the clients' own items."""

    def __init__(self, furlong: Furlong, name: str, *settings: str) -> None:
        self.path = furlong.folder / name
        furlong("run", "ranking.toml", "--out", name, *(word for value in settings for word in ("--set", value)))
        furlong("export", name, "--model", f"{name}.npz", "--split", f"{name}.csv")
        model = {key: value.astype(float) for key, value in numpy.load(furlong.folder / f"{name}.npz").items()}
        self.scores = model["user"] @ model["item"].T + model["item_bias"].ravel()
        self.own = {}
        with (furlong.folder / f"{name}.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                self.own.setdefault((int(row["client"]), row["part"]), []).append(int(row["item"]))
        self.eval = json.loads((self.path / "summary.json").read_text(encoding="utf-8"))["eval"]

    def items(self, client: int, *parts: str) -> set:
        return {item for part in parts for item in self.own.get((client, part), [])}


def numpy_figures(run: Run, group: str, exposed: list, many: bool) -> tuple:
    """The figures of a group and their standard errors."""
    asked = "test" if group == "seen" else "validation"
    items = run.scores.shape[1]
    rows, losses, held_out_items, places, shown = [], 0.0, 0, {k: [] for k in TOP}, {k: set() for k in TOP}
    for client in range(run.scores.shape[0]):
        held_out = run.own.get((client, asked), [])
        if not held_out:
            continue
        known = run.items(client, "train", *(["validation"] if asked == "test" else []))
        score = run.scores[client]
        every = [item for item in range(items) if item not in known and item not in held_out]
        never = [item for item in range(items) if item not in run.items(client, "train", "validation", "test")]
        drawn = draw_candidates(client, never, items, asked == "validation")
        row = {f"full_{name}": value for name, value in one_figure_set(score[held_out], score[every], many).items()}
        row |= {f"sampled_{name}": value for name, value in one_figure_set(score[held_out], score[drawn], many).items()}
        rows.append(row)
        losses += sum(float(numpy.log1p(numpy.exp(score[drawn] - score[item])).mean()) for item in held_out)
        held_out_items += len(held_out)
        listed = sorted(set(range(items)) - known, key=lambda item: (-score[item], item))
        for k in TOP:
            shown[k] |= set(listed[:k])
            for item in set(exposed) - known:
                others = score[[other for other in listed if other != item]]
                higher, same = int((others > score[item]).sum()), int((others == score[item]).sum())
                places[k].append(min(max(k - higher, 0) / (same + 1), 1.0))
    figures = {name: float(numpy.mean([row[name] for row in rows])) for name in rows[0]}
    errors = {name: float(numpy.std([row[name] for row in rows], ddof=1)) / math.sqrt(len(rows)) for name in rows[0]}
    for k in TOP:
        figures[f"coverage_{k}"] = len(shown[k]) / items
        figures[f"exposure_{k}"] = float(numpy.mean(places[k]))
    return figures, errors, losses / held_out_items, len(rows)


def check_run(furlong: Furlong, name: str, settings: list, many: bool) -> Run:
    run = Run(furlong, name, *settings)
    items = kept_songs(furlong.folder / "plays.csv")
    assert len(items) == run.scores.shape[1]
    exposed = [items.index(song(number)) for number in (3, 7)]
    for group in ("validation", "seen"):
        told = run.eval[group]
        figures, errors, loss, clients = numpy_figures(run, group, exposed, many)
        own = {key for key in told if key.startswith(("full_", "sampled_", "coverage_", "exposure_"))}
        assert own == set(figures), f"{name}, {group}: {own ^ set(figures)}"
        for key, value in figures.items():
            assert abs(told[key] - value) <= 1e-9, f"{name}, {group}.{key}: {told[key]}, expected {value}"
        for key, value in errors.items():
            assert abs(told["standard_errors"][key] - value) <= 1e-9, f"{name}, {group}: standard error of {key}"
        assert abs(told["loss"] - loss) < 1e-5 and told["clients"] == clients, f"{name}, {group}: {told['loss']}, {loss}"
    bins = run.eval["seen"]["by_activity"]
    assert 2 <= len(bins) <= 5 and all(a["most"] < b["least"] for a, b in zip(bins, bins[1:])), bins
    assert sum(bin_["clients"] for bin_ in bins) == run.eval["seen"]["clients"]
    mean = sum(bin_["clients"] * bin_["full_mrr"] for bin_ in bins) / run.eval["seen"]["clients"]
    assert abs(mean - run.eval["seen"]["full_mrr"]) < 1e-12
    print(f"{name}: equal")
    return run


def check_recommendations(furlong: Furlong, run: Run) -> None:
    name = run.path.name
    items = kept_songs(furlong.folder / "plays.csv")

    def best(client: int, count: int) -> list:
        left = set(range(run.scores.shape[1])) - run.items(client, "train", "validation")
        return sorted(left, key=lambda item: (-run.scores[client][item], item))[:count]

    told = json.loads(furlong("infer", name, "--client", 3, "--top", 7, "--format", "json"))
    assert told["scale"] == "score" and [one["feature"] for one in told["top"]] == best(3, 7), told
    for one in told["top"]:
        assert abs(one["prediction"] - run.scores[3][one["feature"]]) < 1e-5
    (held_out,) = told["held_out"]["items"]
    assert held_out["feature"] == run.own[3, "test"][0]
    assert held_out["place"] == 1 + best(3, 1000).index(held_out["feature"]), told
    assert "own held-out item: place" in furlong("infer", name, "--client", 3)

    furlong("export", name, "--recommendations", "lists.csv", "--top", 4)
    rows = list(csv.DictReader(io.StringIO((furlong.folder / "lists.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 4 * run.scores.shape[0]
    for client in range(run.scores.shape[0]):
        listed = [row["item"] for row in rows if row["client"] == str(client)]
        assert listed == [items[item] for item in best(client, 4)], (client, listed)
        assert [row["rank"] for row in rows if row["client"] == str(client)] == ["1", "2", "3", "4"]

    (furlong.folder / "questions.csv").write_text('client,item\n3,"song, the 7th"\n4,song 3\n4,no song\n', encoding="utf-8")
    answers = list(csv.DictReader(io.StringIO(furlong("infer", name, "--batch", "questions.csv"))))
    for answer, client, number in zip(answers, (3, 4), (7, 3)):
        assert answer["item"] == song(number)
        assert abs(float(answer["prediction"]) - run.scores[client][items.index(song(number))]) < 1e-5
    assert answers[2]["item"] == "no song" and answers[2]["prediction"] == ""
    (furlong.folder / "questions.csv").write_text("client\n5\n", encoding="utf-8")
    answers = list(csv.DictReader(io.StringIO(furlong("infer", name, "--batch", "questions.csv", "--top", 3))))
    assert [answer["item"] for answer in answers] == [items[item] for item in best(5, 3)]

    (furlong.folder / "own.csv").write_text("song 3\nsong, the 7th\nno song\n", encoding="utf-8")
    told = json.loads(furlong("infer", name, "--ratings", "own.csv", "--top", 1000, "--format", "json"))
    assert told["known"] == 2 and told["unknown_items"] == ["no song"]
    names = [one["name"] for one in told["top"]]
    assert "song 3" not in names and "song, the 7th" not in names and len(names) == run.scores.shape[1] - 2
    print(f"{name}: recommendations are those of the scores")


def main(program: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        furlong = Furlong(program, Path(folder))
        write_plays(furlong.folder / "plays.csv")
        (furlong.folder / "ranking.toml").write_text(SCENARIO, encoding="utf-8")
        run = check_run(furlong, "one", LEAVE_ONE_OUT, False)
        check_recommendations(furlong, run)
        check_run(furlong, "tied", LEAVE_ONE_OUT + NO_VECTORS, False)
        check_run(furlong, "many", SHARES, True)
        other = Run(furlong, "other", *LEAVE_ONE_OUT, "scenario.rounds=8")
        table = furlong("compare", "one", "other", "--metric", "eval.seen.full_ndcg_10", "--format", "csv")
        assert "full_ndcg_10" in table and other.eval["seen"]["full_ndcg_10"] != run.eval["seen"]["full_ndcg_10"]
        furlong("validate", "ranking.toml", "--set", "data.split_by=leave-one-out", "--set", "evaluation.every=1", "--set",
                "evaluation.select=best", "--set", "evaluation.metric=full_ndcg_10")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
