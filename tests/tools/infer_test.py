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
                         ("client,text\n1,hello\n", "batch.csv:1: "), ("item\n1\n", "batch.csv:1: has no columns to answer")):
        why = furlong.batch("ratings", table, code=3)
        assert place in why, why
    furlong.run("liked", RATINGS.replace('kind = "matrix-factorization"\nrank = 2\n', 'kind = "logistic-regression"\n')
                .replace('"user", "user_bias"', '"user_bias"').replace("rounding", "binarize = 3\nrounding"))
    liked = furlong.infer("liked", "--client", 3)
    assert liked["scale"] == "probability", liked
    assert all(0.4 < one["prediction"] < 0.6 for one in liked["top"]), liked  # after a few small steps from 0.5


def other_range(furlong):
    """Ratings from 1 to 10, and one person's as the training file has them."""
    (furlong.folder / "ratings.csv").write_text("user,item,rating\n" + "".join(
        f"{user},{item},{(4, 6.25, 8.7, 10)[(user + item) % 4]}\n" for user in range(6) for item in range(8)), encoding="utf-8")
    furlong.run("ten", f"""
[scenario]
name = "ten"
rounds = 5
[data]
source = "hosted-ratings"
path = "{furlong.folder}"
users = 6
items = 9
rating_low = 1
rating_high = 10
split = [0.5, 0.0, 0.5]
[model]
kind = "matrix-factorization"
rank = 2
mean = true
initial_mean = 9
private = ["user"]
[algorithm]
kind = "furl"
[participation]
per_round = 3
""")
    person = furlong.folder / "person.csv"
    answers = []
    for text in ("0,8\n1,6.25\n", "item,rating\n0,8\n1,6.25\n", "\ufeffuser,item,rating\n7,0,8\n7,1,6.25\n"):
        person.write_text(text, encoding="utf-8")
        answers.append(furlong.infer("ten", "--ratings", person, "--top", 2))
    assert answers[0] == answers[1] == answers[2] and answers[0]["range"] == [1, 10], answers
    assert answers[0]["known"] == 2 and answers[0]["top"][0]["prediction"] > 5, answers[0]
    person.write_text("0,11\n", encoding="utf-8")
    assert "the rating 11 is not from 1 to 10" in furlong("infer", "ten", "--ratings", person, code=3)
    rows = furlong.batch("ten", "\ufeffuser,item\nuser 1,0\n")  # as Excel saves it
    assert rows[0]["client"] == "1" and rows == furlong.batch("ten", "item,user\n0,user 1\n"), rows


OPINIONS = """
[scenario]
name = "opinions"
rounds = 5
[data]
source = "labelled-text"
path = "%s"
user_column = "%s"
split = [1, 0, 0]
tokens = "words"
[model]
kind = "doc-classifier"
embedding = 4
hidden = 4
mlp = 4
[algorithm]
kind = "furl"
[participation]
per_round = 2
[evaluation]
every = 0
"""


