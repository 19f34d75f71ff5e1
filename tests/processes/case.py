"""What the tests with federations of processes share: their base class, and how a script of them is run."""
import sys
import time
import unittest
from pathlib import Path

from federation import Federation, accounted, folded_tasks, twice, unbalanced_rounds, wait_until

# Rounds that wait for nobody longer than 2.5 s, as many as it takes.
QUICK = {"scenario.rounds": 100_000, "evaluation.every": 0, "network.heartbeat": 0.5, "network.timeout": 2.0,
         "network.start": 0.7}
# A run that is still going on when something happens to it, with checkpoints to come back to.
LONG = {"scenario.rounds": 60, "evaluation.every": 0, "checkpoint.every": 4}
# Keys of summary.json that do not depend on how many processes there were.
SAME = ["model_sha256", "eval", "selected", "folded", "rounds", "clients_trained", "bytes_up", "bytes_down"]


class Case(unittest.TestCase):
    """A test with a federation."""
    furlong = ""

    def federation(self, **more) -> Federation:
        return Federation(self.furlong, **more)

    def takes_part(self, f: Federation, number: int, after: int) -> None:
        """Waits until clients of node `number`, of four with 50 clients each, are in a version after `after`."""
        def look():
            return any(line["version"] > after and any(task[1] // 50 == number for task in line["folded"])
                       for line in f.lines(f.ledger) if "version" in line)
        wait_until(f"node{number} takes part after version {after}", look)

    def stands_still(self, f: Federation, seconds: float = 0.6) -> int:
        """Waits until the run waits for somebody; the version that it has then. `seconds`: more where rounds are slow."""
        def look():
            before = f.version()
            time.sleep(seconds)
            return before if f.version() == before else 0
        return wait_until("the run stands still", look)

    def check_books(self, f: Federation, summary: dict) -> None:
        """Every task is accounted for once, in the summary, in every round and in the ledger."""
        self.assertEqual(accounted(summary), summary["selected"])
        self.assertEqual(unbalanced_rounds(f.lines(f.out / "metrics.jsonl")), [])
        tasks = folded_tasks(f.lines(f.ledger))
        self.assertEqual(twice(tasks), [])
        self.assertEqual(len(tasks), summary["folded"])

    def check_same(self, f: Federation, together: dict, alone: dict) -> None:
        """A run of processes ended as the one in one process did, and no update went in twice."""
        for key in SAME:
            self.assertEqual(together[key], alone[key], key)
        self.assertEqual(twice(folded_tasks(f.lines(f.ledger))), [])


def main() -> None:
    """Runs the tests of a script: SCRIPT.py FURLONG [TEST...]."""
    Case.furlong = str(Path(sys.argv[1]).resolve())
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
