#!/usr/bin/env python3
"""Whatever the processes of a federation, the run ends as in one process: same model, same evaluation.

usage: parity_test.py FURLONG [TEST...]
"""
import os
from pathlib import Path

from case import Case, main
from federation import DONE, SCENARIO, SYNTHETIC_RATINGS, USAGE

ROOT = Path(__file__).resolve().parent.parent.parent
USERS = 200

MOVIELENS = """
[scenario]
name = "films"
rounds = 6
[data]
source = "movielens"
path = "files"
max_examples = 100
unseen_users = {validation = 0.1, test = 0.1}
split = [0.8, 0.1, 0.1]
[model]
kind = "matrix-factorization"
rank = 8
init = 0.05
private = ["user"]
[algorithm]
kind = "furl"
client = {lr = 0.1, batch_size = 5, max_steps = 20}
reconstruction = {lr = 0.1, epochs = 2, max_steps = 20}
[private]
cold_start = "reconstruct"
[participation]
per_round = 20
[evaluation]
every = 3
"""

TEXTS = """
[scenario]
name = "sentences"
rounds = 4
[data]
source = "labelled-text"
path = "files"
task = "next-token"
tokens = "words"
vocabulary = 20
buckets = 8
unseen_users = {validation = 0.1, test = 0.1}
[model]
kind = "lstm-nwp"
embedding = 4
hidden = 6
projection = 4
private = ["oov_embedding"]
[algorithm]
kind = "furl"
client = {lr = 0.3, batch_size = 2}
reconstruction = {lr = 0.1, epochs = 2, max_steps = 20}
server = {optimizer = "yogi", lr = 0.01}
[private]
cold_start = "reconstruct"
[participation]
per_round = 20
[evaluation]
every = 2
"""

CLASSES = """
[scenario]
name = "classes"
""" + SYNTHETIC_RATINGS + """
[model]
kind = "logistic-regression"
[algorithm]
kind = "fedavg"
client = {lr = 0.5, batch_size = 500}
[participation]
per_round = 2
"""


def texts_of_users() -> str:
    """A table of texts, six of each user: words of all, and one word of the user's own."""
    rows = [f"{user}\tw{(user + i) % 7} own{user} w{(3 * i) % 7} w{(user * i) % 9}" for user in range(USERS)
            for i in range(6)]
    return "\n".join(["user\ttext", *rows]) + "\n"


def movielens_ratings() -> Path | None:
    for root in (os.environ.get("FURLONG_DATA"), ROOT / "data", ROOT / "../shared/data"):
        if root and (Path(root) / "ml-1m/ratings.dat").exists():
            return Path(root) / "ml-1m/ratings.dat"
    return None


