#!/usr/bin/env python3
"""furlong export --clients and --cohorts: the rows add up to the summary, and to each other.

usage: clients_test.py FURLONG
"""
import collections
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = """
[scenario]
name = "clients"
rounds = 12
[data]
source = "synthetic-ratings"
users = 120
items = 40
rank = 2
ratings_per_user = 15
split = [0.6, 0.2, 0.2]
unseen_users = {validation = 0.1, test = 0.2}
[model]
kind = "matrix-factorization"
rank = 2
private = ["user"]
[algorithm]
kind = "furl"
client = {lr = 0.05}
[participation]
per_round = 10
[devices]
availability = {kind = "markov", rate = 0.6, mean_online = 2, step = 1}
correlation = {speed_availability = 0.8, speed_taste = 0.4, availability_taste = 0.4}
[devices.speed]
ms_per_example = 20
[dropout]
upload = 0.2
"""

TEN_CLIENTS = """
[data]
source = "synthetic-ratings"
users = 10
items = 40
ratings_per_user = 12
[model]
kind = "matrix-factorization"
rank = 2
[algorithm]
kind = "fedavg"
"""

DAY = 86400
# A round a day of clients that are available in the first six hours of each day: 48 instants over 48 days see every
# client at the same hour.
DAYS = """
[scenario]
name = "days"
rounds = 48
""" + TEN_CLIENTS + """
[participation]
per_round = 10
reconnect = [86400, 86400]
[devices]
availability = "days.csv"
"""

# What both engines run.
PLAIN = """
[scenario]
name = "plain"
rounds = 12
clock = "real"
""" + TEN_CLIENTS + """
[participation]
per_round = 4
"""


