#!/usr/bin/env python3
"""Every output for machines is as docs/schemas describes it, and every key described there occurs.

usage: schemas_test.py FURLONG DASHBOARD_SAMPLE SOURCE

Exit code 3, skipped, without the Python module jsonschema.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

try:
    from checker import Checker
except ImportError as why:
    print(f"skipped: {why} (Debian: python3-jsonschema)")
    sys.exit(3)

# Keys of outputs that no quick run has.
NOT_MADE_HERE = {
    "summary: protocol",
    # models in Python
    "summary: code", "summary: code_changed", "summary: arithmetic", "metrics: metrics",
    "summary: parts",                                             # parts of other programs
    "figures: $defs.group.unscored",
    "status: $defs.round.rejected",                               # the sample's last round
    # Python classes
    *(f"infer: $defs.examples.{key}" for key in ("who", "client", "known", "personal", "predictions")),
    *(f"infer: $defs.examples.predictions.items.{key}" for key in ("part", "example", "prediction")),
}

SCENARIO = """
[scenario]
name = "small"
rounds = {rounds}
[data]
source = "synthetic-ratings"
users = 60
items = 30
rank = 2
ratings_per_user = 12
rounding = "half"
split = [0.6, 0.2, 0.2]
unseen_users = {{validation = 0.1, test = 0.1}}
[model]
{model}
[algorithm]
kind = "furl"
client = {{lr = 0.05, batch_size = 4}}
[participation]
per_round = 8
[evaluation]
every = 1
[expect]
"rounds" = {{at_least = 1}}
"""
DEVICES = """
[devices.speed]
ms_per_example = 500
[dropout]
download = 0.1
train = 0.1
upload = 0.1
"""

EVENTS = """
[topology]
aggregators = 1
nodes = 2
[[event]]
at = "round 2"
leave = "3-5"
[[event]]
at = "round 3"
join = "3-5"
[[event]]
at = "round 4"
kill = "node 1"
[[event]]
at = "round 4"
leave = 0.1
erase = true
[[event]]
at = "round 10"
restart = "node 1"
"""
TEXTS = """
[scenario]
name = "texts"
rounds = 2
[data]
source = "synthetic-texts"
task = "{task}"
users = 20
[model]
{model}
[algorithm]
kind = "fedavg"
client = {{lr = 0.1, batch_size = 4}}
[participation]
per_round = 4
"""
NOISY = ("privacy.clip=1.0", "privacy.noise=1.0", "algorithm.aggregation.rule='uniform-mean'")
FACTORS = 'kind = "matrix-factorization"\nrank = 2\nprivate = ["user"]'
LOGISTIC = 'kind = "logistic-regression"\nuser_bias = true\nprivate = ["user_bias"]'
CLASSIFIER = 'kind = "doc-classifier"\nembedding = 4\nhidden = 4\nmlp = 4\nuser_embedding = 2'
LANGUAGE_MODEL = 'kind = "gru-lm"\nembedding = 4\nhidden = 4'


class Furlong:
    """The command, run in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *words, code=0, text=False):
        ran = subprocess.run([self.program, *map(str, words)] + ([] if text else ["--format", "json"]),
                             cwd=self.folder, capture_output=True, text=True, check=False)
        assert ran.returncode == code, f"{words}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout if text else json.loads(ran.stdout)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


