#!/usr/bin/env python3
"""docs/models.md: one prediction of each model, computed in numpy from exported weights by the equations there.

usage: models_test.py FURLONG
"""
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

RATINGS = """
source = "synthetic-ratings"
users = 12
items = 20
rank = 2
ratings_per_user = 12
split = [0.6, 0.0, 0.4]
"""
INTERACTIONS = """
source = "synthetic-ratings"
users = 12
items = 20
rank = 2
ratings_per_user = 14
min_ratings = 10
popularity = 0.0
feedback = "implicit"
split = [0.6, 0.0, 0.4]
"""
TEXTS = """
source = "labelled-text"
path = "%s/texts.csv"
tokens = "words"
order = "shuffled"
split = [0.6, 0.0, 0.4]
"""
SCENARIO = """
[scenario]
name = "model"
rounds = 3
[data]%s[model]
%s
[algorithm]
kind = "furl"
client = {lr = 0.2}
[participation]
fraction = 1.0
"""
MODELS = {
    "mf": (RATINGS, 'kind = "matrix-factorization"\nrank = 3\nuser_bias = true\nitem_bias = true\nmean = true\n'
                    'private = ["user", "user_bias"]'),
    "pairs": (INTERACTIONS, 'kind = "matrix-factorization"\nrank = 3\nitem_bias = true\nloss = "bpr"\nprivate = ["user"]'),
    "score": (INTERACTIONS, 'kind = "score-function"\nrank = 3\nown_items = true\n'
                            'private = ["score", "score_bias", "own_item"]'),
    "ncf": (INTERACTIONS, 'kind = "neural-cf"\nrank = 3\nwidths = [4, 2]\nprivate = ["user"]'),
    "logistic": (RATINGS + "binarize = 3\n", 'kind = "logistic-regression"\nuser_bias = true\nprivate = ["user_bias"]'),
    "max": (TEXTS, 'kind = "doc-classifier"\nembedding = 5\nhidden = 4\nmlp = 6\nuser_embedding = 3\nuser_init = 0.5\n'
                   'max_length = 4\nprivate = ["user"]'),
    "last": (TEXTS, 'kind = "doc-classifier"\npooling = "last"\nembedding = 5\nhidden = 4\nmlp = 6\nprivate = ["user"]'),
    "gru": (TEXTS + 'task = "next-token"\n', 'kind = "gru-lm"\nembedding = 5\nhidden = 4\nlayers = 2\nprivate = ["output_bias"]'),
    "lstm": (TEXTS + 'task = "next-token"\nvocabulary = 12\nbuckets = 3\n',
             'kind = "lstm-nwp"\nembedding = 5\nhidden = 4\nprojection = 3\nprivate = ["oov_embedding"]'),
}
WORDS = ("now", "then", "red", "blue", "green", "sun", "moon", "cat", "dog", "owl", "fox", "sea", "sky", "run", "fly", "see")


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def gru(w, name, x):
    """h' = (1 - z) n + z h of each step; rows of gates in the order r, z, n."""
    h = numpy.zeros(w[f"{name}_recurrent"].shape[1])
    states = []
    for row in x:
        a = numpy.split(w[f"{name}_input"] @ row + w[f"{name}_bias_input"].ravel(), 3)
        u = numpy.split(w[f"{name}_recurrent"] @ h + w[f"{name}_bias_recurrent"].ravel(), 3)
        r, z = sigmoid(a[0] + u[0]), sigmoid(a[1] + u[1])
        h = (1 - z) * numpy.tanh(a[2] + r * u[2]) + z * h
        states.append(h)
    return numpy.array(states)


def lstm(w, name, x):
    """h' = o tanh(c') of each step; rows of gates in the order i, f, g, o."""
    h = c = numpy.zeros(w[f"{name}_recurrent"].shape[1])
    states = []
    for row in x:
        i, f, g, o = numpy.split(w[f"{name}_input"] @ row + w[f"{name}_recurrent"] @ h + w[f"{name}_bias"].ravel(), 4)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
        states.append(h)
    return numpy.array(states)


def softmax(logits):
    e = numpy.exp(logits - logits.max())
    return e / e.sum()


def classify(w, tokens, pooling):
    x = w["embedding"][tokens]
    forward, backward = lstm(w, "forward", x), lstm(w, "backward", x[::-1])[::-1]
    if pooling == "max":
        text = numpy.concatenate([forward.max(0), backward.max(0)])
    else:
        text = numpy.concatenate([forward[-1], backward[0]])
    hidden = numpy.maximum(0, w["hidden"] @ numpy.concatenate([text, w["user"].ravel()]) + w["hidden_bias"].ravel())
    return softmax(w["output"] @ hidden + w["output_bias"].ravel())


def log_likelihood(h, w, targets):
    return sum(numpy.log(softmax(w["output"] @ row + w["output_bias"].ravel())[target]) for row, target in zip(h, targets))


