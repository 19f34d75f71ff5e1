#!/usr/bin/env python3
"""Nodes that have only the data of their own clients: the run ends as one over all data in one place. And nodes that
cannot take part: with other data, another run's store, or nobody to talk to.

usage: hosted_test.py FURLONG [TEST...]
"""
import random
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from case import QUICK, Case, main
from federation import FAILURE, MISSING, SCENARIO, SYNTHETIC_RATINGS, USAGE

SPLITTER = Path(__file__).resolve().parent.parent.parent / "tools/split_ratings.py"
USERS, ITEMS = 200, 90

HOSTED_RATINGS = """
[data]
source = "hosted-ratings"
users = 200
items = 90
rating_low = 0.5
rating_high = 5
split = [0.8, 0.1, 0.1]
split_by = "time"
unseen_users = {validation = 0.1, test = 0.1}
"""


def make_ratings(path: Path, without: set[int] = frozenset()) -> None:
    """Ratings of films 10, 20, ... by users 7, 8, ..., in an order of its own; every user but some has some, every film
    is rated."""
    draw = random.Random(3)
    taste = [draw.gauss(0, 1) for _ in range(USERS)]
    lines = []
    for user in range(USERS):
        if user in without:
            continue
        films = set(draw.sample(range(ITEMS), draw.randint(6, 25))) | {user % ITEMS}
        for film in sorted(films):
            stars = min(5.0, max(0.5, round(2 * (3.5 + taste[user] * (1 if film % 2 else -1))) / 2))
            lines.append(f"{user + 7},{10 * (film + 1)},{stars:g},{draw.randint(1, 10_000)}\n")
    draw.shuffle(lines)
    path.write_text("userId,movieId,rating,timestamp\n" + "".join(lines))


