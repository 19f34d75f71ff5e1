#!/usr/bin/env python3
"""No key of training chooses which examples and clients an evaluation scores.

usage: scored_examples_test.py FURLONG
"""
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FURLONG = ""
# Of 12 ratings 9 are for training, or all of a user who is held out: an odd number of batches of 4, one of 64.
RATINGS = """
[data]
source = "synthetic-ratings"
users = 40
items = 25
ratings_per_user = 12
split = [0.8, 0.1, 0.1]
unseen_users = {validation = 0.1, test = 0.2}
[model]
kind = "matrix-factorization"
rank = 2
"""
LOGISTIC = RATINGS.replace("split =", "binarize = 4\nsplit =").replace(
    'kind = "matrix-factorization"\nrank = 2', 'kind = "logistic-regression"\nuser_bias = true')
TEXTS = """
[data]
source = "synthetic-texts"
users = 20
texts_per_user = 7
classes = 3
words = 20
length = 5
split = [0.6, 0.2, 0.2]
unseen_users = {validation = 0.1, test = 0.2}
[model]
kind = "doc-classifier"
user_embedding = 2
"""
WORDS = TEXTS.replace("classes =", 'task = "next-word"\nbuckets = 5\nclasses =').replace(
    'kind = "doc-classifier"\nuser_embedding = 2', 'kind = "lstm-nwp"\nembedding = 4\nhidden = 4\nprojection = 4')
BOOK = """
[data]
source = "text"
path = "FOLDER/book"
clients = 6
held_out_clients = 3
[model]
kind = "gru-lm"
embedding = 4
hidden = 4
"""
PYTHON = """
[data]
source = "python"
[python]
problem = "PROBLEM"
interpreter = "INTERPRETER"
[model]
kind = "python"
"""
EXAMPLE = PYTHON.replace("PROBLEM", f"{ROOT}/python/examples/logistic.py:Logistic")
PARTS = PYTHON.replace("PROBLEM", "FOLDER/parts.py:Parts")
COLD = "\n[private]\ncold_start = 'reconstruct'\n"
CLASS = '''
import furlong

class Parts(furlong.Problem):
    """A mean and an offset of each client; of the unseen ones two have parts, one without a train part."""
    def clients(self):
        made = [furlong.Client(f"c{i}", 9, 2, 3) for i in range(6)]
        return made + [furlong.Client("validated", 7, 4, 1, "validation"), furlong.Client("halved", 9, 0, 0, "test"),
                       furlong.Client("tested", 6, 1, 5, "test"), furlong.Client("cold", 0, 0, 4, "test")]
    def parameters(self, seed):
        return {"mean": [0.0], "own": [0.0]}
    def gradient(self, step):
        miss = self.misses(step)
        slope = 2 * sum(miss) / len(miss)
        for name in step.gradients:
            step.gradients[name][...] = slope
        return sum(m * m for m in miss) / len(miss)
    def evaluate(self, step):
        return {"loss": (sum(m * m for m in self.misses(step)), len(step.examples))}
    def misses(self, step):
        guess = step.parameters["mean"][0] + step.parameters["own"][0]
        return [guess - (step.client + 0.1 * int(i)) for i in step.examples]
    def predict(self, step):
        return [[step.client, step.part, int(i)] for i in step.examples]
'''
# name -> (tables of data and model, algorithm, private tensors, further tables)
SCENARIOS = {
    "fedavg": (RATINGS, "fedavg", [], ""),
    "fedsgd": (RATINGS, "fedsgd", [], ""),
    "furl": (RATINGS, "furl", ["user"], ""),
    "furl-cold": (RATINGS, "furl", ["user"], COLD),
    "fedrecon": (RATINGS, "fedrecon", ["user"], ""),
    "fine-tuned": (RATINGS, "fedavg", [], "\n[evaluation]\nreconstruct = ['*']\n"),
    "halved": (RATINGS, "fedavg", [], "\n[evaluation]\nsplit = true\n"),
    "fedrep": (RATINGS, "fedrep", ["user"], ""),
    "fedbabu": (RATINGS, "fedbabu", ["user"], ""),
    "ditto": (RATINGS, "ditto", [], ""),
    "scaffold": (RATINGS, "scaffold", ["user"], COLD),
    "centralized": (RATINGS, "centralized", [], ""),
    "logistic-fedavg": (LOGISTIC, "fedavg", [], ""),
    "logistic-fedrecon": (LOGISTIC, "fedrecon", ["user_bias"], ""),
    "texts-fedavg": (TEXTS, "fedavg", [], ""),
    "texts-furl": (TEXTS, "furl", ["user"], COLD),
    "words-fedavg": (WORDS, "fedavg", [], ""),
    "words-fedrecon": (WORDS, "fedrecon", ["oov_embedding"], ""),
    "book-fedavg": (BOOK, "fedavg", [], ""),
    "python-fedavg": (EXAMPLE, "fedavg", [], ""),
    "python-fedrecon": (EXAMPLE, "fedrecon", ["own_bias"], ""),
    "parts-fedavg": (PARTS, "fedavg", [], ""),
    "parts-fedrecon": (PARTS, "fedrecon", ["own"], ""),
}
# Values of [algorithm] client.
TRAINING = ({}, {"batch_size": 1, "lr": 0.01, "epochs": 3}, {"batch_size": 64, "max_steps": 1, "shuffle": "true"})