def availability(command, folder):
    """The share of the time, exactly."""
    (folder / "days.toml").write_text(DAYS, encoding="utf-8")
    (folder / "days.csv").write_text(f"# length = {DAY}\n# clients = 10\n" + "".join(
        f"{client},0,{DAY // 4}\n" for client in range(10)), encoding="utf-8")
    command("run", "days.toml", "--out", "days")
    command("export", "days", "--clients", "days-clients.csv")
    end = json.loads((folder / "days/summary.json").read_text(encoding="utf-8"))["virtual_seconds"]
    assert end > 40 * DAY, end
    share = (end // DAY * DAY / 4 + min(end % DAY, DAY / 4)) / end
    with open(folder / "days-clients.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert abs(float(row["availability"]) - share) < 1e-3, (row, share)


def read_table(file):
    with open(file, encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def check_cohorts(command, folder, run):
    """Each task has a row, and the rows of each round and of each client are what metrics.jsonl and --clients count."""
    command("export", run, "--cohorts", f"{run}-cohorts.csv", "--clients", f"{run}-clients.csv")
    tasks = [(int(row["round"]), int(row["client"]), int(row["aggregated"] or 0))
             for row in read_table(folder / f"{run}-cohorts.csv")]
    summary = json.loads((folder / run / "summary.json").read_text(encoding="utf-8"))
    assert len(tasks) == summary["selected"] > 0, (run, len(tasks))
    assert tasks == sorted(tasks, key=lambda task: task[0]), run
    for line in map(json.loads, (folder / run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()):
        begun = [client for round, client, _ in tasks if round == line["round"]]
        ended = [round for round, _, aggregated in tasks if aggregated == line["round"]]
        assert (len(begun), len(ended)) == (line["selected"], line["folded"]), (run, line)
        late = collections.Counter(line["round"] - round for round in ended)
        staleness = line.get("staleness", [])
        assert staleness == [late[i] for i in range(len(staleness))], (run, line)
    for row in read_table(folder / f"{run}-clients.csv"):
        own = [task for task in tasks if task[1] == int(row["client"])]
        taken = [round for round, _, aggregated in own if aggregated]
        found = [len(own), len(taken), max((task[0] for task in own), default=""), max(taken, default="")]
        columns = ("selected", "folded", "last_selected", "last_folded")
        assert [str(one) for one in found] == [row[key] for key in columns], row


def cohorts(furlong, command, folder):
    check_cohorts(command, folder, "run")
    command("run", "clients.toml", "--out", "async", "--set", "participation={mode='async', buffer=4, concurrency=12}")
    check_cohorts(command, folder, "async")
    tables = []
    (folder / "plain.toml").write_text(PLAIN, encoding="utf-8")
    for engine in ("actors", "reference"):
        command("run", "plain.toml", "--out", engine, "--engine", engine)
        command("export", engine, "--cohorts", f"{engine}.csv")
        tables.append((folder / f"{engine}.csv").read_text(encoding="utf-8"))
    assert tables[0] == tables[1] and tables[0].count("\n") == 1 + 12 * 4, tables

    def refused(code, words):
        done = subprocess.run([furlong, "export", "run", "--cohorts", "none.csv"], cwd=folder, capture_output=True,
                              text=True)
        assert done.returncode == code and words in done.stderr, done
    lines = folder / "run/cohorts.jsonl"
    good = lines.read_text(encoding="utf-8")
    for bad in ("{}", '{"round":2,"selected":[1]}', '{"round":2,"selected":[1],"aggregated":[7]}',
                '{"round":2,"selected":[1],"aggregated":[1],"since":[1]}',
                '{"round":2,"selected":[-1],"aggregated":[]}'):
        lines.write_text(f'{{"round":1,"selected":[4],"aggregated":[4]}}\n{bad}\n', encoding="utf-8")
        refused(3, "cohorts.jsonl:2: is no line of this run's cohorts")
    lines.write_text(good + '{"round":13,"sel', encoding="utf-8")  # of a run at work
    command("export", "run", "--cohorts", "torn.csv")
    assert (folder / "torn.csv").read_text(encoding="utf-8") == (folder / "run-cohorts.csv").read_text(encoding="utf-8")
    lines.unlink()
    refused(3, "cohorts.jsonl: does not exist: furlong run writes it, unless the algorithm trains on pooled data")


def main():
    furlong = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="furlong-clients-") as folder:
        def command(*words):
            subprocess.run([furlong, *words], cwd=folder, check=True, capture_output=True)
        (Path(folder) / "clients.toml").write_text(SCENARIO, encoding="utf-8")
        command("run", "clients.toml", "--out", "run")
        command("export", "run", "--clients", "clients.csv", "--split", "split.csv")
        rows = read_table(Path(folder) / "clients.csv")
        train = [row["client"] for row in read_table(Path(folder) / "split.csv")
                 if (row["group"], row["part"]) == ("train", "train")]
        summary = json.loads((Path(folder) / "run/summary.json").read_text(encoding="utf-8"))
        availability(command, Path(folder))
        cohorts(furlong, command, Path(folder))
    assert [int(row["client"]) for row in rows] == list(range(120)) and rows[7]["name"] == "user 7"
    by_role = {role: [row for row in rows if row["role"] == role] for role in ("train", "validation", "test")}
    assert [len(of) for of in by_role.values()] == [84, 12, 24], {role: len(of) for role, of in by_role.items()}
    for count in ("selected", "folded"):
        assert sum(int(row[count]) for row in rows) == summary[count]
        assert all(row[count] == "0" for role in ("validation", "test") for row in by_role[role])
    for role, group in (("train", "seen"), ("validation", "validation"), ("test", "unseen")):
        scored = [row for row in by_role[role] if row["examples"]]
        examples = [int(row["examples"]) for row in scored]
        figures = summary["eval"][group]
        assert (len(scored), sum(examples)) == (figures["clients"], figures["examples"])
        for figure, value in (("loss", figures["loss"]), ("accuracy", figures["accuracy"]), ("rmse", figures["rmse"] ** 2)):
            pooled = sum(n * float(row[figure]) ** (2 if figure == "rmse" else 1) for n, row in zip(examples, scored)) / sum(examples)
            assert math.isclose(pooled, value, rel_tol=1e-4), (group, figure, pooled, value)
    for row in by_role["train"]:
        assert int(row["train_examples"]) == train.count(row["client"]), row
        asked, updates = int(row["selected"]), int(row["folded"])
        assert (row["last_selected"] != "") == (asked > 0) and (row["last_folded"] != "") == (updates > 0), row
        assert (row["training_loss"] != "") >= (updates > 0), row
        assert all(1 <= int(row[key]) <= 13 for key in ("last_selected", "last_folded") if row[key]), row
        assert 0 <= float(row["availability"]) <= 1 and float(row["bytes_per_second"]) > 0, row
    # Fast devices are available more often and rate higher, as the scenario says.
    speed = [-math.log(float(row["seconds_per_example"])) for row in rows]
    assert statistics.correlation(speed, [float(row["availability"]) for row in rows]) > 0.2
    assert statistics.correlation(speed, [float(row["taste"]) for row in rows]) > 0.1
    return 0


if __name__ == "__main__":
    sys.exit(main())