class Run:
    """A run of a model: its exports, and the first scored example of each client, with the client's weights."""

    def __init__(self, furlong, folder, name):
        self.furlong, self.folder, self.name = furlong, folder, name
        data, model = MODELS[name]
        data = data.replace("%s", str(folder))
        (folder / f"{name}.toml").write_text(SCENARIO % (data, model), encoding="utf-8")
        self.command("run", f"{name}.toml", "--out", name)
        self.command("export", name, "--predictions", "p.csv")
        self.rows = self.table("p.csv")
        assert len({row["client"] for row in self.rows}) > 3, self.rows

    def command(self, *words):
        ran = subprocess.run([self.furlong, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{words}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"

    def table(self, file):
        with open(self.folder / file, encoding="utf-8", newline="") as opened:
            return list(csv.DictReader(opened))

    def samples(self):
        for client in sorted({row["client"] for row in self.rows})[:3]:
            self.command("export", self.name, "--model", "m.npz", "--client", client)
            weights = {name: value.astype(float) for name, value in numpy.load(self.folder / "m.npz").items()}
            for row in self.rows:
                if row["client"] == client:
                    yield row, weights

    def tokens(self):
        self.command("export", self.name, "--vocabulary", "v.csv")
        numbers = {row["text"]: int(row["token"]) for row in self.table("v.csv")}
        assert [numbers[name] for name in ("<start>", "<end>", "<unknown>")] == [0, 1, 2]
        return numbers


def ratings(run, biases):
    for row, w in run.samples():
        item = int(row["item"])
        if biases:
            expected = (w["mean"] + w["user_bias"] + w["item_bias"][item]).item() + w["user"].ravel() @ w["item"][item]
        else:
            expected = sigmoid((w["bias"] + w["user_bias"] + w["weight"][item]).item())
        assert abs(float(row["prediction"]) - expected) < 1e-5, (row, expected)


def scores(run, score):
    for row, w in run.samples():
        expected = score(w, int(row["item"]))
        assert abs(float(row["prediction"]) - expected) < 1e-5, (row, expected)


def pair_score(w, item):
    return w["item_bias"][item].item() + w["user"].ravel() @ w["item"][item]


def function_score(w, item):
    return w["score_bias"].item() + w["score"].ravel() @ (w["item"][item] + w["own_item"][item])


def ncf_score(w, item):
    h = numpy.concatenate([w["user"].ravel(), w["item"][item]])
    for layer in ("hidden1", "hidden2"):
        h = numpy.maximum(0, w[layer] @ h + w[f"{layer}_bias"].ravel())
    return (w["output"] @ h + w["output_bias"].ravel()).item()


def classes(run, texts, pooling, most):
    numbers = run.tokens()
    run.command("export", run.name, "--classes", "c.csv")
    names = [row["name"] for row in run.table("c.csv")]
    assert names == ["first", "second", "third"]
    for row, w in run.samples():
        text, label = texts[int(row["row"])]
        tokens = [numbers[word] for word in text.split()]
        assert row["features"] == " ".join(map(str, tokens)) and names[int(row["label"])] == label, (row, text, label)
        expected = classify(w, tokens[:most], pooling)
        said = [float(row[f"probability_{c}"]) for c in range(3)]
        assert numpy.abs(expected - said).max() < 1e-5 and int(row["prediction"]) == expected.argmax(), (row, expected)


def hashed(word):
    number = 0xcbf29ce484222325
    for byte in word.encode():
        number = (number ^ byte) * 0x100000001b3 % 2**64
    return number


def sequences(run, texts, states):
    numbers = run.tokens()
    known = 3 + 12 if run.name == "lstm" else len(numbers)
    unknown = 0
    for row, w in run.samples():
        words = texts[int(row["row"])][0].split()
        inputs = [0, *(numbers.get(word, known + hashed(word) % 3) for word in words)]
        targets = [token if token < known else 2 for token in inputs[1:]] + [1]
        unknown += targets.count(2)
        expected = log_likelihood(states(w, inputs), w, targets)
        assert int(row["predictions"]) == len(targets) == len(words) + 1, row
        assert abs(float(row["log_likelihood"]) - expected) < 1e-4 * len(targets), (row, expected)
    assert (unknown > 0) == (run.name == "lstm")


def gru_states(w, inputs):
    return gru(w, "gru1", gru(w, "gru0", w["embedding"][inputs]))


def lstm_states(w, inputs):
    x = numpy.concatenate([w["embedding"], w["oov_embedding"]])[inputs]
    return lstm(w, "lstm", x) @ w["projection"].T + w["projection_bias"].ravel()


def main():
    furlong = Path(sys.argv[1]).resolve()
    random = numpy.random.default_rng(5)
    texts = [(" ".join(random.choice(WORDS[:16 - i % 4], size=2 + i % 6)), ("first", "second", "third")[i % 3]) for i in range(60)]
    with tempfile.TemporaryDirectory(prefix="furlong-models-") as name:
        folder = Path(name)
        with open(folder / "texts.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("user", "text", "label"), *((f"user {i % 5}", *text) for i, text in enumerate(texts))])
        ratings(Run(furlong, folder, "mf"), True)
        ratings(Run(furlong, folder, "logistic"), False)
        scores(Run(furlong, folder, "pairs"), pair_score)
        scores(Run(furlong, folder, "score"), function_score)
        scores(Run(furlong, folder, "ncf"), ncf_score)
        classes(Run(furlong, folder, "max"), texts, "max", 4)
        classes(Run(furlong, folder, "last"), texts, "last", None)
        sequences(Run(furlong, folder, "gru"), texts, gru_states)
        sequences(Run(furlong, folder, "lstm"), texts, lstm_states)
    return 0


if __name__ == "__main__":
    sys.exit(main())
