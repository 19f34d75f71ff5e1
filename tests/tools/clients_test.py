#!/usr/bin/env python3
"""furlong export --clients: the rows add up to the summary.

usage: clients_test.py FURLONG
"""
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

DAY = 86400
# A round a day of clients that are available in the first six hours of each day: 48 instants over 48 days see every
# client at the same hour.
DAYS = """
[scenario]
name = "days"
rounds = 48
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
[participation]
per_round = 10
reconnect = [86400, 86400]
[devices]
availability = "days.csv"
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


def main():
    furlong = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="furlong-clients-") as folder:
        def command(*words):
            subprocess.run([furlong, *words], cwd=folder, check=True, capture_output=True)
        (Path(folder) / "clients.toml").write_text(SCENARIO, encoding="utf-8")
        command("run", "clients.toml", "--out", "run")
        command("export", "run", "--clients", "clients.csv", "--split", "split.csv")
        with open(Path(folder) / "clients.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with open(Path(folder) / "split.csv", encoding="utf-8") as file:
            train = [row["client"] for row in csv.DictReader(file) if (row["group"], row["part"]) == ("train", "train")]
        summary = json.loads((Path(folder) / "run/summary.json").read_text(encoding="utf-8"))
        availability(command, Path(folder))
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