class Hosted(Case):
    def hosted(self, **settings):
        f = self.federation(scenario=SCENARIO.replace(SYNTHETIC_RATINGS, HOSTED_RATINGS), settings=settings)
        make_ratings(f.folder / "all.csv")
        self.cut(f, "all.csv", "pieces")
        return f

    def cut(self, f, file: str, to: str) -> None:
        subprocess.run([sys.executable, SPLITTER, f.folder / file, "--out", f.folder / to, "--nodes", "4"], check=True,
                       stdout=subprocess.DEVNULL)

    def piece(self, f, number: int) -> Path:
        return f.folder / "pieces" / f"node-{number * 50}-{number * 50 + 49}"

    def host(self, f, number: int, *more: str):
        return f.join(number, None, None, "--data", str(self.piece(f, number)), *more)

    def alone(self, f, *sets: str) -> dict:
        out = f.folder / "alone"
        f.run("run", f.scenario, "--out", out, *f.sets(), *(word for one in sets for word in ("--set", one)))
        f.out, kept = out, f.out
        try:
            return f.summary()
        finally:
            f.out = kept

    def compare(self, f, alone: dict) -> None:
        f.start(nodes=0)
        for i in (2, 0, 3, 1):
            self.host(f, i)
        together = f.end()
        self.check_same(f, together, alone)
        self.assertGreater(together["eval"]["unseen"]["examples"], 0)
        self.assertGreater(together["eval"]["seen"]["examples"], 0)

    def test_furl(self):
        with self.hosted() as f:
            self.compare(f, self.alone(f, f"data.path={f.folder / 'pieces'}"))
            # The pieces are numbered as the source movielens numbers the whole.
            shutil.copy(f.folder / "all.csv", f.folder / "ratings.csv")
            scenario = f.scenario.read_text().replace('"hosted-ratings"', '"movielens"')
            for line in ("users = 200\n", "items = 90\n", "rating_low = 0.5\n", "rating_high = 5\n"):
                scenario = scenario.replace(line, "", 1)
            (f.folder / "films.toml").write_text(scenario)
            f.run("run", f.folder / "films.toml", "--out", f.folder / "films", "--set", f"data.path={f.folder}")
            f.out, out = f.folder / "films", f.out
            films = f.summary()
            f.out = out
            self.assertEqual(films["model_sha256"], f.summary()["model_sha256"])
            for i in range(4):
                self.assertTrue(f.sound(i))

    def test_fedrecon(self):
        with self.hosted(**{"algorithm.kind": "fedrecon"}) as f:
            self.compare(f, self.alone(f, f"data.path={f.folder / 'pieces'}"))

    def test_clients_without_data(self):
        """They are asked, report nothing, and change nothing: as in one process."""
        nobody = {3, 4, 60, 61, 62, *range(150, 200)}
        with self.hosted(**{"evaluation.clip": "true"}) as f:
            whole = (f.folder / "whole")
            whole.mkdir()
            text = ["user,item,rating,timestamp\n"]
            for i in range(4):
                file = self.piece(f, i) / "ratings.csv"
                lines = [line for line in file.read_text().splitlines(True)[1:] if int(line.split(",")[0]) not in nobody]
                file.write_text(text[0] + "".join(lines))
                text += lines
            (whole / "ratings.csv").write_text("".join(text))
            alone = self.alone(f, f"data.path={whole}")
            self.compare(f, alone)
            self.assertIn("50 of the clients 150 to 199 have no ratings: 150, 151", f.processes["node3"].text())
            self.assertIn("2 of the clients 0 to 49 have no ratings: 3, 4\n", f.processes["node0"].text())
            self.assertEqual(alone["folded"], alone["selected"])
            self.assertLess(alone["private_clients"], 145)

    def test_foreign_user(self):
        """A node with a file that is not its own clients' ends and says where; the others go on with one that is."""
        with self.hosted() as f:
            file = self.piece(f, 1) / "ratings.csv"
            good = file.read_text()
            file.write_text(good + "120,4,3.5,17\n")
            f.start(nodes=0)
            for i in (0, 2, 3):
                self.host(f, i)
            node = self.host(f, 1)
            self.assertEqual(node.wait(), MISSING)
            line = good.count("\n") + 1
            self.assertIn(f"{file}:{line}: names user 120, and the clients here are 50 to 99; leave its ratings to the "
                          "node that hosts it, or correct --clients", node.text())
            file.write_text(good)
            self.host(f, 1)
            f.end()

    def test_data_is_missing(self):
        with self.hosted() as f:
            f.serve(operators=False)
            node = f.join(0)
            self.assertEqual(node.wait(), USAGE)
            self.assertIn('--data: is missing: the run\'s data are source = "hosted-ratings"', node.text())
            node = f.join(0, None, None, "--data", str(f.folder / "nowhere"))
            self.assertEqual(node.wait(), MISSING)
            self.assertIn("nowhere: the folder does not exist", node.text())
            self.assertEqual(f.run("run", f.scenario, "--out", f.folder / "x", expect=USAGE).stderr.count("data.path"), 1)

    def test_too_many_examples(self):
        """Only the node knows how many examples its clients have: the scenario bounds what it may declare."""
        with self.hosted(**{"algorithm.aggregation.max_weight": 5}) as f:
            f.serve(operators=False)
            node = self.host(f, 0)
            self.assertNotEqual(node.wait(), 0)
            self.assertRegex(node.text(), r"it declares for client \d+ .* more than algorithm.aggregation.max_weight = 5; "
                             "give this node the data")

    def test_choosing_by_data(self):
        """A server that has no data does not begin to choose by it."""
        with self.hosted(**{"participation.policy": "weight"}) as f:
            done = f.run("serve", f.scenario, "--listen", "127.0.0.1:0", "--insecure", "--out", f.out, *f.sets(),
                         expect=USAGE)
            self.assertIn("participation.policy: chooses clients by how many examples they have", done.stderr)

    def test_changed_data(self):
        """What a node trained on and was tested on must not change unnoticed: one rating, a row more, another order."""
        with self.hosted(**QUICK) as f:
            f.start(aggregators=0, nodes=0)
            for i in range(4):
                self.host(f, i)
            f.wait_for_version(3)
            f.processes.pop("node1").kill()
            file = self.piece(f, 1) / "ratings.csv"
            good = file.read_text()
            head, *lines = good.splitlines(True)
            user, item, rating, when = lines[0].split(",")
            other = ",".join([user, item, "1" if rating == "2" else "2", when])
            free = next(i for i in range(ITEMS) if not any(line.startswith(f"{user},{i},") for line in lines))
            for changed in ([other, *lines[1:]], [*lines, f"{user},{free},3,17\n"], lines[::-1]):
                file.write_text(head + "".join(changed))
                node = self.host(f, 1)
                self.assertEqual(node.wait(), MISSING)
                self.assertRegex(node.text(), f"the content of .*{file}.* has changed.* --accept-changed-data")
            self.host(f, 1, "--accept-changed-data")
            self.takes_part(f, 1, after=f.version())
            f.processes.pop("node1").kill()
            file.write_text(good)  # which it is no longer
            self.assertEqual(self.host(f, 1).wait(), MISSING)
            file.write_text(head + "".join(lines[::-1]))
            self.host(f, 1)
            self.takes_part(f, 1, after=f.version())
            self.check_books(f, f.finish())

    def test_foreign_store(self):
        """A store of another run is refused, and one of an earlier start of the same run; both are left as they are."""
        with self.hosted(**{"scenario.rounds": 4}) as f:
            f.start(aggregators=0, nodes=0)
            for i in range(4):
                self.host(f, i)
            first = f.end()
            stored = f.run("store", "ls", f.store(0), "--format", "json").stdout
            for sets, why in (({}, "has the private values of an earlier start of this run"),
                              ({"scenario.seed": 2}, "the private store belongs to another run or scenario")):
                shutil.rmtree(f.out)
                f.ledger.unlink(missing_ok=True)
                f.settings = {"scenario.rounds": 4, **sets}
                f.join_port = 0
                server = f.serve(operators=False)
                node = self.host(f, 0)
                self.assertEqual(node.wait(), USAGE)
                self.assertIn(f"{f.store(0)}: {why}", node.text())
                server.kill()
            self.assertEqual(f.run("store", "ls", f.store(0), "--format", "json").stdout, stored)
            # So is one whose start never came to a checkpoint, and a node that was there all the time.
            shutil.rmtree(f.out)
            f.ledger.unlink(missing_ok=True)
            f.settings, f.join_port = {"scenario.rounds": 100_000, "checkpoint.every": 0, "evaluation.every": 0}, 0
            server = f.serve(operators=False)
            for i in range(4):
                shutil.rmtree(f.store(i))
                self.host(f, i)
            f.wait_for_version(3)
            server.kill()
            f.processes["node3"].kill()
            shutil.rmtree(f.out)
            f.ledger.unlink()
            server = f.serve(operators=False)
            for node in (f.processes["node0"], self.host(f, 3)):
                self.assertEqual(node.wait(), USAGE)
                self.assertIn("has the private values of an earlier start of this run", node.text())
            server.kill()
            for i in (1, 2):
                f.processes[f"node{i}"].kill()
            # With new stores the same run ends in the same model.
            shutil.rmtree(f.out)
            f.ledger.unlink(missing_ok=True)
            f.settings, f.join_port = {"scenario.rounds": 4}, 0
            f.serve(operators=False)
            for i in range(4):
                shutil.rmtree(f.store(i))
                self.host(f, i)
            self.assertEqual(f.end()["model_sha256"], first["model_sha256"])