class ScoredExamples(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="furlong-scored-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "parts.py").write_text(CLASS)
        (self.folder / "book").mkdir()
        for part, lines in (("train", 30), ("valid", 8), ("test", 11)):
            text = "".join(f"w{i % 7} w{i % 5} w{i % 3}\n" for i in range(lines))
            (self.folder / f"book/a.{part}.txt").write_text(text)

    def furlong(self, *words) -> None:
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
        done = subprocess.run([FURLONG, *map(str, words)], capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")

    def scored(self, name: str, number: int) -> dict:
        """What a run of the scenario with the values of TRAINING scored."""
        tables, kind, private, more = SCENARIOS[name]
        client = {"lr": 0.05, "batch_size": 4, **TRAINING[number]}
        if kind == "fedsgd":
            del client["batch_size"]
            client.pop("epochs", None)
        settings = ", ".join(f"{key} = {value}" for key, value in client.items())
        text = tables.replace("FOLDER", str(self.folder)).replace("INTERPRETER", sys.executable)
        text += f"private = {json.dumps(private)}\n[algorithm]\nkind = \"{kind}\"\nclient = {{{settings}}}\n"
        if kind == "fedrecon":
            text += "reconstruction = {split = false}\n"  # whose halves need two batches, in training
        if kind != "centralized":
            text += "[participation]\nper_round = 3\n"
        scenario = self.folder / f"{name}-{number}.toml"
        scenario.write_text(f'[scenario]\nname = "{name}"\nseed = 3\nrounds = 2\n' + text + more)
        run = self.folder / f"{name}-{number}"
        self.furlong("run", scenario, "--out", run, "--threads", 1)
        evaluation = json.loads((run / "summary.json").read_text())["eval"]
        counts = {group: (evaluation[group]["clients"], evaluation[group]["examples"])
                  for group in ("validation", "seen", "unseen") if group in evaluation}
        result = {"counts": counts}
        self.furlong("export", run, "--predictions", f"{run}.csv")
        with open(f"{run}.csv", newline="") as table:
            rows = [tuple(row.values())[:4] for row in csv.DictReader(table)]
        tokens = name.split("-")[0] in ("words", "book")  # a row is a text, with the number of its predictions
        scored = Counter()
        for _, group, _, count in rows:
            scored[group] += int(count) if tokens else 1
        result["scored"] = dict(scored)
        result["digest"] = hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()
        return result

    def test_no_key_of_training_chooses_what_is_scored(self):
        work = [(name, number) for name in SCENARIOS for number in range(len(TRAINING))]
        with ThreadPoolExecutor(2) as pool:
            found = dict(zip(work, pool.map(lambda one: self.scored(*one), work)))
        for name in SCENARIOS:
            first = found[name, 0]
            for number in range(1, len(TRAINING)):
                with self.subTest(scenario=name, training=TRAINING[number]):
                    self.assertEqual(found[name, number], first)
            with self.subTest(scenario=name):
                counted = {group: first["counts"][group][1] for group in first["counts"] if group != "validation"}
                self.assertEqual(first["scored"], counted)
        # All examples, or every other one where users are adapted or halves are asked for.
        of = {name: found[name, 0]["counts"]["unseen"] for name in ("fedavg", "furl", "furl-cold", "fedrecon", "halved")}
        self.assertEqual(of["furl"], of["fedavg"])
        self.assertEqual(of["furl-cold"], of["fedrecon"])
        self.assertEqual(of["halved"], of["fedrecon"])
        self.assertEqual((of["fedavg"][0], of["halved"][0]), (8, 8))
        self.assertLessEqual(0, of["fedavg"][1] - 2 * of["halved"][1])
        self.assertLessEqual(of["fedavg"][1] - 2 * of["halved"][1], 8)
        self.assertEqual(found["book-fedavg", 0]["counts"]["unseen"], (3, 11 * 4))
        # The parts of held-out clients: validation 4; of the test 5, 4, and 9 or half of them.
        for name, halved in (("parts-fedavg", 9), ("parts-fedrecon", 4)):
            self.assertEqual(found[name, 0]["counts"]["validation"], (1, 4), name)
            self.assertEqual(found[name, 0]["counts"]["unseen"], (3, 9 + halved), name)


if __name__ == "__main__":
    FURLONG = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