class Parity(Case):
    def compare(self, kind: str = "furl", aggregators: int = 2, more: dict | None = None, secure: bool = True,
                scenario: str = SCENARIO) -> None:
        with self.federation(scenario=scenario, settings={"algorithm.kind": kind} | (more or {}), secure=secure) as f:
            alone = f.alone()
            f.start(aggregators)
            self.check_same(f, f.end(), alone)
            stores = sum(f.store(i).exists() for i in range(4))
            self.assertEqual(stores, 0 if kind == "fedrecon" else 4, "nodes with a private store")

    def test_furl(self):
        self.compare()

    def test_fedrecon(self):
        self.compare("fedrecon")

    def test_patience(self):
        """A run that does not improve ends at the same evaluation, well before its last round; a resumed one too."""
        scenario = SCENARIO.replace("rounds = 10", "until = {rounds = 400, patience = 15}")
        settings = {"evaluation.every": 1, "evaluation.metric": "rmse", "algorithm.client.lr": 0.4}
        with self.federation(scenario=scenario, settings=settings) as f:
            alone = f.alone()
            self.assertTrue(15 < alone["rounds"] < 400, alone["rounds"])
            f.start()
            f.wait_for_version(6)
            f.processes["server"].kill()
            f.serve_again()
            self.check_same(f, f.end(), alone)

    def test_scaffold(self):
        """Control variates go to the clients with the model, and come back with the updates."""
        self.compare("scaffold")

    def test_poisson(self):
        self.compare(scenario=SCENARIO.replace("per_round = 20\n", 'policy = "poisson"\nrate = 0.12\n'))

    def test_insecure(self):
        self.compare(secure=False)

    def test_no_aggregators(self):
        self.compare(aggregators=0)

    def test_sparse_upload(self):
        self.compare(more={"network.upload": "sparse"})

    def test_compression(self):
        """Rounded numbers are the same wherever they are rounded, and the books count what was sent."""
        for compression, kind, upload in (("zstd", "furl", "dense"), ("float16", "furl", "sparse"),
                                          ("int8+zstd", "furl", "dense"), ("int8", "fedrecon", "sparse")):
            with self.subTest(compression):
                self.compare(kind, more={"network.compression": compression, "network.upload": upload})

    def test_clipped(self):
        """Nodes clip to the limits of the version that they start from; a server says where they do not have to."""
        for bound, compression in (("clip", "none"), ("clip", "int8"), ("adaptive", "none")):
            settings = {"algorithm.aggregation.norm_bound": bound, "network.compression": compression}
            with self.subTest(settings), self.federation(settings=settings) as f:
                alone = f.alone()
                f.start()
                ended = f.end()
                self.check_same(f, ended, alone)
                self.assertEqual(ended["rejected"], {})
                self.assertEqual(ended["abandoned"], 20 if bound == "clip" else 0)
                said = 'note: algorithm.aggregation.norm_bound is "adaptive"' in f.processes["server"].text()
                self.assertEqual(said, bound == "adaptive")

    def test_short_messages(self):
        """With the shortest network.max_message there is, all that is sent fits."""
        self.compare(more={"network.max_message": 2097152})

    def test_too_short_messages(self):
        """A model that does not fit is refused before anybody is asked."""
        with self.federation(settings={"network.max_message": 2097152, "model.rank": 4096, "data.items": 200}) as f:
            done = f.run("serve", f.scenario, "--listen", "127.0.0.1:0", "--out", f.out, *f.trust("server", "server"),
                         *f.sets(), expect=USAGE)
            self.assertRegex(done.stderr, r"network\.max_message: is 2097152 bytes, and .* of this run takes up to \d+")
            self.assertRegex(done.stderr, r"set it to \d+ or more")

    def test_operator_nodes(self):
        """Nodes of the operator beside nodes with certificates of their own: no certificate names their clients."""
        with self.federation(settings={"network.trust": "operator"}) as f:
            alone = f.alone()
            f.serve()
            f.aggregate("aggregator0").wait_for("accepted this aggregator")
            for i in (0, 1):
                f.join(i)
            for i in (2, 3):
                f.join_as_operator(i)
            self.check_same(f, f.end(), alone)

    def test_two_classes(self):
        """Every prediction of two classes goes to the server, however many there are."""
        settings = {"data.users": 4, "data.items": 200_000, "data.ratings_per_user": 160_000, "data.spread": 0,
                    "data.popularity": 0, "data.binarize": 3.5, "data.split": [0.05, 0.0, 0.95], "data.unseen_users.validation": 0,
                    "data.unseen_users.test": 0, "scenario.rounds": 2, "participation.per_round": 4,
                    "evaluation.every": 1}
        with self.federation(scenario=CLASSES, settings=settings) as f:
            alone = f.alone()
            f.serve(operators=False)
            f.join(0, 0, 3, "--threads", "1")
            together = f.end()
            self.check_same(f, together, alone)
            self.assertIn("auc", together["eval"]["seen"])
            self.assertGreater(together["eval"]["seen"]["examples"], 500_000)
            self.assertEqual(f.processes["node0"].text().count("accepted this node"), 1, "sessions")

    def test_private_values(self):
        """Predictions without the values that the nodes keep would be others: they are refused. Others are the same."""
        for kind in ("ditto", "furl", "scaffold", "fedrecon"):
            more = {} if kind in ("furl", "fedrecon") else {"model.private": "[]"}
            with self.subTest(kind), self.federation(secure=False, settings={"algorithm.kind": kind} | more) as f:
                f.alone()
                f.start(aggregators=0)
                f.end()
                values = kind in ("ditto", "furl")
                trains = next(line.split(",")[0] for line in self.split_of(f) if ",train," in line)
                unseen = next(line.split(",")[0] for line in self.split_of(f) if ",test,train," in line)
                table, ratings = f.folder / "table", f.folder / "ratings.csv"
                ratings.write_text("1,4\n2,3\n")
                for words in (("infer", "RUN", "--client", trains), ("export", "RUN", "--predictions", table),
                              ("export", "RUN", "--clients", table), ("report", "RUN", "--clients"),
                              ("infer", "RUN", "--client", unseen), ("infer", "RUN", "--ratings", ratings),
                              ("export", "RUN", "--model", f.folder / "model.npz")):
                    said = []
                    refused = values and (words[-1] == trains or words[0] == "report" or words[2] in ("--predictions", "--clients"))
                    for run, code in ((f.folder / "alone", DONE), (f.out, USAGE if refused else DONE)):
                        done = f.run(*(run if word == "RUN" else word for word in words), expect=code)
                        said.append((done.stdout, table.read_text() if table in words and code == DONE else ""))
                    if refused:
                        self.assertRegex(done.stderr, f"run: the private values that {kind} predicts with are on the nodes")
                    elif words[0] != "report" and "--clients" not in words:
                        self.assertEqual(*said, words)
                if values:
                    for option in (("export", f.out, "--model", f.folder / "own.npz", "--client", trains),
                                   ("report", f.out, "--embeddings")):
                        self.assertIn("are on the nodes", f.run(*option, expect=USAGE).stderr)

    @staticmethod
    def split_of(f) -> list[str]:
        f.run("export", f.out, "--split", f.folder / "split.csv")
        return (f.folder / "split.csv").read_text().splitlines()

    def test_any_order(self):
        """Nodes and aggregators before the server, which they wait for."""
        with self.federation() as f:
            alone = f.alone()
            # A server that ends at once tells which ports are free.
            probe = f.serve()
            probe.kill()
            f.processes.pop("server")
            f.out.rename(f.folder / "probe")
            f.ledger.unlink()
            for i in (3, 1):
                f.join(i)
            f.aggregate("aggregator1")
            f.join(0)
            f.processes["node0"].wait_for("session:")
            f.serve()
            f.join(2)
            f.aggregate("aggregator0")
            self.check_same(f, f.end(), alone)

    def compare_with_files(self, scenario: str, write) -> None:
        """Under FURL and FedRecon, all processes read what `write` writes into a folder: data.path = "files"."""
        for kind in ("furl", "fedrecon"):
            with self.subTest(kind), self.federation(scenario=scenario, settings={"algorithm.kind": kind}) as f:
                f.data = f.folder / "data/files"
                f.data.mkdir(parents=True)
                write(f.data)
                f.environment["FURLONG_DATA"] = str(f.data.parent)
                alone = f.alone()
                f.start()
                self.check_same(f, f.end(), alone)

    def test_next_tokens(self):
        self.compare_with_files(TEXTS, lambda folder: (folder / "texts.tsv").write_text(texts_of_users()))

    def test_movielens(self):
        ratings = movielens_ratings()
        if ratings is None:
            self.skipTest("no ml-1m under $FURLONG_DATA, data/ or ../shared/data")

        def write(folder: Path) -> None:
            with ratings.open() as all_lines, (folder / "ratings.dat").open("w") as some:
                some.writelines(line for line in all_lines if int(line.split("::")[0]) <= USERS)

        self.compare_with_files(MOVIELENS, write)


if __name__ == "__main__":
    main()