class GiveUp(Case):
    def nobody(self) -> int:
        """A port that nobody listens at."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def ends(self, process, why: str, least: float, most: float) -> None:
        begun = time.monotonic()
        self.assertEqual(process.wait(), FAILURE, process.text())
        self.assertTrue(least <= time.monotonic() - begun <= most, f"after {time.monotonic() - begun:.1f} s")
        self.assertRegex(process.text(), why)

    def test_nobody_there(self):
        with self.federation() as f:
            f.join_port = f.operator_port = self.nobody()
            self.ends(f.join(0, None, None, "--give-up", "1.5"), r"no session for \d\.\d s; last: .*refused", 0.5, 15)
            self.ends(f.aggregate("aggregator0", "--give-up", "1.5"), r"--server: no parent for \d\.\d s", 0.5, 15)

    def test_server_gone(self):
        """The time counts from the end of the session, and not from the start."""
        with self.federation(settings={"scenario.rounds": 100_000, "evaluation.every": 0}) as f:
            server = f.serve()
            aggregator = f.aggregate("aggregator0", "--give-up", "4")
            aggregator.wait_for("accepted this aggregator")
            nodes = [f.join(i, None, None, "--give-up", "4") for i in range(4)]
            f.wait_for_version(3)
            time.sleep(4.5)  # nobody has given up meanwhile
            for one in (aggregator, *nodes):
                self.assertTrue(one.running, one.name)
            server.kill()
            self.ends(nodes[0], r"no session for [4-9]\.\d s", 2, 20)
            for one in (aggregator, *nodes[1:]):
                self.assertEqual(one.wait(), FAILURE)
            for i in range(4):
                self.assertTrue(f.sound(i))

    def test_patience_without_it(self):
        with self.federation() as f:
            f.join_port = self.nobody()
            node = f.join(0)
            node.wait_for("session: ")
            time.sleep(2)
            self.assertTrue(node.running)


if __name__ == "__main__":
    main()