def check_run(checker, folder, summary):
    checker.check("summary", summary)
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8")) == summary
    for file in ("metrics", "events", "cohorts"):
        if file == "cohorts" and summary["algorithm"] == "centralized":
            continue
        for line in (folder / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            checker.check(file, json.loads(line))


def runs(furlong, checker):
    """Runs that between them write every key."""
    def run(name, scenario, *settings, code=0):
        words = [word for one in settings for word in ("--set", one)]
        check_run(checker, furlong.folder / name, furlong("run", scenario, "--out", name, *words, code=code))

    furlong.write("small.toml", SCENARIO.format(rounds=3, model=FACTORS))
    furlong.write("devices.toml", SCENARIO.format(rounds=6, model=FACTORS) + DEVICES)
    run("plain", "small.toml", "checkpoint.keep=2", "checkpoint.every=1", "evaluation.select='best'",
        "evaluation.target={metric='seen.rmse', at_most=100}")
    run("devices", "devices.toml", "participation.over_selection=2", "participation.min_reports=8",
        "algorithm.aggregation.rule='fedatt'", "evaluation.attention=true")
    run("refused", "small.toml", "algorithm.aggregation.max_norm=1e-6", code=4)
    furlong.write("regions.csv", "client,group\n" + "".join(f"{c},{'north' if c % 3 else 'south'}\n" for c in range(60)))
    run("grouped", "devices.toml", "evaluation.client_groups='regions.csv'")
    run("attacked", "small.toml", "attack.kind='promote-item'", "attack.target=['3']")
    run("async", "devices.toml", "participation={mode='async', buffer=4, concurrency=12}")
    furlong.write("events.toml", SCENARIO.format(rounds=30, model=FACTORS) + EVENTS)
    run("events", "events.toml")
    run("kept-sums", "small.toml", "algorithm.kind='scaffold'", "model.private=[]")
    run("classes", furlong.write("classes.toml", TEXTS.format(task="classes", model=CLASSIFIER)))
    run("labels", "classes.toml", "data.classes=2")
    run("words", furlong.write("words.toml", TEXTS.format(task="next-word", model=LANGUAGE_MODEL)))
    run("backdoor-classes", "classes.toml", "attack.kind='backdoor'", "attack.trigger=['w1']", "attack.label=1")
    run("backdoor-words", "words.toml", "attack.kind='backdoor'", "attack.trigger=['w1']", "attack.target=['w2']")
    furlong.write("lines.txt", "".join(f"u{i % 4}\tso it goes {i % 3}\n" for i in range(40)))
    run("lines", furlong.write("lines.toml", TEXTS.format(task="", model=LANGUAGE_MODEL).replace(
        'source = "synthetic-texts"\ntask = ""\nusers = 20',
        f'source = "text"\npath = "{furlong.folder / "lines.txt"}"\nuser_column = true\nsplit = [0.6, 0.2, 0.2]')))
    run("noisy", "small.toml", *NOISY, "privacy.target_epsilon=100")
    run("noisy-adaptive", "small.toml", *NOISY, "privacy.clip_quantile=0.5", "privacy.clip_noise=3",
        "privacy.noise_key='secret'")
    run("noisy-clients", "small.toml", *NOISY, "privacy.secure_aggregation=true", "privacy.noise_at='client'")
    run("noisy-tree", "small.toml", *NOISY, "privacy.mechanism='tree'", "privacy.tree_rounds=2",
        "participation.min_separation=2")
    furlong.write("log-odds.toml", SCENARIO.format(rounds=3, model=LOGISTIC))
    run("log-odds", "log-odds.toml", "data.binarize=3",
        "evaluation.groups=['validation', 'seen', 'unseen', 'train']")
    run("interactions", "small.toml", "data.feedback='implicit'", "evaluation.exposed=['3']")
    run("one-place", "small.toml", "algorithm.kind='centralized'", "model.private=[]")


def check_tests(furlong, checker):
    """furlong test, as JSON and as JUnit XML."""
    furlong.write("wrong.toml", SCENARIO.format(rounds=1, model=FACTORS).replace("small", "wrong") + '"seed" = {equals = 3}\n')
    furlong.write("no-data.toml", re.sub(r"(?s)\[data\].*\[model\]", '[data]\nsource = "movielens"\npath = "gone"\n[model]',
                                         SCENARIO.format(rounds=1, model=FACTORS)))
    words = ["test", "small.toml", "wrong.toml", "no-data.toml", "--seed", 2, "--set", "scenario.rounds=1"]
    made = furlong(*words, "--out", "tested", code=1)
    checker.check("test", made)
    assert [one["outcome"] for one in made["scenarios"]] == ["passed", "failed", "no-data"], made
    assert all(one["seed"] == 2 for one in made["scenarios"]), made
    assert (made["failed"], made["not_run"]) == (1, 1), made
    by_name = {one["name"]: one["held"] for one in made["scenarios"][1]["conditions"]}
    assert by_name["seed = {equals = 3.0}"] is False and by_name["accounting"] is True, by_name
    suites = ElementTree.fromstring(furlong(*words, "--out", "tested", "--format", "junit", code=1, text=True))
    assert [suites.get(key) for key in ("failures", "errors", "skipped")] == ["1", "0", "1"], suites.attrib
    assert [one.get("name") for one in suites] == ["small", "wrong", "small"], [one.attrib for one in suites]
    assert len(suites.findall("testsuite/testcase")) == int(suites.get("tests")) == made["held"] + 2
    assert suites.find("testsuite/testcase/failure").get("message").startswith("seed = 2 (equals 3)")
    invalid = ["test", "broken.toml", "small.toml"]
    checker.check("test", furlong(*invalid, code=2))
    suites = ElementTree.fromstring(furlong(*invalid, "--format", "junit", code=2, text=True))
    assert int(suites.get("errors")) == int(suites.get("tests")) > 1, suites.attrib


def commands(furlong, checker, sample):
    """The outputs of all commands but run."""
    def check(name, part, *words, code=0):
        checker.check(name, furlong(*words, code=code), part)

    check("validate", None, "validate", "devices.toml")
    check("validate", None, "validate", "classes.toml")
    check("validate", None, "validate", furlong.write("broken.toml", "[scenario]\nrounds = 0\n"), code=2)
    check("compare", None, "compare", "plain", "devices", "refused", "one-place")
    check("infer", "items", "infer", "plain", "--client", 3)
    check("infer", "items", "infer", "plain", "--ratings", furlong.write("own.csv", "1,5\n2,1\n999,4\n"))
    check("infer", "items", "infer", "interactions", "--client", 3)
    check("infer", "text", "infer", "classes", "--text", "w1 w2")
    check("infer", "text", "infer", "labels", "--text", "w1 w2")
    check("infer", "text", "infer", "words", "--text", "w1 w2", "--client", 1, "--temperature", 1)
    check("sweep", None, "sweep", "small.toml", "--grid", "algorithm.client.lr=0.05,1e30", "--out", "sweep", code=4)
    check("tune", None, "tune", "small.toml", "--grid", "algorithm.client.lr=0.05,1e30", "--out", "tune")
    check("privacy", "account", "privacy", "noisy")
    check("privacy", "account", "privacy", "noisy-clients")
    check("privacy", "account", "privacy", "--noise", 1, "--delta", 1e-5, "--participations", 3)
    check("privacy", "account", "privacy", "--noise", 1, "--delta", 1e-5, "--rate", 0.1, "--rounds", 3, "--cap", 9,
          "--clients", 50)
    audited = ("audit", "small.toml", *(word for one in NOISY for word in ("--set", one)))
    check("audit", None, *audited)
    check("audit", None, *audited, "--canaries", 48, "--claim", 0)
    check("report", None, "report", "plain", "refused", "--out", "both.html")
    check("replay", "replay", "replay", "plain", "--without", 5)
    check("replay", "influence", "replay", "plain", "--without", 5, "--each")
    for action, *client in (("ls",), ("show", 5), ("verify",), ("erase", 5)):
        check("store", action, "store", action, "plain", *(["--client", client[0]] if client else []))
        if action == "show":
            check("store", "show_all", "store", action, "plain")
    check("store", "erase", "store", "erase", "kept-sums", "--client", 5)
    furlong("trace", "generate", "--kind", "markov", "--clients", 5, "--days", 1, "--out", "trace.csv", text=True)
    check("trace-show", None, "trace", "show", "trace.csv")
    furlong("certs", "init", "--out", "pki", text=True)
    furlong("certs", "issue", "--pki", "pki", "--role", "node", "--name", "n", "--clients", "0-4", "--out", "n", text=True)
    furlong("certs", "issue", "--pki", "pki", "--role", "server", "--name", "s", "--out", "s", text=True)
    check("certs-show", None, "certs", "show", "pki")
    check("certs-show", None, "certs", "show", "s")
    check_tests(furlong, checker)
    with subprocess.Popen([sample], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
        address = served.stdout.readline().strip().removeprefix("http://").rstrip("/")
        check("status", None, "status", "--server", address)
        served.stdin.close()


def main():
    furlong_program, sample, source = sys.argv[1:]
    checker = Checker(Path(source) / "docs/schemas")
    faults = list(checker.faults())
    with tempfile.TemporaryDirectory(prefix="furlong-schemas-") as folder:
        furlong = Furlong(Path(furlong_program).resolve(), Path(folder))
        runs(furlong, checker)
        commands(furlong, checker, Path(sample).resolve())
    unseen = set(checker.unseen())
    faults += [f"{key} is described, and no output has it" for key in sorted(unseen - NOT_MADE_HERE)]
    faults += [f"{key} is made here after all" for key in sorted(NOT_MADE_HERE - unseen)]
    print("\n".join(faults) or f"{len(checker.seen)} keys")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
