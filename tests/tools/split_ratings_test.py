#!/usr/bin/env python3
"""tools/split_ratings.py: what it writes, and what it says of input that it cannot use.

usage: split_ratings_test.py
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent.parent / "tools/split_ratings.py"
RATINGS = "7::10::5::200\n3::20::4::50\n9::20::2::10\n7::30::1::100\n"


class SplitRatings(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)
        self.runs = 0

    def run_tool(self, text: str, *options: str) -> subprocess.CompletedProcess:
        (self.folder / "in").write_text(text)
        self.runs += 1
        self.out = self.folder / f"out{self.runs}"
        return subprocess.run([sys.executable, TOOL, self.folder / "in", "--out", self.out, *options],
                              capture_output=True, text=True)

    def split(self, text: str, *options: str) -> dict[str, str]:
        """What it wrote, by file."""
        done = self.run_tool(text, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stdout
        return {str(file.relative_to(self.out)): file.read_text() for file in self.out.rglob("*.csv")}

    def refused(self, why: str, text: str, *options: str) -> None:
        done = self.run_tool(text, *options)
        self.assertEqual(done.returncode, 3)
        self.assertIn(why, done.stderr)
        self.assertFalse(self.out.exists())

    def test_users_and_items_are_numbered_and_keep_their_order(self):
        files = self.split(RATINGS, "--nodes", "2")
        self.assertEqual(files, {
            "node-0-0/ratings.csv": "user,item,rating,timestamp\n0,1,4,50\n",
            "node-1-2/ratings.csv": "user,item,rating,timestamp\n1,0,5,200\n2,1,2,10\n1,2,1,100\n",
            "users.csv": "user,id\n0,3\n1,7\n2,9\n",
            "items.csv": "item,id\n0,10\n1,20\n2,30\n",
        })
        self.assertEqual(self.said, '[data]\nsource = "hosted-ratings"\nusers = 3\nitems = 3\n'
                                    "rating_low = 1\nrating_high = 5\n")

    def test_every_format_gives_the_same(self):
        expected = self.split(RATINGS, "--nodes", "3")
        for text in (RATINGS.replace("::", "\t"), "userId,movieId,rating,timestamp\n" + RATINGS.replace("::", ","),
                     RATINGS.replace("\n", "\r\n")):
            self.assertEqual(self.split(text, "--nodes", "3"), expected)
        bare = self.split("user,item,rating\n7,10,4.5\n3,20,0.5\n", "--nodes", "1")
        self.assertEqual(bare["node-0-1/ratings.csv"], "user,item,rating\n1,0,4.5\n0,1,0.5\n")

    def test_ranges_and_fewer_users(self):
        files = self.split(RATINGS, "--clients", "1-2", "0-0")
        self.assertEqual(sorted(files), ["items.csv", "node-0-0/ratings.csv", "node-1-2/ratings.csv", "users.csv"])
        fewer = self.split(RATINGS, "--users", "1", "--nodes", "1")
        self.assertEqual(fewer["node-0-0/ratings.csv"], "user,item,rating,timestamp\n0,0,4,50\n")

    def test_problems_are_told(self):
        one = ("--nodes", "1")
        self.refused("in:2: found '7,x,5,200'; expected user, item, rating and timestamp", "1::2::3::4\n7::x::5::200\n",
                     *one)
        self.refused("in:1: found '7,1,nan,200'; expected ids from 0 and a finite rating", "7::1::nan::200\n", *one)
        self.refused("in:1: found '1,2,3'; expected a header", "1,2,3\n", *one)
        self.refused("in:1: found 'a,b'; expected a header of user, item, rating", "a,b\n1,2\n", *one)
        self.refused("in: the file is empty", "", *one)
        self.refused("in: has a header and no ratings", "user,item,rating\n", *one)
        self.refused("--nodes 4: there are 3 users", RATINGS, "--nodes", "4")
        self.refused("--clients 2-2: client 1 is in no range", RATINGS, "--clients", "0-0", "2-2")
        self.refused("--clients 1-2: client 1 is in two ranges", RATINGS, "--clients", "0-1", "1-2")
        self.refused("--clients: the ranges end at client 1, and clients are 0 to 2", RATINGS, "--clients", "0-1")
        self.refused("--clients 2-0: is not FIRST-LAST", RATINGS, "--clients", "2-0")
        self.refused("--users 0: leaves nobody", RATINGS, "--users", "0", *one)

    def test_a_folder_that_is_not_empty_is_left_alone(self):
        self.split(RATINGS, "--nodes", "1")
        again = subprocess.run([sys.executable, TOOL, self.folder / "in", "--out", self.out, "--nodes", "1"],
                               capture_output=True, text=True)
        self.assertEqual(again.returncode, 3)
        self.assertIn("is not empty; name a new folder with --out", again.stderr)


if __name__ == "__main__":
    unittest.main()