def columns(furlong):
    """Only columns that mean something are taken."""
    for name, column in (("authors", "author"), ("numbers", "client")):
        names = ("ann", "bob \U0001F600", "0")
        (furlong.folder / f"{name}.csv").write_text(f"{column},text,label\n" + "".join(
            f"{user},good day,1\n{user},bad day,0\n" for user in names), encoding="utf-8")
        furlong.run(name, OPINIONS % (furlong.folder / f"{name}.csv", column), "--set", 'model.private=["user"]')
    assert " 6 words" in furlong("validate", "authors/scenario.toml") and " characters" in furlong("validate", "authors/scenario.toml", "--set", "data.tokens=characters")
    plain = furlong.batch("authors", "client,text\n1,good\n")
    assert list(plain[0]) == ["client", "user", "text", "label", "probability"] and plain[0]["user"] == "bob \U0001F600", plain
    for table in ("\ufeffclient,text\n1,good\n", "author,text\nbob \U0001F600,good\n", "user,text\nbob \U0001F600,good\n",
                  "text,client,user\ngood,1,bob \U0001F600\n", '\ufeff"user","text"\nbob \U0001F600,good\n'):
        assert furlong.batch("authors", table) == plain, table
    rows = furlong.batch("authors", 'text,id,client\ngood,"a,1",1\ngood,,\n')
    assert list(rows[0])[0] == "id" and [row.pop("id") for row in rows] == ["a,1", ""] and rows[0] == plain[0], rows
    assert rows[1]["client"] == "", rows
    for table, reason in (("User,text\nann,good\n", "has a column \"User\", which has no meaning; the columns of questions to this "
                           "run are id, client, user, text, author: rename or remove it"),
                          ("client,text,mood\n0,good,1\n", "has a column \"mood\""), ("client,item\n0,1\n", "has a column \"item\""),
                          ("author,user,text\nann,ann,good\n", "has the columns \"author\" and \"user\", which mean the same"),
                          ("text,text\na,b\n", "has the columns \"text\" and \"text\""), ("client\n0\n", "has no columns to answer")):
        why = furlong.batch("authors", table, code=3)
        assert "batch.csv:1: " in why and reason in why, why
    why = furlong.batch("authors", "client,user,text\n0,ann,good\n1,ann,bad\n", code=3)
    assert "batch.csv:3: names client 1, who is \"bob \U0001F600\", and user \"ann\"" in why, why
    # A column that the data call client has names; a number that is the name of another client is refused.
    named = furlong.batch("numbers", "client,text\nann,good\n1,good\n")
    assert [row["client"] for row in named] == ["0", "1"], named
    assert "is the number of one client and the name of another" in furlong.batch("numbers", "client,text\n0,good\n", code=3)
    assert furlong.batch("numbers", "user,text\n0,good\n")[0]["client"] == "2"


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


def own_texts(furlong):
    """The text says nothing: what its new author wrote before decides."""
    source = furlong.folder / "same.csv"
    source.write_text("user,text,label\n" + "".join(
        f"{user},same words,{label}\n" * 6 for user, label in (("ann", "news"), ("bob", "sport"), ("cid", "news"), ("dan", "sport"))),
        encoding="utf-8")
    furlong.run("same", OPINIONS % (source, "user"), "--set", 'model.private=["user"]', "--set", "scenario.rounds=40", "--set",
                "participation.per_round=4", "--set", "algorithm.client={lr = 0.5, epochs = 2}", "--set",
                "algorithm.reconstruction={lr = 0.5, epochs = 20}")
    own = furlong.folder / "own.csv"
    for label in ("news", "sport"):
        own.write_text(f"\ufefftext,label\nsame words,{label}\nsame words,{label}\n", encoding="utf-8")
        said = furlong.infer("same", "--texts", own, "--text", "same words")
        assert (said["name"], said["known"], said["personal"], said["who"]) == (label, 2, "reconstructed", "somebody new"), said
        assert said["probability"] > 0.8, said
    assert furlong.infer("same", "--text", "same words")["known"] == 0
    for text, reason in (("text,label\na,news\nb,arts\n", 'own.csv:3: the run has no class "arts"'), ("text\na\n", "expected the columns text and label"),
                         ("text,label\n", "has no texts"), ('text,label\n" ",news\n', "own.csv:2: is empty")):
        own.write_text(text, encoding="utf-8")
        why = furlong("infer", "same", "--texts", own, "--text", "same words", code=3)
        assert reason in why, why
    assert "--text" in furlong("infer", "same", "--texts", own, code=2)
    assert "the run's data are not texts" in furlong("infer", "ratings", "--texts", own, "--text", "a", code=2)
    lines = furlong.folder / "own.txt"
    lines.write_text("w1 w2\n\nw3\n", encoding="utf-8")
    assert furlong.infer("words", "--texts", lines, "--text", "w1")["known"] == 2
    # A model that starts from a file knows its probabilities, too.
    furlong("export", "same", "--model", "same.npz")
    furlong.run("again", OPINIONS % (source, "user"), "--set", 'model.private=["user"]', "--set", f"model.start_from={furlong.folder}/same.npz")
    assert len(furlong.infer("again", "--text", "same words")["classes"]) == 2


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
        for part in (items, other_range, columns, classes, words, own_texts):
            part(furlong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
