#!/usr/bin/env python3
"""furlong infer: ranges, probabilities, drawn texts, names and tables of questions.

usage: infer_test.py FURLONG
"""
import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RATINGS = """
[scenario]
name = "ratings"
rounds = 2
[data]
source = "synthetic-ratings"
users = 30
items = 40
rank = 2
ratings_per_user = 12
rounding = "half"
split = [0.6, 0.2, 0.2]
[model]
kind = "matrix-factorization"
rank = 2
user_bias = true
private = ["user", "user_bias"]
[algorithm]
kind = "furl"
client = {lr = 0.02}
[participation]
per_round = 30
"""
TEXTS = """
[scenario]
name = "texts"
rounds = 20
[data]
source = "synthetic-texts"
task = "%s"
users = 12
words = 40
[model]
%s
[algorithm]
kind = "fedavg"
client = {lr = 0.5, batch_size = 4}
[participation]
per_round = 6
"""
CLASSIFIER = 'kind = "doc-classifier"\nembedding = 8\nhidden = 8\nmlp = 8\nuser_embedding = 0'
LANGUAGE_MODEL = 'kind = "gru-lm"\nembedding = 16\nhidden = 16'


class Furlong:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *words, code=0):
        ran = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert ran.returncode == code, f"{words}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout if code == 0 else ran.stderr

    def run(self, name, scenario, *more):
        (self.folder / f"{name}.toml").write_text(scenario, encoding="utf-8")
        self("run", f"{name}.toml", "--out", name, *more)

    def infer(self, *words):
        return json.loads(self("infer", *words, "--format", "json"))

    def batch(self, run, table, *more, code=0):
        (self.folder / "batch.csv").write_text(table, encoding="utf-8")
        out = self("infer", run, "--batch", "batch.csv", *more, code=code)
        return list(csv.DictReader(io.StringIO(out))) if code == 0 else out


def items(furlong):
    furlong.run("ratings", RATINGS)
    clipped = furlong.infer("ratings", "--client", 3, "--top", 40)
    furlong.run("free", RATINGS.replace('rounding = "half"\n', ""))
    free = furlong.infer("free", "--client", 3, "--top", 40)
    assert clipped["range"] == [1, 5] and "range" not in free and clipped["scale"] == "rating", clipped
    assert all(1 <= one["prediction"] <= 5 for one in clipped["top"])
    assert 0 < clipped["known"] == 40 - len(clipped["top"]), clipped  # what a client has rated is no prediction
    assert min(one["prediction"] for one in free["top"]) < 1, "the model is too good for this test"
    assert furlong.infer("ratings", "--user", "user 3", "--top", 40) == clipped
    assert "--user" in furlong("infer", "ratings", "--user", "nobody", code=2)
    both = furlong.infer("ratings", "--client", 5, "--top", 40)
    wanted = {(3, one["feature"]): one for one in clipped["top"]} | {(5, one["feature"]): one for one in both["top"]}
    table = "item,client\n" + "".join(f"{item},{client}\n" for client, item in reversed(wanted)) + "4000,3\n"
    answers = furlong.batch("ratings", table)
    assert [(int(row["client"]), int(row["item"])) for row in answers[:-1]] == list(reversed(wanted))
    for row in answers[:-1]:
        one = wanted[int(row["client"]), int(row["item"])]
        assert row["name"] == one["name"] and row["user"] == f"user {row['client']}", row
        assert abs(float(row["prediction"]) - one["prediction"]) < 1e-6, (row, one)
    assert answers[-1]["prediction"] == answers[-1]["name"] == "", answers[-1]
    best = furlong.batch("ratings", "user\nuser 5\nuser 3\n", "--top", 4)
    assert [row["item"] for row in best] == [str(one["feature"]) for of in (both, clipped) for one in of["top"][:4]]
    assert [row["rank"] for row in best] == list("12341234")
    for table, place in (("client\n3\n99\n", "batch.csv:3: "), ("client,item\n3,x\n", "batch.csv:2: "), ("a,b\n1,2\n", "batch.csv:1: "),
                         ("client,text\n1,hello\n", "batch.csv:1: ")):
        why = furlong.batch("ratings", table, code=3)
        assert place in why, why
    furlong.run("liked", RATINGS.replace('kind = "matrix-factorization"\nrank = 2\n', 'kind = "logistic-regression"\n')
                .replace('"user", "user_bias"', '"user_bias"').replace("rounding", "binarize = 3\nrounding"))
    liked = furlong.infer("liked", "--client", 3)
    assert liked["scale"] == "probability", liked
    assert all(0.4 < one["prediction"] < 0.6 for one in liked["top"]), liked  # after a few small steps from 0.5


def classes(furlong):
    furlong.run("classes", TEXTS % ("classes", CLASSIFIER))
    said = furlong.infer("classes", "--client", 2, "--text", "w1 w2 w3", "--top", 8)
    chances = [one["probability"] for one in said["classes"]]
    assert abs(sum(chances) - 1) < 1e-5 and chances == sorted(chances, reverse=True) and len(chances) == 8, said
    assert said["classes"][0] == {key: said[key] for key in ("class", "name", "probability")}, said
    assert len(furlong.infer("classes", "--text", "w1", "--top", 3)["classes"]) == 3
    rows = furlong.batch("classes", 'client,text\n2,w1 w2 w3\n,"w4, w5"\n')
    assert (rows[0]["label"], float(rows[0]["probability"])) == (said["name"], said["probability"]), rows
    assert rows[1]["text"] == "w4, w5" and rows[1]["client"] == "", rows
    assert "--temperature" in furlong("infer", "classes", "--text", "w1", "--temperature", 1, code=2)


def words(furlong):
    furlong.run("words", TEXTS % ("next-word", LANGUAGE_MODEL))
    def goes_on(*more):
        return furlong.infer("words", "--text", "w1 w2", "--top", 12, *more)["goes_on"]
    likeliest = goes_on()
    said = furlong.infer("words", "--text", "w1 w2")
    chances = [one["probability"] for one in said["next"]]
    assert chances == sorted(chances, reverse=True) and 0 < sum(chances) <= 1 and said["next"][0]["token"] == likeliest[0], said
    assert goes_on("--temperature", 1e-4) == likeliest
    drawn = [goes_on("--temperature", 1, "--seed", seed) for seed in range(8)]
    assert len({tuple(one) for one in drawn}) > 4 and goes_on("--temperature", 1, "--seed", 3) == drawn[3], drawn
    # Of many draws of one token each, the share is the probability.
    token = said["next"][0]["token"]
    first = [furlong.infer("words", "--text", "w1 w2", "--top", 1, "--temperature", 1, "--seed", seed)["goes_on"] for seed in range(60)]
    share = sum(one == [token] for one in first) / 60
    assert abs(share - chances[0]) < 4 * (chances[0] * (1 - chances[0]) / 60) ** 0.5 + 1 / 60, (share, chances)
    rows = furlong.batch("words", "text\nw1 w2\n", "--top", 12)
    assert rows[0]["goes_on"] == " ".join(likeliest), rows


def main():
    with tempfile.TemporaryDirectory(prefix="furlong-infer-") as folder:
        furlong = Furlong(Path(sys.argv[1]).resolve(), Path(folder))
        for part in (items, classes, words):
            part(furlong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
